/* narrate.js - what the page says of a run: sentences computed from what was measured. Pure: facts in, words out. */
"use strict";

const qkvNarrate = (() => {
    const {percent, number, word} = qkvText;

    /* The position that is looked at most; -1: none. */
    function most(look) {
        let best = -1;
        look.at.forEach((a, i) => {
            if (a.visible && (best < 0 || a.weight > look.at[best].weight)) best = i;
        });
        return best;
    }

    /* Which parts of the example were changed: keys or values of entries, the key asked for, something else. */
    function touched(set, run) {
        const {key, value, query} = run.roles,
                           stored = (stream) => set.some(
                               (s) => s[0] === run.store && s[1] === stream && s[2] < run.entries);
        const keys = key >= 0 && stored(key), values = value >= 0 && stored(value),
              asked = key >= 0 &&
            set.some(
                (s) => s[0] === 0 && s[1] === query && (run.store !== 0 || s[2] >= run.entries));
        const known = set.filter(
            (s) => s[0] === run.store && s[2] < run.entries && (s[1] === key || s[1] === value) ||
                s[0] === 0 && s[1] === query && (run.store !== 0 || s[2] >= run.entries));
        return {keys, values, asked, other: known.length < set.length};
    }

    /* What follows from a change of keys alone, of values alone, or of the question alone; "" for anything else.
     * at: {before, after}, two looks. */
    function lesson(parts, {before, after}) {
        const n = parts.keys + parts.values + parts.asked + parts.other;
        if (n !== 1 || parts.other || !before.at || !after.at) return "";
        const moved = most(before) !== most(after), was = before.answers[0], is = after.answers[0];
        if (!was || !is) return "";
        const answer = was.class !== is.class, clean = was.class === was.target;
        const what = parts.keys ? "You changed keys" :
            parts.values        ? "You changed values" :
                                  "You asked for another key";
        const because = !clean || parts.asked ? "" :
            parts.keys && moved               ? "Queries and keys decide where to look." :
            parts.values && !moved && answer ?
                                  "Values decide what is brought back, not where to look." :
                                  "";
        return what + ": attention " + (moved ? "moved" : "stayed") + ", the answer " +
            (answer ? "changed. " : "stayed. ") + because;
    }

    /* The same of a line of words; shown(position): the word that stands there now. */
    function wordsLesson({before, after}, shown) {
        if (!before.answers.length || !after.answers.length) return "";
        const moved = most(before) !== most(after), said = before.answers[0].top[0][0],
              says = after.answers[0].top[0][0];
        return "You changed words: attention " + (moved ? "moved" : "stayed") + ", the answer " +
            (said !== says ? "changed. " : "stayed. ") +
            (!moved && says !== said && says === shown(most(after)) ?
                 "It looks at the same place and says what is there now." :
                 "");
    }

    /* Before and after in a sentence; names(position, changed): a place in words. */
    function compare({before, after}, names) {
        const a = most(before), b = most(after), said = before.answers[0].top[0],
              says = after.answers[0].top[0];
        if (a < 0 || b < 0) return "";
        const place = (i, now) => "position " + i + " (" + word(names(i, now)) + ")";
        return "Before: looks most at " + place(a, false) + ", " + number(before.at[a].weight) +
            ", and says " + word(said[0]) + " (" + number(said[1]) +
            "). Now: " + (a === b ? "still at " : "at ") + place(b, true) + ", " +
            number(after.at[b].weight) + ", and says " + word(says[0]) + " (" + number(says[1]) +
            "). " + (a === b ? "Attention stayed" : "Attention moved") +
            (said[0] === says[0] ? ", the answer stayed." : ", the answer changed.");
    }

    /* c: {lesson, words, hide, silent, random, score: [before, now] or null}. */
    function changed(c) {
        const parts = [];
        if (c.words) parts.push(c.lesson || "You changed the example; the changes are marked.");
        if (c.hide & 2) parts.push("K cannot see values.");
        if (c.hide & 1) parts.push("V cannot see keys.");
        if (c.silent >= 0) parts.push("Head " + c.silent + " is off.");
        if (c.random) parts.push(c.random + " is random.");
        if (c.score && c.score[1]) {
            const [was, is] = c.score, said = [];
            if (was.accuracy !== null)
                said.push(
                    "right answers: " + percent(was.accuracy) + " before, " + percent(is.accuracy) +
                    " now");
            if (was.attention !== null)
                said.push(
                    "attention on the answer: " + percent(was.attention) + " before, " +
                    percent(is.attention) + " now");
            if (said.length)
                parts.push("Over " + was.examples + " other examples, " + said.join("; ") + ".");
        }
        return parts.join(" ");
    }

    /* Two runs: each {name, step, row, first}; first: the step at which 90 % were right, -1: not yet. */
    function pair(a, b) {
        const can = (r) => !r.row ? "nothing is measured yet" :
            r.row.accuracy === null || r.row.accuracy === undefined ?
                                    "held-out error " + number(r.row.val_loss, 3) :
                                    percent(r.row.accuracy) + " right";
        const learned = (r) => r.first >= 0 ? "at step " + r.first : "not yet";
        const both = a.first >= 0 || b.first >= 0 ?
            " 90 % right: " + a.name + " " + learned(a) + ", B " + learned(b) + "." :
            "";
        return a.name + ": " + can(a) + (a.step === b.step ? "" : " at step " + a.step) + ". " +
            b.name + ": " + can(b) + (a.step === b.step ? "" : " at step " + b.step) + "." + both;
    }

    /* f: {task, summary, entries, step, steps, pairs, row}; row: the last measured one, or null. */
    function course(f) {
        const now = (name) =>
            f.row && f.row[name] !== null && f.row[name] !== undefined ? f.row[name] : null;
        if (f.step === 0)
            return f.task === "pairs" ?
                "A small model reads " + f.entries +
                    " entries, each a key and a value, then one of the keys again, and must say its value. It has learned nothing yet." :
                "Task " + f.task + ": " + f.summary + ". The model has learned nothing yet.";
        if (now("accuracy") === null)
            return now("val_loss") === null ? "Nothing is measured at this step." :
                                              "Held-out error: " + number(now("val_loss"), 3) + ".";
        const right = percent(now("accuracy")) + " of the answers to new questions are right.";
        if (f.step >= f.steps && f.pairs)
            return right + " What decides where it looks, and what it says? Swap two keys.";
        return right +
            (now("qk_diag") === null ? "" :
                                       " V and O say " + percent(now("ov_diag")) +
                     " of the values as themselves; with Q and K " + percent(now("qk_diag")) +
                     " of the keys find themselves.");
    }

    return {most, touched, lesson, wordsLesson, compare, changed, pair, course};
})();
