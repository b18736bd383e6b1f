/* curves.js - what was measured at each step, as curves with a cursor at the step that is looked at. */
"use strict";

const qkvCurves = (page) => {
    const {make, svg, setText, number} = qkvText, {by} = page, {t} = qkvStrings;
    let run = null, rows = qkvRows(), last = 0, goTo = null;
    const charts = {};

    function build(described) {
        run = described;
        rows = qkvRows();
        last = 0;
    }
    /* The run beside this one, and what was measured of it; null: there is none. */
    const other = () => (page.pair && page.pair.on ? page.pair.rows : null);
    const lastStep = () => Math.max(run.steps, page.pair && page.pair.on ? page.pair.steps : 0);

    function draw(id, height, c, step) {
        if (!by(id).clientWidth) return;  // its panel is not shown
        const spec = {steps: lastStep(), cursor: step, ...c, lines: twice(c.lines)};
        charts[id] = qkvDraw.curves(by(id), height, spec);
        const list = by(id + "-legend"), row = rows.at(step), second = other() && other().at(step);
        if (list.children.length !== c.lines.length ||
            list.dataset.names !== c.lines.map((l) => l.text).join("|")) {
            list.dataset.names = c.lines.map((l) => l.text).join("|");
            list.replaceChildren(...c.lines.map((l) => {
                const sample = svg("svg", {width: 26, height: 8, "aria-hidden": "true"});
                sample.append(svg("path", {
                    d: "M1 4H25",
                    "stroke-width": l.width || 1.8,
                    fill: "none",
                    "stroke-dasharray": (l.dash || []).join(" ")
                }));
                return make("li", {}, sample, l.text + " ", make("b"));
            }));
        }
        c.lines.forEach((l, i) => {
            list.children[i].querySelector("path").setAttribute("stroke", l.colour);
            setText(list.children[i].querySelector("b"), values(l, row, second));
        });
        by(id).setAttribute(
            "aria-label", t("curves.label", {
                step,
                all: qkvStrings.list(c.lines.map(
                    (l) => l.text + " " + (row ? values(l, row, second) : t("curves.unknown"))))
            }));
    }

    const values = (l, row, second) => (row ? number(l.value(row), l.digits) : "–") +
        (other() ? " | " + (second ? number(l.value(second), l.digits) : "–") : "");

    const line = (name, text, colour, more) => ({
        text,
        colour,
        of: (store) => store.points(name),
        value: (r) => r[name],
        digits: 2,
        ...more
    });

    /* Each line of this run, and of the one beside it, which has dots. */
    function twice(lines) {
        const own = lines.map((l) => ({...l, points: l.of(rows)}));
        if (!other()) return own;
        return [...own, ...lines.map((l) => ({...l, points: l.of(other()), dots: true}))];
    }

    function shares(step) {
        const c = qkvDraw.colours();
        const all =
            [
                ["accuracy", t("curves.accuracy"), c.ink, {width: 3}],
                ["in_context", t("curves.in_context"), c.stored, {dash: [2, 3]}],
                ["answer_attention", t("curves.attention"), c.look, {dash: [7, 4]}],
                ["qk_diag", t("curves.qk"), c.where, {}],
                ["ov_diag", t("curves.ov"), c.what, {dash: [10, 2, 2, 2]}],
                ["distractor", t("curves.distractor"), c.minus, {dash: [3, 2]}],
            ].filter(([name]) => rows.known(name))
                .filter(([name]) => !other() || !/in_context|distractor/.test(name))
                .map(([name, text, colour, more]) => line(name, text, colour, more));
        const levels = [
            {at: run.in_context, label: t("curves.match")},
            {at: run.chance, label: t("curves.guess")}
        ].filter((l) => l.at > 0.02);
        draw(
            "shares", 165, {
                lines: all,
                least: 0,
                greatest: 1.02,
                ticks: [0, 0.25, 0.5, 0.75, 1],
                levels: run.in_context > 0 ? levels : []
            },
            step);
    }

    function loss(step) {
        const c = qkvDraw.colours();
        const all = [
            line("loss", t("curves.batch"), c.faint, {width: 1, digits: 3}),
            line("val_loss", t("curves.held"), c.ink, {width: 2.4, digits: 3})
        ];
        const levels = [[run.chance, t("curves.guess")], [run.in_context, t("curves.match")]]
                           .filter(([p]) => p > 0)
                           .map(([p, label]) => ({
                                    at: -Math.log(p),
                                    label: t("curves.level", {label, n: Math.round(1 / p)})
                                }));
        let most = Math.max(0.1, ...levels.map((l) => l.at * 1.15));
        for (const r of [...rows.all, ...(other() ? other().all : [])])
            if (r.val_loss !== null && r.val_loss > most && r.val_loss < 1e6)
                most = r.val_loss * 1.05;
        draw(
            "loss", 165, {lines: all, least: 0, greatest: most, ticks: qkvDraw.ticks(most), levels},
            step);
    }

    /* Of the four matrices, over all layers. */
    function norms(step) {
        const c = qkvDraw.colours(), kind = by("norms-kind").value, roles = [
            ["wq", "W^Q", c.where, {}], ["wk", "W^K", c.where, {dash: [6, 3]}],
            ["wv", "W^V", c.what, {width: 3.2}], ["wo", "W^O", c.what, {width: 3.2, dash: [2, 3]}]
        ];
        let most = 0;
        const all = [];
        for (const [end, text, colour, more] of roles) {
            const names =
                rows.names.filter((n) => n.startsWith(kind + ".") && n.endsWith("." + end));
            if (!names.length) continue;
            const value = (r) => Math.sqrt(names.reduce((sum, n) => sum + (r[n] || 0) ** 2, 0)),
                  of = (store) => store.all.map((r) => [r.step, value(r)]);
            for (const [, y] of [...of(rows), ...(other() ? of(other()) : [])])
                if (y > most && y < 1e9) most = y;
            all.push({text, colour, of, value, digits: 3, ...more});
        }
        draw(
            "norms", 165, {
                lines: all,
                least: 0,
                greatest: most * 1.06 || 1,
                ticks: qkvDraw.ticks(most * 1.06 || 1)
            },
            step);
    }

    function show(frame) {
        last = frame.step;
        again();
    }
    function again() {
        const step = last;
        if (!rows.names.length) return;
        shares(step);
        loss(step);
        norms(step);
    }

    /* A click, or a drag, on a curve goes to its step. */
    function listen(go) {
        goTo = go;
        for (const id of ["shares", "loss", "norms"]) {
            const move = (e) => {
                if (e.buttons & 1)
                    goTo(Math.max(
                        0,
                        Math.min(
                            lastStep(),
                            charts[id].toStep(e.clientX - by(id).getBoundingClientRect().left))));
            };
            by(id).addEventListener("pointerdown", move);
            by(id).addEventListener("pointermove", move);
        }
    }

    return {
        build,
        add: (text) => rows.add(text),
        bring: (text) => rows.bring(text),
        show,
        again,
        at: (step) => rows.at(step),
        csv: () => rows.csv(),
        listen,
        get taken() { return rows.taken; },
        get rows() { return rows; }
    };
};
