/* rows.js - what was measured of a run, in the order of its steps: the rows of a metrics.csv. Pure. */
"use strict";

const qkvRows = () => {
    let header = null, rows = [], lines = [], taken = 0;

    function merge(parsed, from = 0) {
        parsed.rows.forEach((row, i) => {
            if (row.step < from) return;
            let at = rows.length;
            while (at > 0 && rows[at - 1].step > row.step) at--;
            if (at > 0 && rows[at - 1].step === row.step) return;
            rows.splice(at, 0, row);
            lines.splice(at, 0, parsed.lines[i]);
        });
    }
    /* More rows as the engine gives them, the first time with the header; those of steps before `from` are left out. */
    function add(text, from) {
        if (!text) return;
        const parsed = qkvText.csv(text, taken ? header : null);
        header = parsed.names;
        taken += parsed.rows.length + (taken ? 0 : 1);
        merge(parsed, from);
    }
    /* Rows that a run brought along, which stay. */
    function bring(text) {
        const parsed = qkvText.csv(text);
        if (!header) header = parsed.names;
        merge(parsed);
    }

    /* The last row up to the step, or null. */
    function at(step) {
        let found = null;
        for (const r of rows)
            if (r.step <= step) found = r;
        return found;
    }
    const known = (name) => rows.some((r) => r[name] !== null && r[name] !== undefined);

    return {
        add,
        bring,
        at,
        known,
        points: (name) => rows.map((r) => [r.step, r[name] === undefined ? null : r[name]]),
        /* The first step at which a number is as large; -1: none yet. */
        first(name, least) {
            const row = rows.find((r) => r[name] !== null && r[name] >= least);
            return row ? row.step : -1;
        },
        csv: () => [header.join(","), ...lines].join("\n") + "\n",
        get names() { return header || []; },
        get all() { return rows; },
        get taken() { return taken; }
    };
};
