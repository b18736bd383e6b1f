/* own.js - sentences of one's own, for the tasks that read a file: a box of text in the place of the file. */
"use strict";

const qkvOwn = (page) => {
    const {make} = qkvText, {by, state} = page, {t} = qkvStrings;
    const NAME = "sentences.txt";  // what the command line calls what stands in the box
    let samples = [], task = "", offered = "";
    const drafts = new Map();  // of each task: what was written and not trained on
    const box = () => by("own-text");

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

    /* The same of an address that leaves it out: somebody's own text, or the example. */
    function complete(given) {
        const s = samples.find((one) => one.task === given.task);
        if (!s || given.data !== undefined) return given;
        return {...given, data: state.text ? NAME : s.name};
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
        samples = [...page.root.querySelectorAll("script.sample")].map(
            (e) => ({
                task: e.dataset.task,
                name: e.dataset.name,
                text: e.textContent.replace(/^\n/, "")
            }));
        /* Of a few lines none is left to check on: they can be checked on themselves, if somebody wants that. */
        const train = async (text, all = false) => {
            const old = state.text, options = {...given(), data: NAME};
            delete options["data-valid"];
            delete options["data-test"];
            if (all) Object.assign(options, {"data-valid": NAME, "data-test": NAME});
            state.text = qkvAddress.well(text);
            const wrong = await start(options);
            if (wrong) state.text = old;
            if (/ none is left for /.test(wrong) && !all)
                page.trouble(wrong, [t("own.validate"), () => train(text, true)]);
        };
        by("own-train").addEventListener("click", () => train(box().value));
        by("own-sample").addEventListener("change", (e) => {
            if (e.target.value === NAME) {
                if (!edited()) box().value = drafts.get(task) || box().value;
                return train(box().value);
            }
            if (edited()) drafts.set(task, box().value);
            box().value = offered;
            state.text = "";
            start({...given(), data: e.target.value});
        });
        box().addEventListener("input", mark);
        by("own-save")
            .addEventListener(
                "click", () => page.files.give(NAME, [by("own-text").value], "text/plain"));
    }

    function show(run) {
        const reads = run.options.data !== undefined;
        by("own").hidden = !reads;
        if (!reads) return;
        const name = run.options.data, text = state.text || textOf(name);
        if (task !== run.options.task) {
            if (edited()) drafts.set(task, box().value);
            box().value = offered = "";
        }
        if (text !== null && !edited()) box().value = text;
        if (text !== null) offered = text;
        if (task !== run.options.task || by("own-sample").lang !== qkvStrings.tag)
            by("own-sample")
                .replaceChildren(
                    ...samples.filter((s) => s.task === run.options.task)
                        .map(
                            (s) =>
                                make("option", {value: s.name, text: s.name.replace(/^.*\//, "")})),
                    make("option", {value: NAME, text: t("own.mine")}));
        task = run.options.task;
        by("own-sample").lang = qkvStrings.tag;
        by("own-sample").value =
            samples.some((s) => s.task === task && s.name === name) ? name : NAME;
        mark();
    }

    /* Is there text in the box that no run was trained on? It stays there, and is marked. */
    const edited = () => box().value !== offered;
    function mark() {
        const {options} = by("own-sample");
        const how = task === "file" ? t("own.file") : t("own.text");
        by("own-how").textContent = edited() ? t("own.edited", {how}) : how;
        box().classList.toggle("edited", edited());
        options[options.length - 1].disabled = !state.text && !edited() && !drafts.has(task);
    }

    /* Texts that came with the page, by the names of their files. */
    function bring(all) {
        for (const [name, text] of Object.entries(all)) samples.push({task: "", name, text});
    }

    return {first, complete, bring, files, shipped, NAME, build, show};
};
