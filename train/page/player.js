/* player.js - frames of the run, one at a time: asked for, shown, played, gone back to. */
"use strict";

const qkvPlayer = (page) => {
    const {by, state} = page, {setText} = qkvText, {t, said} = qkvStrings;
    let playing = false, busy = false, wanted = -1, position = 0, before = 0, score = null,
        scored = "", since = 0, goal = null;
    const resting = [];  // who waits until nothing is asked any more

    /* Asks for the step that is wanted, unless the worker still draws; then it is asked again. */
    async function request(step = state.step) {
        wanted = step;
        if (busy || !page.run) return;
        busy = true;
        since = performance.now();
        try {
            while (wanted >= 0) await one();
        } catch (e) {
            pause();
            wanted = -1;
            page.failed(e);
        } finally {
            busy = false;
            page.wait.show(null);
            page.rest();
            for (const done of resting.splice(0)) done();
        }
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
            page.trouble(said(frame.trouble));
        } else if (!playing && wanted < 0 && isOnTheWay(frame, to)) {
            wanted = to;  // a long way: in parts, so that it can be seen
            if (performance.now() - since > 300)
                page.wait.show({words: () => onTheWay(to), stop, since});
        }
    }
    const onTheWay = (to) => t("wait.train", {step: state.step, to: Math.min(to, lastStep())});
    function stop() { wanted = state.step; }

    const isOnTheWay = (frame, to) =>
        frame.step !== Math.min(to, page.run.steps) || (frame.pair && frame.pair.late);
    /* The last step of the run, or of the longer one of two. */
    const lastStep = () => Math.max(page.run.steps, page.pair.steps);

    function show(f) {
        const {run} = page;
        page.shown = f;
        state.step = f.pair && f.step === f.end ? Math.max(f.step, f.pair.step) : f.step;
        if (f.end < run.steps) run.steps = f.end;  // --until-accuracy, --patience
        by("slider").max = lastStep();
        page.curves.add(f.rows);
        for (const panel of page.panels) panel.show(f);
        page.session.works();
        if (page.root.activeElement !== by("slider") || playing) by("slider").value = state.step;
        const where = t("player.where", {step: state.step, last: lastStep()});
        setText(by("where"), where);
        by("slider").setAttribute("aria-valuetext", where);
        by("back-one").disabled = by("restart").disabled = state.step === 0;
        button();
        by("one").disabled = by("ten").disabled = by("end").disabled = state.step >= lastStep();
        page.say();
    }

    /* When nothing moves: the address, and what changes of the model do to other examples. */
    async function settle() {
        page.setAddress();
        page.say();
        page.speak(t("player.speak", {
            where: by("where").textContent,
            say: by("say").textContent,
            compare: by("compare").hidden ? "" : by("compare").textContent
        }));
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
        if (state.step >= lastStep()) await request(0);
        playing = true;
        position = state.step;
        before = performance.now();
        button();
        requestAnimationFrame(tick);
    }
    function pause() {
        playing = false;
        button();
        if (goal) goal.done();
        goal = null;
        page.rest();
    }
    const rest = () => new Promise((done) => (busy ? resting.push(done) : done()));
    /* Trains towards a step in about so many seconds, unless it is paused or motion is unwanted. */
    async function watch(step, seconds) {
        if (step <= state.step || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
        await new Promise((done) => {
            pause();
            goal = {to: step, speed: (step - state.step) / seconds, done};
            play();
        });
    }
    /* Goes to a step; seconds: in which training towards it is watched; a pause skips the rest. */
    async function reach(step, seconds = 0) {
        if (!page.run) return;
        const to = Math.min(lastStep(), step);
        if (seconds) await watch(to, seconds);
        goTo(to);
        await rest();
    }
    function toggle() {
        if (!playing) return play();
        pause();
        settle();
    }
    function button() {
        const ended = page.run && state.step >= lastStep();
        setText(
            by("play"),
            playing   ? t("player.pause") :
                ended ? t("player.again") :
                        t("player.play"));
    }

    /* As fast as it goes: of two runs neither gets far ahead. */
    function together() {
        const f = page.shown;
        if (!f || !f.pair) return state.step + 100000;
        return Math.max(f.step, Math.min(f.step, f.pair.step) + 40);
    }

    function tick(time) {
        if (!playing) return;
        const speed = goal ? goal.speed : Number(by("speed").value),
              steps = goal ? goal.to : lastStep(),
              passed = Math.max(0, Math.min(0.25, (time - before) / 1000));
        before = time;
        if (!busy) {
            if (position > state.step + Math.max(1, speed / 4))
                position = state.step;  // the engine is slower than asked
            request(Math.min(steps, speed ? Math.floor(position) : together()));
        }
        if (state.step >= steps && !(page.shown && page.shown.pair && page.shown.pair.late)) {
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
        const to = Math.max(0, Math.min(lastStep(), step));
        by("slider").value = to;
        request(to);
    }

    function controls() {
        by("play").addEventListener("click", toggle);
        by("one").addEventListener("click", () => goTo(state.step + 1));
        by("ten").addEventListener("click", () => goTo(state.step + 10));
        by("back-one").addEventListener("click", () => goTo(state.step - 1));
        by("end").addEventListener("click", () => goTo(lastStep()));
        by("restart").addEventListener("click", () => goTo(0));
        by("slider").addEventListener("input", (e) => goTo(Number(e.target.value)));
        const keys = new Map([
            [" ", toggle], [",", () => goTo(state.step - 1)], [".", () => goTo(state.step + 1)],
            ["Home", () => goTo(0)], ["End", () => goTo(lastStep())]
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
        reach,
        watch,
        rest,
        controls,
        /* Another run, or another example: what was measured of the last one is of no use. */
        forget() {
            scored = "";
            score = null;
        },
        get playing() { return playing; },
        get busy() { return playing || busy; },
        get score() { return score; }
    };
};
