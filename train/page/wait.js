/* wait.js - a sign while something takes long, with a button that stops it. */
"use strict";

const qkvWait = (page) => {
    const {by} = page, {setText} = qkvText, {t} = qkvStrings;
    let shown = null, timer = 0, told = false;

    /* What a call of the engine does, in words. */
    function words({name, data}) {
        const step = page.run ? page.state.step : 0;
        const all = {
            open: () => t("wait.open"),
            start: () =>
                t("wait.start", {what: qkvSize.words(data.options, page.baseOf(data.options))}),
            begin: () => t("wait.start", {what: t("size.run")}),
            restore: () => t("wait.restore"),
            save: () => t("wait.save"),
            score: () => t("wait.score"),
            look: () => t("wait.ledger"),
            frame: () => data.to > step ? t("wait.train", {step, to: data.to}) :
                                          t("wait.back", {to: data.to})
        };
        return all[name] ? all[name]() : t("wait");
    }

    function draw() {
        const seconds = Math.floor((performance.now() - shown.since) / 1000);
        if (seconds >= 2 && !told) page.speak(shown.words());
        told = seconds >= 2;
        setText(
            by("wait-text"),
            seconds >= 2 ? t("wait.seconds", {what: shown.words(), seconds}) : shown.words());
    }
    /* what: {words(), stop(), since}; null: it has ended. */
    function show(what) {
        clearInterval(timer);
        shown = what;
        by("wait").hidden = !what;
        if (!what) return;
        told = false;
        draw();
        timer = setInterval(draw, 500);
    }

    /* Of a call that takes long; null: it was answered. */
    const call = (entry, stop) =>
        show(entry && {words: () => words(entry), stop, since: entry.since});

    by("stop").addEventListener("click", () => shown && shown.stop());
    return {call, show};
};
