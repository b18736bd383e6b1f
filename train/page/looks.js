/* looks.js - what the panel "Inside one step" asks of the engine, in the worker. A refusal is said in the panel alone. */
"use strict";

/* An answer, or the engine's own sentence why there is none. */
const qkvAsked = (ask) => {
    try {
        return ask();
    } catch (e) {
        if (e.constructor !== Error) throw e;
        return {trouble: e.message};
    }
};

/* What the update does, with the steps of the head's own matrices. */
const qkvUpdate = (engine, {changed, prefix}) => {
    const found = engine.update(changed);
    for (const part of found.parts)
        if (/\.w[qkvo]$/.test(part.name) && part.name.startsWith(prefix + "."))
            part.x = engine.updateOf(part.name, part.rows * part.cols);
    found.ledger = qkvAsked(() => engine.ledgerNext());
    return found;
};

/* The ledger from a step on, for about `budget` milliseconds. */
qkvLooks.ledger = (engine, {from, budget}) => {
    const until = performance.now() + budget, rows = [];
    do {
        const row = qkvAsked(() => engine.ledgerAfter(from));
        if (!row) return {rows, done: true};
        if (row.trouble) return {rows, trouble: row.trouble};
        rows.push(row);
        from = row.next;
    } while (performance.now() < until);
    return {rows, done: false};
};

qkvLooks.inside = (engine, what) => qkvAsked(() => {
    const found = engine.inside(what);
    if (what.phase === "update") found.update = qkvUpdate(engine, what);
    return found;
});
