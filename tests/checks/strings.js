/* strings.js - node strings.js FOLDER, FOLDER being train/page: do its words stand in the tables of strings? Says what is
 * wrong, a line each: a key that one table lacks, or that nobody uses; other places than the English ones; a literal
 * with words in it, in a script or in the HTML. */
"use strict";

const fs = require("fs"), path = require("path"), folder = process.argv[2];
const read = (name) => fs.readFileSync(path.join(folder, name), "utf8");
const found = [];

/* ---- the tables ---- */

const repeated = (text) => {
    const seen = new Set(), twice = [];
    for (const [, key] of text.matchAll(/^"((?:[^"\\]|\\.)*)":/gm))
        if (seen.has(key) || !seen.add(key)) twice.push(key);
    return twice;
};
function table(name) {
    const text = read("strings/" + name + ".json"), all = JSON.parse(text);
    for (const key of repeated(text)) found.push(name + ".json: '" + key + "' stands there twice");
    if (text.trim().split("\n").length !== Object.keys(all).length + 2)
        found.push(name + ".json: not one string a line");
    return all;
}
const places =
    (text) => [...new Set([...text.matchAll(/\{(\w+)/g)].map((m) => m[1]))].sort().join();

function compare(en, other, name) {
    for (const key of Object.keys(en))
        if (!Object.hasOwn(other, key))
            found.push(name + ".json: '" + key + "' is missing");
        else if (places(en[key]) !== places(other[key]))
            found.push(name + ".json: '" + key + "' has other places than in English");
    for (const key of Object.keys(other))
        if (!Object.hasOwn(en, key)) found.push(name + ".json: '" + key + "' is not in English");
}

/* ---- the literals ---- */

/* Strings of a script, with what stands before them: [text, line, before]. Comments and patterns hold none. */
function literals(source) {
    const
        out = [],
        one =
            /\/\*[^]*?\*\/|\/\/[^\n]*|"((?:[^"\\\n]|\\.)*)"|(?<=[(,=:[!&|?{};\n]\s*)\/(?![*\/])(?:[^\/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//g;
    for (const m of source.matchAll(one))
        if (m[1] !== undefined)
            out.push([
                m[1].replace(/\\u\{?[0-9a-f]+\}?/g, ""),
                source.slice(0, m.index).split("\n").length,
                source.slice(Math.max(0, m.index - 60), m.index).replace(/\s+/g, " ")
            ]);
    return out;
}

/* Two words in a row, a sentence's beginning, or a Chinese character. */
const worded = (text) =>
    /[A-Za-z]{2,}[ ,.:;]* [ ]*[A-Za-z]{2,}|^[A-Z][a-z]+$|[\u3400-\u9fff]/.test(text);
/* What is not for people: markup, style, selectors, names of keys and of classes, what an engine's error says. */
const machine = (text, before) =>
    /^use strict$|^<|px|font-family|^qkv |^Arrow|^Page|^(Escape|Enter|Home|End)$/.test(text) ||
    /^(INPUT|BUTTON|SUMMARY|CANVAS)/.test(text) ||
    /(class: |className = |"class", |style: |font = |style\.\w+ = |cssText = )$/.test(before) ||
    /(querySelector(All)?|matches|closest|matchMedia|getContext|toggle|add|remove)\($/.test(
        before) ||
    /new (Error|WebAssembly\.RuntimeError)\((text\(c\.qkv_page_error\(p\)\) \|\| )?$/.test(before);

function scan(name, source) {
    return literals(source)
        .filter(([text, , before]) => worded(text) && !machine(text, before))
        .map(
            ([text, line]) =>
                name + ":" + line + ": '" + text.slice(0, 60) + "' stands outside the tables");
}
/* Text between tags, and attributes that are read out; noscript has no script that could fill it. */
function scanHtml(name, source) {
    const body =
        source.replace(/<(noscript|script|style|title)\b[^]*?<\/\1>|<!--[^]*?-->|^@lessons$/gm, "");
    const texts = [
        ...[...body.matchAll(/>([^<]*)</g)].map((m) => m[1]),
        ...[...body.matchAll(/\b(?:title|alt|placeholder|aria-label)="([^"]*)"/g)].map((m) => m[1])
    ];
    return texts
        .filter(
            (text) => /[A-Za-z\u3400-\u9fff]{2,}/.test(text) && !/^\s*(qkv|@\w+)\s*$/.test(text))
        .map((text) => name + ": '" + text.trim().slice(0, 60) + "' stands outside the tables");
}

/* ---- which keys are used ---- */

/* "key" anywhere in a script, "prefix." + something, data-t="key" in the HTML. */
function unused(keys, scripts, html) {
    const all = scripts.flatMap(literals), whole = new Set(all.map(([text]) => text)),
          prefixes = all.map(([text]) => text).filter((text) => /^[a-z.]+\.$/.test(text)),
          own = new Set([...html.matchAll(/data-(?:t|label|tip)="([^"]*)"/g)].map((m) => m[1]));
    return keys.filter(
        (key) => !whole.has(key) && !own.has(key) && !prefixes.some((p) => key.startsWith(p)));
}
/* Keys that t() or an element asks for, and that no table has. */
function unknown(en, scripts, html) {
    const asked = [
        ...scripts.flatMap(
            (s) => [...s.matchAll(/\b(?:t|say)\(\s*"([a-z_.]*[a-z_])"[,)]/g)].map((m) => m[1])),
        ...scripts.flatMap(
            (s) => [...s.matchAll(/"data-(?:t|label|tip)": "([^"]*[^."])"/g)].map((m) => m[1])),
        ...[...html.matchAll(/data-(?:t|label|tip)="([^"]*)"/g)].map((m) => m[1])
    ];
    return [...new Set(asked)].filter((key) => !Object.hasOwn(en, key));
}

/* ---- the engine's sentences ---- */

/* All C text below these folders: strings that stand side by side are one. */
function cText(dirs) {
    const list = (dir) =>
        fs.readdirSync(dir, {withFileTypes: true})
            .flatMap(
                (e) => e.isDirectory() ? list(path.join(dir, e.name)) :
                    /\.(c|h|def)$/.test(e.name) ?
                                         [fs.readFileSync(path.join(dir, e.name), "utf8")] :
                                         []);
    return dirs.flatMap(list)
        .join("\n")
        .replace(/\\"/g, "\0")
        .replace(/"\s*"/g, "")
        .replace(/\0/g, "\"");
}
/* Those that no C file has, with a conversion in each place. */
const unsaid = (sentences, text) => sentences.filter((s) => {
    const pattern = s.replace(/[.*+?^$()|[\]\\]/g, "\\$&")
                        .replace(/\{\w+\}/g, "(?:--)?(?:%[-+ #.0-9]*[a-z]+)+");
    return !new RegExp(s.includes("{") ? pattern : "\\b" + pattern.replace(/^(\W)/, "\\B$1"))
                .test(text);
});

/* ---- all of it ---- */

const files = fs.readdirSync(folder), scripts = files.filter((f) => f.endsWith(".js")),
      pages = files.filter((f) => f.endsWith(".html")), html = pages.map(read).join("\n"),
      sources = scripts.map(read), en = table("en");
for (const name of fs.readdirSync(path.join(folder, "strings")))
    if (/^[a-z]+\.json$/.test(name) && name !== "en.json")
        compare(en, table(name.replace(".json", "")), name.replace(".json", ""));
for (const key of unused(Object.keys(en), sources, html))
    found.push("en.json: nobody uses '" + key + "'");
const engine = JSON.parse(read("strings/engine.zh.json"));
for (const [english, own] of Object.entries(engine))
    if (places(english) !== places(own))
        found.push("engine.zh.json: other places: '" + english + "'");
for (const key of unsaid(
         Object.keys(engine), cText([path.join(folder, ".."), path.join(folder, "../../data")])))
    found.push("engine.zh.json: no C file says '" + key + "'");
for (const key of unknown(en, sources, html)) found.push("no table has '" + key + "'");
scripts.forEach((name, i) => found.push(...scan(name, sources[i])));
pages.forEach((name) => found.push(...scanHtml(name, read(name))));

/* Each kind of fault, planted, is found. */
const planted = [
    scan("", "const a = \"Two words\";"), scan("", "f(/\"/, \"Undo\"); // \"not this\""),
    scan("", "x = \"撤销\";"), scanHtml("", "<button>Undo</button>"),
    scanHtml("", "<p title=\"Undo it\"></p>"), unused(["a.b"], ["t(\"a.c\")"], ""),
    unknown({}, ["t(\"a.b\", {n})"], ""),
    unsaid(["no task {name}", "no task", "no run {n}"], "\"no task %.60s\" \"no run\""),
    repeated("\"a\": 1,\n\"a\": 2")
];
planted.forEach(
    (list, i) => list.length === 1 ||
        found.push("planted fault " + i + ": found " + list.length + " times"));
if (scan("", "make(\"p\", {class: \"a bc de\"}); /* \"Not words\" */ t(\"a.b\")").length)
    found.push("what is no word is taken for one");
if (found.length) console.log(found.join("\n"));
process.exit(found.length ? 1 : 0);
