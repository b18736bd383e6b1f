/* main.js - the page: asks the worker for frames, plays, goes back, and says what there is to see. */
"use strict";

(() => {
    const {by, make, setText, percent} = qkvText, {state} = qkvState;
    let worker = null, waiting = new Map(), next = 1;
    let table = null, run = null, frame = null, playing = false, busy = false, wanted = -1,
        position = 0, before = 0;
    let brought = null, score = null, scored = "", asked = false;

    /* ---- the worker ---- */

    function call(name, data) {
        const id = next++;
        return new Promise((done, failed) => {
            waiting.set(id, {done, failed});
            document.body.dataset.waits = "1";
            worker.postMessage({id, call: name, ...data});
        });
    }
    function startWorker() {
        worker = new Worker(
            URL.createObjectURL(new Blob([by("worker").textContent], {type: "text/javascript"})));
        worker.onmessage = ({data}) => {
            const {done, failed} = waiting.get(data.id);
            waiting.delete(data.id);
            if (!waiting.size && !playing) delete document.body.dataset.waits;
            if (data.error === undefined)
                done(data.value);
            else
                failed(new Error(data.error));
        };
        worker.onerror = (e) => trouble("The engine stopped: " + e.message);
    }
    const bytes = (base64) =>
        Uint8Array.from(atob(base64.replace(/\s/g, "")), (c) => c.charCodeAt(0));

    /* Vectors of 16 bytes: the smallest module that uses one. */
    const hasVectors = () =>
        typeof WebAssembly === "object" && WebAssembly.validate(new Uint8Array([
            0, 97, 115, 109, 1,  0, 0, 0, 1,  5, 1,   96, 0,   1,  123, 3,
            2, 1,  0,   10,  10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11
        ]));

    /* Bytes that were compressed by gzip. */
    const inflated = async (packed) => new Uint8Array(
        await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")))
            .arrayBuffer());

    function trouble(text) {
        by("trouble").hidden = !text;
        by("trouble").textContent = text || "";
    }

    /* ---- a run ---- */

    /* Begins a run with these options; a bad one is answered in words, which are returned, and the old run stays. */
    async function start(given, keepExample) {
        try {
            began(await call("start", {options: given, files: qkvOwn.files(given)}), given);
        } catch (e) {
            trouble(e.message);
            if (run) qkvOptions.show(run);
            return e.message;
        }
        if (!keepExample) {
            state.ask = -1;
            state.head = -1;
            state.step = 0;
            qkvState.undo();
            await change();
        }
        return "";
    }

    function began(value, given) {
        run = value.run;
        state.given = given;
        playing = false;
        position = 0;
        frame = null;
        score = null;
        scored = "";
        trouble("");
        by("slider").max = run.steps;
        qkvOptions.show(run);
        qkvExample.build(run, value.words, change);
        qkvOwn.show(run);
        qkvMaps.build(run, () => request());
        qkvCurves.build(run);
        if (brought && sameRun()) qkvCurves.bring(brought.metrics);
        by("foot").textContent = run.options.task + ": " +
            (table.tasks.find((t) => t.name === run.options.task) || {summary: ""}).summary + ". " +
            run.learned.toLocaleString("en") + " numbers learn. The engine is qkv " +
            table.version +
            " compiled to WebAssembly: it trains the same bits as a native build with ARCH=portable.";
    }

    const sameRun = () => Object.entries(brought.options)
                              .every(
                                  ([name, value]) => run.options[name] === value ||
                                      Number(run.options[name]) === Number(value));

    /* The example and the model's changes as the state has them. */
    async function change() {
        let words;
        try {
            words = await call("change", {
                example: state.example,
                ask: state.ask,
                set: state.set,
                hide: state.hide,
                silent: state.silent,
                random: state.random
            });
            trouble("");
        } catch (e) {
            trouble(e.message);
            qkvState.undo();
            state.ask = -1;
            words = await call(
                "change",
                {example: state.example, ask: -1, set: [], hide: 0, silent: -1, random: ""});
        }
        qkvExample.showWords(words);
        state.example = words.number;  // of the last one the next is the first
        by("example-name").textContent = "held-out example " + state.example;
        by("previous-example").disabled = state.example === 0;
        scored = "";
        request();
    }

    /* ---- frames ---- */

    /* Asks for the step that is wanted, unless the worker still draws; then it is asked again. */
    async function request(step = state.step) {
        wanted = step;
        if (busy) return;
        busy = true;
        while (wanted >= 0) {
            const to = wanted, mine = run;
            wanted = -1;
            const view = {head: state.head, map: state.map},
                  f = await call("frame", {
                          to,
                          budget: playing ? 40 : 250,
                          rows: qkvCurves.taken,
                          view,
                          changed: qkvState.changed()
                      }).catch((e) => ({trouble: e.message}));
            if (mine !== run) {
                wanted = state.step;
                continue;
            }
            if (f.before) show(f);
            if (f.trouble) {
                pause();
                trouble(f.trouble);
                break;
            }
            if (!playing && f.step !== Math.min(to, run.steps) && wanted < 0)
                wanted = to;  // a long way: in parts, so that it can be seen
        }
        busy = false;
        if (!playing) settle();
    }

    function show(f) {
        frame = f;
        state.step = f.step;
        if (f.end < run.steps)
            by("slider").max = run.steps = f.end;  // --until-accuracy, --patience
        qkvCurves.add(f.rows);
        qkvExample.show(f);
        qkvMaps.show(f);
        qkvCurves.show(f.step);
        if (!document.activeElement || document.activeElement !== by("slider") || playing)
            by("slider").value = f.step;
        setText(by("where"), "step " + f.step + " of " + run.steps);
        by("slider").setAttribute("aria-valuetext", "step " + f.step + " of " + run.steps);
        by("back-one").disabled = by("restart").disabled = f.step === 0;
        button();
        by("one").disabled = by("ten").disabled = by("end").disabled = f.step >= run.steps;
        narrate();
    }

    /* When nothing moves: the address, and what changes of the model do to other examples. */
    async function settle() {
        history.replaceState(null, "", "#" + qkvState.address());
        narrate();
        qkvText.speak(
            by("where").textContent + ". " + by("say").textContent + " " +
            (by("compare").hidden ? "" : by("compare").textContent));
        const key = [state.step, state.hide, state.silent, state.random].join();
        if (!qkvState.changedModel() || scored === key || busy) return;
        scored = key;
        try {
            score = await call("score", {changed: true});
        } catch (e) { score = null; }
        narrate();
    }

    /* ---- playing ---- */

    /* From the end, once more from the beginning. */
    async function play() {
        if (state.step >= run.steps) await request(0);
        playing = true;
        position = state.step;
        before = performance.now();
        button();
        requestAnimationFrame(tick);
    }
    function pause() {
        playing = false;
        button();
    }
    function button() {
        setText(
            by("play"),
            playing                            ? "❚❚ Pause" :
                run && state.step >= run.steps ? "▶ Again" :
                                                 "▶ Play");
    }

    function tick(time) {
        if (!playing) return;
        const speed = Number(by("speed").value),
              passed = Math.max(0, Math.min(0.25, (time - before) / 1000));
        before = time;
        if (!busy) {
            if (position > state.step + Math.max(1, speed / 4))
                position = state.step;  // the engine is slower than asked
            request(Math.min(run.steps, speed ? Math.floor(position) : state.step + 100000));
        }
        if (state.step >= run.steps) {
            pause();
            settle();
            return;
        }
        position = speed ? position + passed * speed : state.step;
        requestAnimationFrame(tick);
    }

    function goTo(step) {
        pause();
        const to = Math.max(0, Math.min(run.steps, step));
        by("slider").value = to;
        request(to);
    }

    /* ---- words ---- */

    const action = (text, act, first) =>
        make("button", {text, class: first ? "first" : "", onclick: act});
    const now = (name) => {
        const r = qkvCurves.at(state.step);
        return r && r[name] !== null && r[name] !== undefined ? r[name] : null;
    };

    function narrate() {
        if (!frame || !run) return;
        const accuracy = now("accuracy"), pairs = run.roles.key >= 0 && run.entries > 1,
              buttons = [];
        let text, lead = 0;
        if (qkvState.changed()) {
            text = changedText();
            const both = [
                ["Exchange two keys", () => swap("key", true)],
                ["Exchange two values", () => swap("value", true)]
            ];
            if (pairs && !playing) buttons.push(...both);
            lead = qkvExample.touched("key") ? 1 : 0;  // the one to try next, where it stood
            if (!playing) buttons.push(...exchanges());
            buttons.push(["Undo", undo]);
        } else if (state.step === 0) {
            text = run.options.task === "pairs" ? "A small model reads " + run.entries +
                    " entries, each a key and a value, then one of the keys again, and must say its value. It has learned nothing yet." :
                                                  "Task " + run.options.task + ": " +
                    table.tasks.find((t) => t.name === run.options.task).summary +
                    ". The model has learned nothing yet.";
            if (!playing) buttons.push(["▶ Watch it learn", play]);
        } else {
            const diagonals = now("qk_diag") !== null ? " V and O say " + percent(now("ov_diag")) +
                    " of the values as themselves; with Q and K " + percent(now("qk_diag")) +
                    " of the keys find themselves." :
                                                        "";
            text = accuracy === null ?
                "Held-out error: " + qkvText.number(now("val_loss"), 3) + "." :
                percent(accuracy) + " of the answers to new questions are right." + diagonals;
            if (state.step >= run.steps && pairs) {
                text = percent(accuracy) +
                    " of the answers to new questions are right. What decides where it looks, and what it says? Exchange two keys.";
                buttons.push(
                    ["Exchange two keys", () => swap("key", true)],
                    ["Exchange two values", () => swap("value", true)]);
            } else if (state.step >= run.steps) {
                buttons.push(...exchanges());
            }
        }
        setText(by("say"), text);
        showActions(buttons, lead);
    }

    /* The focus stays on the button that was pressed, or on what stands where it was. */
    function showActions(buttons, lead) {
        const box = by("say-actions"), key = buttons.map((b) => b[0]).join("|") + lead,
              old = [...box.children].indexOf(document.activeElement);
        if (box.dataset.key === key) return;
        box.dataset.key = key;
        const label = old >= 0 ? box.children[old].textContent : "";
        box.replaceChildren(...buttons.map(([text, act], i) => action(text, act, i === lead)));
        const now = [...box.children], same = now.find((b) => b.textContent === label);
        if (old >= 0) (same || now[Math.min(old, now.length - 1)] || by("play")).focus();
    }

    function changedText() {
        const parts = [];
        if (qkvState.changedWords())
            parts.push(
                qkvExample.lesson(frame) || "You changed the example; what is changed is marked.");
        if (state.hide & 2) parts.push("K cannot see values.");
        if (state.hide & 1) parts.push("V cannot see keys.");
        if (state.silent >= 0) parts.push("Head " + state.silent + " is off.");
        if (state.random) parts.push(state.random + " is random.");
        if (qkvState.changedModel() && score && score[1])
            parts.push(
                "Over " + score[0].examples + " other examples, right answers: " +
                percent(score[0].accuracy) + " before, " + percent(score[1].accuracy) +
                " now; attention on the answer: " + percent(score[0].attention) + " before, " +
                percent(score[1].attention) + " now.");
        return parts.join(" ");
    }

    /* ---- touching ---- */

    function afresh() {
        qkvState.undo();
        qkvExample.words.changed = JSON.parse(JSON.stringify(qkvExample.words.drawn));
    }
    function swap(role, fresh) {
        if (fresh) afresh();
        qkvExample.swapTwo(role, frame.before.look);
    }
    /* What can be done with the words of a line. */
    function exchanges() {
        const fresh = (act) => () => {
            afresh();
            act();
        };
        return [
            ...(qkvExample.exchanges("other") ?
                    [["Exchange two words", fresh(qkvExample.swapWords)]] :
                    []),
            ...(qkvExample.exchanges("put") ?
                    [["Another word for the answer", fresh(qkvExample.putWord)]] :
                    [])
        ];
    }
    function undo() {
        qkvState.undo();
        change();
    }

    function touch() {
        by("swap-keys").addEventListener("click", () => swap("key", false));
        by("swap-values").addEventListener("click", () => swap("value", false));
        by("swap-words").addEventListener("click", () => qkvExample.swapWords());
        by("put-word").addEventListener("click", () => qkvExample.putWord());
        by("undo").addEventListener("click", undo);
        const bit = (id, n) => by(id).addEventListener("change", (e) => {
            state.hide = e.target.checked ? state.hide | n : state.hide & ~n;
            change();
        });
        bit("hide-keys", 1);
        bit("hide-values", 2);
        by("silent").addEventListener("change", (e) => {
            state.silent = Number(e.target.value);
            change();
        });
        by("random").addEventListener("change", (e) => {
            state.random = e.target.value;
            change();
        });
        const example = (by) => {
            state.example = Math.max(0, state.example + by);
            state.ask = -1;
            state.set = [];
            change();
        };
        by("next-example").addEventListener("click", () => example(1));
        by("previous-example").addEventListener("click", () => example(-1));
    }

    /* What a story's step does. */
    async function act(step) {
        const a = step.act || {};
        trouble("");
        if (step.set && (await start({...step.set}))) return;
        if (a.fresh) {
            qkvState.undo();
            await change();
        }
        if (a.speed) by("speed").value = a.speed;
        if (a.step !== undefined) return goTo(a.step);
        if (a.swap) return swap(a.swap, true);
        if (a.hide) state.hide = a.hide;
        if (a.silent !== undefined) state.silent = a.silent;
        if (a.random) state.random = run.matrices.find((m) => m.endsWith("." + a.random)) || "";
        if (a.hide || a.silent !== undefined || a.random) return change();
        if (a.play) play();
    }

    /* ---- controls ---- */

    function controls() {
        by("play").addEventListener("click", () => (playing ? (pause(), settle()) : play()));
        by("one").addEventListener("click", () => goTo(state.step + 1));
        by("ten").addEventListener("click", () => goTo(state.step + 10));
        by("back-one").addEventListener("click", () => goTo(state.step - 1));
        by("end").addEventListener("click", () => goTo(run.steps));
        by("restart").addEventListener("click", () => goTo(0));
        by("slider").addEventListener("input", (e) => goTo(Number(e.target.value)));
        by("norms-kind").addEventListener("change", () => qkvCurves.show(state.step));
        by("help").addEventListener("click", help);
        document.addEventListener("keydown", (e) => {
            if (e.ctrlKey || e.altKey || e.metaKey ||
                /INPUT|SELECT|TEXTAREA/.test(e.target.tagName) || by("dialog").open)
                return;
            if (e.key === " " && e.target.tagName !== "BUTTON" && e.target.tagName !== "SUMMARY")
                by("play").click();
            else if (e.key === ",")
                goTo(state.step - 1);
            else if (e.key === ".")
                goTo(state.step + 1);
            else if (e.key === "Home")
                goTo(0);
            else if (e.key === "End")
                goTo(run.steps);
            else
                return;
            e.preventDefault();
        });
        const redraw = () => {
            if (frame) {
                qkvDraw.forget();
                qkvExample.show(frame);
                qkvMaps.again();
                qkvCurves.show(state.step);
            }
        };
        addEventListener("resize", redraw);
        // On another screen pictures have other pixels. Not every browser says so: the pointer comes along.
        let ratio = 0;
        const sharpen = () => {
            if (ratio && devicePixelRatio !== ratio) redraw();
            ratio = devicePixelRatio;
        };
        const watch = () => {
            sharpen();
            matchMedia("(resolution: " + ratio + "dppx)").addEventListener("change", watch, {
                once: true
            });
        };
        watch();
        addEventListener("pointermove", sharpen, {passive: true});
        const print = (on) => () => {
            document.documentElement.classList.toggle("print", on);
            redraw();
        };
        addEventListener("beforeprint", print(true));
        addEventListener("afterprint", print(false));
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
        addEventListener("hashchange", () => {
            if (location.hash.slice(1) !== qkvState.address()) fromAddress(location.hash);
        });
        return redraw;
    }

    function help() {
        const lines = [
            [
                "What is shown",
                "Above, one held-out example: under each entry how much the question looks at it (weight), the score before the softmax, and what its value alone would make the model say. Below, attention; then what the matrices do to symbols without any example: Q and K (which key a question matches), V and O (what a fetched value says). Blue is where to look, orange is what is brought back."
            ],
            [
                "Touch",
                "A click on a key asks for it. To exchange two keys or two values, drag one onto the other, or choose “exchanges two” and click both. “Changes it” gives a list of words. Everything changed has a frame, and numbers stand as before → now."
            ],
            [
                "Keys",
                "Space plays and pauses; comma and full stop go one step back and on; Home and End to the first and last. In the example: Enter does what a click does, x exchanges (once on each), arrow keys up and down change the word, left and right move."
            ],
            [
                "Go back",
                "The slider and the curves go to any step. It is computed again from a state that was kept, to the same bits: a run is a function of its options."
            ],
            [
                "Take along",
                "The address holds options, step, example and changes. Checkpoints are those of qkv: “qkv eval” reads them in a run directory, and those of a native run open here."
            ],
        ];
        const body = document.createDocumentFragment();
        for (const [title, text] of lines)
            body.append(make("h3", {text: title}), make("p", {text}));
        body.append(make("p", {}, make("button", {
                             text: "Read the findings",
                             onclick: () => {
                                 by("dialog").close();
                                 qkvStories.findings("");
                             }
                         })));
        qkvStories.dialog("How to use this page", body);
    }

    /* ---- beginning ---- */

    /* The run that the address gives: the one that is open, if that has its options. */
    async function fromAddress(address) {
        const options = () => JSON.stringify([Object.entries(state.given).sort(), state.text]);
        const open = run ? options() : "";
        const fallBack = async (message) => {
            qkvState.read("");
            await start({});
            trouble(message);
        };
        try {
            qkvState.read(address);
        } catch (e) { return fallBack(e.message); }
        const step = state.step, {given} = state;
        const wrong = options() === open ? "" : await start({...given}, true);
        if (wrong) return fallBack(wrong);
        qkvStories.tell(state.story, false);
        state.step = 0;
        await change();
        if (step || open) goTo(step);
    }

    /* A checkpoint that was opened, or one that came with the page. */
    async function opened(value, name) {
        began({run: value.run, words: value.words}, {});
        const base = value.run.base;
        state.given = Object.fromEntries(
            Object.entries(value.run.options)
                .filter(([option, v]) => option !== "task" ? v !== base[option] : v !== "pairs"));
        qkvOptions.show(run);
        qkvState.undo();
        state.ask = state.head = -1;
        state.step = value.step;
        await change();
        setText(by("say"), "'" + name + "' is open at step " + value.step + ".");
    }

    /* The run that qkv view put into the page: its rows, and its states by checkpoint. */
    async function openRun() {
        const run =
            await call("begin", {text: JSON.stringify(brought.config), files: brought.files});
        brought.options = run.run.options;
        qkvOwn.bring(brought.files);
        for (const c of brought.checkpoints)
            run.step =
                (await call("restore", {name: brought.name, file: bytes(c), same: true})).step;
        await opened(run, brought.name);
        if (brought.at < run.step) goTo(brought.at);
        document.title = "qkv: " + brought.name;
        by("foot").append(
            " This is the run " + brought.name + " with " + brought.checkpoints.length +
            " of its states; steps between them are computed here again, and may differ from it in the last digits if its program was built otherwise than with ARCH=portable.");
    }

    async function main() {
        if (!hasVectors())
            return trouble(
                "This browser has no WebAssembly with SIMD, which the engine is made of. Chromium and Firefox have it since 2021, Safari since 16.4.");
        if (typeof DecompressionStream !== "function")
            return trouble(
                "This browser cannot unpack the engine: it has no DecompressionStream. Chrome and Edge have it since version 80, Safari since 16.4, Firefox since 113.");
        startWorker();
        brought = JSON.parse(by("run").textContent);
        try {
            table = await call("open", {bytes: await inflated(bytes(by("engine").textContent))});
        } catch (e) { return trouble("The engine cannot be started: " + e.message); }
        qkvOptions.build(table, (given) => start(given));
        qkvOwn.build((given) => start(given), () => state.given);
        qkvStories.build(act);
        const redraw = controls();
        touch();
        qkvMaps.listen();
        qkvCurves.listen(goTo);
        qkvFiles.build({
            run: () => run,
            call,
            say: (text) => setText(by("say"), text),
            trouble,
            redraw,
            opened
        });
        try {
            const address = location.hash;
            if (brought) await openRun();
            if (!brought || address) await fromAddress(address);
        } catch (e) { trouble(e.message); }
        document.body.dataset.ready = "1";
    }
    main();
})();
