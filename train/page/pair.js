/* pair.js - a second run beside the first: one of its own with other options, or a branch that leaves the first at a
 * step. It has a worker of its own, is shown the same example, and follows the same slider. */
"use strict";

const qkvPair = (page) => {
    const {by, state} = page, {make, setText} = qkvText, {t, said} = qkvStrings;
    let rpc = null, run = null, words = null, shared = true, rows = qkvRows(), name = "B",
        from = -1;

    /* What differs, in a few words: "B (tie qk)", "B (from step 170, lr 0.01)". */
    function nameOf({from: step, given}) {
        const parts =
            Object.entries(given).map(([option, v]) => option + " " + (v || t("pair.none")));
        if (step >= 0) parts.unshift(t("pair.from", {step}));
        return t("pair.name", {parts: qkvStrings.list(parts)});
    }

    function end() {
        if (rpc) rpc.stop();
        rpc = run = words = null;
        rows = qkvRows();
        line();
    }

    /* Begins the run that the state asks for, or ends the one that is there. What cannot be is said, and returned. */
    async function begin() {
        end();
        const {beside} = state;
        if (!beside) return "";
        const given = {...state.given, ...beside.given};
        from = beside.from;
        name = nameOf(beside);
        const mine = rpc = page.engine((e) => mine === rpc && fault(e));
        page.body.dataset.waits = "1";
        try {
            await mine.open();
            let value = await mine.call("start", {options: given, files: page.own.files(given)});
            if (from >= 0) {
                const file = await page.call("save", {at: from});
                value = {
                    ...value,
                    ...await mine.call("restore", {name: "run A", file, same: true})
                };
            }
            if (mine !== rpc) return "";
            run = value.run;
            await change();
            line();
            return "";
        } catch (e) {
            if (mine !== rpc) return "";
            end();
            state.beside = null;
            const why = t("pair.refused", {why: e.message});
            page.trouble(why);
            return why;
        } finally { page.rest(); }
    }
    function fault(e) {
        end();
        page.trouble(
            t("pair.stopped", {why: e.message}),
            [t("pair.again"), () => begin().then(() => page.player.request())],
            [t("pair.only"), only]);
    }
    function only() {
        state.beside = null;
        end();
        page.player.request();
    }

    /* The same example as the first run's, if both read the same words. */
    async function change() {
        if (!run) return;
        const of = {
            example: state.example,
            ask: -1,
            set: [],
            hide: state.hide,
            silent: state.silent < run.layers * run.heads ? state.silent : -1,
            random: run.matrices.includes(state.random) ? state.random : ""
        };
        const first = page.example.words;
        shared = JSON.stringify(run.sides) === JSON.stringify(page.run.sides) &&
            JSON.stringify(run.readouts) === JSON.stringify(page.run.readouts);
        words = await rpc.call("change", of);
        if (!shared) return;
        const lay = [];
        first.drawn.forEach(
            (streams, side) => streams.forEach((ids, stream) => ids.forEach((id, position) => {
                if (words.drawn[side][stream][position] !== id)
                    lay.push([side, stream, position, id]);
            })));
        words = await rpc.call("change", {...of, lay, ask: first.question, set: state.set});
    }

    /* A frame beside one of the first run's; null: there is none. Before they part they are one run. */
    async function frame(to, asked) {
        if (!run || to < from) return null;
        const mine = rpc, head = state.head < run.heads ? state.head : -1,
              map = state.map === "questions" && !run.asks ? "all" : state.map;
        try {
            const f = await mine.call(
                "frame", {...asked, to, rows: rows.taken, view: {head, map}, wants: {}});
            if (mine !== rpc) return null;
            if (f.trouble) page.trouble(t("named", {name, what: said(f.trouble)}));
            if (f.end < run.steps) run.steps = f.end;
            rows.add(f.rows, from);
            return {...f, late: !f.trouble && f.step !== Math.min(to, run.steps)};
        } catch (e) {
            if (!(e instanceof qkvFault)) page.trouble(t("named", {name, what: e.message}));
            return null;
        } finally { page.rest(); }
    }
    /* As the first run's frame has it; of = {frame of the first, frame of this one or null}. */
    function joined(first, second) {
        if (!run || (!second && state.step >= from && first.step >= from)) return null;
        const own = second || {...first, late: false},
              of = second ? {run, words: shared ? page.example.words : words} :
                            {run: page.run, words: page.example.words};
        return {
            ...own,
            subject: {...of, title: name, map: own.map},
            name,
            shared: shared || !second
        };
    }

    /* ---- what is chosen ---- */

    function line() {
        by("pair").hidden = !run;
        const [before, after] = t("pair.line", {name: "\n"}).split("\n");
        setText(by("pair-before"), before);
        setText(by("pair-name"), name);
        setText(by("pair-after"), after);
        by("beside").open = false;
    }
    function value(option) {
        const o = page.run.table.find((one) => one.name === option), id = "beside-value";
        const choices = o.kind === "flag" ? ["true", "false"] :
            o.kind === "choice"           ? o.choices.split("|") :
                                            null;
        const field = choices ?
            make("select", {id}, ...choices.map((c) => make("option", {value: c, text: c}))) :
            make("input", {id, autocomplete: "off", size: 12});
        const now = page.run.options[option];
        field.value = choices && choices.length > 1 ? choices.find((c) => c !== now) :
            option === "seed"                       ? String(Number(now) + 1) :
                                                      now;
        by("beside-value").replaceWith(field);
        setText(
            by("beside-help"),
            t("beside.now", {help: said(o.help), value: now || t("beside.nothing")}));
    }
    function choose() {
        const list = by("beside-option"), old = list.value || "seed";
        const all = page.run.table.filter((o) => o.kind !== "section" && o.name !== "task");
        list.replaceChildren(...all.map((o) => make("option", {value: o.name, text: o.name})));
        list.value = all.some((o) => o.name === old) ? old : "seed";
        value(list.value);
        setText(
            by("beside-branch"),
            state.step && state.step < page.run.steps ? t("beside.branch", {step: state.step}) :
                                                        t("beside.here"));
        by("beside-start").value = "0";
        by("beside-start").options[1].disabled = !state.step || state.step >= page.run.steps;
    }
    async function listen() {
        by("beside").addEventListener("toggle", () => by("beside").open && page.run && choose());
        by("beside-option").addEventListener("change", (e) => value(e.target.value));
        by("beside-go").addEventListener("click", async () => {
            const given = {[by("beside-option").value]: by("beside-value").value.trim()};
            state.beside = {from: by("beside-start").value === "0" ? -1 : state.step, given};
            page.trouble("");
            if (!await begin()) page.player.request();
        });
        by("pair-end").addEventListener("click", only);
    }

    /* What trains the first run, and the one beside it: a branch needs the first one's state of that step. */
    function commands() {
        const first = state.command();
        if (!run) return first;
        const given = {...state.given, ...state.beside.given};
        if (from < 0) return first + "\n" + state.command(given);
        return first + " --save-every " + from + " --keep " + Math.ceil(page.run.steps / from) +
            " --out A\n" + state.command({from: "A@" + from, ...state.beside.given});
    }

    function retell() {
        if (!run) return;
        name = nameOf(state.beside);
        line();
    }

    return {
        begin,
        retell,
        commands,
        change,
        frame,
        joined,
        end,
        listen,
        get waits() { return rpc ? rpc.waits : 0; },
        get on() { return run !== null; },
        get steps() { return run ? run.steps : 0; },
        get rows() { return rows; },
        get name() { return name; }
    };
};
