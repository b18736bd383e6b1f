/* predict.js - what a lesson can ask: the chips of a question, what is right by what the model did, a sentence of it; and
 * texts with computed places. */
"use strict";

/* waiting(): a change of the example or the model that is not shown yet, or null. */
const qkvPredict = (page, waiting) => {
    const {percent} = qkvText, {state} = page, {t, pick} = qkvStrings, {most} = qkvNarrate;

    /* ---- what can be asked ---- */

    const now = () => {
        const f = page.shown, {pair, curves} = page, {look} = f.after || f.before;
        return {
            look,
            names: (look.at || []).map((_, p) => name(p)),
            other: f.pair && (f.pair.after || f.pair.before).look,
            inside: f.extra && f.extra.inside,
            row: curves.at(state.step),
            second: pair.on ? pair.rows.at(state.step) : null,
            rows: curves.rows
        };
    };
    const name = (p) => page.example.text(page.run.store, p);
    const said = (look) => look.answers.map((a) => a.top[0][0]).join(" ");
    const chipsOf =
        (values, rest) => [...values, rest].map((value) => ({value, text: t("learn." + value)}));
    /* Places that may be looked at: those of now, of the answer, those that a change touches, and others. */
    function places({look, names}) {
        const all = look.at.map((_, p) => p).filter((p) => look.at[p].visible && names[p]),
              touched = (waiting() ? waiting().set : [])
                            .filter((s) => s[0] === page.run.store)
                            .map((s) => s[2]);
        const some = [
            most(look), look.source, look.distractor, ...touched, ...all.filter((p) => p % 3 === 1),
            ...all
        ];
        return [...new Set(some)].filter((p) => all.includes(p)).slice(0, 4).sort((a, b) => a - b);
    }
    const listed = (all) => t(
        "learn.whole",
        {all: all.map(([what, value]) => t("learn.item", {what, value})).join(t("learn.between"))});
    const share = (x) => x === null || x === undefined ? -1 :
        x < 0.25                                       ? "few" :
        x < 0.75                                       ? "half" :
                                                         "most";

    /* "grad.wq", "norm.wv": of the four matrices, over all layers; "first.qk_diag": the step at which a number is one half;
     * "pushed.q": the gradient of a card of "Inside one step"; "run.a", "run.b": right answers of two
     * runs, "sharp.a", "sharp.b": their greatest weight; else a number of metrics.csv. */
    function measure(what, {row, second, rows, inside, look, other}) {
        const [kind, of] = what.split(".");
        if (kind === "sharp")
            return (of === "b" ? other : look).at[most(of === "b" ? other : look)].weight;
        if (kind === "run") return ((of === "b" ? second : row) || {}).accuracy;
        if (kind === "first") return rows.first(of, 0.5) < 0 ? Infinity : rows.first(of, 0.5);
        if (kind === "pushed") {
            const card = inside && inside.list && inside.list.find((c) => c.key === of);
            return card && card.g ? Math.hypot(...card.g) : 0;
        }
        if (kind !== "grad" && kind !== "norm") return row && row[what];
        return Math.hypot(
            ...rows.names.filter((n) => n.startsWith(kind + ".") && n.endsWith("." + of))
                .map((n) => row[n] || 0));
    }
    function measured(what, x) {
        if (what.startsWith("first."))
            return x === Infinity ? t("learn.never") : t("learn.at", {step: x});
        return /^(grad|norm|pushed)\./.test(what) ? qkvInside.num(x) : percent(x);
    }
    function labelOf(what) {
        const [kind, of] = what.split(".");
        return of === "b"                      ? page.pair.on ? page.pair.name : "B" :
            of === "a"                         ? "A" :
            kind === "grad" || kind === "norm" ? "W^" + of[1].toUpperCase() :
            kind === "pushed"                  ? of :
                                                 t("learn.measure." + (of || what));
    }
    /* The index of the greatest (of steps: the least), or -1: two are nearly alike. */
    function greatest(values, least) {
        const order =
            values.map((x, i) => [least ? -x : x, i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
        const [[a, i], [b]] = order;
        return a === b || Math.abs(a - b) < 0.1 * Math.max(Math.abs(a), Math.abs(b)) ? -1 : i;
    }

    /* Each: chips, of what is before the change; right, the value of the chip that is; say, a sentence of what came out. */
    const kinds = {
        looks: {
            chips: (q, was) =>
                [...places(was).map((p) => ({value: String(p), text: was.names[p]})),
                 ...chipsOf([], "elsewhere")],
            right: (q, was, is) => String(most(is.look)),
            say(q, was, is) {
                const p = most(is.look),
                      values = {place: is.names[p], weight: percent(is.look.at[p].weight)};
                return t(p === most(was.look) ? "learn.looks.stayed" : "learn.looks.moved", values);
            }
        },
        says: {
            chips(q, was) {
                const [a] = was.look.answers, all = [
                    a.top[0][0], ...places(was).map((p) => was.look.at[p].says), a.wanted,
                    ...a.top.map((e) => e[0])
                ];
                return [
                    ...[...new Set(all)].filter((w) => w).slice(0, 4).sort().map(
                        (w) => ({value: w, text: w})),
                    ...chipsOf([], "other")
                ];
            },
            right: (q, was, is) => is.look.answers[0].top[0][0],
            say(q, was, is) {
                const [word, p] = is.look.answers[0].top[0];
                return t(
                    "learn.says.now",
                    {word, sure: percent(p), before: was.look.answers[0].top[0][0]});
            }
        },
        effect: {
            chips: () => chipsOf(["effect.none", "effect.answer", "effect.looks"], "effect.both"),
            right(q, was, is) {
                const looks = most(was.look) !== most(is.look),
                      answer = said(was.look) !== said(is.look);
                return "effect." +
                    (looks      ? (answer ? "both" : "looks") :
                         answer ? "answer" :
                                  "none");
            },
            say: (q, was, is) => t("learn.effect.now", {
                from: was.names[most(was.look)],
                to: is.names[most(is.look)],
                was: said(was.look),
                is: said(is.look)
            })
        },
        share: {
            chips: () => chipsOf(["few", "half"], "most"),
            right: (q, was, is) => share(measure(q.share || "accuracy", is)),
            say: (q, was, is) => listed([
                [labelOf(q.share || "accuracy"), measured("", measure(q.share || "accuracy", is))]
            ])
        },
        which: {
            chips: (q) =>
                [...q.which.map((value) => ({value, text: labelOf(value)})),
                 ...chipsOf([], "alike")],
            right(q, was, is) {
                const best =
                    greatest(q.which.map((w) => measure(w, is)), q.which[0].startsWith("first."));
                return best < 0 ? "alike" : q.which[best];
            },
            say: (q, was, is) =>
                listed(q.which.map((w) => [labelOf(w), measured(w, measure(w, is))]))
        },
        best: {
            chips: (q) =>
                [...q.best.map((one, i) => ({value: String(i), text: pick(one.text)})),
                 ...chipsOf([], "none")],
            right(q) {
                const best = greatest(q.came);
                return Math.max(...q.came) < 0.5 ? "none" :
                    best < 0                     ? String(q.came.indexOf(Math.max(...q.came))) :
                                                   String(best);
            },
            say: (q) => listed(q.best.map((one, i) => [pick(one.text), percent(q.came[i])]))
        }
    };
    const kindOf = (q) => (typeof q === "string" ? q : Object.keys(q)[0]);

    /* ---- words with computed places ---- */

    function facts() {
        if (!page.shown) return {};
        const {run} = page, {look, row, second} = now(), [a] = look.answers,
              p = look.at ? most(look) : -1;
        const of = (r, column) =>
            (r && r[column] !== null ? percent(r[column] === undefined ? null : r[column]) : "–");
        return {
            entries: run.entries,
            heads: run.heads,
            step: state.step,
            width: run.options["d-k"],
            rate: run.options.lr,
            change: page.example.told(waiting() || state),
            b: page.pair.name,
            chance: percent(run.chance),
            stored: percent(run.in_context),
            accuracy: of(row, "accuracy"),
            attention: of(row, "answer_attention"),
            keys: of(row, "qk_diag"),
            values: of(row, "ov_diag"),
            other: of(second, "accuracy"),
            asked: page.example.asked(look.question),
            ...(p < 0 ? {} : {looks: name(p), weight: percent(look.at[p].weight)}),
            ...(a ? {says: a.top[0][0], sure: percent(a.top[0][1]), right: a.wanted} : {})
        };
    }
    /* What is not known yet is a gap. */
    const told = (text, known) => qkvStrings.fill(
        pick(text || {en: ""}),
        new Proxy(known, {get: (all, n) => (Object.hasOwn(all, n) ? all[n] : "____")}));

    return {kinds, kindOf, now, facts, told};
};
