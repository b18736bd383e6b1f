/* stage.js - the cards of one step as they stand: heat maps in columns, lines between them, pointer and keys. */
"use strict";

/* open(card): it is to be explained; choose(card, cell): one of its numbers is. */
const qkvStage = (page, {open, choose}) => {
    const {make, svg, setText} = qkvText, {kind, num, base} = qkvInside, {t: say} = qkvStrings;
    const COLUMNS = [
        ["e", "x", "m"], ["q", "k", "v"], ["scores"], ["weights"], ["mix", "o", "out", "final"],
        ["logits", "loss"]
    ];
    const lines = svg("svg", {class: "lines", "aria-hidden": "true"}),
          stage = make("div", {class: "stage", id: "inside-stage"}),
          heard = make("p", {class: "hidden", "aria-live": "polite", id: "inside-cell"}),
          tip = make("div", {class: "tip of-step", hidden: true}),
          table = make(
              "details", {class: "numbers", id: "inside-table"},
              make("summary", {"data-t": "stage.table"}),
              make("div", {tabindex: 0, role: "group", "data-label": "stage.table.label"}));
    let view = null, tiles = {};
    (page.root.body || page.root).append(tip);
    table.addEventListener("toggle", () => view && tabulate());

    /* ---- in words ---- */

    const at = (key) => view.data.cards[key];
    const classes = (key) => page.run.readouts[Number(key.slice(6)) || 0].classes;
    const title = (key) => base(key) === "logits" && page.run.readouts.length > 1 ?
        say("named", {
            name: say("card.logits"),
            what: qkvStrings.said(page.run.readouts[Number(key.slice(6)) || 0].name)
        }) :
        "ex".includes(key) && at(key).node && !/^(embed|memory)$/.test(at(key).node) ?
        at(key).node :
        say("card." + (base(key) === "x" ? "e" : base(key)));
    const numbers = (key) => (view.back(key) ? at(key).g : at(key).x);

    /* The words beside the rows of a card. */
    function rows(key) {
        const c = at(key), text = (p) => page.example.text(c.side, p) || String(p);
        return c.side < 0 ? [] :
            c.rows > 1    ? Array.from({length: c.rows}, (_, r) => text(r)) :
                            [text(view.data.row)];
    }
    /* A cell in words: "k6 v7"; whole: its row. */
    function who(key, cell, whole = false) {
        const c = at(key);
        if (base(key) === "logits") return classes(key)[cell];
        const row = rows(key)[Math.floor(cell / c.cols)];
        const column = !whole && c.cols > 1 ? [say("stage.number", {n: cell % c.cols})] : [];
        return qkvStrings.list([...(row ? [row] : []), ...column]);
    }
    function read(key, cell) {
        const c = at(key), name = who(key, cell) || title(key), of = kind(key).title;
        return c.g ? say("stage.both", {name, x: num(c.x[cell]), of, g: num(c.g[cell])}) :
                     say("named", {name, what: num(c.x[cell])});
    }

    /* ---- the cards ---- */

    function tile(key) {
        const canvas = make("canvas", {
            tabindex: 0,
            role: "application",
            "aria-roledescription": say("stage.map"),
            id: "inside-map-" + key
        });
        const t = {key, canvas, low: make("span"), high: make("span"), bar: make("i"), cursor: 0};
        t.name = make("button", {class: "tile-name", onclick: () => open(key)});
        t.e = make(
            "div", {class: "tile", "data-key": key}, t.name, canvas,
            make("div", {class: "scale", "aria-hidden": "true"}, t.low, t.bar, t.high));
        canvas.addEventListener("pointermove", (e) => point(t, e));
        canvas.addEventListener("pointerleave", () => {
            tip.hidden = true;
        });
        canvas.addEventListener("click", (e) => {
            const cell = qkvHeat.at(t.drawn, e);
            if (cell < 0) return;
            t.cursor = cell;
            choose(key, cell);
        });
        canvas.addEventListener("keydown", (e) => onKey(e, t));
        canvas.addEventListener("focus", () => hear(t));
        canvas.addEventListener("blur", () => view && cells());
        return t;
    }

    function lay() {
        const {order} = view.data;
        tiles = Object.fromEntries(order.map((key) => [key, tile(key)]));
        stage.replaceChildren(
            lines,
            ...COLUMNS.map((keys) => order.filter((k) => keys.includes(base(k))))
                .filter((keys) => keys.length)
                .map(
                    (keys) => make(
                        "div", {class: "column " + base(keys[0])},
                        ...keys.map((k) => tiles[k].e))));
    }

    /* v: {data, card, back(key): its gradient is shown, reached(key)}. */
    function show(v) {
        view = v;
        if (Object.keys(tiles).join() !== v.data.order.join()) lay();
        cells();
        tabulate();
    }
    function cells() {
        for (const key of view.data.order) draw(tiles[key]);
        connect();
    }

    /* What the chosen number is made of, as far as a card shows it: Map(cell, size). */
    function lit(key) {
        const {why, card} = view.data, out = new Map();
        for (const t of why && card === view.card ? why.terms : [])
            if (t.card === key) out.set(t.cell, Math.abs(t.term === null ? t.slope : t.term));
        return out.size ? out : null;
    }

    function draw(t) {
        const {key} = t, {data} = view, c = at(key), k = kind(key), back = view.back(key),
              mine = key === view.card && data.card === key,
              focused = page.root.activeElement === t.canvas;
        t.e.classList.toggle("now", key === view.card);
        t.e.classList.toggle("ahead", !view.reached(key));
        t.name.replaceChildren(
            make("b", {text: back ? "dL/d" + k.title : k.title, class: "hue-" + k.hue}),
            " " + title(key),
            make("small", {text: c.cols > 1 ? " " + c.rows + " × " + c.cols : ""}));
        if (mine && !focused) t.cursor = data.cell;
        t.drawn = qkvHeat.draw(t.canvas, {
            x: numbers(key),
            rows: c.rows,
            cols: c.cols,
            hue: back ? "gradient" : k.hue,
            least: key === "weights" && !back ? 1 : 0,
            rowNames: rows(key),
            cellNames: base(key) === "logits" ? classes(key) : null,
            unseen: key === "scores" || key === "weights" ? (i) => !data.seen[i] : () => false,
            lit: lit(key),
            chosen: mine ? data.cell : -1,
            cursor: focused ? t.cursor : -1
        });
        setText(t.low, t.drawn.greatest ? num(t.drawn.least) : "");
        setText(t.high, t.drawn.greatest ? num(t.drawn.greatest) : say("step.zero"));
        t.bar.className = back ? "gradient" : k.hue;
        t.canvas.setAttribute(
            "aria-label",
            say(back ? "stage.label.gradient" : "stage.label",
                {name: title(key), rows: c.rows, cols: c.cols}));
    }

    /* ---- lines ---- */

    /* From card to card, where all stand side by side; those that carry what is chosen are strong. */
    function connect() {
        const box = stage.getBoundingClientRect(), columns = [...stage.querySelectorAll(".column")];
        const place = (e) => {
            const r = e.getBoundingClientRect(), l = r.left - box.left, t = r.top - box.top;
            return {
                l,
                t,
                r: l + r.width,
                b: t + r.height,
                x: l + r.width / 2,
                y: t + r.height / 2,
                column: columns.indexOf(e.parentElement)
            };
        };
        const flat = columns.every(
            (c, i) => !i || c.offsetLeft >= columns[i - 1].offsetLeft + columns[i - 1].offsetWidth);
        stage.classList.toggle("flat", flat);
        if (!flat) return lines.replaceChildren();
        const paths = view.data.list.flatMap((c) => c.reads.map((from) => {
            const strong = (c.key === view.card && lit(from)) || (from === view.card && lit(c.key)),
                  d = line(place(tiles[from].e), place(tiles[c.key].e), box.height);
            return [strong ? 1 : 0, svg("path", {d, class: strong ? "strong" : ""})];
        }));
        lines.replaceChildren(...paths.sort((p, q) => p[0] - q[0]).map((p) => p[1]));
    }
    /* What goes past attention goes below all of it. */
    function line(a, b, bottom) {
        const up = (x) => "q10 0 10 -10V" + (b.y + 10) + "q0 -10 10 -10H" + b.l;
        if (a.column === b.column)
            return "M" + a.x + " " + (a.b <= b.t ? a.b + "V" + b.t : a.t + "V" + b.b);
        if (b.column - a.column > 3)
            return "M" + a.x + " " + a.b + "V" + (bottom - 14) + "q0 10 10 10H" + (b.l - 24) + up();
        if (b.column - a.column > 1 && a.y > b.y)
            return "M" + a.r + " " + a.y + "H" + (b.l - 29) + up();
        const bend = (a.r + b.l) / 2;
        return "M" + a.r + " " + a.y + "C" + bend + " " + a.y + " " + bend + " " + b.y + " " + b.l +
            " " + b.y;
    }

    /* ---- pointer, keys, and those who do not see the map ---- */

    function point(t, e) {
        const cell = qkvHeat.at(t.drawn, e);
        tip.hidden = cell < 0;
        if (cell < 0) return;
        tip.textContent = read(t.key, cell);
        tip.style.left = Math.min(e.clientX + 12, innerWidth - tip.offsetWidth - 8) + "px";
        tip.style.top = e.clientY + 14 + "px";
    }
    function hear(t) {
        setText(heard, read(t.key, t.cursor));
        draw(t);
    }
    function onKey(e, t) {
        const {per, n} = t.drawn,
                    by = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: per, ArrowUp: -per}[e.key];
        if (e.ctrlKey || e.altKey || e.metaKey || !(by || e.key === "Enter")) return;
        if (by && t.cursor + by >= 0 && t.cursor + by < n) t.cursor += by;
        if (!by) choose(t.key, t.cursor);
        e.preventDefault();
        e.stopPropagation();
        hear(t);
    }
    function tabulate() {
        if (!table.open) return;
        const key = view.card, c = at(key), x = numbers(key),
              across = base(key) === "logits" ? 1 : c.cols;
        const line = (r) => make(
            "tr", {}, make("th", {scope: "row", text: who(key, r * across, true) || title(key)}),
            ...Array.from(
                x.slice(r * across, (r + 1) * across), (v) => make("td", {text: num(v)})));
        table.lastChild.replaceChildren(
            make("table", {}, ...Array.from({length: x.length / across}, (_, r) => line(r))));
    }

    return {
        parts: [stage, table, heard],
        show,
        who,
        again: () => view && stage.offsetParent && cells(),
        forget() {
            view = null;
            tiles = {};
        },
        hide(hidden) { stage.hidden = table.hidden = hidden; },
        /* Where cards are stacked, this one comes into sight. */
        reveal(key) {
            if (tiles[key] && !stage.classList.contains("flat"))
                tiles[key].e.scrollIntoView({block: "center"});
        },
        focus: (key) => tiles[key] && tiles[key].canvas.focus({preventScroll: true})
    };
};
