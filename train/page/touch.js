/* touch.js - what a person does to the example and the model, and what is said of it. */
"use strict";

const qkvTouch = (page) => {
    const {by, state} = page, {make, setText} = qkvText, {t} = qkvStrings;
    const pairs = () => page.run.roles.key >= 0 && page.run.entries > 1;

    /* ---- words ---- */

    function changedText() {
        return qkvNarrate.changed({
            words: state.changedWords(),
            lesson: state.changedWords() ? page.example.lesson(page.shown) : "",
            hide: state.hide,
            silent: state.silent,
            random: state.random,
            score: state.changedModel() ? page.player.score : null
        });
    }
    function courseText() {
        const {run} = page;
        return qkvNarrate.course({
            task: run.options.task,
            summary: page.summary(),
            entries: run.entries,
            step: state.step,
            steps: run.steps,
            pairs: pairs(),
            row: page.curves.at(state.step)
        });
    }

    function pairText() {
        const {shown, pair, curves} = page;
        const of = (name, step, rows) =>
            ({name, step, row: rows.at(step), first: rows.first("accuracy", 0.9)});
        const second = of(pair.name, shown.pair.step, pair.rows);
        if (!second.row && shown.step === shown.pair.step) second.row = curves.at(shown.step);
        return qkvNarrate.pair(of("A", shown.step, curves.rows), second) +
            (state.changed() ? t("list.space") + changedText() : "");
    }

    /* What can be done next, each [label, act]. */
    function offers() {
        const {run, player} = page, swaps = [
            [t("change.keys"), () => swap("key", true)],
            [t("change.values"), () => swap("value", true)]
        ];
        if (state.changed()) {
            return [
                ...(pairs() && !player.playing ? swaps : []),
                ...(player.playing ? [] : exchanges()), [t("change.back"), undo]
            ];
        }
        if (state.step === 0) return player.playing ? [] : [[t("player.watch"), player.play]];
        if (state.step < run.steps) return [];
        return pairs() ? swaps : exchanges();
    }

    function say() {
        if (!page.shown || !page.run) return;
        setText(
            by("say"),
            page.shown.pair && state.step ? pairText() :
                state.changed()           ? changedText() :
                                            courseText());
        // The one to try next leads, and stands where it stood.
        showActions(offers(), state.changed() && pairs() && page.example.touched().keys ? 1 : 0);
    }

    /* The focus stays on the button that was pressed, or on what stands where it was. */
    function showActions(list, lead) {
        const box = by("say-actions"), key = list.map((b) => b[0]).join("|") + lead,
              old = [...box.children].indexOf(page.root.activeElement);
        if (box.dataset.key === key) return;
        box.dataset.key = key;
        const label = old >= 0 ? box.children[old].textContent : "";
        box.replaceChildren(...list.map(
            ([text, onclick], i) =>
                make("button", {text, class: i === lead ? "first" : "", onclick})));
        const now = [...box.children], same = now.find((b) => b.textContent === label);
        if (old >= 0) (same || now[Math.min(old, now.length - 1)] || by("play")).focus();
    }

    /* ---- changes ---- */

    function afresh() {
        state.undo();
        page.example.words.changed = JSON.parse(JSON.stringify(page.example.words.drawn));
    }
    function swap(role, fresh) {
        if (!page.shown) return;
        if (fresh) afresh();
        page.example.swapTwo(role, page.shown.before.look);
    }
    /* What can be done with the words of a line. */
    function exchanges() {
        const fresh = (act) => () => {
            afresh();
            act();
        };
        const {example} = page;
        return [
            ...(example.exchanges("other") ? [[t("change.words"), fresh(example.swapWords)]] : []),
            ...(example.exchanges("put") ? [[t("change.put"), fresh(example.putWord)]] : [])
        ];
    }
    function undo() {
        state.undo();
        page.session.change();
    }

    function listen() {
        const {example, session} = page, on = (id, type, act) => by(id).addEventListener(type, act);
        on("swap-keys", "click", () => swap("key", false));
        on("swap-values", "click", () => swap("value", false));
        on("swap-words", "click", () => example.swapWords());
        on("put-word", "click", () => example.putWord());
        on("undo", "click", undo);
        const set = (id, take) => on(id, "change", (e) => {
            take(e.target);
            session.change();
        });
        const bit = (n) => (e) => {
            state.hide = e.checked ? state.hide | n : state.hide & ~n;
        };
        set("hide-keys", bit(1));
        set("hide-values", bit(2));
        set("silent", (e) => {
            state.silent = Number(e.value);
        });
        set("random", (e) => {
            state.random = e.value;
        });
        const another = (by) => {
            state.example = Math.max(0, state.example + by);
            state.ask = -1;
            state.set = [];
            session.change();
        };
        on("next-example", "click", () => another(1));
        on("previous-example", "click", () => another(-1));
        on("norms-kind", "change", () => page.curves.again());
        on("help", "click", help);
    }

    /* ---- help ---- */

    function help() {
        const parts = ["see", "change", "keys", "inside", "back", "save"];
        const body = document.createDocumentFragment();
        for (const part of parts)
            body.append(
                make("h3", {text: t("help." + part)}),
                make("p", {text: t("help." + part + ".text")}));
        body.append(make("p", {}, make("button", {
                             text: t("help.findings"),
                             onclick: () => {
                                 by("dialog").close();
                                 page.stories.findings("");
                             }
                         })));
        page.stories.dialog(t("help.title"), body);
    }

    return {say, listen};
};
