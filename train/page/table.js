/* table.js - the cells.csv of a sweep: its rows, and which of them stand at each place of a map. Pure. */
"use strict";

const qkvTable = (() => {
    /* Lines of fields; one in quotes may hold commas and quotes. */
    function fields(text) {
        return text.split("\n").filter((line) => line).map((line) => {
            if (!line.includes("\"")) return line.split(",");
            const out = [];
            for (const m of line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g))
                out.push(m[1] === undefined ? m[2] : m[1].replace(/""/g, "\""));
            return out;
        });
    }

    /* {options, measures, rows}: options are columns up to the seed, measures those behind it, but for the reason
     * why a cell failed. A row: {cell, of: {option: text}, got: {measure: number}, failed}. */
    function read(text) {
        const [names, ...lines] = fields(text), seed = names.indexOf("seed");
        const options = names.slice(1, seed + 1), measures = names.slice(seed + 1, -1);
        const rows = lines.map((line) => {
            const of = {}, got = {};
            options.forEach((o, i) => {
                of[o] = line[i + 1];
            });
            measures.forEach((m, i) => {
                const field = line[seed + 1 + i];
                got[m] = field === "" ? NaN : Number(field);
            });
            return {cell: line[0], of, got, failed: line[names.length - 1]};
        });
        return {options, measures, rows};
    }

    /* The values of an option: numbers by their size, words as they come. */
    function values(rows, option) {
        const all = [...new Set(rows.map((r) => r.of[option]))];
        return all.every((v) => v !== "" && !Number.isNaN(Number(v))) ?
            all.sort((a, b) => Number(a) - Number(b)) :
            all;
    }

    const varying = ({options, rows}) =>
        options.filter((o) => rows.some((r) => r.of[o] !== rows[0].of[o]));

    /* Those two with the most values, seeds last. */
    function axes(table) {
        const n = (o) => (o === "seed" ? 0 : values(table.rows, o).length);
        return varying(table).sort((a, b) => n(b) - n(a)).slice(0, 2);
    }

    /* The rows for which `where` ({option: value}) holds, by place: {cols, rows, at: rows of each place, mean: of the
     * measure over those that have it; NaN: none}. An axis "" has one place. */
    function map(table, {across, down, show, where}) {
        const kept = table.rows.filter(
            (r) => Object.entries(where).every(([o, v]) => v === "" || r.of[o] === v));
        const line = (option) => (option ? values(kept, option) : [""]);
        const cols = line(across), rows = line(down),
              place = (names) => new Map(names.map((name, i) => [name, i]));
        const col = place(cols), row = place(rows), at = rows.flatMap(() => cols.map(() => []));
        for (const r of kept)
            at[(down ? row.get(r.of[down]) : 0) * cols.length +
               (across ? col.get(r.of[across]) : 0)]
                .push(r);
        const mean = at.map((here) => {
            const x = here.map((r) => r.got[show]).filter((v) => !Number.isNaN(v));
            return x.length ? x.reduce((a, b) => a + b, 0) / x.length : NaN;
        });
        return {cols, rows, at, mean, n: kept.length};
    }

    return {read, values, varying, axes, map};
})();
