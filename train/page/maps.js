/* maps.js - attention of the example, and the circuits, as heat maps: before and after a change side by side. */
"use strict";

const qkvMaps = (page) => {
    const {make, setText, number} = qkvText, {by, state} = page;
    let run = null, last = null;
    const drawn = {attention: [], qk: [], ov: []};

    const names = (side) => Array.from({length: run.sides[side].T}, (_, p) => p);

    const kindsOf = () => [...by("map-kind").options].map((o) => o.value);

    function build(described) {
        run = described;
        last = null;
        const kinds = [];
        if (run.asks) kinds.push(["questions", "each key asked in turn"]);
        if (run.maps.length) kinds.push(["all", "the whole example"]);
        const total = run.maps.reduce((n, m) => n + m.heads, 0);
        if (total > 1)
            for (const m of run.maps)
                for (let h = 0; h < m.heads; h++)
                    kinds.push([m.name + " " + h, m.title + " " + m.layer + ", head " + h]);
        by("map-kind").replaceChildren(...kinds.map(([value,
                                                      text]) => make("option", {value, text})));
        by("map-kind").parentElement.hidden = kinds.length < 2;
        if (!kinds.some(([value]) => value === state.map))
            state.map = kinds.length ? kinds[0][0] : "";
        by("map-kind").value = state.map;
        by("map-kind").onchange = (e) => {
            state.map = e.target.value;
            page.player.request();
        };
        by("maps").classList.toggle("alone", !run.circuits.length);
        by("lower").classList.toggle("alone", !run.circuits.length);
        by("qk-panel").hidden = by("ov-panel").hidden = !run.circuits.length;
    }

    /* ---- attention ---- */

    function columnNames(side, ids, self) {
        return names(side).map(
            (p) => side === 0 && p === self ? "self" : page.example.text(side, p, ids));
    }

    /* Places with a key and its value; of a task that has them apart, all that can be asked for. */
    function entries() {
        const drawn = page.example.words.drawn[run.store],
              all = Array.from({length: run.entries}, (_, r) => r),
              own =
                  all.filter((r) => drawn[run.roles.key][r] >= 0 && drawn[run.roles.value][r] >= 0);
        return own.length ? own : all;
    }

    /* Each key in turn: rows are questions, with their answers. */
    function questions(picture, changed, other) {
        const words = page.example.words, ids = changed ? words.changed : words.drawn,
              S = run.sides[run.store].T, all = picture.maps[0].x, cols = words.lengths[run.store];
        const key = words.drawn[run.store][run.roles.key], there = ids[run.store][run.roles.key];
        const symbols = run.sides[run.store].streams[run.roles.key].symbols,
              classes = run.readouts[0].classes;
        const answer = (from, r) => from[run.entries * S + r], rows = entries();
        const x = new Float32Array(rows.length * cols);
        rows.forEach((r, i) => x.set(all.subarray(r * S, r * S + cols), i * cols));
        return {
            title: changed ? "now" :
                other      ? "before" :
                             "",
            x,
            rows: rows.length,
            cols,
            hue: "look",
            greatest: 1,
            numbers: true,
            rowNames: rows.map((r) => symbols[key[r]] + " → " + classes[answer(all, r)]),
            colNames: columnNames(run.store, ids, words.question).slice(0, cols),
            marks: rows.map(
                (r) => there.indexOf(key[r], 0) < run.entries ? there.indexOf(key[r]) : -1),
            changedRows: other ?
                new Set(rows.flatMap(
                    (r, i) => answer(all, r) !== answer(other.maps[0].x, r) ? [i] : [])) :
                null,
            changedCols: changedPlaces(run.store, changed),
        };
    }

    function changedPlaces(side, changed) {
        const words = page.example.words;
        return new Set(
            changed ?
                names(side).filter(
                    (p) => words.drawn[side].some((s, k) => s[p] !== words.changed[side][k][p])) :
                []);
    }

    /* The first rows and columns of a map of S columns. */
    function corner(x, S, rows, cols) {
        const out = new Float32Array(rows * cols);
        for (let r = 0; r < rows; r++) out.set(x.subarray(r * S, r * S + cols), r * cols);
        return out;
    }

    /* The whole example: one map for each head that is wanted. */
    function whole(picture, kind, changed, both) {
        const words = page.example.words, ids = changed ? words.changed : words.drawn, out = [];
        picture.maps.forEach((node, i) => {
            const m = run.maps[i], [H, T, S] = node.dim, rows = words.lengths[m.rows],
                  cols = words.lengths[m.cols], places = names(m.rows).slice(0, rows),
                  source =
                      m.cols === run.store && m.layer === run.layers - 1 ? picture.look.source : -1;
            for (let h = 0; h < H; h++) {
                if (kind !== "all" && kind !== m.name + " " + h) continue;
                out.push({
                    title: (both ? (changed ? "now: " : "before: ") : "") + m.title + " " +
                        m.layer + ", head " + h,
                    x: corner(node.x.subarray(h * T * S, (h + 1) * T * S), S, rows, cols),
                    rows,
                    cols,
                    hue: "look",
                    greatest: 1,
                    numbers: true,
                    rowNames: places.map((p) => page.example.text(m.rows, p, ids)),
                    colNames: columnNames(m.cols, ids, -1).slice(0, cols),
                    marks: places.map(
                        (p) => m.rows === 0 && p === picture.look.question ? source : -1),
                    changedCols: changedPlaces(m.cols, changed),
                    changedRows: changedPlaces(m.rows, changed),
                });
            }
        });
        return out;
    }

    function attention(frame) {
        const both = frame.after !== null, list = [];
        if (frame.map === "questions") {
            list.push(questions(frame.before, false, both ? frame.after : null));
            if (both) list.push(questions(frame.after, true, frame.before));
        } else if (frame.map) {
            const before = whole(frame.before, frame.map, false, both),
                  after = both ? whole(frame.after, frame.map, true, true) : [];
            before.forEach((m, i) => {
                list.push(m);
                if (both) list.push(after[i]);
            });
        }
        drawn.attention = grid(by("attention"), list, run.circuits.length ? 360 : 440);
        describe(frame, list);
    }

    /* Maps side by side, as many as fit, each with its title above. */
    function grid(canvas, list, most) {
        const width = canvas.clientWidth, alone = list.length === 1;
        const pairs = list.length > 0 && list[0].title.startsWith("before");
        const fit = Math.max(1, Math.min(list.length, Math.floor(width / (pairs ? 200 : 260))));
        const across = pairs && fit > 1 ? fit - fit % 2 : fit, w = width / across;
        const lines = Math.ceil(list.length / across), title = alone && !list[0].title ? 0 : 16;
        const pen = canvas.getContext("2d");
        const tall = (m) => Math.min(
                  most,
                  (w - (across > 1 ? 10 : 0) - qkvDraw.margin(pen, m)) / m.cols * m.rows + 34),
              h = Math.max(60, ...list.map(tall)) + title;
        const {g} = qkvDraw.sheet(canvas, Math.max(1, lines) * h);
        return list.map((m, i) => {
            const box = {
                x: i % across * w,
                y: Math.floor(i / across) * h + title,
                w: w - (across > 1 ? 10 : 0),
                h: h - title
            };
            if (m.title) {
                g.fillStyle = qkvDraw.colours().ink;
                g.textAlign = "left";
                g.textBaseline = "top";
                g.fillText(m.title, box.x + 2, box.y - title);
            }
            return qkvDraw.map(g, m, box);
        });
    }

    function describe(frame, list) {
        const picture = frame.after || frame.before, look = picture.look;
        if (!run.maps.length)
            setText(
                by("attention-note"), "This block has no attention weights that could be shown.");
        else if (frame.map === "questions") {
            const m = list[list.length - 1], S = m.cols,
                  sum = m.marks.reduce((t, k, r) => t + (k >= 0 ? m.x[r * S + k] : 0), 0);
            setText(
                by("attention-note"),
                "Rows: a key is asked for, and what is answered. Frames: where that key stands. On it: " +
                    number(100 * sum / m.rows, 0) + " % on average.");
        } else
            setText(
                by("attention-note"),
                "Rows look, columns are looked at; the frame is the answer's place. Each row adds up to 1.");
        by("attention")
            .setAttribute(
                "aria-label",
                !look.at ? "no attention" :
                           "Attention. The question at position " + look.question + " looks " +
                        look.at
                            .map(
                                (a, i) => a.visible ?
                                    number(a.weight) + " at " + page.example.text(run.store, i) :
                                    "")
                            .filter((s) => s)
                            .join(", "));
    }

    /* ---- circuits ---- */

    function circuit(frame, canvas, i, hue) {
        const c = run.circuits[i], list = [], both = frame.after !== null && state.random !== "";
        const square = c.rows.length === c.cols.length;
        for (const [title, picture] of [["before", frame.before], ["now", frame.after]]) {
            if (title === "now" && !both) continue;
            const x = picture.circuits[i];
            let greatest = 3;
            for (const v of x)
                if (Math.abs(v) > greatest) greatest = Math.abs(v);
            list.push({
                title: both ? title : "",
                x,
                rows: c.rows.length,
                cols: c.cols.length,
                hue,
                greatest,
                rowNames: c.rows,
                colNames: c.cols,
                square
            });
        }
        return grid(canvas, list, 360);
    }

    /* Rows whose greatest entry is the right one. */
    function hits(x, c, right) {
        let n = 0;
        for (let r = 0; r < c.rows.length; r++) {
            let best = 0;
            for (let k = 1; k < c.cols.length; k++)
                if (x[r * c.cols.length + k] > x[r * c.cols.length + best]) best = k;
            n += best === right(r);
        }
        return n;
    }

    function circuits(frame) {
        const values = by("qk-values").checked, keys = by("ov-keys").checked,
              picture = frame.after || frame.before;
        drawn.qk = circuit(frame, by("qk"), values ? 1 : 0, "where");
        drawn.ov = circuit(frame, by("ov"), keys ? 3 : 2, "what");
        const qk = hits(picture.circuits[0], run.circuits[0], (r) => run.right[r]),
              ov = hits(picture.circuits[2], run.circuits[2], (r) => r);
        const n = run.right.filter((k) => k >= 0).length, v = run.circuits[2].rows.length;
        setText(
            by("qk-note"),
            values ?
                "Rows: questions. Columns: values. It should stay pale: values are not to steer where one looks." :
                qk + " of " + n +
                    " questions match their own key best. Rows ask, columns are found.");
        setText(
            by("ov-note"),
            keys ? "Rows: keys. Columns: answers. It should stay pale: keys are not to be said." :
                   ov + " of " + v + " values, once fetched, are said as themselves.");
        by("qk").setAttribute(
            "aria-label", "Q and K: " + qk + " of " + n + " questions match their own key best");
        by("ov").setAttribute(
            "aria-label", "V and O: " + ov + " of " + v + " values are said as themselves");
    }

    function show(frame) {
        last = frame;
        by("maps").classList.toggle("beside", frame.after !== null && run.circuits.length > 0);
        attention(frame);
        if (run.circuits.length) circuits(frame);
    }
    function again() {
        if (last) show(last);
    }

    /* ---- the pointer: a cell's names and number ---- */

    const tip = make("div", {class: "tip", hidden: true});
    function point(canvas, e) {
        const at = canvas.getBoundingClientRect(),
              hit = qkvDraw.cellAt(drawn[canvas.id], e.clientX - at.left, e.clientY - at.top);
        tip.hidden = !hit;
        if (!hit) return;
        const m = hit.d.m;
        tip.textContent =
            m.rowNames[hit.row] + "  at  " + m.colNames[hit.col] + ":  " + number(hit.value, 3);
        tip.style.left = Math.min(e.clientX + 12, innerWidth - tip.offsetWidth - 8) + "px";
        tip.style.top = e.clientY + 14 + "px";
    }
    function listen() {
        page.body.append(tip);
        for (const id of Object.keys(drawn)) {
            by(id).addEventListener("pointermove", (e) => point(by(id), e));
            by(id).addEventListener("pointerleave", () => {
                tip.hidden = true;
            });
        }
        for (const id of ["qk-values", "ov-keys"]) by(id).addEventListener("change", again);
    }

    /* Is there an attention of that name? "": the first one. */
    const has = (kind) => kind === "" || kindsOf().includes(kind);

    return {build, show, again, listen, has};
};
