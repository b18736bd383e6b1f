/* rpc.js - an engine in a worker: requests and their answers. A worker that throws, ends, is refused or is stopped is
 * a fault: everything that waits for it is told so, and another worker can take its place. */
"use strict";

/* An error after which the engine's memory cannot be trusted. All others are refusals in the engine's own words. */
class qkvFault extends Error {}

/* code: the worker's source; bytes(): the engine; slow(call or null): what takes longer than 300 ms; fault(error): the
 * worker has ended; make(code): a worker, for tests; read(value): what an answer is read as. */
const qkvRpc = ({code, bytes, slow, fault, make, read}) => {
    const SOON = 300, {t, said} = qkvStrings;
    let worker = null, next = 1, shown = null;
    const waiting = new Map();
    /* The calls that made the run which is open: given to another worker they make it again. */
    let made = [];
    const makes = {
        start: (entry) => [entry],
        begin: (entry) => [entry],
        restore: (entry) => (entry.data.same ? [...made, entry] : [entry])
    };

    const inBlob = (text) => {
        const url = URL.createObjectURL(new Blob([text], {type: "text/javascript"}));
        try {
            return new Worker(url);
        } finally { setTimeout(() => URL.revokeObjectURL(url), 10000); }
    };

    function settle(id) {
        const entry = waiting.get(id);
        waiting.delete(id);
        clearTimeout(entry.timer);
        if (shown === entry) slow(shown = null);
        return entry;
    }
    function end(error) {
        if (worker) worker.terminate();
        worker = null;
        for (const id of [...waiting.keys()]) settle(id).failed(error);
        if (!error.wanted) fault(error);
    }
    function answered(data) {
        if (!waiting.has(data.id)) return;
        if (data.fault)
            end(new qkvFault(data.error));
        else if (data.error !== undefined)
            settle(data.id).failed(new Error(said(data.error)));
        else {
            const entry = settle(data.id);
            if (makes[entry.name]) made = makes[entry.name]({name: entry.name, data: entry.data});
            entry.done(read ? read(data.value) : data.value);
        }
    }

    /* The answer to a call; a refusal or a fault is thrown. */
    function call(name, data = {}) {
        return new Promise((done, failed) => {
            if (!worker) return failed(new qkvFault(t("fault.none")));
            const id = next++, entry = {name, data, done, failed, since: performance.now()};
            entry.timer = setTimeout(() => slow(shown = entry), SOON);
            waiting.set(id, entry);
            worker.postMessage({id, call: name, ...data});
        });
    }

    /* A new worker with the engine in it; what is the same for all runs. */
    async function open() {
        const engine = await bytes();
        try {
            worker = (make || inBlob)(code);
        } catch (e) { throw new qkvFault(refused(e.message)); }
        const mine = worker;
        worker.onmessage = ({data}) => {
            if (worker === mine) answered(data);
        };
        worker.onerror = (e) => {
            if (worker === mine) end(new qkvFault(e.message || refused("")));
        };
        return call("open", {bytes: engine});
    }
    const refused = (why) => why ? t("fault.worker.why", {why}) : t("fault.worker");

    /* A new worker, and in it the run that these calls made. */
    async function again(calls) {
        await open();
        for (const {name, data} of calls) await call(name, data);
    }

    /* Ends the worker, whatever it is doing. */
    function stop() {
        const error = new qkvFault(t("stopped"));
        error.wanted = true;
        end(error);
    }

    return {
        open,
        call,
        again,
        stop,
        get made() { return made; },
        get waits() { return waiting.size; }
    };
};
