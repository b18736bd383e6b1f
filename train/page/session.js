/* session.js - which run is open: begun with options, by an address, from a checkpoint; and begun again after a fault. */
"use strict";

const qkvSession = (page) => {
    const {by, state} = page, {t} = qkvStrings;
    let current = null, good = null, recovering = false;

    /* Begins a run with these options; a bad one is answered in words, which are returned, and the old run stays.
     * What is large is begun only when it was agreed to; again: what a click on that does. */
    async function start(given, {keep = false, agreed = false, again = null} = {}) {
        const warning = agreed ? "" : qkvSize.warning(given, page.baseOf(given));
        if (warning) {
            if (!page.run) await start({});
            page.trouble(
                warning, [t("large.go"), again || (() => start(given, {keep, agreed: true}))],
                [t("large.keep"), () => page.trouble("")]);
            return warning;
        }
        try {
            began(await page.call("start", {options: given, files: page.own.files(given)}), given);
        } catch (e) {
            page.refused(e);
            if (page.run) page.options.show(page.run);
            return e.message;
        }
        if (!keep) {
            state.ask = state.head = -1;
            state.step = 0;
            state.undo();
            if (state.beside) await page.pair.begin();
            await change();
        }
        return "";
    }

    function began(value, given) {
        const {run, words} = value;
        page.run = run;
        state.given = given;
        current = {value, given, text: state.text};
        page.player.pause();
        page.player.forget();
        page.pair.end();
        page.shown = null;
        page.trouble("");
        by("slider").max = run.steps;
        page.options.show(run);
        page.own.show(run);
        for (const panel of page.panels) panel.build(run, words);
        const {brought} = page;
        if (brought && sameRun(brought)) page.curves.bring(brought.metrics);
        foot();
    }
    function foot() {
        const {run} = page;
        const places = {
            task: run.options.task,
            summary: page.summary(),
            learned: run.learned.toLocaleString("en"),
            version: page.table.version
        };
        by("foot").textContent = t("foot", places);
        if (current.brought)
            by("foot").append(
                t("foot.brought", {name: page.brought.name, n: page.brought.checkpoints.length}));
    }
    const sameRun = ({options}) => options &&
        Object.entries(options).every(
            ([name, value]) => page.run.options[name] === value ||
                Number(page.run.options[name]) === Number(value));

    /* A frame of it was shown: it is what a new worker begins with. */
    function works() { good = {...current, calls: page.rpc.made}; }

    /* The example and the model's changes as the state has them. */
    async function change() {
        if (page.course.holds()) return;
        let words;
        const of = (s) => ({
            example: s.example,
            ask: s.ask,
            set: s.set,
            hide: s.hide,
            silent: s.silent,
            random: s.random
        });
        try {
            words = await page.call("change", of(state));
            page.trouble("");
        } catch (e) {
            page.refused(e);
            if (e instanceof qkvFault) return;
            state.undo();
            state.ask = -1;
            words = await page.call("change", of(state));
        }
        page.example.showWords(words);
        state.example = words.number;  // of the last one the next is the first
        page.example.named();
        by("previous-example").disabled = state.example === 0;
        page.player.forget();
        await page.pair.change().catch((e) => page.refused(e));
        await page.player.request();
    }

    const unknown = (what, name, all) =>
        all.has(name) ? "" : t("address.unknown", {name: what, value: name});

    /* The run that the address gives: the one that is open, if that has its options. */
    async function fromAddress(address, agreed = false) {
        const options = () => JSON.stringify([Object.entries(state.given).sort(), state.text]);
        const open = page.run ? options() : "", pair = JSON.stringify(state.beside);
        const fallBack = async (message) => {
            state.read("");
            Object.assign(state, qkvAddress.shape(address));
            page.show.apply();
            if (!page.run || Object.keys(state.given).length || open !== options()) await start({});
            page.trouble(message);
        };
        try {
            state.read(address);
        } catch (e) { return fallBack(e.message); }
        page.show.apply();
        page.language.follow();
        if (state.lesson && !page.course.has(state.lesson))
            return fallBack(t("address.lesson", {value: state.lesson}));
        if (state.lesson) {
            Object.assign(state, {extra: state.given, given: {}});
            await page.course.open(state.lesson);
            return page.run ? null : fallBack(by("trouble").textContent);
        }
        if (page.course.lesson) page.course.close();
        state.given = page.own.complete(state.given);
        const {step, given, head, beside, map} = state, again = () => fromAddress(address, true);
        if (options() !== open) {
            const wrong = await start({...given}, {keep: true, agreed, again});
            if (wrong && !agreed && qkvSize.warning(given, page.baseOf(given))) return;
            if (wrong) return fallBack(wrong);
        }
        if (head >= page.run.heads) state.head = -1;
        if (!page.maps.has(state.map)) state.map = "";
        page.maps.build(page.run);
        if (beside && beside.from > page.run.steps) state.beside = null;
        state.step = 0;
        const guessed = state.guess ? page.course.changes() : {};
        if (state.guess) state.undo();
        await change();
        const second = JSON.stringify(state.beside) !== pair || options() !== open;
        if (second && (state.beside || page.pair.on)) {
            await page.pair.begin();
            await page.player.request();
        }
        const {run} = page, steps = Math.max(run.steps, page.pair.steps);
        const misfit = qkvAddress.misfit({step, head, beside}, {...run, steps}) ||
            unknown("map", map, page.maps);
        const said = by("trouble").textContent;
        if (step || open) page.player.goTo(step);
        if (misfit && !said) page.trouble(misfit);
        if (!state.guess) return;
        await page.player.rest();
        Object.assign(state, guessed);
        await change();
    }

    /* A checkpoint that was opened, or one that came with the page. */
    async function opened(value, name) {
        began({run: value.run, words: value.words}, {});
        const {base, options} = value.run;
        state.given = Object.fromEntries(Object.entries(options).filter(
            ([option, v]) => option !== "task" ? v !== base[option] : v !== "pairs"));
        current.given = state.given;
        page.options.show(page.run);
        state.undo();
        state.ask = state.head = -1;
        state.step = value.step;
        await change();
        page.tell(t("opened", {name, step: value.step}));
    }

    /* The run that qkv view put into the page: its rows, and its states by checkpoint. */
    async function openBrought() {
        const {brought, call} = page;
        const run =
            await call("begin", {text: JSON.stringify(brought.config), files: brought.files});
        brought.options = run.run.options;
        page.own.bring(brought.files);
        for (const c of brought.checkpoints)
            run.step =
                (await call("restore", {name: brought.name, file: page.bytes(c), same: true})).step;
        await opened(run, brought.name);
        if (brought.at < run.step) page.player.goTo(brought.at);
        document.title = t("title.run", {name: brought.name});
        current.brought = true;
        foot();
    }

    /* ---- after a fault ---- */

    /* Another worker with the last run of which a frame was shown. stopped: by a click, and not by a fault. */
    async function recover(why, stopped) {
        if (recovering) return;
        recovering = true;
        const step = state.step;
        page.player.pause();
        page.shown = null;
        page.body.dataset.waits = "1";
        try {
            await page.rpc.again(good ? good.calls : []);
            if (good) {
                state.text = good.text;
                began(good.value, good.given);
                state.step = 0;
                state.ask = state.head = -1;
                state.undo();
                await change();
                await page.pair.begin();
                await page.player.request();
            } else {
                await start({});
            }
            recovering = false;
            const back = [
                t("fault.back", {step}),
                () => {
                    page.trouble("");
                    page.player.goTo(step);
                }
            ];
            page.trouble(
                stopped ? t("fault.again") : t("fault.stopped", {why}),
                ...(step && good ? [back] : []));
        } catch (e) {
            page.trouble(
                t("fault.start", {why: e.message}), [t("again"), () => recover(why, stopped)]);
        } finally {
            recovering = false;
            page.rest();
        }
    }
    function stop() {
        page.rpc.stop();
        recover("", true);
    }

    return {
        start,
        change,
        foot,
        works,
        fromAddress,
        opened,
        openBrought,
        recover,
        stop,
        get recovering() { return recovering; }
    };
};
