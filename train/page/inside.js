/* inside.js - one step in words: the cards from embedding to loss, what each of their numbers is made of, and what the
 * step taught. Pure: numbers come from the engine, and a formula is shown only if its numbers give the number it explains. */
"use strict";

const qkvInside = (() => {
    /* title: what the card is in a formula ("card.q" in a sentence); hue: of its values; from: what W stands on the way to it. */
    const cards = {
        e: {title: "e", hue: "stored"},
        x: {title: "x", hue: "stored"},
        m: {title: "m", hue: "stored"},
        q: {title: "q", hue: "where"},
        k: {title: "k", hue: "where"},
        v: {title: "v", hue: "what"},
        scores: {title: "s", hue: "where"},
        weights: {title: "w", hue: "look"},
        mix: {title: "mix", hue: "what"},
        o: {title: "o", hue: "what"},
        out: {title: "out", hue: "stored"},
        final: {title: "h", hue: "stored"},
        logits: {title: "logits", hue: "what"},
        loss: {title: "L", hue: "look"},
    };
    const {t: say} = qkvStrings;
    const base = (key) => key.replace(/[0-9]+$/, ""), kind = (key) => cards[base(key)];

    const minus = (s) => s.replace(/-/g, "−");
    function num(x) {
        const a = Math.abs(x);
        if (x === null || !Number.isFinite(x)) return "–";
        if (a === 0) return "0";
        if (a < 1e-4) return minus(x.toExponential(1));
        return minus(
            a >= 100 ?
                x.toFixed(0) :
                a >= 10 ?
                x.toFixed(1) :
                a >= .1 ?
                x.toFixed(2) :
                Number(x.toPrecision(2)).toFixed(Math.min(6, 1 - Math.floor(Math.log10(a)))));
    }
    const factor = (x) => (x < 0 ? "(" + num(x) + ")" : num(x));
    const near = (a, b, size = 1) =>
        Math.abs(a - b) <= 2e-4 * Math.max(Math.abs(a), Math.abs(b)) + 2e-6 * size;
    const sum = (x) => x.reduce((a, b) => a + b, 0);
    const all0 = (x) => x.every((v) => v === 0);
    const most = (x, size = (v) => v) => {
        let best = 0;
        for (let i = 1; i < x.length; i++)
            if (size(x[i]) > size(x[best])) best = i;
        return best;
    };

    /* a + b + ... of the largest few terms, and how much the others are; "" of none. */
    function series(terms, text, rest = 0) {
        const sorted = terms.map((t, i) => [Math.abs(t.term), t, i])
                           .sort((a, b) => b[0] - a[0] || a[2] - b[2]),
              shown = sorted.slice(0, sorted.length > 5 ? 3 : 5).map((s) => s[1]),
              left = sum(sorted.slice(shown.length).map((s) => s[1].term)),
              n = sorted.length - shown.length;
        return [
            ...shown.map(text), ...(n ? [say("series.more", {n, sum: num(left)})] : []),
            ...(rest ? [say("series.rest", {x: factor(rest)})] : [])
        ].join(" + ");
    }

    /* ---- forward: what a number is made of ---- */

    /* data: {cards: {key: {x, g, rows, cols}}, order, seen, targets, source}. why, of the engine: {value, terms:
     * [card, cell, slope, part], others: [card or node, numbers, part], leaves: [table, row, value, slope]}; part: slope
     * times value, null where the number is not linear in it. */
    const read = (why) => ({
        ...why,
        terms: why.terms.map(([card, cell, slope, term]) => ({card, cell, slope, term})),
        others: why.others.map(([card, numbers, term]) => ({card, numbers, term}))
    });

    function softmax(data, cell) {
        const s = data.cards.scores, w = data.cards.weights;
        if (!s) return null;
        const seen = [...s.x.keys()].filter((i) => data.seen[i]),
              top = Math.max(...seen.map((i) => s.x[i]));
        const whole = sum(seen.map((i) => Math.exp(s.x[i] - top)));
        if (!data.seen[cell] || !near(Math.exp(s.x[cell] - top) / whole, w.x[cell])) return null;
        const power = (i) => "e^" + num(s.x[i]);
        const below = seen.length <= 4 ? seen.map(power).join(" + ") :
                                         power(seen[0]) + " + … + " + power(seen[seen.length - 1]);
        return num(w.x[cell]) + " = " + power(cell) + " / (" + below + ")";
    }

    function probability(logits, i) {
        const top = Math.max(...logits.x);
        return Math.exp(logits.x[i] - top) / sum([...logits.x].map((v) => Math.exp(v - top)));
    }
    const readouts = (data) => data.order.filter((k) => kind(k) === cards.logits);

    function crossEntropy(data) {
        const p = readouts(data).map((key, i) => probability(data.cards[key], data.targets[i]));
        if (!p.length || !near(data.cards.loss.x[0], -sum(p.map(Math.log)))) return null;
        return num(data.cards.loss.x[0]) + " = " +
            p.map((v) => "−ln " + num(v)).join(" − ln ").replace(/− ln −/g, "−");
    }

    /* s = factor (q1 k1 + q2 k2 ...). */
    function product(data, cell) {
        const {q, k, scores: s} = data.cards;
        if (!q || !k || !s || q.cols !== k.cols) return null;
        const terms = Array.from(
            q.x, (v, i) => ({a: v, b: k.x[cell * k.cols + i], term: v * k.x[cell * k.cols + i]}));
        const f = 1 / Math.sqrt(k.cols), whole = sum(terms.map((t) => t.term));
        if (!near(whole * f, s.x[cell], sum(terms.map((t) => Math.abs(t.term))))) return null;
        return num(s.x[cell]) + " = (" + series(terms, (t) => factor(t.a) + "·" + factor(t.b)) +
            ") / √" + k.cols;
    }

    /* Slope times value where that adds up to the number: over all cards, or over each alone. */
    function linear(data, why) {
        const x = (t) => data.cards[t.card].x[t.cell],
              terms = why.terms.filter((t) => t.term !== null),
              size = sum(terms.map((t) => Math.abs(t.term)));
        const keys = data.order.filter((key) => terms.some((t) => t.card === key));
        const of = (key) => terms.filter((t) => t.card === key),
              rest = (key) => sum(why.others.filter((o) => o.card === key).map((o) => o.term));
        const text = (t) => (t.slope === 1 ? factor(x(t)) : factor(x(t)) + "·" + factor(t.slope));
        const says = (some, left) => num(why.value) + " = " + series(some, text, left);
        const left = sum(why.others.map((o) => o.term));
        if (!terms.length || terms.length < why.terms.length) return null;
        if (near(sum(terms.map((t) => t.term)) + left, why.value, size)) return says(terms, left);
        const alone =
            keys.find((k) => near(sum(of(k).map((t) => t.term)) + rest(k), why.value, size));
        return alone ? says(of(alone), rest(alone)) : null;
    }

    function forward(data, key, cell, why, row) {
        const special = key === "weights" ? softmax(data, cell) :
            key === "loss"                ? crossEntropy(data) :
            key === "scores"              ? product(data, cell) :
                                            null;
        if (special || !why) return special;
        if (why.leaves && why.leaves.length && why.leaf_count === why.leaves.length)
            return num(why.value) + " = " +
                why.leaves
                    .map(([name, at, x, slope]) => factor(slope * x) + " (" + row(name, at) + ")")
                    .join(" + ");
        const text = linear(data, why);
        if (text) return text;
        const steepest = why.terms[most(why.terms, (t) => Math.abs(t.slope))];
        const x = num(why.value);
        return steepest ?
            say("forward.slope", {x, slope: num(steepest.slope), of: kind(steepest.card).title}) :
            x;
    }

    /* ---- backward: where a gradient comes from ---- */

    function softmaxBack(data, cell) {
        const {scores: s, weights: w} = data.cards;
        if (!w || !w.g || !data.seen[cell]) return null;
        const mean = sum(Array.from(w.x, (v, i) => v * w.g[i]));
        if (!near(w.x[cell] * (w.g[cell] - mean), s.g[cell], sum(Array.from(w.g, Math.abs))))
            return null;
        return "dL/ds = w (dL/dw − Σ w·dL/dw) = " + num(w.x[cell]) + " (" + num(w.g[cell]) + " − " +
            factor(mean) + ") = " + num(s.g[cell]);
    }

    function crossEntropyBack(data, key, cell) {
        const logits = data.cards[key], right = data.targets[readouts(data).indexOf(key)] === cell,
              p = probability(logits, cell);
        if (!near(p - (right ? 1 : 0), logits.g[cell])) return null;
        return "dL/dlogit = " + (right ? "p − 1 = " + num(p) + " − 1 = " : "p = ") +
            num(logits.g[cell]);
    }

    /* why: {value, terms: [{card, cell, slope, term}], through: {card: sum}}. */
    function backward(data, key, cell, why) {
        const k = kind(key);
        const special = key === "scores" ? softmaxBack(data, cell) :
            k === cards.logits           ? crossEntropyBack(data, key, cell) :
            k === cards.loss             ? "dL/dL = 1" :
                                           null;
        if (special || !why) return special;
        const terms = why.terms, left = sum(why.others.map((o) => o.term)),
              size = sum(terms.map((t) => Math.abs(t.term)));
        const text = (t) =>
            (t.slope === 1 ? factor(t.term) :
                             factor(t.slope ? t.term / t.slope : 0) + "·" + factor(t.slope));
        const head = "dL/d" + k.title + " = ";
        const through =
            data.order
                .map((key) => [key, sum(terms.filter((t) => t.card === key).map((t) => t.term))])
                .filter((e) => e[1]);
        const by = through.length > 1 ? say("backward.through", {
            all: qkvStrings.list(
                through.map((e) => say("backward.by", {of: kind(e[0]).title, x: num(e[1])})))
        }) :
                                        "";
        if (!terms.length) return head + num(why.value) + by;
        return head + series(terms, text, near(left, 0, size) ? 0 : left) + " = " + num(why.value) +
            by;
    }

    /* Why no gradient reaches a card: the first card, from the loss on, that has none, and what makes it so. */
    function nothing(data, key) {
        const card = data.cards[key];
        if (!card.g || !all0(card.g)) return "";
        const path = [...data.order].reverse(),
              first = path.find((k) => data.cards[k].g && all0(data.cards[k].g)),
              zero = (k) => data.cards[k] && all0(data.cards[k].x);
        const nil = (k) => zero(k) && say("nothing.zero", {of: k});
        const why = {
            weights: () => nil("v"),
            scores: () => (all0(data.cards.weights.g) ? nil("v") : say("nothing.alike")),
            q: () => nil("k"),
            k: () => nil("q"),
            mix: () => say("nothing.wo"),
        }[first];
        const reason = (why && why()) || say("nothing.behind"), of = kind(key).title;
        return first === key ? say("nothing", {of, reason}) :
                               say("nothing.after", {of, first: kind(first).title, reason});
    }

    /* ---- what each card is, in words ---- */

    /* The cell that is explained at first: the right entry's, the right answer's, or the largest. */
    function first(data, key, phase) {
        const c = data.cards[key], x = phase === "backward" && c.g ? c.g : c.x;
        if (kind(key) === cards.logits) return Math.max(0, data.targets[Number(key.slice(6)) || 0]);
        if (key === "scores" || key === "weights")
            return data.source >= 0 && data.source < c.rows && data.side === c.side ?
                data.source :
                most([...x], Math.abs);
        const row = c.rows === 1 ? 0 :
            "ex".includes(key)   ? data.row :
                                   Math.max(0, Math.min(data.source, c.rows - 1));
        return row * c.cols + most([...x].slice(row * c.cols, (row + 1) * c.cols), Math.abs);
    }

    /* "layer0.attn.wq": W^Q. */
    const matrix = (name) => {
        const m = name.match(/\.w([qkvod])$/);
        return m ? "W^" + m[1].toUpperCase() : name;
    };
    const times = (c) => c.by.length ?
        say("times", {by: c.by.map(matrix).reduce((a, b) => say("list.and", {a, b}))}) :
        say("times.none");

    /* A sentence a card: "tell.q", "push.q". */
    function tell(data, key, phase, who) {
        const c = data.cards[key], k = kind(key), back = phase === "backward", own = base(key),
              x = [...(back ? c.g : c.x)];
        const top = x.length ?
            most(x.map((v, i) => (data.seen[i] === false && c.cols === 1 ? -Infinity : v))) :
            0,
              size = x.length ? most(x, Math.abs) : 0;
        const at = (i) => ({who: who(key, i), x: num(x[i])});
        if (back && own === "loss") return say("push.loss");
        if (back) {
            const what =
                qkvStrings.has("push." + own) ? say("push." + own) : say("push", {of: k.title});
            return say("push.strongest", {what, ...at(size)});
        }
        const made = own === "x" && c.node !== "embed" ? "tell.x.made" : "tell." + own;
        return say(made, {n: c.cols, times: c.by ? times(c) : "", ...at(top)});
    }

    return {
        base,
        read,
        first,
        tell,
        matrix,
        cards,
        kind,
        num,
        most,
        sum,
        near,
        forward,
        backward,
        nothing,
        probability,
        readouts
    };
})();
