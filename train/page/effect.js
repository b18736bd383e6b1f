/* effect.js - what the update does: the steps of the four matrices, and what follows for the question, by matrix. */
"use strict";

const qkvEffect = (() => {
    const {make} = qkvText, {num} = qkvInside, {t} = qkvStrings;
    const MEASURES = ["score", "weight", "logit", "loss"];
    const HUES = {wq: "where", wk: "where", wv: "what", wo: "what"};
    const SCROLLS = {class: "wide", tabindex: 0, role: "group", "data-label": "effect.table"};
    const signed = (x) => (x > 0 ? "+" : "") + num(x);

    /* The step of a matrix as a heat map; its size beside that of the gradient and of the matrix. */
    function matrix(part) {
        const hue = HUES[part.name.slice(-2)] || "stored";
        const canvas = make(
                  "canvas", {role: "img", "aria-label": t("effect.step", {matrix: part.matrix})}),
              most = make("span"), bar = make("i", {class: hue}), least = make("span");
        const [weight, grad, step] = part.sizes;
        const e = make(
            "div", {class: "tile"},
            make(
                "p", {class: "tile-name"}, make("b", {text: part.matrix, class: "hue-" + hue}), " ",
                t("effect.moves", {step: num(step)})),
            canvas, make("div", {class: "scale", "aria-hidden": "true"}, least, bar, most),
            make("p", {
                class: "note",
                text: weight ?
                    t("effect.sizes",
                      {share: num(100 * step / weight), weight: num(weight), grad: num(grad)}) :
                    t("effect.grad", {grad: num(grad)})
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
                most.textContent = d.greatest ? num(d.greatest) : t("step.zero");
            }
        };
    }

    /* A row a measure: before, after, and the parts that add up to the difference, each with a bar. */
    function table(u, columns) {
        const others = u.parts.filter((p) => !columns.includes(p));
        const names = [...columns.map((p) => p.matrix), t("effect.others"), t("effect.together")];
        const hues = [...columns.map((p) => HUES[p.name.slice(-2)]), "stored", "minus"];
        const head =
            [t("effect.measure"), t("before"), t("effect.after"), t("effect.change"), ...names];
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
                "tr", {}, make("th", {scope: "row", text: t("effect." + name)}),
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
            make("div", {}, make("div", SCROLLS, table(u, drawn)), make("p", {
                     class: "note",
                     text: [
                         t(scale < 1 ? "effect.batch.clipped" : "effect.batch", {
                             loss: num(loss),
                             norm: num(norm),
                             clipped: num(norm * scale),
                             rate: num(rate)
                         }),
                         t("effect.columns"),
                         ...(run.heads > 1 ? [t("effect.head", {head: u.head})] : [])
                     ].join(t("list.space"))
                 })));
        for (const m of maps) m.draw();
    }
    /* What the step did to the score of the right entry, where one is scored, and to the loss of the example. */
    function taught(u) {
        const short = (x) => String(Number(Math.abs(x).toPrecision(3)));
        const by = (m) => u.after[m] - u.before[m],
              scored = u.before[0] !== null && u.after[0] !== null;
        const m = scored ? 0 : 3,
              own = u.parts.filter((p) => p.part[m] !== 0)
                        .sort((p, q) => Math.abs(q.part[m]) - Math.abs(p.part[m]));
        const name = (matrix, x) => matrix + " " + Number(x.toPrecision(3)), rest = own.slice(4);
        const parts = qkvStrings.list([
            ...own.slice(0, 4).map((p) => name(p.matrix, p.part[m])),
            ...(rest.length ?
                    [name(t("effect.others"), qkvInside.sum(rest.map((p) => p.part[m])))] :
                    []),
            name(t("effect.together"), u.together[m])
        ]);
        const fell = by(3) < 0 ? "fell" : by(3) > 0 ? "rose" : "stayed";
        const loss = t("taught.loss." + fell, {x: short(by(3))});
        if (!scored) return t("taught.alone", {loss, parts});
        const score = t(by(0) < 0 ? "taught.lowered" : "taught.raised", {x: short(by(0))});
        return t("taught", {score, parts, loss});
    }
    return {show, taught};
})();
