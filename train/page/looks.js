/* looks.js - what the panel "Inside one step" asks of the engine, in the worker. A refusal is said in the panel alone. */
"use strict";

/* What the update does, with the steps of the head's own matrices. */
const qkvUpdate = (engine, {changed, prefix}) => {
    const found = engine.update(changed);
    for (const part of found.parts)
        if (/\.w[qkvo]$/.test(part.name) && part.name.startsWith(prefix + "."))
            part.x = engine.updateOf(part.name, part.rows * part.cols);
    return found;
};

qkvLooks.inside = (engine, what) => {
    try {
        const found = engine.inside(what);
        if (what.phase === "update") found.update = qkvUpdate(engine, what);
        return found;
    } catch (e) {
        if (e.constructor !== Error) throw e;
        return {trouble: e.message};
    }
};
