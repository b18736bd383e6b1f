/* heat.js - a card's numbers as a heat map whose cells can be lit, chosen and pointed at. */
"use strict";

const qkvHeat = (() => {
    /* From minus to plus by way of the panel's colour; values have one hue each, gradients a pair of their own. */
    function pair(hue) {
        const c = qkvDraw.colours(), style = getComputedStyle(document.documentElement);
        const rgb = (name) => [1, 3, 5].map(
            (i) => parseInt(style.getPropertyValue(name).trim().slice(i, i + 2), 16));
        return hue === "gradient" ?
            {plus: rgb("--push"), minus: rgb("--pull"), panel: c.rgb.panel} :
            {plus: rgb("--" + hue), minus: c.rgb.minus, panel: c.rgb.panel};
    }
    const colour = (t, p) => p.panel.map(
        (a, i) => Math.round(a + ((t >= 0 ? p.plus : p.minus)[i] - a) * Math.min(1, Math.abs(t))));

    /* Where the cells stand: rows of the matrix, or a single row cut into lines when its cells have names. */
    function layout(g, m, width) {
        const n = m.rows * m.cols, names = m.rowNames.map((s) => clip(g, s, 62));
        const left = names.length ? Math.max(...names.map((s) => g.measureText(s).width)) + 6 : 0;
        let per = m.cols,
            ch = m.rows > 1 ?
            Math.max(3, Math.min(m.cols > 1 ? 14 : 20, (m.high || 260) / m.rows)) :
            20;
        if (m.cellNames) {
            const widest = Math.max(...m.cellNames.map((s) => g.measureText(s).width)) + 6,
                  fit = Math.floor((width - 2) / widest);
            per = n <= 128 ? Math.max(1, Math.min(n, fit)) : Math.min(n, 48);
            ch = n <= 128 ? 17 : 6;
        }
        const lines = Math.ceil(n / per);
        return {
            x0: left,
            y0: 1,
            cw: (width - left - 1) / per,
            ch,
            per,
            n,
            lines,
            names,
            rows: m.rows
        };
    }
    function clip(g, s, most) {
        if (g.measureText(s).width <= most) return s;
        while (s && g.measureText(s + "…").width > most) s = s.slice(0, -1);
        return s + "…";
    }

    /* m: {x, rows, cols, hue, least, rowNames, cellNames, unseen, lit, chosen, cursor}. least: of the scale's end. */
    function draw(canvas, m) {
        const first = canvas.getContext("2d");
        first.font = "11px system-ui, sans-serif";
        const d = layout(first, m, canvas.clientWidth),
              {g} = qkvDraw.sheet(canvas, Math.ceil(d.lines * d.ch + 2));
        const p = pair(m.hue), c = qkvDraw.colours();
        d.greatest =
            Math.max(m.least, ...Array.from(m.x, (v, i) => (m.unseen(i) ? 0 : Math.abs(v))));
        d.least = m.x.some((v) => v < 0) ? -d.greatest : 0;
        d.box = (i) => ({x: d.x0 + i % d.per * d.cw, y: d.y0 + Math.floor(i / d.per) * d.ch});
        for (let i = 0; i < d.n; i++) {
            const {x, y} = d.box(i), t = d.greatest ? m.x[i] / d.greatest : 0;
            g.fillStyle = "rgb(" + colour(t, p) + ")";
            g.fillRect(x, y, d.cw + .4, d.ch + .4);
            if (m.unseen(i)) hatch(g, x, y, d, c);
        }
        g.strokeStyle = c.line;
        for (let l = 0; l < d.lines; l++)
            g.strokeRect(
                d.x0 + .5, d.y0 + l * d.ch + .5, d.cw * Math.min(d.per, d.n - l * d.per) - 1, d.ch);
        texts(g, m, d, c);
        if (m.lit) light(g, m, d, c);
        frame(g, m.cursor, d, c.faint, 1.5);
        frame(g, m.chosen, d, c.mark, 2.5);
        return d;
    }

    function hatch(g, x, y, d, c) {
        g.strokeStyle = c.line;
        g.beginPath();
        for (let k = 0; k < d.cw; k += 6) {
            g.moveTo(x + k, y + d.ch - 1);
            g.lineTo(Math.min(x + d.cw, x + k + d.ch), y + 1);
        }
        g.stroke();
    }

    /* Words at the left edge; in the cells their numbers, or names, where there is room. */
    function texts(g, m, d, c) {
        const every = Math.max(1, Math.ceil(11 / d.ch));
        g.textBaseline = "middle";
        g.textAlign = "right";
        g.fillStyle = c.faint;
        d.names.forEach(
            (s, r) => r % every || g.fillText(s, d.x0 - 5, d.y0 + (r + .5) * d.ch + .5));
        if (d.ch < 11 || !(m.cellNames || d.cw >= 24)) return;
        g.textAlign = "center";
        for (let i = 0; i < d.n; i++) {
            if (m.unseen(i)) continue;
            const {x, y} = d.box(i);
            g.fillStyle = d.greatest && Math.abs(m.x[i]) / d.greatest > .55 ? c.panel : c.ink;
            g.fillText(
                m.cellNames ? m.cellNames[i] : qkvInside.num(m.x[i]), x + d.cw / 2,
                y + d.ch / 2 + .5, d.cw - 2);
        }
    }

    /* What a number is made of stays, the rest goes back; the largest parts have a frame. */
    function light(g, m, d, c) {
        const top = Math.max(...m.lit.values());
        g.save();
        for (let i = 0; i < d.n; i++) {
            const {x, y} = d.box(i);
            if (!m.lit.has(i)) {
                g.globalAlpha = .62;
                g.fillStyle = c.panel;
                g.fillRect(x, y, d.cw + .4, d.ch + .4);
            } else if (m.lit.get(i) >= top * .35) {
                g.globalAlpha = 1;
                frame(g, i, d, c.ink, 1);
            }
        }
        g.restore();
    }
    function frame(g, i, d, stroke, width) {
        if (i < 0 || i >= d.n) return;
        const {x, y} = d.box(i);
        g.strokeStyle = stroke;
        g.lineWidth = width;
        g.strokeRect(x + .5, y + .5, Math.max(2, d.cw - 1), Math.max(2, d.ch - 1));
        g.lineWidth = 1;
    }

    /* The cell under the pointer; -1: none. */
    function at(d, e) {
        const r = e.target.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
        const col = Math.floor((x - d.x0) / d.cw), line = Math.floor((y - d.y0) / d.ch),
              i = line * d.per + col;
        return col < 0 || col >= d.per || line < 0 || i >= d.n ? -1 : i;
    }

    return {draw, at};
})();
