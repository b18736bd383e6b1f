/* text.js - small helpers: elements, numbers as text, CSV, and the findings' markdown. */
"use strict";

const qkvText = (() => {
    const {t} = qkvStrings;

    /* An element; attributes by name, "text" its text, "on..." listeners. */
    function make(tag, attributes = {}, ...children) {
        const e = document.createElement(tag);
        for (const [name, value] of Object.entries(attributes)) {
            if (name === "text")
                e.textContent = value;
            else if (name.startsWith("on"))
                e.addEventListener(name.slice(2), value);
            else if (value !== null && value !== undefined && value !== false)
                e.setAttribute(name, value === true ? "" : value);
        }
        e.append(...children.filter((c) => c !== null));
        if (KEYS.some((key) => e.dataset[key])) put(e);
        return e;
    }

    /* The words of an element, by the keys that it has: data-t its text, before what else is in it, data-label what it is
     * called where it is not seen, data-tip what is said under the pointer. */
    const KEYS = ["t", "label", "tip"];
    function put(e) {
        const {t: text, label, tip} = e.dataset, own = text && t(text), first = e.firstChild;
        if (label) e.setAttribute("aria-label", t(label));
        if (tip) e.title = t(tip);
        if (!text) return;
        if (first && first.nodeType === Node.TEXT_NODE)
            first.data = e.firstElementChild ? own + " " : own;
        else
            e.prepend(first ? own + " " : own);
    }
    const words = (root) =>
        root.querySelectorAll(KEYS.map((key) => "[data-" + key + "]").join()).forEach(put);

    const svg = (tag, attributes) => {
        const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
        for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
        return e;
    };

    /* A word within a sentence: one that is written from right to left moves nothing beside it. */
    const word = (text) =>
        /[\u0590-\u08ff\ufb1d-\ufefc]/.test(text) ? "\u2068" + text + "\u2069" : text;

    function setText(e, text) {
        if (e.textContent !== text) e.textContent = text;
    }

    const number = (x, digits = 2) =>
        x === null || x === undefined || Number.isNaN(x) ? "–" : x.toFixed(digits);
    const percent = (x) => x === null || Number.isNaN(x) ?
        "–" :
        (100 * x).toFixed(1).replace(/^100\.0$/, "100") + " %";

    /* Rows of a metrics.csv, each {name: number or null}. */
    function csv(text, header) {
        const lines = text.split("\n").filter((l) => l);
        const names = header || lines.shift().split(",");
        const rows = lines.map((line) => {
            const row = {};
            line.split(",").forEach((field, i) => {
                row[names[i]] = field === "" ? null : Number(field);
            });
            return row;
        });
        return {names, rows, lines};
    }

    /* ---- markdown, as far as docs/findings.md goes ---- */

    function inline(text, to) {
        const pattern =
            /\*\*([^*]+)\*\*|\*([^*]+)\*|`([^`]+)`|!\[([^\]]*)\]\([^)]*\)|\[([^\]]+)\]\(([^)]+)\)/g;
        let at = 0;
        for (const m of text.matchAll(pattern)) {
            to.append(text.slice(at, m.index));
            at = m.index + m[0].length;
            if (m[1])
                to.append(make("b", {text: m[1]}));
            else if (m[2])
                to.append(make("em", {text: m[2]}));
            else if (m[3])
                to.append(make("code", {text: m[3]}));
            else if (m[4])
                to.append(make("em", {text: "(picture: " + m[4] + ")"}));
            else if (m[5])
                to.append(
                    /^(findings\.md)?#/.test(m[6]) ?
                        make("a", {href: m[6].replace("findings.md", ""), text: m[5]}) :
                        m[5]);
        }
        to.append(text.slice(at));
        return to;
    }

    function table(lines) {
        const cells = (line) => line.replace(/^\||\|$/g, "").split("|").map((c) => c.trim());
        const t = make("table");
        lines.filter((l) => !/^\|[-| ]+\|$/.test(l))
            .forEach(
                (line, i) => t.append(
                    make("tr", {}, ...cells(line).map((c) => inline(c, make(i ? "td" : "th"))))));
        return t;
    }

    function markdown(text) {
        const whole = document.createDocumentFragment();
        let out = whole;  // or what is folded
        for (const block of text.trim().split(/\n\s*\n/)) {
            const fold = block.match(/^<details><summary>(.*)<\/summary>$/);
            if (fold) {
                out = make("details", {}, make("summary", {text: fold[1]}));
                whole.append(out);
                continue;
            }
            if (block === "</details>") {
                out = whole;
                continue;
            }
            const heading = block.match(/^(#+) (.*?)(?: <a id="([a-z-]+)"><\/a>)?$/);
            if (heading)
                out.append(inline(
                    heading[2], make("h3", {id: heading[3] ? "finding-" + heading[3] : null})));
            else if (block.startsWith("|"))
                out.append(table(block.split("\n")));
            else if (/^[*-] /.test(block))
                out.append(make(
                    "ul", {},
                    ...block.split(/\n(?=[*-] )/)
                        .map((b) => inline(b.slice(2).replace(/\n\s*/g, " "), make("li")))));
            else if (block.startsWith("```"))
                out.append(make("pre", {text: block.replace(/```\w*\n?/g, "")}));
            else
                out.append(inline(block.replace(/\n/g, " "), make("p")));
        }
        return whole;
    }

    /* The claims: {study: {question, answer}} from the table of the findings. */
    function claims(text) {
        const out = {};
        for (const line of text.split("\n")) {
            const cells = line.split("|").map((c) => c.trim());
            if (cells.length < 5) continue;
            for (const m of cells[3].matchAll(/\[[^\]]+\]\((?:findings\.md)?#([a-z-]+)\)/g))
                out[m[1]] = {question: cells[1], answer: cells[2]};
        }
        return out;
    }

    return {make, words, svg, word, setText, number, percent, csv, markdown, claims};
})();
