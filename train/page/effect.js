/* effect.js - what the update does: the steps of the four matrices, and what follows for the question, by matrix. */
"use strict";

const qkvEffect = (() => {
    const {make} = qkvText, {num} = qkvInside;
    const MEASURES =
        ["score of the right entry", "its weight", "logit of the right answer", "loss"];
    const HUES = {wq: "where", wk: "where", wv: "what", wo: "what"};
    const SCROLLS =
        {class: "wide", tabindex: 0, role: "group", "aria-label": "The update as a table"};
    const signed = (x) => (x > 0 ? "+" : "") + num(x);

    /* The step of a matrix as a heat map; its size beside that of the gradient and of the matrix. */
    function matrix(part) {
        const hue = HUES[part.name.slice(-2)] || "stored";
        const canvas = make("canvas", {role: "img", "aria-label": "step of " + part.matrix}),
              most = make("span"), bar = make("i", {class: hue}), least = make("span");
        const [weight, grad, step] = part.sizes;
        const e = make(
            "div", {class: "tile"},
            make(
                "p", {class: "tile-name"}, make("b", {text: part.matrix, class: "hue-" + hue}),
                " moves by " + num(step)),
            canvas, make("div", {class: "scale", "aria-hidden": "true"}, least, bar, most),
            make("p", {
                class: "note",
                text: (weight ? num(100 * step / weight) + " % of its size " + num(weight) + "; " :
                                "") +
                    "gradient " + num(grad)
            }));
        return {
            e,
            draw() {
                const d = qkvHeat.draw(canvas, {
                    x: part.x,
                    rows: part.rows,
                    cols: part.cols,
                    hue,
                    least: 0,
                    high: 170,
                    rowNames: [],
                    cellNames: null,
                    unseen: () => false,
                    lit: null,
                    chosen: -1,
                    cursor: -1
                });
                least.textContent = d.greatest ? num(-d.greatest) : "";
                most.textContent = d.greatest ? num(d.greatest) : "all 0";
            }
        };
    }

    /* A row a measure: before, after, and the parts that add up to the difference, each with a bar. */
    function table(u, columns) {
        const others = u.parts.filter((p) => !columns.includes(p));
        const names = [...columns.map((p) => p.matrix), "others", "together"];
        const hues = [...columns.map((p) => HUES[p.name.slice(-2)]), "stored", "minus"];
        const head = ["measure", "before", "after", "change", ...names];
        const rows = MEASURES.map((name, m) => {
            if (u.before[m] === null) return null;
            const parts = [
                ...columns.map((p) => p.part[m]), qkvInside.sum(others.map((p) => p.part[m])),
                u.together[m]
            ];
            const top = Math.max(...parts.map(Math.abs));
            const bar = (x, i) => make("i", {
                style: "width:calc((100% - 1.2rem) * " + (top ? Math.abs(x) / top : 0) +
                    ");background:var(--" + hues[i] + ")"
            });
            return make(
                "tr", {}, make("th", {scope: "row", text: name}),
                make("td", {text: num(u.before[m])}), make("td", {text: num(u.after[m])}),
                make("td", {}, make("b", {text: signed(u.after[m] - u.before[m])})),
                ...parts.map((x, i) => make("td", {text: signed(x)}, bar(x, i))));
        });
        return make(
            "table", {},
            make(
                "thead", {},
                make("tr", {}, ...head.map((text) => make("th", {scope: "col", text})))),
            make("tbody", {}, ...rows.filter((r) => r)));
    }

    /* u: of the engine; what has numbers is drawn. */
    function show(box, u, run) {
        const drawn = u.parts.filter((p) => p.x), maps = drawn.map(matrix);
        const [loss, norm, rate, scale] = u.batch;
        box.replaceChildren(
            make("div", {class: "steps"}, ...maps.map((m) => m.e)),
            make(
                "div", {}, make("div", SCROLLS, table(u, drawn)), make("p", {
                    class: "note",
                    text: "One step on the training batch: its loss " + num(loss) +
                        ", its gradient's norm " + num(norm) +
                        (scale < 1 ? ", clipped to " + num(norm * scale) : "") +
                        ", learning rate " + num(rate) +
                        ". Each column: that matrix alone takes its step; others: embeddings and the rest; together: what they do only jointly." +
                        (run.heads > 1 ? " The score is that of head " + u.head +
                                 " of the last layer, which looks most at the answer." :
                                         "")
                })));
        for (const m of maps) m.draw();
    }
    return {show};
})();
