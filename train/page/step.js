/* step.js - the panel "Inside one step": the path of one question as cards, walked forward and backward, and what the
 * update did. Words and formulas come from inside.js, the drawing of a card from cells.js. */
"use strict";

const qkvStep = (page) => {
    const {make, svg, setText} = qkvText, {state} = page, {kind, num} = qkvInside,
                      root = page.by("inside");
    const PHASES = ["forward", "backward"], PACE = 1700;
    let run = null, data = null, tiles = {}, parts = {}, timer = 0, notice = "", repeated = false;

    /* ---- where one is: "backward.q.3" in the address ---- */

    function place() {
        const [phase, card, cell] = state.inside.split(".");
        return {
            phase: PHASES.includes(phase) ? phase : "forward",
            card: card || "",
            cell: cell ? Number(cell) : -1
        };
    }
    function go(phase, card, cell = -1) {
        notice = "";
        state.inside =
            [phase, ...(card ? [card] : []), ...(card && cell >= 0 ? [cell] : [])].join(".");
        render();
        return page.player.request();
    }
    const path = (phase) => phase === "update" ? [] :
        phase === "backward"                   ? [...data.order].reverse() :
                                                 data.order;

    /* One card on or back, through the phases one after the other. */
    function step(by) {
        if (!data) return;
        const {phase, card} = place(), to = path(phase)[path(phase).indexOf(card) + by];
        const next = PHASES[PHASES.indexOf(phase) + by];
        if (to && phase !== "update")
            go(phase, to);
        else if (next)
            go(next, path(next)[by > 0 ? 0 : data.order.length - 1] || "");
        reveal();
    }
    function stop() {
        clearInterval(timer);
        timer = 0;
        setText(parts.play, "▶ Play");
    }
    function play() {
        if (timer || !data) return stop();
        setText(parts.play, "❚❚ Pause");
        if (place().phase === "update") go("forward", data.order[0]);
        timer = setInterval(() => {
            step(1);
            if (place().phase === "update") stop();
        }, PACE);
    }

    /* ---- asking the engine ---- */

    const heads = () => run.maps.flatMap(
        (m) => Array.from({length: m.heads}, (_, h) => ({
                                                 prefix: m.name.replace(/\.weights$/, ""),
                                                 head: h,
                                                 map: m,
                                                 value: m.name.replace(/\.weights$/, ".") + h,
                                                 text: m.title + " " + m.layer + ", head " + h
                                             })));
    /* The head that is chosen; else the one whose map is shown, or the last layer's first. */
    function chosen() {
        const all = heads();
        if (state.of && !all.some((h) => h.value === state.of)) {
            notice = "There is no head '" + state.of + "' in this model. ";
            state.of = "";
        }
        return all.find((h) => h.value === state.of) ||
            all.find((h) => h.map.name + " " + h.head === state.map) ||
            all.find((h) => h.map === run.maps[run.maps.length - 1]) ||
            {prefix: "", head: 0, map: null, value: ""};
    }

    /* What a frame is to bring for the panel. */
    function wants() {
        if (!run || !state.inside) return {};
        const {phase, card, cell} = place(), {prefix, head} = chosen(),
                            known = data && data.cards[card];
        const first = known ? qkvInside.first(data, card, phase) : -1;
        return {
            inside: {
                prefix,
                head,
                phase,
                card,
                cell: cell >= 0 ? cell : first,
                changed: state.changedWords()
            }
        };
    }

    /* What it brought. A place that is not there becomes the first that is; a number is asked for once it is known
     * which there are. */
    function show(frame) {
        const got = frame.extra && frame.extra.inside;
        if (!got) return render();
        if (got.trouble) return say("", got.trouble);
        data = got;
        data.order = data.list.map((c) => c.key);
        data.cards = Object.fromEntries(data.list.map((c) => [c.key, c]));
        data.why = data.why && qkvInside.read(data.why);
        data.side = run.store;
        const {phase, card, cell} = place(), here = data.cards[card];
        if (phase !== "update" && !here) return go(phase, path(phase)[0]);
        if (here && cell >= here.rows * here.cols) return go(phase, card);
        render();
        if (here && !data.why && !repeated) {
            repeated = true;
            page.player.request();
        } else
            repeated = false;
    }

    /* ---- the cards ---- */

    const COLUMNS = [
        ["x", "m"], ["q", "k", "v"], ["scores"], ["weights"], ["mix", "o", "out", "final"],
        ["logits", "loss"]
    ];
    const base = (key) => key.replace(/[0-9]+$/, "");

    function tile(key) {
        const canvas =
            make("canvas", {tabindex: 0, role: "application", "aria-roledescription": "heat map"});
        const t = {
            key,
            canvas,
            e: null,
            name: make("button", {class: "tile-name", onclick: () => go(phaseOf(), key)}),
            low: make("span"),
            high: make("span"),
            bar: make("i"),
            cursor: 0
        };
        t.e = make(
            "div", {class: "tile", "data-key": key}, t.name, canvas,
            make("div", {class: "scale", "aria-hidden": "true"}, t.low, t.bar, t.high));
        canvas.addEventListener("pointermove", (e) => point(t, e));
        canvas.addEventListener("pointerleave", () => {
            parts.tip.hidden = true;
        });
        canvas.addEventListener("click", (e) => {
            const cell = qkvCells.at(t.drawn, e);
            if (cell >= 0) choose(t, cell);
        });
        canvas.addEventListener("keydown", (e) => onCell(e, t));
        canvas.addEventListener("focus", () => hear(t));
        return t;
    }
    const phaseOf = () => (place().phase === "update" ? "forward" : place().phase);
    function choose(t, cell) {
        t.cursor = cell;
        go(phaseOf(), t.key, cell);
    }

    function lay() {
        tiles = Object.fromEntries(data.order.map((key) => [key, tile(key)]));
        parts.stage.replaceChildren(
            parts.lines,
            ...COLUMNS.map((keys) => data.order.filter((k) => keys.includes(base(k))))
                .filter((keys) => keys.length)
                .map(
                    (keys) => make(
                        "div", {class: "column " + base(keys[0])},
                        ...keys.map((k) => tiles[k].e))));
    }

    /* Which cells are lit, {card: Map(cell, size)}: what the chosen number is made of. */
    function lit() {
        const out = {};
        for (const t of data.why && data.card === place().card ? data.why.terms : [])
            (out[t.card] = out[t.card] || new Map())
                .set(t.cell, Math.abs(t.term === null ? t.slope : t.term));
        return out;
    }

    function render() {
        const open = state.inside !== "";
        root.classList.toggle("open", open);
        parts.body.hidden = !open;
        parts.toggle.setAttribute("aria-expanded", String(open));
        setText(parts.toggle, open ? "Close" : "Open");
        if (!open || !data) return stop();
        if (chosen().value) parts.of.value = chosen().value;
        if (Object.keys(tiles).join() !== data.order.join()) lay();
        const {phase, card} = place(), at = path(phase).indexOf(card);
        if (phase !== "update" && at < 0) return;
        PHASES.forEach((p) => parts[p].setAttribute("aria-pressed", String(p === phase)));
        setText(
            parts.count,
            phase === "update" ? "the update" : "card " + (at + 1) + " of " + data.order.length);
        parts.stage.hidden = phase === "update";
        parts.effects.hidden = phase !== "update";
        if (phase === "update")
            qkvEffect.show(parts.effects, data);
        else
            showCards(phase, card, at);
        explain(phase, card);
        table(phase, card);
    }

    function showCards(phase, card, at) {
        const lights = lit(), order = path(phase), words = rowWords();
        for (const key of data.order) {
            const t = tiles[key], c = data.cards[key], reached = order.indexOf(key) <= at,
                  back = phase === "backward" && reached;
            t.e.classList.toggle("now", key === card);
            t.e.classList.toggle("ahead", !reached);
            const k = kind(key), x = back ? c.g : c.x;
            t.name.replaceChildren(
                make("b", {text: back ? "dL/d" + k.title : k.title, class: "hue-" + k.hue}),
                " " + label(key),
                make("small", {text: c.cols > 1 ? " " + c.rows + " × " + c.cols : ""}));
            t.drawn = qkvCells.draw(t.canvas, {
                x,
                rows: c.rows,
                cols: c.cols,
                hue: back ? "gradient" : k.hue,
                least: key === "weights" && !back ? 1 : 0,
                rowNames: words[key] || [],
                cellNames:
                    base(key) === "logits" ? run.readouts[Number(key.slice(6)) || 0].classes : null,
                unseen: key === "scores" || key === "weights" ? (i) => !data.seen[i] : () => false,
                lit: lights[key] || null,
                chosen: key === card && data.card === card ? data.cell : -1,
                cursor: page.root.activeElement === t.canvas ? t.cursor : -1
            });
            if (key === card && data.card === card && page.root.activeElement !== t.canvas)
                t.cursor = data.cell;
            setText(t.low, t.drawn.greatest ? num(t.drawn.least) : "");
            setText(t.high, t.drawn.greatest ? num(t.drawn.greatest) : "all 0");
            t.bar.className = back ? "gradient" : k.hue;
            t.canvas.setAttribute(
                "aria-label",
                (back ? "gradient of the " : "") + label(key) + ", " + c.rows + " rows, " + c.cols +
                    " columns. Arrow keys move, Enter explains.");
        }
        connect(card, lights);
    }
    const label = (key) =>
        key === "x" && data.cards.x.node !== "embed" ? data.cards.x.node : kind(key).name;

    /* The words beside the rows of each card. */
    function rowWords() {
        const m = chosen().map, out = {},
              text = (side, p) => page.example.text(side, p) || String(p);
        for (const c of data.list)
            out[c.key] = c.rows > 1 ? Array.from({length: c.rows}, (_, r) => text(c.side, r)) :
                c.side >= 0         ? [text(c.side, data.row)] :
                                      [];
        return out;
    }

    /* Lines from card to card, where they stand in one row; those that carry what is chosen are strong. */
    function connect(card, lights) {
        const box = parts.stage.getBoundingClientRect(),
              columns = [...parts.stage.querySelectorAll(".column")];
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
            (c, i) =>
                !i || c.offsetLeft > columns[i - 1].offsetLeft + columns[i - 1].offsetWidth - 1);
        parts.lines.style.display = flat ? "" : "none";
        parts.stage.classList.toggle("flat", flat);
        if (!flat) return parts.lines.replaceChildren();
        const paths = data.list.flatMap((c) => c.reads.map((from) => {
            const strong = (c.key === card && lights[from]) || (from === card && lights[c.key]);
            return [
                strong, svg("path", {
                    d: line(place(tiles[from].e), place(tiles[c.key].e), box.height),
                    class: strong ? "strong" : ""
                })
            ];
        }));
        parts.lines.replaceChildren(...paths.sort((p, q) => !!p[0] - !!q[0]).map((p) => p[1]));
    }
    /* What goes past attention goes below all of it. */
    function line(a, b, bottom) {
        if (a.column === b.column)
            return a.b <= b.t ? "M" + a.x + " " + a.b + "V" + b.t :
                                "M" + a.x + " " + a.t + "V" + b.b;
        if (b.column - a.column > 3)
            return "M" + a.x + " " + a.b + "V" + (bottom - 14) + "q0 10 10 10H" + (b.l - 19) +
                "q10 0 10 -10V" + (b.y + 9) + "q0 -9 9 -9H" + b.l;
        if (b.column - a.column > 1 && a.y > b.y)
            return "M" + a.r + " " + a.y + "H" + (b.l - 28) + "q10 0 10 -10V" + (b.y + 10) +
                "q0 -10 10 -10H" + b.l;
        const bend = (a.r + b.l) / 2;
        return "M" + a.r + " " + a.y + "C" + bend + " " + a.y + " " + bend + " " + b.y + " " + b.l +
            " " + b.y;
    }

    /* For those who do not see the map. */
    function table(phase, card) {
        parts.table.hidden = phase === "update";
        if (!parts.table.open || phase === "update") return;
        const c = data.cards[card], x = phase === "backward" ? c.g : c.x,
              across = base(card) === "logits" ? 1 : c.cols;
        const rows = Array.from(
            {length: x.length / across},
            (_, r) => make(
                "tr", {},
                make("th", {scope: "row", text: who(card, r * across).replace(/, number 0$/, "")}),
                ...Array.from(
                    x.slice(r * across, (r + 1) * across), (v) => make("td", {text: num(v)}))));
        parts.table.lastChild.replaceChildren(make("table", {}, ...rows));
    }

    /* ---- words ---- */

    function explain(phase, card) {
        if (phase === "update") return say("", qkvEffect.sentence(data));
        const c = data.cards[card], why = data.why;
        const text = why && data.card === card ?
            phase === "backward" ? qkvInside.backward(data, card, data.cell, why) :
                                   qkvInside.forward(data, card, data.cell, why, row) :
            "";
        say(text,
            (c.g && phase === "backward" && qkvInside.nothing(data, card)) ||
                qkvInside.tell(data, card, phase, who));
    }
    /* A row of a table in words: "k6 of embed.key". */
    function row(table, at) {
        const [side, stream] = table.split("."),
                     all = run.sides[side === "memory" ? 1 : 0].streams.find(
                         (s) => s.name === stream);
        return (all && all.symbols[at] || "row " + at) + " of " + table;
    }
    /* A cell in words: "k6 v7". */
    const who = (key, cell) => {
        const c = data.cards[key], row = Math.floor(cell / c.cols), names = rowWords()[key];
        if (base(key) === "logits") return run.readouts[Number(key.slice(6)) || 0].classes[cell];
        return (names[row] || "") + (c.cols > 1 ? ", number " + cell % c.cols : "");
    };
    function say(formula, sentence) {
        parts.words.setAttribute("aria-live", page.player.playing ? "off" : "polite");
        setText(parts.formula, formula || "");
        setText(parts.say, notice + (sentence || ""));
    }

    /* ---- pointer and keys ---- */

    const read = (t, cell) => {
        const c = data.cards[t.key],
              g = c.g ? "; dL/d" + kind(t.key).title + " " + num(c.g[cell]) : "";
        return who(t.key, cell) + ": " + num(c.x[cell]) + g;
    };
    function point(t, e) {
        const cell = qkvCells.at(t.drawn, e);
        parts.tip.hidden = cell < 0;
        if (cell < 0) return;
        parts.tip.textContent = read(t, cell);
        parts.tip.style.left =
            Math.min(e.clientX + 12, innerWidth - parts.tip.offsetWidth - 8) + "px";
        parts.tip.style.top = e.clientY + 14 + "px";
    }
    function hear(t) {
        setText(parts.cell, read(t, t.cursor));
        redraw();
    }
    const redraw = () => {
        if (data && state.inside && place().phase !== "update") showCards(...now());
    };
    const now = () => {
        const {phase, card} = place();
        return [phase, card, path(phase).indexOf(card)];
    };
    function onCell(e, t) {
        const across = t.drawn.per, n = t.drawn.n,
              by = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across}[e.key];
        if (e.ctrlKey || e.altKey || e.metaKey) return;
        if (by && t.cursor + by >= 0 && t.cursor + by < n)
            t.cursor += by;
        else if (e.key === "Enter")
            choose(t, t.cursor);
        else if (!by)
            return;
        e.preventDefault();
        e.stopPropagation();
        hear(t);
    }
    /* Where cards are stacked, the next one comes into sight. */
    function reveal() {
        const t = tiles[place().card];
        if (t && !parts.stage.classList.contains("flat")) t.e.scrollIntoView({block: "center"});
    }
    function onKey(e) {
        if (e.ctrlKey || e.altKey || e.metaKey || /INPUT|SELECT/.test(e.target.tagName)) return;
        const on = e.key === "ArrowRight" || (e.key === " " && e.target.tagName !== "BUTTON");
        if (!on && e.key !== "ArrowLeft") return;
        const within = e.target.tagName === "CANVAS";
        step(on ? 1 : -1);
        e.preventDefault();
        e.stopPropagation();
        const t = tiles[place().card];
        if (within && t) t.canvas.focus();
    }

    /* ---- the panel ---- */

    function toggle() {
        if (!state.inside) return go("forward", data ? data.order[0] : "");
        state.inside = "";
        page.setAddress();
        render();
    }
    function panel() {
        const button = (text, act, extra = {}) => make("button", {text, onclick: act, ...extra});
        parts = {
            toggle: button("Open", toggle, {"aria-expanded": "false", id: "inside-toggle"}),
            play: button("▶ Play", play, {id: "inside-play"}),
            count: make("span", {class: "note"}),
            of: make("select", {id: "inside-of"}),
            stage: make("div", {class: "stage", id: "inside-stage"}),
            lines: svg("svg", {class: "lines", "aria-hidden": "true"}),
            effects: make("div", {class: "effects", id: "inside-effects", hidden: true}),
            formula: make("p", {class: "formula", id: "inside-formula"}),
            say: make("p", {id: "inside-say"}),
            cell: make("p", {class: "hidden", "aria-live": "polite", id: "inside-cell"}),
            table: make(
                "details", {class: "numbers", id: "inside-table"},
                make("summary", {text: "This card as a table"}), make("div")),
            tip: make("div", {class: "tip", hidden: true}),
        };
        for (const p of PHASES)
            parts[p] = button(
                p[0].toUpperCase() + p.slice(1), () => go(p, data ? path(p)[0] || "" : ""),
                {id: "inside-" + p, "aria-pressed": "false"});
        parts.words =
            make("div", {class: "words", "aria-live": "polite"}, parts.formula, parts.say);
        parts.body = make(
            "div", {hidden: true, id: "inside-body"},
            make(
                "div", {class: "walk"},
                make(
                    "div", {class: "touch", role: "group", "aria-label": "Walk through the step"},
                    ...PHASES.map((p) => parts[p]),
                    button("◂", () => step(-1), {"aria-label": "Card before", id: "inside-back"}),
                    button("▸", () => step(1), {"aria-label": "Next card", id: "inside-next"}),
                    parts.play, parts.count,
                    make("label", {class: "field", text: "head "}, parts.of)),
                parts.words),
            parts.stage, parts.effects, parts.table, parts.cell);
        parts.of.addEventListener("change", () => {
            state.of = parts.of.value;
            page.player.request();
        });
        parts.table.addEventListener("toggle", () => render());
        root.addEventListener("keydown", onKey);
        root.append(
            make(
                "div", {class: "head"},
                make("h2", {text: "Inside one step "}, make("small", {
                         text: "how a number is made, what pushes it, and what the push does"
                     })),
                parts.toggle),
            parts.body);
        (page.root.body || page.root).append(parts.tip);
    }

    /* A new run. */
    function build(described) {
        run = described;
        data = null;
        tiles = {};
        stop();
        parts.of.replaceChildren(
            ...heads().map((h) => make("option", {value: h.value, text: h.text})));
        parts.of.parentElement.hidden = heads().length < 2;
    }

    panel();
    return {build, show, wants, again: redraw};
};
qkvPanels.push(qkvStep);
