/* worker.js - the engine behind messages {id, call, ...}, each answered with {id, value} or {id, error}. */
"use strict";

/* What panels beside those of the page ask for: qkvLooks.NAME(engine, what, run) is the answer to what their wants() say. */
const qkvLooks = {};

(() => {
    let engine = null, run = null;

    /* ---- configuration ---- */

    const lines = (given) =>
        Object.entries(given).map(([name, value]) => name + "=" + value).join("\n");

    function described() {
        run = engine.describe();
        return {run, words: engine.words(), step: engine.step()};
    }
    function lend(files = {}) {
        for (const [name, text] of Object.entries(files)) engine.lend(name, text);
    }
    function start(options, files) {
        lend(files);
        engine.start(lines(options));
        return described();
    }

    /* From the text of a config.json. */
    function begin(config, files) {
        lend(files);
        engine.begin(config);
        return described();
    }

    /* From a checkpoint; same: one of the run that is open. */
    function restore(m) {
        lend(m.files);
        if (m.same)
            engine.restore(m.name, m.file);
        else
            engine.open(m.name, m.file);
        return described();
    }

    /* ---- what is to be drawn ---- */

    /* Trains, or goes back, towards a step for about `budget` milliseconds. */
    function move(to, budget) {
        const until = performance.now() + budget;
        do engine.go(to, 1);
        while (engine.step() !== Math.min(to, engine.end()) && performance.now() < until);
    }

    function maps(view, changed) {
        if (view.map === "questions")
            return [{
                name: "questions",
                x: engine.questions(changed, view.shown, run.entries, run.sides[run.store].T)
            }];
        return run.maps.map((m) => ({name: m.name, ...engine.node(m.name)}));
    }

    function circuits(changed, head) {
        return run.circuits.map(
            (c, i) => engine.circuit(changed, head, i, c.rows.length * c.cols.length));
    }

    function picture(view, changed) {
        const look = engine.look(changed, view.head);
        const own = run.maps.length && view.map !== "questions" ? maps(view, changed) : null;
        const asked = view.map === "questions" ? maps({...view, shown: look.head}, changed) : own;
        return {look, maps: asked, circuits: circuits(changed, look.head)};
    }

    const extra = (wants) => Object.fromEntries(
        Object.entries(wants).map(([name, what]) => [name, qkvLooks[name](engine, what, run)]));

    function frame(m) {
        let trouble = null;
        try {
            move(m.to, m.budget);
        } catch (e) {
            if (!isRefusal(e)) throw e;
            trouble = e.message;
        }
        const step = engine.step(), end = engine.end();
        const before = picture(m.view, false);
        return {
            step,
            end,
            trouble,
            map: m.view.map,
            rows: engine.rows(m.rows),
            before,
            after: m.changed ? picture({...m.view, head: before.look.head}, true) : null,
            extra: extra(m.wants || {}),
        };
    }

    /* ---- changes ---- */

    function change(m) {
        engine.example(m.example);
        for (const [side, stream, position, id] of m.lay || [])
            engine.lay(side, stream, position, id);
        if (m.ask >= 0) engine.ask(m.ask);
        for (const [side, stream, position, id] of m.set) engine.set(side, stream, position, id);
        engine.hide(m.hide);
        engine.silence(m.silent);
        engine.randomise(m.random);
        return engine.words();
    }

    const calls = {
        async open(m) {
            engine = await qkvEngine.open(m.bytes);
            return engine.table();
        },
        start: (m) => start(m.options, m.files),
        begin: (m) => begin(m.text, m.files),
        frame,
        change,
        look: (m) => extra(m.wants),
        /* at: after so many steps, where that is not where it is. */
        save(m) {
            if (m.at !== undefined) engine.go(m.at);
            return engine.save();
        },
        restore,
        test: (m) => engine.test(m.examples),
        score: (m) => [engine.score(false), m.changed ? engine.score(true) : null],
    };

    /* The engine's own sentences are plain errors; after any other its memory cannot be trusted. */
    const isRefusal = (e) => e.constructor === Error || e instanceof SyntaxError;

    onmessage = async (event) => {
        const m = event.data;
        try {
            postMessage({id: m.id, value: await calls[m.call](m)});
        } catch (e) { postMessage({id: m.id, error: e.message, fault: !isRefusal(e)}); }
    };
})();
