/* engine.js - the compiled engine as an object: its calls, its memory, its texts. Runs in a worker. */
"use strict";

const qkvEngine = (() => {
    /* What the C library asks of a system: a clock; everything else is refused. */
    function system(memory) {
        const refused = () => 52;  // ENOSYS
        const calls = {
            clock_time_get(id, precision, at) {
                const now = BigInt(Math.round(performance.now() * 1e6));
                new DataView(memory().buffer).setBigUint64(at, now, true);
                return 0;
            },
            proc_exit(code) { throw new WebAssembly.RuntimeError("it ended with " + code); },
        };
        return new Proxy(calls, {get: (all, name) => all[name] || refused});
    }

    async function open(bytes) {
        let exported = null;
        const module = await WebAssembly.compile(bytes);
        const imports = {};
        for (const i of WebAssembly.Module.imports(module))
            (imports[i.module] = imports[i.module] || {})[i.name] =
                system(() => exported.memory)[i.name];
        exported = (await WebAssembly.instantiate(module, imports)).exports;
        if (exported._initialize) exported._initialize();
        return engine(exported);
    }

    function engine(c) {
        const p = c.qkv_page_open();
        const decoder = new TextDecoder(), encoder = new TextEncoder();
        if (!p) throw new WebAssembly.RuntimeError("out of memory");

        /* An address is a number up to 4 GB, which the engine gives with a sign. */
        function room(n) {
            const at = c.malloc(n) >>> 0;
            if (!at) throw new Error("out of memory");
            return at;
        }

        function text(at) {
            if (!at) return null;
            const bytes = new Uint8Array(c.memory.buffer), from = at >>> 0;
            return decoder.decode(bytes.subarray(from, bytes.indexOf(0, from)));
        }
        function error() { return new Error(text(c.qkv_page_error(p)) || "memory is out"); }
        function done(ok) {
            if (!ok) throw error();
        }
        function json(at) {
            if (!at) throw error();
            return JSON.parse(text(at));
        }
        /* Memory of the engine's, with these bytes in it and a 0 behind them. */
        function taken(bytes) {
            const at = room(bytes.length + 1),
                  to = new Uint8Array(c.memory.buffer, at, bytes.length + 1);
            to.set(bytes);
            to[bytes.length] = 0;
            return at;
        }
        function given(string, use) {
            const at = taken(encoder.encode(string));
            try {
                return use(at);
            } finally { c.free(at); }
        }
        /* A file, for the engine to keep: a text or bytes; null: no more. */
        function lend(name, file) {
            const bytes = typeof file === "string" ? encoder.encode(file) : file;
            given(
                name,
                (n) =>
                    done(c.qkv_page_lend(n, bytes ? taken(bytes) : 0, bytes ? bytes.length : 0)));
        }
        function withFile(name, bytes, use) {
            lend(name, bytes);
            try {
                given(name, (n) => done(use(p, n)));
            } finally { lend(name, null); }
        }
        function save() {
            const size = room(4), at = c.qkv_page_save(p, size) >>> 0;
            const n = new Uint32Array(c.memory.buffer, size, 1)[0];
            c.free(size);
            if (!at) throw error();
            const file = new Uint8Array(c.memory.buffer, at, n).slice();
            c.free(at);
            return file;
        }
        function reals(at, n) {
            return at ? new Float32Array(c.memory.buffer, at >>> 0, n).slice() : null;
        }

        return {
            table: () => json(c.qkv_page_table(p)),
            lend,
            start: (options) => given(options, (at) => done(c.qkv_page_start(p, at))),
            describe: () => json(c.qkv_page_describe(p)),
            end: () => c.qkv_page_end(p),
            step: () => c.qkv_page_step(p),
            go: (step, most = 2 ** 31 - 1) => done(c.qkv_page_go(p, step, most)),
            rows: (from) => text(c.qkv_page_rows(p, from)),
            example: (number) => done(c.qkv_page_example(p, number)),
            words: () => json(c.qkv_page_words(p)),
            lay: (side, stream, position, id) =>
                done(c.qkv_page_lay(p, side, stream, position, id)),
            set: (side, stream, position, id) =>
                done(c.qkv_page_set(p, side, stream, position, id)),
            ask: (position) => done(c.qkv_page_ask(p, position)),
            hide: (what) => done(c.qkv_page_hide(p, what)),
            silence: (head) => done(c.qkv_page_silence(p, head)),
            randomise: (name) => given(name, (at) => done(c.qkv_page_randomise(p, at))),
            look: (changed, head) => json(c.qkv_page_look(p, changed, head)),
            test: (examples) => json(c.qkv_page_test(p, examples)),
            score: (changed) => json(c.qkv_page_score(p, changed)),
            /* A node's values and sizes, of the last look; null: there is none. */
            node(name) {
                const dims = room(16), at = given(name, (n) => c.qkv_page_node(p, n, dims));
                const dim = [...new Int32Array(c.memory.buffer, dims, 4)].filter((d) => d > 0);
                c.free(dims);
                return at ? {dim, x: reals(at, dim.reduce((a, b) => a * b, 1))} : null;
            },
            questions: (changed, head, entries, S) =>
                reals(c.qkv_page_questions(p, changed, head), entries * (S + 1)),
            circuit: (changed, head, which, n) =>
                reals(c.qkv_page_circuit(p, changed, head, which), n),
            inside(w) {
                const at = given(
                    w.prefix,
                    (prefix) => given(
                        w.card,
                        (card) => c.qkv_page_inside(
                            p, w.changed, prefix, w.head, card, w.cell, w.phase === "backward")));
                const found = json(at);
                for (const one of found.list) {
                    const numbers = (gradient) => reals(
                        given(one.key, (key) => c.qkv_page_inside_numbers(p, key, gradient)),
                        one.rows * one.cols);
                    one.x = numbers(false);
                    one.g = numbers(true);
                }
                return found;
            },
            update: (changed) => json(c.qkv_page_update(p, changed)),
            updateOf: (name, n) => reals(given(name, (at) => c.qkv_page_update_of(p, at)), n),
            ledgerNext: () => json(c.qkv_page_ledger_next(p)),
            ledgerAfter: (from) => json(c.qkv_page_ledger_after(p, from)),
            begin: (config) => given(config, (at) => done(c.qkv_page_begin(p, at))),
            open: (name, bytes) => withFile(name, bytes, c.qkv_page_open_checkpoint),
            restore: (name, bytes) => withFile(name, bytes, c.qkv_page_restore),
            save,
        };
    }
    return {open};
})();
