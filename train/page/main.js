/* main.js - the page of a root element: its parts put together, what each may ask of the others, and its beginning. */
"use strict";

/* Panels beside those of the page itself: functions of the page, each giving {build(run, words), show(frame), again(),
 * wants()}. wants(): {name: what}, which the worker's qkvLooks[name](engine, what) answers in frame.extra[name]. */
const qkvPanels = [];

const qkvPage = (root) => {
    const {make, setText} = qkvText, {t, said} = qkvStrings;
    const by = (id) => root.getElementById(id), body = root.body || root.host;
    const page = {root, body, by, state: qkvState(), run: null, table: null, shown: null};
    const {state} = page;

    /* ---- what the parts lend each other ---- */

    page.bytes = (base64) =>
        Uint8Array.from(atob(base64.replace(/\s/g, "")), (c) => c.charCodeAt(0));

    /* Bytes that were compressed by gzip. */
    const inflated = async (packed) => new Uint8Array(
        await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")))
            .arrayBuffer());

    /* A sentence at the top with what can be done: [label, act]. "": it is taken away. */
    page.trouble = (text, ...buttons) => {
        if (!text && by("trouble").hidden) return;
        by("trouble").hidden = !text;
        by("trouble").replaceChildren(text || "", ...buttons.map(([label, act]) => make("button", {
                                                                     text: label,
                                                                     onclick: () => {
                                                                         page.trouble("");
                                                                         act();
                                                                     }
                                                                 })));
    };
    page.tell = (text) => setText(by("say"), text);

    /* Says a text to who does not see the page, once nothing follows it for a moment. */
    let speaking = 0;
    page.speak = (text) => {
        clearTimeout(speaking);
        speaking = setTimeout(() => setText(by("spoken"), text), 500);
    };

    /* Asks the engine; dataset.waits says that it does. */
    page.call = async (name, data) => {
        body.dataset.waits = "1";
        try {
            return await page.rpc.call(name, data);
        } finally { page.rest(); }
    };
    page.rest = () => {
        if (!page.rpc.waits && !page.pair.waits && !page.player.busy && !page.session.recovering)
            delete body.dataset.waits;
    };
    /* What was refused is said; of a fault the session knows already. */
    page.refused = (e) => {
        if (!(e instanceof qkvFault)) page.trouble(e.message);
    };
    /* What went wrong while a frame was drawn. */
    page.failed = (e) => {
        if (e instanceof qkvFault) return;
        page.trouble(t("fault.frame", {why: e.message}), [
            t("fault.zero"),
            () => {
                state.undo();
                state.ask = state.head = -1;
                state.step = 0;
                page.session.change();
            }
        ]);
    };
    page.frame = async (to, budget, rows) => {
        const asked = {to, budget, changed: state.changed()}, beside = page.pair.frame(to, asked);
        const first = await page.call("frame", {
            ...asked,
            rows,
            view: {head: state.head, map: state.map},
            wants: Object.assign({}, ...page.panels.map((p) => (p.wants ? p.wants() : {})))
        });
        first.pair = page.pair.joined(first, await beside);
        return first;
    };

    page.taskOf = (given) => given.task || "pairs";
    page.baseOf = (given) =>
        page.run && page.taskOf(given) === page.run.options.task ? page.run.base : {};
    page.summary = () =>
        said((page.table.tasks.find((one) => one.name === page.run.options.task) || {
                 summary: ""
             }).summary);

    /* In a frame made of text (srcdoc) there is no address: the frame's name stands for it. */
    page.inText = location.href === "about:srcdoc";
    page.address = () => (page.inText ? window.name : location.hash);
    page.setAddress = () => {
        page.show.link();
        if (page.inText) return;
        try {
            history.replaceState(null, "", "#" + state.address());
        } catch (e) { /* too often for this browser: the next one will be taken */
        }
    };

    /* All that is computed of words, in a language that was chosen just now. */
    page.retell = () => {
        if (!page.run) return;
        page.options.show(page.run);
        page.own.show(page.run);
        page.course.retell();
        page.pair.retell();
        page.sweep.retell();
        for (const panel of page.panels)
            if (panel.retell) panel.retell(page.run);
        page.session.foot();
        page.player.forget();
        page.player.request();
    };

    /* ---- its parts ---- */

    page.language = qkvLanguage(page);
    page.options = qkvOptions(page);
    page.own = qkvOwn(page);
    page.sweep = qkvSweep(page);
    page.example = qkvExample(page);
    page.cells = qkvCells(page);
    page.maps = qkvMaps(page);
    page.curves = qkvCurves(page);
    page.stories = qkvStories(page);
    page.course = qkvCourse(page);
    page.files = qkvFiles(page);
    page.player = qkvPlayer(page);
    page.session = qkvSession(page);
    page.pair = qkvPair(page);
    page.show = qkvShow(page);
    page.screen = qkvScreen(page);
    page.wait = qkvWait(page);
    page.touch = qkvTouch(page);
    page.panels = [page.example, page.maps, page.curves, ...qkvPanels.map((panel) => panel(page))];
    page.say = page.touch.say;
    /* A worker with an engine in it; fault(error): it has ended, and not because it was told to. */
    page.engine = (fault, stop) => qkvRpc({
        code: by("worker").textContent,
        read: (value) => (state.words ? qkvStrings.named(value) : value),
        bytes: () => inflated(page.bytes(by("engine").textContent)),
        slow: (entry) => page.wait.call(entry, stop || (() => fault(new qkvFault("stopped")))),
        fault
    });
    page.rpc = page.engine(
        (e) => page.table && page.session.recover(e.message, false), () => page.session.stop());

    page.redraw = () => {
        if (!page.shown) return;
        qkvDraw.forget();
        for (const panel of page.panels) panel.again(page.shown);
    };

    /* ---- beginning ---- */

    /* Vectors of 16 bytes: the smallest module that uses one. */
    const hasVectors = () =>
        typeof WebAssembly === "object" && WebAssembly.validate(new Uint8Array([
            0, 97, 115, 109, 1,  0, 0, 0, 1,  5, 1,   96, 0,   1,  123, 3,
            2, 1,  0,   10,  10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11
        ]));

    /* What was in a view's element and is no JSON is no run. */
    function broughtRun() {
        try {
            return JSON.parse(by("run").textContent);
        } catch (e) {
            page.trouble(t("fault.brought", {why: e.message}));
            return null;
        }
    }

    async function begin() {
        const address = page.address();
        Object.assign(state, qkvAddress.shape(address));
        page.show.apply();
        if (!hasVectors()) return page.trouble(t("browser.simd"));
        if (typeof DecompressionStream !== "function") return page.trouble(t("browser.inflate"));
        try {
            page.table = await page.rpc.open();
        } catch (e) {
            return page.trouble(t("fault.start", {why: e.message}), [t("again"), begin]);
        }
        page.options.build(page.table, (given) => page.session.start(given));
        page.own.build((given) => page.session.start(given), () => state.given);
        page.stories.build();
        page.course.build();
        page.player.controls();
        page.touch.listen();
        page.pair.listen();
        page.maps.listen();
        page.curves.listen(page.player.goTo);
        page.files.build();
        page.screen.listen();
        page.language.listen();
        addEventListener("hashchange", () => {
            if (location.hash.slice(1) !== state.address()) page.session.fromAddress(location.hash);
        });
        page.brought = page.sweep.taken(broughtRun());
        try {
            const {config, lesson} = page.brought || {};
            if (config) await page.session.openBrought();
            if (!config || address || lesson)
                await page.session.fromAddress(address || (lesson ? "lesson=own" : ""));
        } catch (e) { page.refused(e); }
        body.dataset.ready = "1";
        if (!address && !page.brought && firstVisit()) page.player.watch(200, 10);
    }
    /* Nobody has been here yet, as far as this browser keeps it: then the page begins by itself. */
    function firstVisit() {
        try {
            const first = localStorage.getItem("qkv-seen") === null;
            localStorage.setItem("qkv-seen", "1");
            return first;
        } catch (e) { return false; }
    }
    page.begin = begin;
    return page;
};
