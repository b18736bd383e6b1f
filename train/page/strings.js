/* strings.js - the page's words: a table for each language, from "key" to a text with named places. Pure. */
"use strict";

const qkvStrings = (() => {
    const tables = {};
    let lang = "en";
    const add = (name, table) => {
        tables[name] = {...tables[name], ...table};
    };
    const t = (key, given = {}) => (tables[lang][key] || tables.en[key] || key).replace(/\{(\w+)\}/g, (all, n) => String(given[n]));
    return {
        add,
        t,
        pick: (each) => (each[lang] === undefined ? each.en : each[lang]),
        use(name) { lang = name; },
        get lang() { return lang; },
        names: ["en", "zh"],
        tables
    };
})();
