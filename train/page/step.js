/* step.js - the panel "Inside one step": the path of one question as cards, walked forward and backward, and what the
 * update did. Words and formulas come from inside.js, the cards from stage.js, the update from effect.js and ledger.js. */
"use strict";

const qkvStep = (page) => {
    const {make, setText} = qkvText, {state} = page, {t, said} = qkvStrings;
    const PHASES = ["forward", "backward", "update"], PACE = 1700;
    let run = null, data = null, timer = 0, notice = "", repeated = false;

    /* ---- where one is: "backward.q.3" in the address ---- */

    function place() {
        const [phase, card, cell] = state.inside.split(".");
        return {
            phase: PHASES.includes(phase) ? phase : "forward",
            card: card || "",
            cell: cell ? Number(cell) : -1
        };
    }
    function go(phase, card, cell = -1) {
        notice = "";
        state.inside =
            [phase, ...(card ? [card] : []), ...(card && cell >= 0 ? [cell] : [])].join(".");
        render();
        return page.player.request();
    }
    const path = (phase) => !data || phase === "update" ? [] :
        phase === "backward"                            ? [...data.order].reverse() :
                                                          data.order;
    /* The cards are looked at backwards, or else forwards. */
    const onCards = () => (place().phase === "backward" ? "backward" : "forward");

    /* One card on or back, through the phases one after the other. */
    function step(by) {
        const {phase, card} = place(), cards = path(phase), to = cards[cards.indexOf(card) + by],
                      next = PHASES[PHASES.indexOf(phase) + by];
        if (to)
            go(phase, to);
        else if (next)
            go(next, path(next)[by > 0 ? 0 : data.order.length - 1] || "");
        stage.reveal(place().card);
    }
    function stop() {
        clearInterval(timer);
        timer = 0;
        setText(parts.play, t("player.play"));
    }
    function play() {
        if (timer || !data) return stop();
        setText(parts.play, t("player.pause"));
        if (place().phase === "update") go("forward", data.order[0]);
        timer = setInterval(() => {
            step(1);
            if (place().phase === "update") stop();
        }, PACE);
    }

    /* ---- asking the engine ---- */

    const head = (m, h) => ({
        prefix: m.name.replace(/\.weights$/, ""),
        head: h,
        map: m,
        value: m.name.replace(/\.weights$/, ".") + h,
        text: qkvMaps.title(m, h)
    });
    const heads = () =>
        run.maps.flatMap((m) => Array.from({length: m.heads}, (_, h) => head(m, h)));
    /* The head that is chosen; else the one whose map is shown, or the last layer's first. */
    function chosen() {
        const all = heads(), last = run.maps[run.maps.length - 1];
        if (state.of && !all.some((h) => h.value === state.of)) {
            notice = t("step.head.none", {name: state.of}) + t("list.space");
            state.of = "";
        }
        return all.find((h) => h.value === state.of) ||
            all.find((h) => h.map.name + " " + h.head === state.map) ||
            all.find((h) => h.map === last) || {prefix: "", head: 0, map: null, value: ""};
    }

    /* What a frame is to bring for the panel. */
    function wants() {
        if (!run || !state.inside) return {};
        const {phase, card, cell} = place(), {prefix, head: h} = chosen(),
                            first =
                                data && data.cards[card] ? qkvInside.first(data, card, phase) : -1;
        return {
            inside: {
                prefix,
                head: h,
                phase,
                card,
                cell: cell >= 0 ? cell : first,
                changed: state.changedWords()
            }
        };
    }

    /* What it brought. A place that is not there becomes the first that is; a number is asked for once it is known
     * which there are. */
    function show(frame) {
        const got = frame.extra && frame.extra.inside;
        if (!got) return render();
        if (got.trouble) return say("", said(got.trouble));
        data = {
            ...got,
            order: got.list.map((c) => c.key),
            cards: Object.fromEntries(got.list.map((c) => [c.key, c])),
            why: got.why && qkvInside.read(got.why),
            side: run.store
        };
        const {phase, card, cell} = place(), here = data.cards[card];
        if (phase !== "update" && !here) return go(phase, path(phase)[0]);
        if (here && cell >= here.rows * here.cols) return go(phase, card);
        render();
        repeated = !repeated && (phase === "update" ? !data.update : !data.why);
        if (repeated) page.player.request();
    }

    /* ---- showing ---- */

    function render() {
        const open = state.inside !== "", {phase, card} = place(), cards = path(phase),
              at = cards.indexOf(card);
        parts.body.hidden = !open;
        parts.toggle.setAttribute("aria-expanded", String(open));
        setText(parts.toggle, open ? t("close") : t("step.open"));
        if (!open) stop();
        if (!open || !data || (phase !== "update" && at < 0)) return;
        if (chosen().value) parts.of.value = chosen().value;
        for (const p of PHASES) parts[p].setAttribute("aria-pressed", String(p === phase));
        setText(
            parts.count, phase === "update" ? "" : t("step.card", {n: at + 1, all: cards.length}));
        stage.hide(phase === "update");
        parts.effects.hidden = ledger.root.hidden = phase !== "update";
        if (phase === "update") return update();
        const reached = (key) => cards.indexOf(key) <= at;
        stage.show({data, card, reached, back: (key) => phase === "backward" && reached(key)});
        explain(phase, card);
    }

    function update() {
        const u = data.update;
        if (!u) return;
        say("", u.trouble ? said(u.trouble) : qkvEffect.taught(u));
        ledger.root.hidden = Boolean(u.trouble);
        if (u.trouble) return;
        qkvEffect.show(parts.effects, u, run);
        ledger.show(u.ledger);
    }

    function explain(phase, card) {
        const why = data.card === card ? data.why : null, back = phase === "backward";
        const formula = !why ? "" :
            back             ? qkvInside.backward(data, card, data.cell, why) :
                               qkvInside.forward(data, card, data.cell, why, row);
        say(formula,
            (back && qkvInside.nothing(data, card)) ||
                qkvInside.tell(data, card, phase, stage.who));
    }
    /* A row of a table in words: "k6 of embed.key". */
    function row(table, at) {
        const [side, stream] = table.split("."),
                     all = run.sides[side === "memory" ? 1 : 0].streams.find(
                         (s) => s.name === stream);
        return t(
            "step.row", {row: (all && all.symbols[at]) || t("step.row.number", {n: at}), table});
    }
    function say(formula, sentence) {
        parts.words.setAttribute("aria-live", page.player.playing ? "off" : "polite");
        setText(parts.formula, formula || "");
        setText(parts.say, notice + (sentence || ""));
    }

    /* ---- the panel ---- */

    function toggle() {
        if (!state.inside) return go("forward", data ? data.order[0] : "");
        state.inside = "";
        page.setAddress();
        render();
    }
    function onKey(e) {
        if (e.ctrlKey || e.altKey || e.metaKey || /INPUT|SELECT/.test(e.target.tagName)) return;
        const on =
            e.key === "ArrowRight" || (e.key === " " && !/BUTTON|SUMMARY/.test(e.target.tagName));
        if ((!on && e.key !== "ArrowLeft") || !state.inside) return;
        step(on ? 1 : -1);
        if (e.target.tagName === "CANVAS") stage.focus(place().card);
        e.preventDefault();
        e.stopPropagation();
    }

    const stage = qkvStage(
        page,
        {open: (card) => go(onCards(), card), choose: (card, cell) => go(onCards(), card, cell)});
    const ledger = qkvLedger.panel(page);
    const button = (text, onclick, id, extra = {}) =>
        make("button", {text, onclick, id: "inside-" + id, ...extra});
    const parts = {
        toggle: button("", toggle, "toggle", {"aria-expanded": "false"}),
        play: button("", play, "play", {"data-t": "player.play"}),
        count: make("span", {class: "note", id: "inside-count"}),
        of: make("select", {
            id: "inside-of",
            onchange: (e) => {
                state.of = e.target.value;
                page.player.request();
            }
        }),
        effects: make("div", {class: "effects", id: "inside-effects", hidden: true}),
        formula: make("p", {class: "formula", id: "inside-formula"}),
        say: make("p", {id: "inside-say"})
    };
    for (const p of PHASES)
        parts[p] = button(
            "", () => go(p, path(p)[0] || ""), p, {"aria-pressed": "false", "data-t": "step." + p});
    parts.words = make("div", {class: "words", "aria-live": "polite"}, parts.formula, parts.say);
    parts.walk = make(
        "div", {class: "touch", role: "group", "data-label": "step.walk"},
        ...PHASES.map((p) => parts[p]),
        button("◂", () => step(-1), "back", {"data-label": "step.before"}),
        button("▸", () => step(1), "next", {"data-label": "step.next"}), parts.play, parts.count,
        make("label", {class: "field", "data-t": "step.head"}, parts.of));
    parts.body = make(
        "div", {hidden: true, id: "inside-body"},
        make("div", {class: "walk"}, parts.walk, parts.words), ...stage.parts, parts.effects,
        ledger.root);
    const root = page.by("inside");
    root.append(
        make(
            "div", {class: "head"},
            make("h2", {"data-t": "step.title"}, " ", make("small", {"data-t": "step.what"})),
            parts.toggle),
        parts.body);
    root.addEventListener("keydown", onKey);

    /* A new run. */
    function build(described) {
        run = described;
        data = null;
        if (state.show.includes("step") && !state.inside) state.inside = "forward";
        stop();
        stage.forget();
        ledger.forget(run);
        retell();
        parts.of.parentElement.hidden = heads().length < 2;
    }
    function retell() {
        parts.of.replaceChildren(
            ...heads().map((h) => make("option", {value: h.value, text: h.text})));
        render();
    }

    return {
        build,
        retell,
        show,
        wants,
        again: () => {
            stage.again();
            ledger.again();
        }
    };
};
qkvPanels.push(qkvStep);
