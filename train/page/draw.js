/* draw.js - heat maps and curves on canvases, in the page's own colours. */
"use strict";

const qkvDraw = (() => {
    let theme = null;

    /* The colours as the style sheet gives them for light or dark. */
    function colours() {
        if (theme) return theme;
        const style = getComputedStyle(document.documentElement),
              get = (name) => style.getPropertyValue("--" + name).trim();
        theme = {};
        for (const name
                 of ["paper", "panel", "ink", "faint", "line", "where", "what", "look", "stored",
                     "minus", "mark"])
            theme[name] = get(name);
        theme.rgb = {};
        for (const name of ["panel", "where", "what", "look", "minus"])
            theme.rgb[name] = rgb(theme[name]);
        return theme;
    }
    function forget() { theme = null; }

    function rgb(hex) { return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)); }

    /* Of a number from -1 to 1: from the panel's colour to the hue, or to grey. */
    function colourOf(x, hue) {
        const t = Math.max(-1, Math.min(1, x)), to = t >= 0 ? hue : colours().rgb.minus;
        return colours().rgb.panel.map((a, i) => Math.round(a + (to[i] - a) * Math.abs(t)));
    }

    /* A map at one pixel a cell, to be drawn larger: far quicker than as many rectangles. */
    let small = null;
    function pixels(m, hue) {
        small = small || document.createElement("canvas");
        if (small.width < m.cols || small.height < m.rows) {
            small.width = Math.max(small.width, m.cols);
            small.height = Math.max(small.height, m.rows);
        }
        const panel = colours().rgb.panel, minus = colours().rgb.minus,
              image = new ImageData(m.cols, m.rows);
        for (let i = 0; i < m.rows * m.cols; i++) {
            const t = Math.max(-1, Math.min(1, m.x[i] / m.greatest)), to = t >= 0 ? hue : minus,
                  part = Math.abs(t);
            for (let k = 0; k < 3; k++)
                image.data[4 * i + k] = panel[k] + (to[k] - panel[k]) * part;
            image.data[4 * i + 3] = 255;
        }
        small.getContext("2d").putImageData(image, 0, 0);
    }

    /* While a picture is saved: a context that writes SVG instead of pixels, for each canvas where it stands. */
    let recorder = null;
    function record(redraw, origin) {
        recorder = {parts: [], origin};
        try {
            redraw();
            return recorder.parts.join("\n");
        } finally { recorder = null; }
    }
    function recording(canvas) {
        const at = canvas.getBoundingClientRect(), dx = at.left - recorder.origin.left,
              dy = at.top - recorder.origin.top;
        const real = canvas.getContext("2d"), f = (n) => String(Math.round(n * 100) / 100),
              put = (s) => recorder.parts.push(s);
        const safe = (s) => String(s).replace(/&/g, "&amp;").replace(/</g, "&lt;");
        let path = "", dash = [];
        return {
            lineWidth: 1,
            font: "",
            fillStyle: "",
            strokeStyle: "",
            textAlign: "left",
            textBaseline: "top",
            measureText: (s) => real.measureText(s),
            setLineDash(d) { dash = d; },
            beginPath() { path = ""; },
            moveTo(x, y) { path += "M" + f(x + dx) + " " + f(y + dy); },
            lineTo(x, y) { path += "L" + f(x + dx) + " " + f(y + dy); },
            stroke() {
                put("<path fill=\"none\" d=\"" + path + "\" stroke=\"" + this.strokeStyle +
                    "\" stroke-width=\"" + this.lineWidth + "\"" +
                    (dash.length ? " stroke-dasharray=\"" + dash + "\"" : "") + "/>");
            },
            fillRect(x, y, w, h) {
                put("<rect x=\"" + f(x + dx) + "\" y=\"" + f(y + dy) + "\" width=\"" + f(w) +
                    "\" height=\"" + f(h) + "\" fill=\"" + this.fillStyle + "\"/>");
            },
            strokeRect(x, y, w, h) {
                put("<rect x=\"" + f(x + dx) + "\" y=\"" + f(y + dy) + "\" width=\"" + f(w) +
                    "\" height=\"" + f(h) + "\" fill=\"none\" stroke=\"" + this.strokeStyle +
                    "\" stroke-width=\"" + this.lineWidth + "\"/>");
            },
            fillText(s, x, y) {
                const anchor = {right: "end", center: "middle"}[this.textAlign] || "start",
                      down = {top: 9, middle: 4}[this.textBaseline] || 0;
                put("<text x=\"" + f(x + dx) + "\" y=\"" + f(y + dy + down) +
                    "\" font-size=\"11\" text-anchor=\"" + anchor + "\" fill=\"" + this.fillStyle +
                    "\">" + safe(s) + "</text>");
            },
        };
    }

    /* A canvas made sharp for this screen, `height` pixels high and as wide as it stands. */
    function sheet(canvas, height) {
        if (recorder) return {g: recording(canvas), width: canvas.clientWidth, height};
        const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
        if (canvas.width !== Math.round(width * ratio) ||
            canvas.height !== Math.round(height * ratio)) {
            canvas.width = Math.round(width * ratio);
            canvas.height = Math.round(height * ratio);
            canvas.style.height = height + "px";
        }
        const g = canvas.getContext("2d");
        g.setTransform(ratio, 0, 0, ratio, 0, 0);
        g.clearRect(0, 0, width, height);
        g.font = "11px system-ui, sans-serif";
        g.lineWidth = 1;
        return {g, width, height};
    }

    const short = (x, digits) => x === null || Number.isNaN(x) ? "" : x.toFixed(digits);

    /* The text, or what of it has room, and an ellipsis. */
    function fit(g, text, width) {
        if (11 * text.length <= width || g.measureText(text).width <= width) return text;
        let n = text.length;
        while (n > 1 && g.measureText(text.slice(0, n) + "…").width > width) n--;
        return text.slice(0, n).trimEnd() + "…";
    }

    /* ---- heat maps ---- */

    const ROW = 84, COLUMN = 26;  // room for a row's name, and at least for a column's, in pixels

    const margin = (g, m) => (m.changedRows && m.changedRows.size ? 18 : 6) +
        Math.min(ROW, Math.max(...m.rowNames.map((s) => g.measureText(s).width)));

    /* m: {x, rows, cols, rowNames, colNames, column, hue, least, greatest, numbers, marks, changed} in a box; returns where its
     * cells are, for the pointer. marks[row]: the column that is framed. changed: a set of columns or rows. */
    function map(g, m, box) {
        const c = colours(), hue = c.rgb[m.hue];
        g.font = "11px system-ui, sans-serif";
        const left = margin(g, m);
        const cell = Math.min((box.w - left) / m.cols, (box.h - 34) / m.rows), w = cell * m.cols,
              h = cell * m.rows;
        const x0 = box.x + left, y0 = box.y;
        if (recorder) {
            for (let i = 0; i < m.rows * m.cols; i++) {
                g.fillStyle = "rgb(" + colourOf(m.x[i] / m.greatest, hue) + ")";
                g.fillRect(
                    x0 + i % m.cols * cell, y0 + Math.floor(i / m.cols) * cell, cell + 0.5,
                    cell + 0.5);
            }
        } else {
            pixels(m, hue);
            g.imageSmoothingEnabled = false;
            g.drawImage(small, 0, 0, m.cols, m.rows, x0, y0, w, h);
        }
        g.strokeStyle = c.line;
        g.strokeRect(x0 + 0.5, y0 + 0.5, w, h);
        if (m.numbers && cell >= 27) numbers(g, m, x0, y0, cell);
        if (m.marks) {
            g.strokeStyle = c.mark;
            g.lineWidth = 2;
            m.marks.forEach((k, r) => {
                if (k >= 0) g.strokeRect(x0 + k * cell + 1, y0 + r * cell + 1, cell - 2, cell - 2);
            });
            g.lineWidth = 1;
        }
        names(g, m, x0, y0, cell, h);
        return {m, x0, y0, cell};
    }

    function numbers(g, m, x0, y0, cell) {
        const c = colours();
        g.textAlign = "center";
        g.textBaseline = "middle";
        for (let r = 0; r < m.rows; r++)
            for (let k = 0; k < m.cols; k++) {
                const v = m.x[r * m.cols + k];
                if (v < 0.005) continue;
                g.fillStyle = v / m.greatest > 0.5 ? c.panel : c.ink;
                g.fillText(
                    v.toFixed(2).replace(/^0/, ""), x0 + (k + 0.5) * cell, y0 + (r + 0.5) * cell);
            }
    }

    /* Labels of rows and columns, as many as have room; changed ones are marked. */
    function names(g, m, x0, y0, cell, h) {
        const c = colours(), every = Math.max(1, Math.ceil(12 / cell));
        g.textBaseline = "middle";
        g.textAlign = "right";
        m.rowNames.forEach((s, r) => {
            if (r % every) return;
            const odd = m.changedRows && m.changedRows.has(r);
            g.fillStyle = odd ? c.mark : c.faint;
            g.fillText(
                (odd ? "● " : "") + fit(g, String(s), ROW - 4), x0 - 4, y0 + (r + 0.5) * cell);
        });
        g.textAlign = "center";
        g.textBaseline = "top";
        const widest = Math.max(
            1,
            ...m.colNames.map((s) => Math.max(...s.split(" ").map((p) => g.measureText(p).width))));
        const room = Math.min(widest, Math.max(cell - 4, m.column || COLUMN)),
              step = Math.max(1, Math.ceil((room + 4) / cell));
        m.colNames.forEach((s, k) => {
            if (k % step) return;
            const odd = m.changedCols && m.changedCols.has(k);
            g.fillStyle = odd ? c.mark : c.faint;
            s.split(" ").slice(0, 2).forEach(
                (part, i) => g.fillText(
                    widest > room ? fit(g, part, room) : part, x0 + (k + 0.5) * cell,
                    y0 + h + 4 + 12 * i));
        });
    }

    /* The cell under a point of a drawn map: {row, col, value}; null: none. */
    function cellAt(drawn, x, y) {
        for (const d of drawn) {
            const col = Math.floor((x - d.x0) / d.cell), row = Math.floor((y - d.y0) / d.cell);
            if (col < 0 || row < 0 || col >= d.m.cols || row >= d.m.rows) continue;
            return {d, row, col, value: d.m.x[row * d.m.cols + col]};
        }
        return null;
    }

    /* ---- curves ---- */

    /* c: {lines: [{name, colour, dash, width, points: [[step, y]]}], steps, least, greatest, levels, cursor, ticks} */
    function curves(canvas, height, c) {
        const {g, width} = sheet(canvas, height), t = colours();
        const box = {x: 34, y: 8, w: width - 44, h: height - 28};
        const X = (s) => box.x + s / Math.max(1, c.steps) * box.w;
        const Y = (v) => box.y + (1 - (v - c.least) / (c.greatest - c.least)) * box.h;
        g.textAlign = "right";
        g.textBaseline = "middle";
        for (const tick of c.ticks) {
            g.strokeStyle = t.line;
            g.beginPath();
            g.moveTo(box.x, Y(tick));
            g.lineTo(box.x + box.w, Y(tick));
            g.stroke();
            g.fillStyle = t.faint;
            g.fillText(String(tick).replace("-", "−"), box.x - 5, Y(tick));
        }
        g.textAlign = "center";
        g.textBaseline = "top";
        for (let i = 0; i <= 4; i++, g.textAlign = i === 4 ? "right" : "center")
            g.fillText(String(Math.round(c.steps * i / 4)), X(c.steps * i / 4), box.y + box.h + 5);
        levels(g, c, box, Y);
        for (const line of [...c.lines].reverse()) drawLine(g, line, X, Y, c);
        if (c.cursor >= 0) {
            g.strokeStyle = t.mark;
            g.setLineDash([]);
            g.beginPath();
            g.moveTo(X(c.cursor), box.y);
            g.lineTo(X(c.cursor), box.y + box.h);
            g.stroke();
        }
        return {toStep: (x) => Math.round((x - box.x) / box.w * c.steps)};
    }

    function levels(g, c, box, Y) {
        const t = colours();
        g.textAlign = "right";
        g.textBaseline = "bottom";
        let below = Infinity, right = 0;  // a label beside the last one, where it would be upon it
        for (const level of [...(c.levels || [])].sort((a, b) => a.at - b.at)) {
            if (level.at > c.greatest || level.at < c.least) continue;
            g.setLineDash([2, 3]);
            g.strokeStyle = t.faint;
            g.beginPath();
            g.moveTo(box.x, Y(level.at));
            g.lineTo(box.x + box.w, Y(level.at));
            g.stroke();
            g.setLineDash([]);
            g.fillStyle = t.faint;
            right = below - Y(level.at) < 13 ? right : 0;
            g.fillText(level.label, box.x + box.w - right, Y(level.at) - 2);
            right += g.measureText(level.label).width + 12;
            below = Y(level.at);
        }
    }

    function drawLine(g, line, X, Y, c) {
        g.strokeStyle = line.colour;
        g.lineWidth = line.width || 1.8;
        g.setLineDash(line.dash || []);
        g.lineJoin = "round";
        g.beginPath();
        let down = false;
        for (const [step, y] of line.points) {
            if (y === null) {
                down = false;
                continue;
            }
            const at = Math.max(c.least, Math.min(c.greatest, y));
            if (down)
                g.lineTo(X(step), Y(at));
            else
                g.moveTo(X(step), Y(at));
            down = true;
        }
        g.stroke();
        g.setLineDash([]);
        if (line.dots) dots(g, line, X, Y, c);
        g.lineWidth = 1;
    }

    /* Some ten squares along a line, which tell a second run from the first. */
    function dots(g, line, X, Y, c) {
        const every = Math.max(1, Math.floor(line.points.length / 10));
        g.fillStyle = line.colour;
        line.points.forEach(([step, y], i) => {
            if (y === null || (i % every && i < line.points.length - 1)) return;
            g.fillRect(X(step) - 2.5, Y(Math.max(c.least, Math.min(c.greatest, y))) - 2.5, 5, 5);
        });
    }

    /* Round numbers from 0 to about the greatest. */
    function ticks(greatest) {
        const raw = greatest / 4, power = 10 ** Math.floor(Math.log10(raw));
        const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= raw * 0.999),
              out = [];
        for (let v = 0; v <= greatest * 1.0001; v += step) out.push(Number(v.toPrecision(6)));
        return out;
    }

    return {colours, forget, record, sheet, fit, margin, map, cellAt, curves, ticks, short};
})();
