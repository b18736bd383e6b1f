/* looks.js - what the panel "Inside one step" asks of the engine, in the worker. A refusal is said in the panel alone. */
"use strict";

qkvLooks.inside = (engine, what) => {
    try {
        return engine.inside(what);
    } catch (e) {
        if (e.constructor !== Error) throw e;
        return {trouble: e.message};
    }
};
