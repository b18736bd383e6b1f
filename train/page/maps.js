/* maps.js - attention of the example, and the circuits, as heat maps: before and after a change side by side. */
"use strict";

const qkvMaps = (page) => {
    const {make, setText, number} = qkvText, {by, state} = page, {t} = qkvStrings;
    let run = null, last = null;
    const drawn = {attention: [], qk: [], ov: []};

    const kindsOf = () => [...by("map-kind").options].map((o) => o.value);

    function build(described) {
        run = described;
        last = null;
        const kinds = [];
        if (run.asks) kinds.push(["questions", t("map.questions")]);
        if (run.maps.length) kinds.push(["all", t("map.all")]);
        const total = run.maps.reduce((n, m) => n + m.heads, 0);
        if (total > 1)
            for (const m of run.maps)
                for (let h = 0; h < m.heads; h++)
                    kinds.push([m.name + " " + h, qkvMaps.title(m, h)]);
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

    /* Whose pictures are drawn: one; before and after a change; or two runs. */
    function subjects(frame) {
        const {words} = page.example, now = frame.after ? words.changed : words.drawn;
        if (frame.pair) {
            const b = frame.pair, mine = {title: "A", run, words, ids: now, map: frame.map};
            return [
                {...mine, picture: frame.after || frame.before, changed: frame.after !== null}, {
                    ...b.subject,
                    ids: frame.after ? b.subject.words.changed : b.subject.words.drawn,
                    picture: b.after || b.before,
                    changed: frame.after !== null
                }
            ];
        }
        const one = {title: "", run, words, ids: words.drawn, map: frame.map, changed: false};
        if (!frame.after) return [{...one, picture: frame.before}];
        return [
            {...one, title: t("before"), picture: frame.before},
            {...one, title: t("now"), picture: frame.after, ids: now, changed: true}
        ];
    }

    /* ---- attention ---- */

    const names = (of, side) => Array.from({length: of.run.sides[side].T}, (_, p) => p);
    const text = (of, side, position) => page.example.text(side, position, of.ids, of.run);
    const columnNames = (of, side, self) =>
        names(of, side).map((p) => (side === 0 && p === self ? t("map.self") : text(of, side, p)));

    /* Places with a key and its value; of a task that has them apart, all that can be asked for. */
    function entries({run, words}) {
        const drawn = words.drawn[run.store], all = Array.from({length: run.entries}, (_, r) => r),
              own =
                  all.filter((r) => drawn[run.roles.key][r] >= 0 && drawn[run.roles.value][r] >= 0);
        return own.length ? own : all;
    }

    /* Each key in turn: rows are questions, with their answers. */
    function questions(of, other) {
        const {run, words, ids, picture} = of, S = run.sides[run.store].T, all = picture.maps[0].x,
                                cols = words.lengths[run.store];
        const key = words.drawn[run.store][run.roles.key], there = ids[run.store][run.roles.key];
        const symbols = run.sides[run.store].streams[run.roles.key].symbols,
              classes = run.readouts[0].classes;
        const answer = (from, r) => from[run.entries * S + r], rows = entries(of);
        const same = other && other.run.entries === run.entries && other.picture.maps[0] &&
            other.picture.maps[0].x.length === all.length;
        const x = new Float32Array(rows.length * cols);
        rows.forEach((r, i) => x.set(all.subarray(r * S, r * S + cols), i * cols));
        return {
            title: of.title,
            x,
            rows: rows.length,
            cols,
            hue: "look",
            greatest: 1,
            numbers: true,
            rowNames: rows.map((r) => symbols[key[r]] + " → " + classes[answer(all, r)]),
            colNames: columnNames(of, run.store, words.question).slice(0, cols),
            marks: rows.map(
                (r) => there.indexOf(key[r], 0) < run.entries ? there.indexOf(key[r]) : -1),
            changedRows: same ?
                new Set(rows.flatMap(
                    (r, i) => answer(all, r) !== answer(other.picture.maps[0].x, r) ? [i] : [])) :
                null,
            changedCols: changedPlaces(of, run.store),
        };
    }

    function changedPlaces(of, side) {
        const {words} = of;
        return new Set(
            of.changed ?
                names(of, side).filter(
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
    function whole(of, both) {
        const {run, words, picture, map: kind} = of, out = [];
        picture.maps.forEach((node, i) => {
            const m = run.maps[i], [H, T, S] = node.dim, rows = words.lengths[m.rows],
                  cols = words.lengths[m.cols], places = names(of, m.rows).slice(0, rows),
                  source =
                      m.cols === run.store && m.layer === run.layers - 1 ? picture.look.source : -1;
            for (let h = 0; h < H; h++) {
                if (kind !== "all" && kind !== m.name + " " + h) continue;
                out.push({
                    title: both ? t("named", {name: of.title, what: qkvMaps.title(m, h)}) :
                                  qkvMaps.title(m, h),
                    x: corner(node.x.subarray(h * T * S, (h + 1) * T * S), S, rows, cols),
                    rows,
                    cols,
                    hue: "look",
                    greatest: 1,
                    numbers: true,
                    rowNames: places.map((p) => text(of, m.rows, p)),
                    colNames: columnNames(of, m.cols, -1).slice(0, cols),
                    marks: places.map(
                        (p) => m.rows === 0 && p === picture.look.question ? source : -1),
                    changedCols: changedPlaces(of, m.cols),
                    changedRows: changedPlaces(of, m.rows),
                });
            }
        });
        return out;
    }

    /* The maps of two, one of each in turn; what only one of them has stands at the end. */
    function inTurn(lists) {
        const out = [];
        for (let i = 0; i < Math.max(...lists.map((l) => l.length)); i++)
            for (const list of lists)
                if (list[i]) out.push(list[i]);
        return out;
    }

    function attention(frame) {
        const all = subjects(frame), both = all.length > 1;
        const list = inTurn(all.map(
            (of, i) => of.map === "questions" ? [questions(of, both ? all[1 - i] : null)] :
                of.map                        ? whole(of, both) :
                                                []));
        drawn.attention = grid(by("attention"), list, run.circuits.length ? 360 : 440, both);
        describe(frame, list);
    }

    /* Maps side by side, as many as fit, each with its title above. */
    function grid(canvas, list, most, pairs) {
        if (!canvas.clientWidth) return [];  // its panel is not shown
        const width = canvas.clientWidth, alone = list.length === 1;
        const fit = Math.max(1, Math.min(list.length, Math.floor(width / (pairs ? 200 : 260))));
        const across = pairs && fit > 1 ? fit - fit % 2 : fit, w = width / across;
        const lines = Math.ceil(list.length / across), title = alone && !list[0].title ? 5 : 16;
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
                g.fillText(qkvDraw.fit(g, m.title, box.w - 4), box.x + 2, box.y - title);
            }
            return qkvDraw.map(g, m, box);
        });
    }

    function describe(frame, list) {
        const picture = frame.after || frame.before, look = picture.look;
        if (!run.maps.length)
            setText(by("attention-note"), t("attention.none"));
        else if (frame.map === "questions") {
            const mean = (m) =>
                number(
                    100 *
                        m.marks.reduce((sum, k, r) => sum + (k >= 0 ? m.x[r * m.cols + k] : 0), 0) /
                        m.rows,
                    0) +
                " %";
            const last = list[list.length - 1];
            const on =
                frame.pair ? qkvStrings.list(list.map((m) => m.title + " " + mean(m))) : mean(last);
            setText(by("attention-note"), t("attention.questions", {on}));
        } else
            setText(by("attention-note"), t("attention.rows"));
        const at = (a, i) =>
            t("attention.at", {weight: number(a.weight), words: page.example.text(run.store, i)});
        by("attention")
            .setAttribute(
                "aria-label", !look.at ? t("attention.not") : t("attention.label", {
                    n: look.question,
                    all: qkvStrings.list(
                        look.at.map((a, i) => (a.visible ? at(a, i) : "")).filter((s) => s))
                }));
    }

    /* ---- circuits ---- */

    function circuit(all, canvas, i, hue) {
        const list = all.map((of) => {
            const c = of.run.circuits[i], x = of.picture.circuits[i];
            let greatest = 3;
            for (const v of x)
                if (Math.abs(v) > greatest) greatest = Math.abs(v);
            return {
                title: all.length > 1 ? of.title : "",
                x,
                rows: c.rows.length,
                cols: c.cols.length,
                hue,
                greatest,
                rowNames: c.rows,
                colNames: c.cols,
                square: c.rows.length === c.cols.length
            };
        });
        return grid(canvas, list, 360, list.length > 1);
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
        const values = by("qk-values").checked, keys = by("ov-keys").checked;
        let all = subjects(frame).filter((of) => of.picture.circuits.length);
        if (!frame.pair && state.random === "") all = all.slice(-1);  // examples change no matrix
        drawn.qk = circuit(all, by("qk"), values ? 1 : 0, "where");
        drawn.ov = circuit(all, by("ov"), keys ? 3 : 2, "what");
        const counts = (count) =>
            all.map(
                   (of) =>
                       all.length > 1 ? t("named", {name: of.title, what: count(of)}) : count(of))
                .join(t("list.semicolon"));
        const share = (n, all) => t("map.share", {n, all});
        const asked = ({run}) => run.right.filter((k) => k >= 0).length;
        const qk = counts(
            (of) => share(
                hits(of.picture.circuits[0], of.run.circuits[0], (r) => of.run.right[r]),
                asked(of)));
        const ov = counts(
            (of) => share(
                hits(of.picture.circuits[2], of.run.circuits[2], (r) => r),
                of.run.circuits[2].rows.length));
        setText(by("qk-note"), values ? t("qk.note.values") : t("qk.note", {qk}));
        setText(by("ov-note"), keys ? t("ov.note.keys") : t("ov.note", {ov}));
        by("qk").setAttribute("aria-label", t("qk.label", {qk}));
        by("ov").setAttribute("aria-label", t("ov.label", {ov}));
    }

    function show(frame) {
        last = frame;
        const {classList} = by("maps");
        classList.toggle("beside", frame.after !== null && run.circuits.length > 0);
        classList.toggle("two", Boolean(frame.pair) && run.circuits.length > 0);
        attention(frame);
        if (run.circuits.length) circuits(frame);
        page.cells.follow();
    }
    function again() {
        if (last) show(last);
    }

    function listen() {
        page.cells.listen(drawn);
        for (const id of ["qk-values", "ov-keys"]) by(id).addEventListener("change", again);
    }

    /* Is there an attention of that name? "": the first one. */
    const has = (kind) => kind === "" || kindsOf().includes(kind);

    return {build, retell: build, show, again, listen, has};
};

/* What a head's attention is called. m: {name, layer}, of the engine. */
qkvMaps.title = ({name, layer}, head) => {
    const kind = name.startsWith("encoder") ? "map.encoder" :
        name.includes(".cross.")            ? "map.cross" :
                                              "map.layer";
    return qkvStrings.t(kind, {layer, head});
};
