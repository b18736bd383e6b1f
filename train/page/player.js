/* player.js - frames of the run, one at a time: asked for, shown, played, gone back to. */
"use strict";

const qkvPlayer = (page) => {
    const {by, state} = page, {setText} = qkvText;
    let playing = false, busy = false, wanted = -1, position = 0, before = 0, score = null,
        scored = "";

    /* Asks for the step that is wanted, unless the worker still draws; then it is asked again. */
    async function request(step = state.step) {
        wanted = step;
        if (busy || !page.run) return;
        busy = true;
        try {
            while (wanted >= 0) await one();
        } catch (e) {
            pause();
            wanted = -1;
            page.failed(e);
        } finally { busy = false; }
        if (!playing) settle();
    }

    async function one() {
        const to = wanted, mine = page.run;
        wanted = -1;
        const frame = await page.frame(to, playing ? 40 : 200, page.curves.taken);
        if (mine !== page.run) {
            wanted = state.step;
            return;
        }
        show(frame);
        if (frame.trouble) {
            pause();
            wanted = -1;
            page.trouble(frame.trouble);
        } else if (!playing && frame.step !== Math.min(to, page.run.steps) && wanted < 0) {
            wanted = to;  // a long way: in parts, so that it can be seen
        }
    }

    function show(f) {
        const {run} = page;
        page.shown = f;
        state.step = f.step;
        if (f.end < run.steps)
            by("slider").max = run.steps = f.end;  // --until-accuracy, --patience
        page.curves.add(f.rows);
        for (const panel of page.panels) panel.show(f);
        page.session.works();
        if (page.root.activeElement !== by("slider") || playing) by("slider").value = f.step;
        const where = "step " + f.step + " of " + run.steps;
        setText(by("where"), where);
        by("slider").setAttribute("aria-valuetext", where);
        by("back-one").disabled = by("restart").disabled = f.step === 0;
        button();
        by("one").disabled = by("ten").disabled = by("end").disabled = f.step >= run.steps;
        page.say();
    }

    /* When nothing moves: the address, and what changes of the model do to other examples. */
    async function settle() {
        page.setAddress();
        page.say();
        const key = [state.step, state.hide, state.silent, state.random].join();
        if (!page.shown || !state.changedModel() || scored === key || busy) return;
        scored = key;
        score = null;
        try {
            score = await page.call("score", {changed: true});
        } catch (e) { /* a fault is said where it is caught; of what is refused there is no score */
        }
        page.say();
    }

    /* ---- playing ---- */

    /* From the end, once more from the beginning. */
    async function play() {
        if (!page.run) return;
        if (state.step >= page.run.steps) await request(0);
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
    function toggle() {
        if (!playing) return play();
        pause();
        settle();
    }
    function button() {
        const ended = page.run && state.step >= page.run.steps;
        setText(by("play"), playing ? "❚❚ Pause" : ended ? "▶ Again" : "▶ Play");
    }

    function tick(time) {
        if (!playing) return;
        const speed = Number(by("speed").value), {steps} = page.run,
              passed = Math.max(0, Math.min(0.25, (time - before) / 1000));
        before = time;
        if (!busy) {
            if (position > state.step + Math.max(1, speed / 4))
                position = state.step;  // the engine is slower than asked
            request(Math.min(steps, speed ? Math.floor(position) : state.step + 100000));
        }
        if (state.step >= steps) {
            pause();
            settle();
            return;
        }
        position = speed ? position + passed * speed : state.step;
        requestAnimationFrame(tick);
    }

    function goTo(step) {
        if (!page.run) return;
        pause();
        const to = Math.max(0, Math.min(page.run.steps, step));
        by("slider").value = to;
        request(to);
    }

    function controls() {
        by("play").addEventListener("click", toggle);
        by("one").addEventListener("click", () => goTo(state.step + 1));
        by("ten").addEventListener("click", () => goTo(state.step + 10));
        by("back-one").addEventListener("click", () => goTo(state.step - 1));
        by("end").addEventListener("click", () => goTo(page.run.steps));
        by("restart").addEventListener("click", () => goTo(0));
        by("slider").addEventListener("input", (e) => goTo(Number(e.target.value)));
        const keys = new Map([
            [" ", toggle], [",", () => goTo(state.step - 1)], [".", () => goTo(state.step + 1)],
            ["Home", () => goTo(0)], ["End", () => goTo(page.run.steps)]
        ]);
        page.root.addEventListener("keydown", (e) => {
            if (e.ctrlKey || e.altKey || e.metaKey || !page.run || by("dialog").open ||
                /INPUT|SELECT|TEXTAREA/.test(e.target.tagName) || !keys.has(e.key) ||
                e.key === " " && /BUTTON|SUMMARY/.test(e.target.tagName))
                return;
            keys.get(e.key)();
            e.preventDefault();
        });
    }

    return {
        request,
        play,
        pause,
        goTo,
        controls,
        /* Another run, or another example: what was measured of the last one is of no use. */
        forget() {
            scored = "";
            score = null;
        },
        get playing() { return playing; },
        get score() { return score; }
    };
};
