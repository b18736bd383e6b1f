/* sweep.js - the map of a sweep that qkv view put into the page; a click on a cell trains that very model here. */
"use strict";

const qkvSweep = (page) => {
    const EXAMPLES = 2048;  // test examples of a cell, as a sweep measures it
    const {make, setText} = qkvText, {by} = page, {t, said, list} = qkvStrings;
    let brought = null, table = null, drawn = null, now = null, at = null, turn = 0, again = null;
    const chosen = {across: "", down: "", show: "", where: {}};
    const parts = {};

    /* ---- choosing ---- */

    function select(label, values, value, changed, none = "–") {
        const box = make(
            "select", {
                onchange: (e) => {
                    changed(e.target.value);
                    draw();
                }
            },
            ...values.map((v) => make("option", {value: v, text: v || none})));
        box.value = value;
        return make("label", {class: "field", ...label}, box);
    }

    /* The options that are on no axis can be held at one value. */
    function filters() {
        const free =
            qkvTable.varying(table).filter((o) => o !== chosen.across && o !== chosen.down);
        for (const o of Object.keys(chosen.where))
            if (!free.includes(o)) delete chosen.where[o];
        parts.filters.replaceChildren(...free.map(
            (o) => select(
                {text: t("sweep.only", {option: o}) + " "}, ["", ...qkvTable.values(table.rows, o)],
                chosen.where[o] || "", (v) => {
                    chosen.where[o] = v;
                }, t("sweep.every"))));
    }
    function axis(name) {
        return select(
            {"data-t": "sweep." + name}, ["", ...qkvTable.varying(table)], chosen[name], (v) => {
                chosen[name] = v;
                filters();
            });
    }

    function build() {
        parts.title = make("span");
        parts.filters = make("span", {class: "choose"});
        parts.count = make("small");
        parts.canvas = make("canvas", {id: "sweep-map", tabindex: "0", role: "img"});
        parts.note = make("p", {class: "note"});
        parts.result = make("div", {id: "sweep-result", role: "status"});
        [chosen.across, chosen.down = ""] = qkvTable.axes(table);
        chosen.across = chosen.across || "";
        chosen.show = table.measures.includes("accuracy") ? "accuracy" : table.measures[0];
        by("sweep").replaceChildren(
            make("div", {class: "head"}, make("h2", {}, parts.title, " ", parts.count)),
            make(
                "div", {class: "choose"}, axis("across"), axis("down"),
                select(
                    {"data-t": "sweep.colour"}, table.measures, chosen.show,
                    (v) => {
                        chosen.show = v;
                    }),
                parts.filters),
            parts.canvas, parts.note, parts.result);
        by("sweep").hidden = false;
        listen();
        retell();
    }
    /* All that is computed of words. */
    function retell() {
        if (!brought) return;
        const title = t("sweep.title", {name: brought.name});
        document.title = t("title.run", {name: brought.name});
        setText(parts.title, title);
        by("sweep").setAttribute("aria-label", title);
        filters();
        draw();
        if (again) again();
    }

    /* ---- the map ---- */

    const short = (value) => value === "" || Number.isNaN(Number(value)) ?
        value :
        String(Number(Number(value).toPrecision(3)));

    function draw() {
        now = qkvTable.map(table, chosen);
        const real = now.mean.filter((v) => !Number.isNaN(v)), {cols, rows, mean} = now;
        const m = {
            x: mean.map((v) => (Number.isNaN(v) ? 0 : v)),
            rows: rows.length,
            cols: cols.length,
            rowNames: rows.map(short),
            colNames: cols.map(short),
            column: 60,
            hue: "look",
            greatest: chosen.show === "accuracy" ? 1 : Math.max(1e-30, ...real.map(Math.abs)),
            numbers: true
        };
        mean.forEach((v, i) => {  // grey: cells, but none with a number
            if (Number.isNaN(v) && now.at[i].length) m.x[i] = -m.greatest / 2;
        });
        const width = parts.canvas.clientWidth,
              cell = Math.max(3, Math.min(46, (width - 100) / m.cols));
        const {g} = qkvDraw.sheet(parts.canvas, Math.min(620, cell * m.rows + 36));
        const height = Math.min(620, cell * m.rows + 36);
        drawn = qkvDraw.map(g, m, {x: 0, y: 1, w: Math.min(width, cell * m.cols + 100), h: height});
        at = null;
        const n = now.n, all = table.rows.length;
        setText(parts.count, t(n === all ? "sweep.cells" : "sweep.cells.some", {n, all}));
        setText(parts.note, t("sweep.hint"));
        parts.canvas.setAttribute(
            "aria-label", list([chosen.show, chosen.down, chosen.across].filter((s) => s)));
    }

    /* "lr 0.1, d_k 4: accuracy 0.98" */
    function words({row, col}) {
        const i = row * now.cols.length + col, here = now.at[i], value = now.mean[i];
        const where = list([[chosen.across, now.cols[col]], [chosen.down, now.rows[row]]]
                               .filter(([option]) => option)
                               .map((pair) => pair.join(" ")));
        const failed = here.find((r) => r.failed),
              measured = chosen.show + " " + value.toPrecision(4),
              n = here.filter((r) => !Number.isNaN(r.got[chosen.show])).length;
        const what = !here.length ? t("sweep.nothing") :
            n > 1                 ? t("sweep.mean", {measured, n}) :
            n                     ? measured :
            failed                ? why("sweep.failed", failed, failed.failed) :
                                    t("sweep.missing");
        return t("named", {name: where, what});
    }
    const why = (key, row, english) => t(key, {cell: row.cell, why: said(english)});

    function point(e) {
        const box = parts.canvas.getBoundingClientRect();
        return qkvDraw.cellAt([drawn], e.clientX - box.left, e.clientY - box.top);
    }
    function choose(hit) {
        const here = hit ? now.at[hit.row * now.cols.length + hit.col] : [];
        if (here.length) train(here[0], here);
    }
    function key(e) {
        const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
        if (e.key === "Enter") return choose(at);
        if (!Object.hasOwn(moves, e.key) || e.ctrlKey || e.altKey || e.metaKey) return;
        const within = (i, n) => Math.max(0, Math.min(n - 1, i)), [down, right] = moves[e.key];
        at = at ? {
            row: within(at.row + down, now.rows.length),
            col: within(at.col + right, now.cols.length)
        } :
                  {row: 0, col: 0};
        setText(parts.note, words(at));
        page.speak(words(at));
        e.preventDefault();
        e.stopPropagation();
    }
    function listen() {
        parts.canvas.addEventListener("pointermove", (e) => {
            const hit = point(e);
            setText(parts.note, hit ? words(hit) : t("sweep.hint"));
        });
        parts.canvas.addEventListener("click", (e) => choose(point(e)));
        parts.canvas.addEventListener("keydown", key);
        addEventListener("resize", draw);
    }

    /* ---- training a cell ---- */

    const given = (row) => Object.fromEntries(Object.entries(row.of)
                                                  .filter(([, value]) => value !== "")
                                                  .map(([o, v]) => [o.replace(/_/g, "-"), v]));

    function say([text, ...numbers], row, here) {
        const other = here.filter((r) => r !== row).slice(0, 200), own = Object.entries(row.of);
        const differs = (r) =>
            list(own.filter(([o, v]) => r.of[o] !== v).map(([o]) => o + " " + r.of[o]));
        parts.result.replaceChildren(
            make("p", {text}), ...numbers,
            ...(other.length ?
                    [make("p", {class: "note", text: t("sweep.place", {n: here.length})})] :
                    []),
            make(
                "div", {class: "cells"},
                ...other.map(
                    (r) => make("button", {text: differs(r), onclick: () => train(r, here)}))));
    }

    async function train(row, here) {
        const mine = ++turn, {state} = page, {cell} = row;
        /* What is told, a function: in another language it is told again. */
        const told = (tell) => {
            if (mine !== turn) return;
            again = () => say(tell(), row, here);
            again();
        };
        if (row.failed) return told(() => [why("sweep.failed", row, row.failed)]);
        told(
            () => [t("sweep.training", {cell}), make("p", {class: "note", text: t("sweep.bits")})]);
        page.own.bring(brought.files);
        const wrong = await page.session.start(given(row)), {run} = page;
        if (mine !== turn) return;
        if (wrong) return told(() => [why("sweep.refused", row, wrong)]);
        await page.player.request(run.steps);
        while (page.player.busy) await new Promise((done) => setTimeout(done, 30));
        if (mine !== turn) return;
        if (run !== page.run || state.step !== run.steps)
            return told(() => [t("sweep.stopped", {cell})]);
        try {
            result(row, await page.call("test", {examples: EXAMPLES}), told);
        } catch (e) { page.refused(e); }
    }

    function result(row, got, told) {
        const both = table.measures.filter(
            (m) => got[m] !== undefined && got[m] !== null && !Number.isNaN(row.got[m]));
        const line = (...cells) =>
            make("tr", {}, ...cells.map((text, i) => make(i ? "td" : "th", {text: String(text)})));
        const same = both.every((m) => got[m] === row.got[m]);
        told(
            () =>
                [t(same ? "sweep.same" : "sweep.differs", {cell: row.cell}),
                 make(
                     "table", {}, line(t("effect.measure"), t("sweep.table"), t("sweep.here")),
                     ...both.map((m) => line(m, row.got[m], got[m])))]);
    }

    /* What qkv view put in: a run goes on to who opens it, a sweep stays here. */
    function taken(all) {
        if (!all || !all.sweep) return all;
        brought = all.sweep;
        table = qkvTable.read(brought.cells);
        build();
        return null;
    }

    return {taken, retell};
};
