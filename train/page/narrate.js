/* narrate.js - what the page says of a run: sentences computed from what was measured. Pure: facts in, words out. */
"use strict";

const qkvNarrate = (() => {
    const {percent, number, word} = qkvText, {t} = qkvStrings;

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
        const what = parts.keys ? t("lesson.keys") :
            parts.values        ? t("lesson.values") :
                                  t("lesson.asked");
        const because = !clean || parts.asked ? "" :
            parts.keys && moved               ? t("lesson.where") :
            parts.values && !moved && answer  ? t("lesson.what") :
                                                "";
        return t("lesson", {what, verdict: verdict(moved, answer), because});
    }
    /* "attention moved, the answer stayed". */
    const verdict = (moved, changed) => moved ?
        changed ? t("verdict.moved.changed") : t("verdict.moved.same") :
        changed ? t("verdict.stayed.changed") :
                  t("verdict.stayed.same");
    const capital = (text) => text[0].toUpperCase() + text.slice(1);

    /* The same of a line of words; shown(position): the word that stands there now. */
    function wordsLesson({before, after}, shown) {
        if (!before.answers.length || !after.answers.length) return "";
        const moved = most(before) !== most(after), said = before.answers[0].top[0][0],
              says = after.answers[0].top[0][0];
        const there = !moved && says !== said && says === shown(most(after));
        return t("lesson", {
            what: t("lesson.words"),
            verdict: verdict(moved, said !== says),
            because: there ? t("lesson.there") : ""
        });
    }

    /* Before and after in a sentence; names(position, changed): a place in words. */
    function compare({before, after}, names) {
        const a = most(before), b = most(after), said = before.answers[0].top[0],
              says = after.answers[0].top[0];
        if (a < 0 || b < 0) return "";
        const of = (look, i, [text, p], now) => ({
            place: t("place", {n: i, words: word(names(i, now))}),
            weight: number(look.at[i].weight),
            says: t("answer.with", {answer: word(text), p: number(p)})
        });
        const now = of(after, b, says, true);
        return t("compare", {
            before: t("compare.before", of(before, a, said, false)),
            now: a === b ? t("compare.still", now) : t("compare.now", now),
            verdict: capital(verdict(a !== b, said[0] !== says[0]))
        });
    }

    /* c: {lesson, words, hide, silent, random, score: [before, now] or null}. */
    function changed(c) {
        const parts = [];
        if (c.words) parts.push(c.lesson || t("changed.example"));
        if (c.hide & 2) parts.push(t("changed.hide.values"));
        if (c.hide & 1) parts.push(t("changed.hide.keys"));
        if (c.silent >= 0) parts.push(t("changed.off", {head: c.silent}));
        if (c.random) parts.push(t("changed.random", {name: c.random}));
        if (c.score && c.score[1]) {
            const [was, is] = c.score, said = [];
            if (was.accuracy !== null)
                said.push(
                    t("changed.right", {before: percent(was.accuracy), now: percent(is.accuracy)}));
            if (was.attention !== null)
                said.push(
                    t("changed.attention",
                      {before: percent(was.attention), now: percent(is.attention)}));
            if (said.length)
                parts.push(
                    t("changed.over", {n: was.examples, what: said.join(t("list.semicolon"))}));
        }
        return parts.join(t("list.space"));
    }

    /* Two runs: each {name, step, row, first}; first: the step at which 90 % were right, -1: not yet. */
    function pair(a, b) {
        const can = (r) => !r.row ? t("pair.nothing") :
            r.row.accuracy === null || r.row.accuracy === undefined ?
                                    t("pair.error", {error: number(r.row.val_loss, 3)}) :
                                    t("pair.right", {right: percent(r.row.accuracy)});
        const learned = (r) => r.first >= 0 ? t("pair.at", {step: r.first}) : t("pair.not");
        const one = (r) => a.step === b.step ?
            t("pair.says", {name: r.name, can: can(r)}) :
            t("pair.says.at", {name: r.name, can: can(r), step: r.step});
        const both = [one(a), one(b)];
        if (a.first >= 0 || b.first >= 0)
            both.push(t("pair.learned", {a: learned(a), b: learned(b)}));
        return both.join(t("list.space"));
    }

    /* f: {task, summary, entries, step, steps, pairs, row}; row: the last measured one, or null. */
    function course(f) {
        const now = (name) =>
            f.row && f.row[name] !== null && f.row[name] !== undefined ? f.row[name] : null;
        if (f.step === 0)
            return f.task === "pairs" ? t("course.pairs", {n: f.entries}) :
                                        t("course.task", {task: f.task, summary: f.summary});
        if (now("accuracy") === null)
            return now("val_loss") === null ?
                t("course.nothing") :
                t("course.error", {error: number(now("val_loss"), 3)});
        const right = {right: percent(now("accuracy"))};
        if (f.step >= f.steps && f.pairs) return t("course.end", right);
        return now("qk_diag") === null ?
            t("course.right", right) :
            t("course.circuits",
              {...right, ov: percent(now("ov_diag")), qk: percent(now("qk_diag"))});
    }

    return {most, touched, lesson, wordsLesson, compare, changed, pair, course};
})();
