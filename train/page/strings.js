/* strings.js - the page's words: a table for each language, from "key" to a text with named places. Pure. */
"use strict";

const qkvStrings = (() => {
    const TAGS = {en: "en", zh: "zh-CN"}, tables = {}, sentences = {};
    let lang = "en";

    /* Of each language its table, and one from the engine's own English sentences to its words for them. */
    function add(name, table, engine = {}) {
        tables[name] = {...tables[name], ...table};
        sentences[name] = Object.entries(engine).map(
            ([english, own]) => ({english, own, places: places(english), pattern: null}));
    }
    const places = (text) => [...text.matchAll(/\{(\w+)/g)].map((m) => m[1]);

    /* "{n} steps": the place n; "{n|step|steps}": the one or the other word, as n is 1 or not. Blanks beside a place go
     * where a Chinese word is put into it. */
    const fill = (text, given) => text.replace(
        /( ?)\{(\w+)(?:\|([^|}]*)\|([^|}]*))?\}( ?)/g, (all, before, name, one, many, behind) => {
            const x = one === undefined ? String(given[name]) : given[name] === 1 ? one : many;
            const han = /^[\u4e00-\u9fff]/;
            return (han.test(x) ? "" : before) + x + (han.test(x.slice(-1)) ? "" : behind);
        });

    /* The text of a key, with what is given in its places. */
    function t(key, given = {}) {
        const own = tables[lang] || {}, text = Object.hasOwn(own, key) ? own[key] : tables.en[key];
        return text === undefined ? key : fill(text, given);
    }
    const has = (key) => Object.hasOwn(tables.en, key);

    /* A sentence of the engine's in this language, or as it is; what stands in the place {why} is one, too. */
    function said(english) {
        for (const s of sentences[lang] || []) {
            if (s.english === english) return s.own;
            if (!s.places.length) continue;
            s.pattern = s.pattern ||
                new RegExp("^" +
                               s.english.replace(/[.*+?^$()|[\]\\]/g, "\\$&")
                                   .replace(/\{\w+\}/g, "(.*?)") +
                               "$",
                           "s");
            const found = s.pattern.exec(english);
            if (found)
                return fill(
                    s.own,
                    Object.fromEntries(s.places.map(
                        (p, i) => [p, p === "why" ? said(found[i + 1]) : found[i + 1]])));
        }
        return english;
    }

    /* Data with words in the place of their symbols: "k3" is somebody, "v3" a thing. */
    function named(x) {
        if (typeof x === "string")
            return x.replace(
                /^([kqv])(\d+)$/,
                (all, kind, i) =>
                    t(kind === "v" ? "words.values" : "words.keys").split(" ")[i] || all);
        if (!x || typeof x !== "object" || ArrayBuffer.isView(x)) return x;
        if (Array.isArray(x)) return typeof x[0] === "number" ? x : x.map(named);
        return Object.fromEntries(Object.entries(x).map(([name, value]) => [name, named(value)]));
    }

    /* "a, b or c". */
    const either = (all) => all.length < 2 ?
        all.join("") :
        t("list.or", {some: list(all.slice(0, -1)), last: all[all.length - 1]});
    const list = (all) => all.join(t("list.comma"));

    /* The language of a tag as browsers give it, "zh-Hans-CN"; "": none of ours. */
    const known = (tag) => {
        const name = String(tag || "").toLowerCase().split(/[-_]/)[0];
        return Object.hasOwn(TAGS, name) ? name : "";
    };

    return {
        add,
        t,
        fill,
        named,
        has,
        said,
        list,
        either,
        known,
        /* What is written in each language: {en: ..., zh: ...}. */
        pick: (each) => (each[lang] === undefined ? each.en : each[lang]),
        use(name) { lang = name; },
        get lang() { return lang; },
        get tag() { return TAGS[lang]; },
        names: Object.keys(TAGS),
        tables
    };
})();
