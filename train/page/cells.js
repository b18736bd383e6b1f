/* cells.js - a map's cells one by one: under the pointer or a finger, by arrow keys, and as a table. */
"use strict";

const qkvCells = (page) => {
    const {make, setText, number} = qkvText, {by} = page, {t} = qkvStrings;
    const tip = make("div", {class: "tip", hidden: true}),
          frame = make("div", {class: "cell", hidden: true});
    let drawn = {}, cursor = null, waiting = 0;

    function words({d, row, col}) {
        const x = number(d.m.x[row * d.m.cols + col], 3),
              what = t("cell", {row: d.m.rowNames[row], col: d.m.colNames[col], x});
        return d.m.title ? t("named", {name: d.m.title, what}) : what;
    }

    function showTip(hit, x, y) {
        tip.hidden = false;
        setText(tip, words(hit));
        tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 8)) + "px";
        tip.style.top = (y + 14 + tip.offsetHeight > innerHeight ? y - 34 : y + 14) + "px";
    }
    function hide() {
        tip.hidden = true;
        frame.hidden = true;
    }

    function point(canvas, e) {
        const at = canvas.getBoundingClientRect(),
              hit = qkvDraw.cellAt(drawn[canvas.id], e.clientX - at.left, e.clientY - at.top);
        frame.hidden = true;
        if (hit)
            showTip(hit, e.clientX, e.clientY);
        else
            tip.hidden = true;
    }

    /* ---- keys ---- */

    /* The cell that the keys are at, within what is drawn now. */
    function held(canvas) {
        const all = drawn[canvas.id];
        if (!all.length) return null;
        if (!cursor || cursor.canvas !== canvas) cursor = {canvas, map: 0, row: 0, col: 0};
        cursor.map = Math.max(0, Math.min(all.length - 1, cursor.map));
        const d = all[cursor.map];
        cursor.row = Math.max(0, Math.min(d.m.rows - 1, cursor.row));
        cursor.col = Math.max(0, Math.min(d.m.cols - 1, cursor.col));
        return {d, row: cursor.row, col: cursor.col};
    }
    function showHeld(canvas) {
        const hit = held(canvas);
        if (!hit) return hide();
        const {d, row, col} = hit, x = d.x0 + col * d.cell, y = d.y0 + row * d.cell;
        canvas.parentElement.append(frame);
        frame.hidden = false;
        frame.style.left = canvas.offsetLeft + x + "px";
        frame.style.top = canvas.offsetTop + y + "px";
        frame.style.width = frame.style.height = d.cell + "px";
        const at = canvas.getBoundingClientRect();
        showTip(hit, at.left + x + d.cell, at.top + y + d.cell);
    }
    function onKey(canvas, e) {
        const moves = {
            ArrowLeft: ["col", -1],
            ArrowRight: ["col", 1],
            ArrowUp: ["row", -1],
            ArrowDown: ["row", 1],
            Home: ["col", -1e9],
            End: ["col", 1e9],
            PageUp: ["map", -1],
            PageDown: ["map", 1]
        };
        if (e.key === "Escape") return hide();
        if (!Object.hasOwn(moves, e.key) || e.ctrlKey || e.altKey || e.metaKey || !held(canvas))
            return;
        const [what, by] = moves[e.key];
        cursor[what] += by;
        showHeld(canvas);
        page.speak(words(held(canvas)));
        e.preventDefault();
        e.stopPropagation();
    }

    /* ---- as a table ---- */

    function table(d, name) {
        const {m} = d,
              row = (r) => make(
                  "tr", {}, make("th", {scope: "row", text: m.rowNames[r]}),
                  ...m.colNames.map((_, k) => make("td", {text: number(m.x[r * m.cols + k])})));
        return make(
            "table", {},
            make("caption", {text: m.title ? t("named", {name, what: m.title}) : name}),
            make(
                "thead", {},
                make(
                    "tr", {}, make("td"),
                    ...m.colNames.map((text) => make("th", {scope: "col", text})))),
            make("tbody", {}, ...m.rowNames.map((_, r) => row(r))));
    }
    function fill(details) {
        if (!details.open) return;
        const name = details.parentElement.getAttribute("aria-label");
        details.lastElementChild.replaceChildren(
            ...drawn[details.dataset.of].map((d) => table(d, name)));
    }

    /* Other maps are drawn; what speaks of them follows, tables once they come to rest. */
    function follow() {
        if (cursor && page.root.activeElement === cursor.canvas && !frame.hidden)
            showHeld(cursor.canvas);
        clearTimeout(waiting);
        waiting = setTimeout(() => page.root.querySelectorAll(".table[open]").forEach(fill), 250);
    }

    function listen(maps) {
        drawn = maps;
        page.body.append(tip);
        for (const id of Object.keys(drawn)) {
            const canvas = by(id);
            canvas.addEventListener("pointermove", (e) => point(canvas, e));
            canvas.addEventListener("pointerdown", (e) => point(canvas, e));
            canvas.addEventListener("pointerleave", (e) => {
                if (e.pointerType !== "touch") tip.hidden = true;  // a tap's stays
            });
            canvas.addEventListener("keydown", (e) => onKey(canvas, e));
            canvas.addEventListener("focus", () => {
                if (canvas.matches(":focus-visible")) showHeld(canvas);
            });
            canvas.addEventListener("blur", hide);
        }
        page.root.addEventListener("pointerdown", (e) => {
            if (!(e.target.id in drawn)) hide();
        });
        addEventListener("scroll", hide, {passive: true});
        page.root.querySelectorAll(".table").forEach(
            (details) => details.addEventListener("toggle", () => fill(details)));
    }

    return {listen, follow};
};
