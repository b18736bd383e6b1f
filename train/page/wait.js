/* wait.js - a sign while something takes long, with a button that stops it. */
"use strict";

const qkvWait = (page) => {
    const {by} = page, {setText} = qkvText;
    let shown = null, timer = 0, told = false;

    /* What a call of the engine does, in words. */
    function words({name, data}) {
        const step = page.run ? page.state.step : 0;
        const all = {
            open: () => "Starting the engine",
            start: () => "Setting up " + qkvSize.words(data.options, page.baseOf(data.options)),
            begin: () => "Setting up the run",
            restore: () => "Opening the checkpoint",
            save: () => "Writing the checkpoint",
            score: () => "Trying other examples",
            look: () => "Computing the ledger",
            frame: () => data.to > step ? "Training: step " + step + " of " + data.to :
                                          "Going to step " + data.to
        };
        return all[name] ? all[name]() : "Working";
    }

    function draw() {
        const seconds = Math.floor((performance.now() - shown.since) / 1000);
        if (seconds >= 2 && !told) page.speak(shown.words());
        told = seconds >= 2;
        setText(by("wait-text"), shown.words() + (seconds >= 2 ? ", " + seconds + " s" : ""));
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
