/* course.js - lessons: cards, one at a time, of which some ask what a change will do before it is shown. A lesson is
 * data (docs/lessons.md); what is right is asked of the model. */
"use strict";

const qkvCourse = (page) => {
    const {make, setText, percent} = qkvText, {by, state} = page, {t, pick} = qkvStrings,
                          {most} = qkvNarrate;
    const SECONDS = 4;  // in which training is watched
    let lessons = [], lesson = null, at = 0, marks = [], queue = Promise.resolve();
    let asked = null;  // the question of this card: {kind, q, was, chips, change, done}
    let named = "";    // the language of the words in the place of symbols
    let holding = false, held = null,
        shown = "";  // a change of the example or the model that waits to be shown

    /* ---- the scene of a card: what the cards before it have set ---- */

    function take(scene, {set, beside, step, example}) {
        if (set) Object.assign(scene, {given: set, beside: null, step: 0});
        if (beside) scene.beside = {from: -1, given: beside};
        if (step !== undefined) scene.step = step;
        if (example !== undefined) scene.example = example;
        return scene;
    }
    function sceneOf(i) {
        const scene = {given: {}, beside: null, step: 0, example: 0};
        lesson.cards.slice(0, i + 1).forEach((card, k) => {
            take(scene, card);
            if (k < i) take(scene, card.change || {});
        });
        return {...scene, inside: lesson.cards[i].inside || ""};
    }
    /* seconds: in which the training that it needs is watched; 0: it is not. */
    async function enter(scene, seconds = 0) {
        const given = page.own.complete({...scene.given, ...state.extra}),
              {beside, example, inside} = scene;
        const words = lesson.words ? 1 : 0, lang = words ? qkvStrings.lang : "";
        const other = !page.run ||
            JSON.stringify([given, beside, words, lang]) !==
                JSON.stringify([state.given, state.beside, state.words, named]);
        named = lang;
        Object.assign(state, {beside, example, inside, words, ask: -1, head: -1});
        state.undo();
        if (other && await page.session.start(given)) return;
        if (!other) await page.session.change();
        await page.player.reach(scene.step, seconds);
    }
    /* A card's change. What of it is the run's stays for the cards after it. */
    async function change(c) {
        const runs = ["set", "beside", "step", "example"].some((name) => c[name] !== undefined);
        if (runs)
            await enter({...take(sceneOf(at), c), inside: c.inside || sceneOf(at).inside}, SECONDS);
        if (c.swap) await page.example.swapTwo(c.swap, page.shown.before.look);
        if (c.ask !== undefined) await page.example.askAt(c.ask, page.shown.before.look.source);
        if (c.put) await page.example.putAt(c.at, c.put);
        if (c.hide) state.hide = c.hide;
        if (c.off !== undefined) state.silent = c.off;
        if (c.random)
            state.random = page.run.matrices.find((m) => m.endsWith("." + c.random)) || "";
        if (c.hide || c.off !== undefined || c.random) await page.session.change();
        await page.player.rest();
    }

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
              touched =
                  (held ? held.set : []).filter((s) => s[0] === page.run.store).map((s) => s[2]);
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

    /* Trains what is offered, one after the other, to the step of the scene, and leaves the best one. */
    async function tryAll(q) {
        const scene = sceneOf(at), came = [];
        const go = (i) =>
            enter({...scene, given: {...scene.given, ...q.best[i].set}, beside: null});
        for (let i = 0; i < q.best.length; i++) {
            await go(i);
            came.push((now().row || {accuracy: 0}).accuracy);
        }
        await go(came.indexOf(Math.max(...came)));
        return came;
    }

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
            change: held ? page.example.told(held) : page.example.told(changes()),
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

    /* ---- showing a card ---- */

    const card = () => lesson.cards[at];
    const radio = (chip) => make(
        "label", {class: "choice"},
        make("input", {type: "radio", name: "choice", value: chip.value}), " " + chip.text);
    const score = () =>
        t("learn.score",
          {right: marks.filter((m) => m && m.right).length, all: marks.filter((m) => m).length});

    function frame() {
        for (const e of page.root.querySelectorAll(".framed")) e.classList.remove("framed");
        const e = lesson && card().frame &&
            page.root.querySelector("[data-panel='" + card().frame + "']");
        if (e) e.classList.add("framed");
    }
    const panels = () => !lesson ?
        [] :
        !card().inside && lesson.show && !lesson.show.length ?
        [] :
        [
            "lesson", ...(card().inside ? ["step"] : lesson.show || ["cards"]),
            ...(card().frame ? [card().frame] : [])
        ];

    function render() {
        const last = at === lesson.cards.length - 1, mark = marks[at],
              own = lesson.number ? t("learn.number", {n: lesson.number}) :
                                    t(lesson.guess    ? "learn.guess" :
                                          lesson.name ? "learn.story" :
                                                        "learn.own");
        const known = page.shown ? facts() : {};
        by("lesson-box").hidden = false;
        setText(by("lesson-kicker"), own);
        setText(by("lesson-title"), pick(lesson.title));
        setText(
            by("lesson-count"),
            lesson.cards.length > 1 ? t("learn.count", {n: at + 1, all: lesson.cards.length}) : "");
        setText(by("lesson-text"), told(card().text, known));
        by("lesson-form").hidden = !asked;
        if (asked && !asked.done) by("lesson-choices").replaceChildren(...asked.chips.map(radio));
        for (const e of by("lesson-choices").querySelectorAll("input"))
            e.disabled = Boolean(asked && asked.done);
        by("lesson-show").hidden = Boolean(asked && asked.done);
        setText(by("lesson-result"), mark && asked ? mark.text + told(card().after, known) : "");
        by("lesson-result").className = mark ? (mark.right ? "hit" : "miss") : "";
        const ended = last && (!asked || asked.done), {careful, short} = lesson;
        by("lesson-end").hidden = !ended || !(careful || short);
        setText(
            by("lesson-end"),
            !ended      ? "" :
                careful ? t("learn.careful") + told(careful, known) :
                short   ? t("story.short", {answer: pick(short)}) :
                          "");
        setText(by("lesson-score"), marks.some((m) => m) ? score() : "");
        by("lesson-back").disabled = at === 0;
        by("lesson-next").hidden = last && !following();
        setText(by("lesson-next"), last ? t("learn.following") : t("learn.next"));
        by("lesson-back").hidden = by("lesson-print").hidden = Boolean(lesson.guess);
        by("lesson-choice").parentElement.hidden = Boolean(lesson.guess);
        by("lesson-study").hidden = !lesson.study;
        by("lesson-choice").value = lesson.name || "";
        frame();
    }
    const following = () => {
        const next = lessons[lessons.indexOf(lesson) + 1];
        return lesson.number && next && next.number ? next : null;
    };

    /* Says the right focus: to what is to be done next. */
    function focus() {
        const first =
            asked && !asked.done ? by("lesson-choices").querySelector("input") : by("lesson-next");
        (first && !first.closest("[hidden]") ? first : by("lesson-box")).focus({
            preventScroll: true
        });
        const framed = page.root.querySelector(".framed");
        if (framed) framed.scrollIntoView({block: "nearest"});
        by("lesson-box").scrollIntoView({block: "nearest"});
    }

    /* One thing after the other; what goes wrong is said, and the next click works. */
    const then = (act) => {
        queue = queue.then(act).catch((e) => page.failed(e));
        return queue;
    };

    /* With a question of the example or the model, its change is made and held back: so its places are known. */
    async function ask(q, c) {
        const was = now(), kind = kindOf(q);
        held = null;
        holding = true;
        try {
            if (c &&
                ["swap", "ask", "put", "hide", "off", "random"].some((n) => c[n] !== undefined))
                await change(c);
        } finally { holding = false; }
        asked = {kind, q: typeof q === "string" ? {} : q, was, change: c, done: false};
        asked.chips = kinds[kind].chips(asked.q, was);
    }

    async function show(i) {
        const {cards} = lesson;
        at = Math.max(0, Math.min(cards.length - 1, i));
        asked = held = null;
        state.lesson = (lesson.name || "own") + (at ? "." + (at + 1) : "");
        if (lesson.guess) state.lesson = "";
        shown = "";
        page.show.apply();
        if (!lesson.guess) await enter(sceneOf(at));
        if (!page.shown) return render();
        const c = card();
        if (c.question)
            await ask(c.question, c.change);
        else if (c.change)
            await change(c.change);
        if (c.question && marks[at]) await reveal();
        page.setAddress();
        render();
        focus();
    }

    /* Makes the change, and judges. */
    async function reveal() {
        const {kind, q, was, change: c} = asked;
        if (kind === "best")
            q.came = await tryAll(q);
        else if (held)
            await let_go();
        else if (c)
            await change(c);
        const is = now(), right = kinds[kind].right(q, was, is),
              chip = asked.chips.find((one) => one.value === right) ||
            asked.chips[asked.chips.length - 1];
        asked.done = true;
        if (!marks[at]) marks[at] = {picked: by("lesson-form").elements.choice.value};
        Object.assign(marks[at], {right: marks[at].picked === chip.value});
        marks[at].text =
            t(marks[at].right ? "learn.right" : "learn.wrong") + kinds[kind].say(q, was, is);
        for (const e of by("lesson-choices").querySelectorAll("label"))
            e.classList.toggle("is", e.firstChild.value === chip.value);
    }
    async function submit(e) {
        e.preventDefault();
        if (!asked || asked.done || !by("lesson-form").elements.choice.value) return;
        await then(async () => {
            if (!asked || asked.done) return;
            await reveal();
            render();
            (by("lesson-next").hidden ? by("lesson-box") : by("lesson-next")).focus({
                preventScroll: true
            });
        });
    }

    /* ---- changes that are held back ---- */

    const changes = () =>
        ({set: state.set, hide: state.hide, silent: state.silent, random: state.random});
    async function let_go() {
        Object.assign(state, held);
        shown = JSON.stringify(held);
        held = null;
        await page.session.change();
        await page.player.rest();
    }
    /* Is the change to be guessed before it is shown? Then the state is again what is shown. */
    function holds() {
        const mine = JSON.stringify(changes());
        if (!(holding || state.guess) || !state.changed() || mine === shown || !page.shown)
            return false;
        held = JSON.parse(mine);
        Object.assign(state, shown ? JSON.parse(shown) : qkvAddress.unchanged());
        page.example.showWords();
        if (!holding) then(guess);
        return true;
    }
    /* A question about a change that somebody made, or that the address holds. */
    async function guess() {
        const waiting = held, old = shown;
        lesson = {
            guess: true,
            title: {en: t("learn.what")},
            cards: [{text: {en: page.example.told(held)}, question: "effect"}],
            show: []
        };
        at = 0;
        marks = [];
        await ask("effect", null);
        held = waiting;
        shown = old;
        render();
        focus();
    }

    /* ---- the course ---- */

    const find = (text) => {
        const [which, c] = text.split("."), i = Number(c || 1) - 1;
        const found = which === "own" ? page.brought && page.brought.lesson :
                                        lessons.find((l) => l.name === which);
        return found && found.cards[i] ? {found, i} : null;
    };
    /* "3", "3.2", "own": a lesson, at a card. */
    function open(text) {
        const {found, i} = find(text);
        if (lesson !== found) marks = [];
        lesson = found;
        return then(() => show(i));
    }
    function close() {
        if (!lesson) return;
        lesson = asked = held = null;
        Object.assign(state, {lesson: "", extra: {}, inside: ""});
        by("lesson-box").hidden = true;
        frame();
        page.show.apply();
        page.player.request();
    }
    function step(by_) {
        if (at + by_ < lesson.cards.length) return then(() => show(at + by_));
        return open(following().name);
    }

    /* An option that is chosen by hand holds for the cards that follow, too, unless it is refused. */
    function keeps(option, value) {
        if (!lesson || lesson.guess || option === "task") return close();
        state.extra[option] = value;
        then(async () => {
            await show(at);
            if (state.given[option] !== value) delete state.extra[option];
        });
        return true;
    }

    /* For the work sheet: every card, its places and answers left open. */
    function sheet() {
        if (!lesson) return by("lesson-sheet").replaceChildren();
        const box = (text) => make("li", {text});
        const one = (c) => {
            const kind = c.question && kindOf(c.question),
                  q = typeof c.question === "object" ? c.question : {},
                  chips = !kind || /looks|says/.test(kind) ? null : kinds[kind].chips(q, null);
            return make(
                "li", {},
                make("p", {text: told(c.text, c === card() && page.shown ? facts() : {})}),
                kind ?
                    (chips ? make("ul", {class: "boxes"}, ...chips.map((chip) => box(chip.text))) :
                             make("p", {class: "gap"})) :
                    null,
                kind ? make("p", {class: "gap", text: t("learn.came")}) : null);
        };
        by("lesson-sheet")
            .replaceChildren(
                make("h2", {text: pick(lesson.title)}), make("ol", {}, ...lesson.cards.map(one)),
                lesson.careful ? make("p", {text: t("learn.careful") + told(lesson.careful, {})}) :
                                 "");
    }

    /* The lessons and the stories in the present language. */
    function list() {
        const group = (label, all) => make(
            "optgroup", {label},
            ...all.map(
                (l) => make(
                    "option",
                    {value: l.name, text: (l.number ? l.number + " " : "") + pick(l.title)})));
        setText(by("learn"), t("learn.begin", {n: lessons.filter((l) => l.number).length}));
        by("lesson-choice")
            .replaceChildren(
                group(t("learn.course"), lessons.filter((l) => l.number)),
                group(t("learn.stories"), lessons.filter((l) => !l.number)));
    }
    function build() {
        const course = [...page.root.querySelectorAll("script.course")].map(
            (e, i) => ({...JSON.parse(e.textContent), number: i + 1, name: String(i + 1)}));
        lessons = [...course, ...page.stories.lessons().map((l) => ({...l, name: l.study}))];
        list();
        by("learn").addEventListener("click", () => open("1"));
        by("lesson-choice").addEventListener("change", (e) => open(e.target.value));
        by("lesson-form").addEventListener("submit", submit);
        by("lesson-back").addEventListener("click", () => step(-1));
        by("lesson-next").addEventListener("click", () => step(1));
        by("lesson-close").addEventListener("click", close);
        by("lesson-print").addEventListener("click", () => print());
        by("lesson-study").addEventListener("click", () => page.stories.findings(lesson.study));
        addEventListener("beforeprint", sheet);
    }

    return {
        build,
        open,
        close,
        holds,
        changes,
        panels,
        has: (text) => find(text) !== null,
        keeps,
        retell() {
            list();
            if (lesson && !lesson.guess) then(() => show(at));
        },
        get lesson() { return lesson; },
        get lessons() { return lessons; },
        get marks() { return marks; },
        get idle() { return queue; }
    };
};
