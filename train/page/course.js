/* course.js - lessons: cards, one at a time, of which some ask what a change will do before it is shown. A lesson is
 * data (docs/lessons.md); what is right is asked of the model. */
"use strict";

const qkvCourse = (page) => {
    const {make, setText} = qkvText, {by, state} = page, {t, pick} = qkvStrings;
    const SECONDS = 4;  // in which training is watched
    let lessons = [], lesson = null, at = 0, marks = [], queue = Promise.resolve();
    let asked = null;  // the question of this card: {kind, q, was, chips, change, done}
    let named = "";    // the language of the words in the place of symbols
    let holding = false, held = null,
        shown = "";  // a change of the example or the model that waits to be shown
    const {kinds, kindOf, now, facts, told} = qkvPredict(page, () => held);

    /* ---- the scene of a card: what the cards before it have set ---- */

    function take(scene, {set, beside, step, example}) {
        if (set) Object.assign(scene, {given: set, beside: null, step: 0});
        if (beside) scene.beside = {from: -1, given: beside};
        if (step !== undefined) scene.step = step;
        if (example !== undefined) scene.example = example;
        return scene;
    }
    function sceneOf(i) {
        const scene = {given: {}, beside: null, step: 0, example: 0};
        lesson.cards.slice(0, i + 1).forEach((card, k) => {
            take(scene, card);
            if (k < i) take(scene, card.change || {});
        });
        return {...scene, inside: lesson.cards[i].inside || ""};
    }
    /* A lesson may write numbers; options are texts. */
    const texts = (options) =>
        Object.fromEntries(Object.entries(options).map(([name, value]) => [name, String(value)]));
    /* seconds: in which the training that it needs is watched; 0: it is not. */
    async function enter(scene, seconds = 0) {
        const given = page.own.complete(texts({...scene.given, ...state.extra})),
              beside = scene.beside && {...scene.beside, given: texts(scene.beside.given)},
              {example, inside} = scene;
        const words = lesson.words ? 1 : 0, lang = words ? qkvStrings.lang : "";
        const other = !page.run ||
            JSON.stringify([given, beside, words, lang]) !==
                JSON.stringify([state.given, state.beside, state.words, named]);
        named = lang;
        Object.assign(state, {beside, example, inside, words, ask: -1, head: -1});
        state.undo();
        if (other && await page.session.start(given)) return;
        if (!other) await page.session.change();
        await page.player.reach(scene.step, seconds);
    }
    /* A card's change. What of it is the run's stays for the cards after it. */
    async function change(c) {
        const runs = ["set", "beside", "step", "example"].some((name) => c[name] !== undefined);
        if (runs)
            await enter({...take(sceneOf(at), c), inside: c.inside || sceneOf(at).inside}, SECONDS);
        if (c.swap) await page.example.swapTwo(c.swap, page.shown.before.look);
        if (c.ask !== undefined) await page.example.askAt(c.ask, page.shown.before.look.source);
        if (c.put) await page.example.putAt(c.at, c.put);
        if (c.hide) state.hide = c.hide;
        if (c.off !== undefined) state.silent = c.off;
        if (c.random)
            state.random = page.run.matrices.find((m) => m.endsWith("." + c.random)) || "";
        if (c.hide || c.off !== undefined || c.random) await page.session.change();
        await page.player.rest();
    }

    /* Trains what is offered, one after the other, to the step of the scene, and leaves the best one. */
    async function tryAll(q) {
        const scene = sceneOf(at), came = [];
        const go = (i) =>
            enter({...scene, given: {...scene.given, ...q.best[i].set}, beside: null});
        for (let i = 0; i < q.best.length; i++) {
            await go(i);
            came.push((now().row || {accuracy: 0}).accuracy);
        }
        await go(came.indexOf(Math.max(...came)));
        return came;
    }

    /* ---- showing a card ---- */

    const card = () => lesson.cards[at];
    const radio = (chip) => make(
        "label", {class: "choice"},
        make("input", {type: "radio", name: "choice", value: chip.value}), " " + chip.text);
    const score = () =>
        t("learn.score",
          {right: marks.filter((m) => m && m.right).length, all: marks.filter((m) => m).length});

    function frame() {
        for (const e of page.root.querySelectorAll(".framed")) e.classList.remove("framed");
        const e = lesson && card().frame &&
            page.root.querySelector("[data-panel='" + card().frame + "']");
        if (e) e.classList.add("framed");
    }
    const panels = () => !lesson ?
        [] :
        !card().inside && lesson.show && !lesson.show.length ?
        [] :
        [
            "lesson", ...(card().inside ? ["step"] : lesson.show || ["cards"]),
            ...(card().frame ? [card().frame] : [])
        ];

    function render() {
        const last = at === lesson.cards.length - 1, mark = marks[at],
              own = lesson.number ? t("learn.number", {n: lesson.number}) :
                                    t(lesson.guess    ? "learn.guess" :
                                          lesson.name ? "learn.story" :
                                                        "learn.own");
        const known = page.shown ? facts() : {};
        by("lesson-box").hidden = false;
        setText(by("lesson-kicker"), own);
        setText(by("lesson-title"), pick(lesson.title));
        setText(
            by("lesson-count"),
            lesson.cards.length > 1 ? t("learn.count", {n: at + 1, all: lesson.cards.length}) : "");
        setText(by("lesson-text"), told(card().text, known));
        by("lesson-form").hidden = !asked;
        if (asked && !asked.done) by("lesson-choices").replaceChildren(...asked.chips.map(radio));
        for (const e of by("lesson-choices").querySelectorAll("input"))
            e.disabled = Boolean(asked && asked.done);
        by("lesson-show").hidden = Boolean(asked && asked.done);
        setText(by("lesson-result"), mark && asked ? mark.text + told(card().after, known) : "");
        by("lesson-result").className = mark ? (mark.right ? "hit" : "miss") : "";
        const ended = last && (!asked || asked.done), {careful, short} = lesson;
        by("lesson-end").hidden = !ended || !(careful || short);
        setText(
            by("lesson-end"),
            !ended      ? "" :
                careful ? t("learn.careful") + told(careful, known) :
                short   ? t("story.short", {answer: pick(short)}) :
                          "");
        setText(by("lesson-score"), marks.some((m) => m) ? score() : "");
        by("lesson-back").disabled = at === 0;
        by("lesson-next").hidden = last && !following();
        setText(by("lesson-next"), last ? t("learn.following") : t("learn.next"));
        by("lesson-back").hidden = by("lesson-print").hidden = Boolean(lesson.guess);
        by("lesson-choice").parentElement.hidden = Boolean(lesson.guess);
        by("lesson-study").hidden = !lesson.study;
        by("lesson-choice").value = lesson.name || "";
        frame();
    }
    const following = () => {
        const next = lessons[lessons.indexOf(lesson) + 1];
        return lesson.number && next && next.number ? next : null;
    };

    /* Says the right focus: to what is to be done next. */
    function focus() {
        const first =
            asked && !asked.done ? by("lesson-choices").querySelector("input") : by("lesson-next");
        (first && !first.closest("[hidden]") ? first : by("lesson-box")).focus({
            preventScroll: true
        });
        const framed = page.root.querySelector(".framed");
        if (framed) framed.scrollIntoView({block: "nearest"});
        by("lesson-box").scrollIntoView({block: "nearest"});
    }

    /* One thing after the other; what goes wrong is said, and the next click works. */
    const then = (act) => {
        queue = queue.then(act).catch((e) => page.failed(e));
        return queue;
    };

    /* With a question of the example or the model, its change is made and held back: so its places are known. */
    async function ask(q, c) {
        const was = now(), kind = kindOf(q);
        held = null;
        holding = true;
        try {
            if (c &&
                ["swap", "ask", "put", "hide", "off", "random"].some((n) => c[n] !== undefined))
                await change(c);
        } finally { holding = false; }
        asked = {kind, q: typeof q === "string" ? {} : q, was, change: c, done: false};
        asked.chips = kinds[kind].chips(asked.q, was);
    }

    async function show(i) {
        const {cards} = lesson;
        at = Math.max(0, Math.min(cards.length - 1, i));
        asked = held = null;
        state.lesson = (lesson.name || "own") + (at ? "." + (at + 1) : "");
        if (lesson.guess) state.lesson = "";
        shown = "";
        page.show.apply();
        if (!lesson.guess) await enter(sceneOf(at));
        if (!page.shown) return render();
        const c = card();
        if (c.question)
            await ask(c.question, c.change);
        else if (c.change)
            await change(c.change);
        if (c.question && marks[at]) await reveal();
        page.setAddress();
        render();
        focus();
    }

    /* Makes the change, and judges. */
    async function reveal() {
        const {kind, q, was, change: c} = asked;
        if (kind === "best")
            q.came = await tryAll(q);
        else if (held)
            await let_go();
        else if (c)
            await change(c);
        const is = now(), right = kinds[kind].right(q, was, is),
              chip = asked.chips.find((one) => one.value === right) ||
            asked.chips[asked.chips.length - 1];
        asked.done = true;
        if (!marks[at]) marks[at] = {picked: by("lesson-form").elements.choice.value};
        Object.assign(marks[at], {right: marks[at].picked === chip.value});
        marks[at].text =
            t(marks[at].right ? "learn.right" : "learn.wrong") + kinds[kind].say(q, was, is);
        for (const e of by("lesson-choices").querySelectorAll("label"))
            e.classList.toggle("is", e.firstChild.value === chip.value);
    }
    async function submit(e) {
        e.preventDefault();
        if (!asked || asked.done || !by("lesson-form").elements.choice.value) return;
        await then(async () => {
            if (!asked || asked.done) return;
            await reveal();
            render();
            (by("lesson-next").hidden ? by("lesson-box") : by("lesson-next")).focus({
                preventScroll: true
            });
        });
    }

    /* ---- changes that are held back ---- */

    const changes = () =>
        ({set: state.set, hide: state.hide, silent: state.silent, random: state.random});
    async function let_go() {
        Object.assign(state, held);
        shown = JSON.stringify(held);
        held = null;
        await page.session.change();
        await page.player.rest();
    }
    /* Is the change to be guessed before it is shown? Then the state is again what is shown. */
    function holds() {
        const mine = JSON.stringify(changes());
        if (!(holding || state.guess) || !state.changed() || mine === shown || !page.shown)
            return false;
        held = JSON.parse(mine);
        Object.assign(state, shown ? JSON.parse(shown) : qkvAddress.unchanged());
        page.example.showWords();
        if (!holding) then(guess);
        return true;
    }
    /* A question about a change that somebody made, or that the address holds. */
    async function guess() {
        const waiting = held, old = shown;
        lesson = {
            guess: true,
            title: {en: t("learn.what")},
            cards: [{text: {en: page.example.told(held)}, question: "effect"}],
            show: []
        };
        at = 0;
        marks = [];
        await ask("effect", null);
        held = waiting;
        shown = old;
        render();
        focus();
    }

    /* ---- the course ---- */

    const find = (text) => {
        const [which, c] = text.split("."), i = Number(c || 1) - 1;
        const found = which === "own" ? page.brought && page.brought.lesson :
                                        lessons.find((l) => l.name === which);
        return found && found.cards[i] ? {found, i} : null;
    };
    /* "3", "3.2", "own": a lesson, at a card. */
    function open(text) {
        const {found, i} = find(text);
        if (lesson !== found) marks = [];
        lesson = found;
        return then(() => show(i));
    }
    function close() {
        if (!lesson) return;
        lesson = asked = held = null;
        Object.assign(state, {lesson: "", extra: {}, inside: ""});
        by("lesson-box").hidden = true;
        frame();
        page.show.apply();
        page.player.request();
    }
    function step(by_) {
        if (at + by_ < lesson.cards.length) return then(() => show(at + by_));
        return open(following().name);
    }

    /* An option that is chosen by hand holds for the cards that follow, too, unless it is refused. */
    function keeps(option, value) {
        if (!lesson || lesson.guess || option === "task") return close();
        state.extra[option] = value;
        then(async () => {
            await show(at);
            if (state.given[option] !== value) delete state.extra[option];
        });
        return true;
    }

    /* For the work sheet: every card, its places and answers left open. */
    function sheet() {
        if (!lesson) return by("lesson-sheet").replaceChildren();
        const box = (text) => make("li", {text});
        const one = (c) => {
            const kind = c.question && kindOf(c.question),
                  q = typeof c.question === "object" ? c.question : {},
                  chips = !kind || /looks|says/.test(kind) ? null : kinds[kind].chips(q, null);
            return make(
                "li", {},
                make("p", {text: told(c.text, c === card() && page.shown ? facts() : {})}),
                kind ?
                    (chips ? make("ul", {class: "boxes"}, ...chips.map((chip) => box(chip.text))) :
                             make("p", {class: "gap"})) :
                    null,
                kind ? make("p", {class: "gap", text: t("learn.came")}) : null);
        };
        by("lesson-sheet")
            .replaceChildren(
                make("h2", {text: pick(lesson.title)}), make("ol", {}, ...lesson.cards.map(one)),
                lesson.careful ? make("p", {text: t("learn.careful") + told(lesson.careful, {})}) :
                                 "");
    }

    /* The lessons and the stories in the present language. */
    function list() {
        const group = (label, all) => make(
            "optgroup", {label},
            ...all.map(
                (l) => make(
                    "option",
                    {value: l.name, text: (l.number ? l.number + " " : "") + pick(l.title)})));
        setText(by("learn"), t("learn.begin", {n: lessons.filter((l) => l.number).length}));
        by("lesson-choice")
            .replaceChildren(
                group(t("learn.course"), lessons.filter((l) => l.number)),
                group(t("learn.stories"), lessons.filter((l) => !l.number)));
    }
    function build() {
        const course = [...page.root.querySelectorAll("script.course")].map(
            (e, i) => ({...JSON.parse(e.textContent), number: i + 1, name: String(i + 1)}));
        lessons = [...course, ...page.stories.lessons().map((l) => ({...l, name: l.study}))];
        list();
        by("learn").addEventListener("click", () => open("1"));
        by("lesson-choice").addEventListener("change", (e) => open(e.target.value));
        by("lesson-form").addEventListener("submit", submit);
        by("lesson-back").addEventListener("click", () => step(-1));
        by("lesson-next").addEventListener("click", () => step(1));
        by("lesson-close").addEventListener("click", close);
        by("lesson-print").addEventListener("click", () => print());
        by("lesson-study").addEventListener("click", () => page.stories.findings(lesson.study));
        addEventListener("beforeprint", sheet);
    }

    return {
        build,
        open,
        close,
        holds,
        changes,
        panels,
        has: (text) => find(text) !== null,
        keeps,
        retell() {
            list();
            if (lesson && !lesson.guess) then(() => show(at));
        },
        get lesson() { return lesson; },
        get lessons() { return lessons; },
        get marks() { return marks; },
        get idle() { return queue; }
    };
};
