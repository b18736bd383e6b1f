/* worker.js - the engine behind messages {id, call, ...}, each answered with {id, value} or {id, error}. */
"use strict";

/* What panels beside those of the page ask for: qkvLooks.NAME(engine, what, run) is the answer to what their wants() say. */
const qkvLooks = {};

(() => {
    let engine = null, table = null, run = null;

    /* ---- configuration ---- */

    const lines = (given) =>
        Object.entries(given).map(([name, value]) => name + "=" + value).join("\n");

    /* config.json's fields of the run, with their types. */
    function config() {
        const fields = {};
        for (const o of run.table) {
            if (o.kind === "section") continue;
            const value = run.options[o.name];
            fields[o.field] = o.kind === "int" || o.kind === "real" ? Number(value) :
                o.kind === "flag"                                   ? value === "true" :
                                                                      value;
        }
        return {...fields, ...table.remarks};
    }

    function start(options, files = {}) {
        for (const [name, text] of Object.entries(files)) engine.lend(name, text);
        engine.start(lines(options));
        run = engine.describe();
        return {run, words: engine.words()};
    }

    /* The same from config.json's text, whose fields the engine takes, too; options: by their names. */
    function begin(text, files) {
        const fields = JSON.parse(text), options = {};
        for (const remark of Object.keys(table.remarks)) delete fields[remark];
        const began = start(fields, files);
        for (const o of run.table)
            if (fields[o.field] !== undefined) options[o.name] = String(fields[o.field]);
        return {...began, options};
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
        if (m.ask >= 0) engine.ask(m.ask);
        for (const [side, stream, position, id] of m.set) engine.set(side, stream, position, id);
        engine.hide(m.hide);
        engine.silence(m.silent);
        engine.randomise(m.random);
        return engine.words();
    }

    /* ---- checkpoints ---- */

    function save() {
        const tensors =
            engine.tensors().map((t) => ({...t, bytes: engine.bytes(t.at, t.bytes).slice()}));
        return qkvCheckpoint.write(tensors, {
            format: table.format,
            version: table.remarks.version,
            config: JSON.stringify(config(), null, 2)
        });
    }

    function restore(m) {
        const file = qkvCheckpoint.read(m.file);
        if (file.notes.format !== table.format)
            throw new Error(
                "the file is no checkpoint: its format is '" + file.notes.format + "', not '" +
                table.format + "'");
        const began = m.same ? null : begin(file.notes.config);
        return {step: qkvCheckpoint.restore(engine, file.tensors), ...began};
    }

    const calls = {
        async open(m) {
            engine = await qkvEngine.open(m.bytes);
            return (table = engine.table());
        },
        start: (m) => start(m.options, m.files),
        begin: (m) => begin(m.text, m.files),
        frame,
        change,
        save,
        restore,
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
