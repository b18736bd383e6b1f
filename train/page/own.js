/* own.js - sentences of one's own, for the tasks that read a file: a box of text in the place of the file. */
"use strict";

const qkvOwn = (() => {
    const {by, make} = qkvText, {state} = qkvState;
    const NAME = "sentences.txt";  // what the command line calls what stands in the box
    const hows = {
        file:
            "an example a line: words => answer. The word marked ? asks, else the last; features stand behind |",
        text: "each next token of it is asked for",
    };
    let samples = [], task = "";

    const textOf = (name) => {
        const s = samples.find((one) => one.name === name);
        return s ? s.text : null;
    };

    /* The options with which a task that reads a file begins: those of an example. */
    function first(name) {
        const s = samples.find((one) => one.task === name);
        state.text = "";
        return s ? {data: s.name} : {};
    }

    /* The files that a run with these options reads. */
    function files(given) {
        if (given.data === undefined) return {};
        const text = textOf(given.data);
        return {[given.data]: text !== null && !state.text ? text : state.text};
    }

    /* All that the page has, and the text in the box: a checkpoint says which one it needs. */
    const shipped = () => ({
        ...Object.fromEntries(samples.map((s) => [s.name, s.text])),
        ...(by("own-text").value ? {[NAME]: by("own-text").value} : {})
    });

    function build(start, given) {
        samples = [...document.querySelectorAll("script.sample")].map(
            (e) => ({
                task: e.dataset.task,
                name: e.dataset.name,
                text: e.textContent.replace(/^\n/, "")
            }));
        by("own-train").addEventListener("click", async () => {
            const old = state.text;
            state.text = by("own-text").value;
            if (await start({...given(), data: NAME})) state.text = old;
        });
        by("own-sample").addEventListener("change", (e) => {
            state.text = "";
            start({...given(), data: e.target.value});
        });
        by("own-save")
            .addEventListener(
                "click", () => qkvFiles.give(NAME, [by("own-text").value], "text/plain"));
    }

    function show(run) {
        const reads = run.options.data !== undefined;
        by("own").hidden = !reads;
        if (!reads) return;
        const name = run.options.data, text = state.text || textOf(name);
        if (text !== null) by("own-text").value = text;
        by("own-how").textContent = hows[run.options.task] || "";
        if (task !== run.options.task)
            by("own-sample")
                .replaceChildren(
                    ...samples.filter((s) => s.task === run.options.task)
                        .map(
                            (s) =>
                                make("option", {value: s.name, text: s.name.replace(/^.*\//, "")})),
                    make("option", {value: NAME, text: "your own", disabled: true}));
        task = run.options.task;
        by("own-sample").value =
            samples.some((s) => s.task === task && s.name === name) ? name : NAME;
    }

    /* Texts that came with the page, by the names of their files. */
    function bring(all) {
        for (const [name, text] of Object.entries(all)) samples.push({task: "", name, text});
    }

    return {first, bring, files, shipped, build, show};
})();
