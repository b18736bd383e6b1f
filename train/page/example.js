/* example.js - the example as rows of words that can be clicked, dragged, swapped and changed. */
"use strict";

const qkvExample = (page) => {
    const {make, svg, word, setText, number} = qkvText, {by, state} = page, {t, said} = qkvStrings;
    let run = null, words = null, cards = [], answers = new Set(), picked = null, dragged = null;

    const symbol = (side, stream, id, of = run) =>
        id < 0 ? "" : of.sides[side].streams[stream].symbols[id];
    /* A symbol that can be an answer is a value; unless all can. */
    const isValue = (side, stream, shown) => answers.has(shown) &&
            !run.sides[side].streams[stream].symbols.every((s) => answers.has(s)) ||
        (side === run.store && stream === run.roles.value);
    const mode = () => page.root.querySelector("input[name=mode]:checked").value;
    const now = (side, stream, position) => words.changed[side][stream][position];

    /* "k6 v7" at a position. */
    function text(side, position, ids = words.changed, of = run) {
        return of.sides[side]
            .streams.map((s, k) => symbol(side, k, ids[side][k][position], of))
            .filter((s) => s)
            .join(" ");
    }

    /* ---- changing ---- */

    function put(side, stream, position, id) {
        state.put(side, stream, position, id, words.drawn[side][stream][position]);
    }
    function exchange(a, b) {
        if (a.side !== b.side || a.stream !== b.stream || a.position === b.position) return false;
        const at = now(a.side, a.stream, a.position), other = now(b.side, b.stream, b.position);
        put(a.side, a.stream, a.position, other);
        put(b.side, b.stream, b.position, at);
        return page.session.change();
    }
    function pick(place) {
        const old = picked;
        picked = old ? null : place;
        if (old) exchange(old, place);
        mark();
    }
    function mark() {
        for (const c of cards)
            for (const chip of c.chips)
                chip.e.classList.toggle(
                    "picked",
                    picked !== null && chip.place.side === picked.side &&
                        chip.place.stream === picked.stream &&
                        chip.place.position === picked.position);
    }

    /* The query symbol that asks for a key. */
    const asksFor = (key) => {
        const q = run.right.indexOf(key);
        return q < 0 ? key : q;
    };

    function ask({side, stream, position}) {
        if (side === 0 && words.questions.length > 1 && words.questions.includes(position)) {
            state.ask = position;
        } else if (side === run.store && run.roles.key >= 0 && position < run.entries) {
            put(0, run.roles.query, words.question, asksFor(now(side, run.roles.key, position)));
        } else {
            return false;
        }
        return page.session.change();
    }

    /* A list of all symbols over the chip. */
    function choose(chip, {side, stream, position}) {
        const streams = run.sides[side].streams[stream],
              list = make("select", {
                  class: "picker",
                  "aria-label": t("example.other", {stream: said(streams.name)})
              });
        streams.symbols.forEach((s, id) => list.append(make("option", {value: id, text: s})));
        list.value = now(side, stream, position);
        const close = () => {
            list.remove();
            chip.focus();
        };
        list.addEventListener("change", () => {
            put(side, stream, position, Number(list.value));
            list.onblur = null;
            list.remove();
            page.session.change();
        });
        list.addEventListener("keydown", (e) => {
            if (e.key === "Escape") close();
        });
        list.onblur = () => list.remove();
        chip.parentElement.append(list);
        list.style.left = chip.offsetLeft + "px";
        list.style.top = chip.offsetTop + chip.offsetHeight + 2 + "px";
        const beyond =
            list.getBoundingClientRect().right - document.documentElement.clientWidth + 8;
        if (beyond > 0) list.style.left = chip.offsetLeft - beyond + "px";
        list.focus();
        if (list.showPicker) try {
                list.showPicker();
            } catch (e) { /* needs a click of the user's own */
            }
    }

    function act(chip, place) {
        if (mode() === "word") return choose(chip, place);
        if (mode() === "swap" || picked) return pick(place);
        if (!ask(place)) pick(place);
    }

    function onKey(e, place) {
        const n = run.sides[place.side].streams[place.stream].symbols.length,
              id = now(place.side, place.stream, place.position);
        if (e.key === "x")
            pick(place);
        else if (e.key === "ArrowUp") {
            put(place.side, place.stream, place.position, (Math.max(id, 0) + 1) % n);
            page.session.change();
        } else if (e.key === "ArrowDown") {
            put(place.side, place.stream, place.position, (Math.max(id, 0) + n - 1) % n);
            page.session.change();
        } else if (e.key === "ArrowRight" || e.key === "ArrowLeft")
            step(place, e.key === "ArrowRight" ? 1 : -1);
        else if (e.key === "Escape" && picked) {
            picked = null;
            mark();
        } else
            return;
        e.preventDefault();
    }
    function step(place, by) {
        const card = cards.find((c) => c.side === place.side && c.position === place.position + by);
        const chip = card && card.chips.find((c) => c.place.stream === place.stream);
        if (chip) chip.e.focus();
    }

    /* With a mouse, a chip is dragged onto another of its kind; a finger scrolls, and exchanges by two taps. */
    function onDown(e, chip, place) {
        if (e.pointerType === "touch" || e.button !== 0) return;
        dragged = {chip, place, x: e.clientX, y: e.clientY, far: false, over: null};
    }
    function onMove(e) {
        if (!dragged) return;
        const dx = e.clientX - dragged.x, dy = e.clientY - dragged.y;
        if (!dragged.far && Math.hypot(dx, dy) < 6) return;
        dragged.far = true;
        dragged.chip.style.cssText = "transform: translate(" + dx + "px," + dy +
            "px); z-index: 3; pointer-events: none; position: relative";
        const below = page.root.elementFromPoint(e.clientX, e.clientY);
        if (dragged.over) dragged.over.e.classList.remove("over");
        dragged.over = null;
        for (const c of cards)
            for (const chip of c.chips)
                if (below === chip.e && chip.place.side === dragged.place.side &&
                    chip.place.stream === dragged.place.stream)
                    dragged.over = chip;
        if (dragged.over) dragged.over.e.classList.add("over");
    }
    function onUp() {
        if (!dragged) return;
        const {chip, place, far, over} = dragged;
        chip.style.cssText = "";
        dragged = null;
        if (!far) return;
        chip.dataset.dragged = "1";  // the click that follows is none
        setTimeout(() => delete chip.dataset.dragged, 0);
        if (over) {
            over.e.classList.remove("over");
            exchange(place, over.place);
        }
    }

    /* ---- building ---- */

    function chipOf(side, stream, position) {
        const place = {side, stream, position}, e = make("button", {class: "chip"});
        e.addEventListener("click", () => {
            if (!e.dataset.dragged) act(e, place);
        });
        e.addEventListener("keydown", (k) => onKey(k, place));
        e.addEventListener("pointerdown", (d) => onDown(d, e, place));
        return {e, place};
    }

    function cardOf(side, position) {
        const e = make("div", {class: "card"}), chips = [];
        run.sides[side].streams.forEach((s, k) => {
            const ever = words.drawn[side][k].some((id) => id >= 0);
            if (!ever) return;
            const chip = chipOf(side, k, position);
            chips.push(chip);
            e.append(chip.e);
        });
        const card = {side, position, e, chips};
        if (side === run.store) {
            card.fill = make("i");
            card.weight = make("span", {class: "weight"});
            card.score = make("span", {class: "small"});
            card.says = make("span", {class: "says"});
            e.append(
                make("span", {class: "bar", "aria-hidden": "true"}, card.fill), card.weight,
                card.score, card.says);
        }
        return card;
    }

    function build(described, w) {
        run = described;
        words = w;
        picked = null;
        cards = [];
        answers = new Set(run.readouts.flatMap((r) => r.classes));
        const box = by("strips");
        box.replaceChildren();
        const sides = run.sides[1].T ? [1, 0] : [0];
        for (const side of sides) {
            const row = make("div", {class: "cards"}), strip = make("div", {class: "strip"});
            if (sides.length > 1)
                strip.append(
                    make("h3", {text: side ? t("example.memory") : t("example.questions")}));
            if (side === run.store)
                strip.append(svg("svg", {class: "arcs", "aria-hidden": "true"}));
            for (let p = 0; p < run.sides[side].T; p++) {
                const c = cardOf(side, p);
                cards.push(c);
                row.append(c.e);
            }
            if (side === 0) row.append(make("div", {class: "answer", id: "answer"}));
            strip.append(row);
            box.append(strip);
        }
        named();
        const exchangeable = run.roles.key >= 0 && run.entries > 1;
        by("swap-keys").hidden = by("swap-values").hidden = !exchangeable;
        by("hide-keys-box").hidden = by("hide-values-box").hidden =
            run.roles.key < 0 || !run.maps.length || shared();
        list(by("silent"), [["-1", t("head.none")], ...heads()], String(state.silent));
        list(
            by("random"), [["", t("matrix.none")], ...run.matrices.map((m) => [m, matrixName(m)])],
            state.random);
        showWords();
    }

    /* Keys and values that are never at one place are not parts of one embedding. */
    const shared = () => !words.drawn[run.store][run.roles.key].some(
        (id, p) => id >= 0 && words.drawn[run.store][run.roles.value][p] >= 0);

    function heads() {
        const out = [];
        for (let l = 0; l < run.layers && run.maps.length; l++)
            for (let h = 0; h < run.heads; h++)
                out.push([
                    String(l * run.heads + h),
                    run.layers > 1 ? t("map.layer", {layer: l, head: h}) : t("head.one", {head: h})
                ]);
        return out;
    }
    function matrixName(name) {
        const m = name.match(/\.w([qkvo])$/);
        return (m ? "W^" + m[1].toUpperCase() + "  " : "") + name;
    }
    function list(select, options, value) {
        select.replaceChildren(...options.map(([v, text]) => make("option", {value: v, text})));
        select.value = value;
        select.parentElement.hidden = options.length < 2;
    }

    /* ---- showing ---- */

    /* Does the example have that position? Behind its last one there is padding. */
    const there = (c) => c.position < words.lengths[c.side];

    function showWords(w) {
        if (w) words = w;
        for (const c of cards) {
            c.e.hidden = !there(c);
            for (const {e, place} of c.chips) {
                const id = now(place.side, place.stream, place.position),
                      odd = id !== words.drawn[place.side][place.stream][place.position];
                const shown = symbol(place.side, place.stream, id);
                setText(e, shown);
                e.hidden = id < 0 && rare(place.side, place.stream);
                e.classList.toggle("none", id < 0);
                e.classList.toggle(
                    "value", isValue(place.side, place.stream, shown) || shown === "?");
                e.classList.toggle("key", !e.classList.contains("value"));
                e.classList.toggle("changed", odd);
                const what = {
                    stream: said(run.sides[place.side].streams[place.stream].name),
                    word: id < 0 ? t("example.none") : shown,
                    n: place.position
                };
                e.setAttribute(
                    "aria-label", odd ? t("example.chip.changed", what) : t("example.chip", what));
            }
            c.e.classList.toggle("question", c.side === 0 && c.position === words.question);
        }
        for (const c of cards)  // what is cut off shows whole
            for (const {e} of c.chips) e.title = e.scrollWidth > e.clientWidth ? e.textContent : "";
        by("swap-words").hidden = !exchanges("other");
        by("put-word").hidden = !exchanges("put");
        by("undo").disabled = !state.changed();
        by("hide-values").checked = (state.hide & 2) !== 0;
        by("hide-keys").checked = (state.hide & 1) !== 0;
        by("silent").value = String(state.silent);
        by("random").value = state.random;
    }

    /* Does a stream stand in less than a quarter of the places? Then the others keep no room for it. */
    const rare = (side, stream) =>
        4 * words.drawn[side][stream].filter((id) => id >= 0).length < run.sides[side].T;

    /* c: a card; after: what is shown; before: what it is compared with, the state before a change or the other run. */
    function showCard(c, after, before, pair) {
        const at = after.at[c.position], was = before && before.at[c.position];
        c.e.classList.toggle("source", c.position === after.source);
        c.e.classList.toggle("unseen", !at.visible);
        c.fill.style.width = (100 * (at.weight || 0)).toFixed(1) + "%";
        const hidden = t("example.hidden"), text = at.visible ? number(at.weight) : hidden;
        if (was && pair)
            c.weight.replaceChildren(
                "A " + text,
                make(
                    "span",
                    {class: "b", text: " B " + (was.visible ? number(was.weight) : hidden)}));
        else if (was && was.visible)
            c.weight.replaceChildren(make("del", {text: number(was.weight) + " → "}), text);
        else
            setText(c.weight, text);
        setText(c.score, at.visible ? t("example.score", {score: number(at.score, 1)}) : "");
        setText(c.says, at.visible && at.says ? "→ " + at.says : "");
        if (c.says.title !== c.says.textContent) c.says.title = c.says.textContent;
        c.says.classList.toggle("weak", (at.weight || 0) < 0.1);
    }

    function showAnswer(after, before, pair) {
        const box = by("answer"), parts = [];
        after.answers.forEach((a, i) => {
            const known = a.source >= 0 || !state.changedWords(), right = a.class === a.target;
            const was = before && before.answers[i];
            if (after.answers.length > 1)
                parts.push(make("span", {class: "small", text: said(a.readout) + " "}));
            parts.push(
                make("span", {
                    class: "big" + (known ? (right ? " right" : " wrong") : ""),
                    text: t("example.says", {answer: word(a.top[0][0])})
                }),
                " " + number(a.top[0][1]),
                known && !right ? t("example.right", {answer: word(a.wanted)}) : "");
            if (was)
                parts.push(make("span", {
                    class: pair ? "small b" : "small",
                    text:
                        t(pair ? "example.second" : "example.before",
                          {answer: word(was.top[0][0]), p: number(was.top[0][1])})
                }));
            if (after.answers.length === 1) {
                const top = make("div", {class: "top5"});
                for (const [name, p] of a.top)
                    top.append(
                        make("span", {text: name}),
                        make("span", {class: "bar"}, make("i", {style: "width:" + 100 * p + "%"})),
                        make("span", {text: number(p)}));
                parts.push(top);
            } else {
                parts.push(make("br"));
            }
        });
        if (!after.answers.length) parts.push(t("example.vector"));
        box.replaceChildren(...parts);
    }

    /* Lines from the question to what it looks at, as thick as the weight. */
    function showArcs(after, before) {
        const strip = page.root.querySelector(".arcs");
        const store = cards.filter((c) => c.side === run.store && there(c)),
              last = cards.find((c) => c.side === 0 && c.position === after.question);
        const flat = store.every((c) => c.e.offsetTop === store[0].e.offsetTop);
        strip.style.display = flat ? "" : "none";
        if (!flat || !after.at) return strip.replaceChildren();
        const across = run.store === 1, box = strip.getBoundingClientRect(), middle = (c) => {
            const r = c.e.getBoundingClientRect();
            return r.left + r.width / 2 - box.left;
        };
        const from = across ? box.width / 2 : middle(last), paths = [];
        const arc = (to, weight, old) => {
            const h = across ? 0 : Math.min(64, 12 + Math.abs(from - to) * 0.22);
            const d = across ? "M" + from + " 2 Q" + to + " 8 " + to + " 68" :
                               "M" + from + " 68 C" + from + " " + (68 - h * 1.25) + " " + to +
                    " " + (68 - h * 1.25) + " " + to + " 68";
            paths.push(svg("path", {
                d,
                class: old ? "old" : "now",
                "stroke-width": Math.max(0.4, 9 * weight).toFixed(2),
                opacity: Math.min(1, 0.12 + weight * (old ? 0.5 : 1)).toFixed(2)
            }));
        };
        if (before && before.at)
            for (const c of store)
                if (before.at[c.position].weight > 0.02 && (c !== last))
                    arc(middle(c), before.at[c.position].weight * 0.5, true);
        for (const c of store)
            if (after.at[c.position].visible && c !== last)
                arc(middle(c), after.at[c.position].weight, false);
        strip.replaceChildren(...paths);
    }

    function show(frame) {
        const {pair} = frame, now = (f) => (f.after || f.before).look, after = now(frame);
        const before = pair ? (pair.shared ? now(pair) : null) :
            frame.after     ? frame.before.look :
                              null;
        showAnswer(after, before, pair);
        for (const c of cards)
            if (c.side === run.store && there(c) && after.at)
                showCard(c, after, before && before.at ? before : null, pair);
        if (after.at) showArcs(after, before);
        compare(after, pair ? null : before);
    }

    /* What was changed of the example. */
    const touched = () => qkvNarrate.touched(state.set, run);

    /* What follows from what was changed of the example alone; "" if nothing does. */
    function lesson(frame) {
        if (!frame.after || !frame.after.look.at || state.changedModel()) return "";
        const looks = {before: frame.before.look, after: frame.after.look};
        if (run.roles.key >= 0) return qkvNarrate.lesson(touched(), looks);
        return words.exchange.answer >= 0 ?
            qkvNarrate.wordsLesson(looks, (position) => text(run.store, position)) :
            "";
    }


    /* Before and after, in a sentence. */
    function compare(after, before) {
        const p = by("compare");
        p.hidden = !before || !after.at || !before.at || !after.answers.length;
        if (!p.hidden)
            setText(
                p,
                qkvNarrate.compare(
                    {before, after},
                    (i, now) => text(run.store, i, now ? words.changed : words.drawn)));
    }

    /* Of a line of words, where keys and values are not told apart: can the word that answers be exchanged
     * with another of the line, or be replaced by one that answers another line? */
    const exchanges = (what) => run.roles.key < 0 && words.exchange[what] >= 0;

    /* Exchanges the two words, with all their features. */
    function swapWords() {
        const {answer, other} = words.exchange;
        run.sides[run.store].streams.forEach((s, k) => {
            const at = now(run.store, k, answer);
            put(run.store, k, answer, now(run.store, k, other));
            put(run.store, k, other, at);
        });
        page.session.change();
    }
    function putWord() {
        put(run.store, 0, words.exchange.answer, words.exchange.put);
        page.session.change();
    }

    /* Exchanges the symbols of the entry asked for and of one far from it. */
    function swapTwo(role, look) {
        const i = look.source >= 0 ? look.source : 0,
              j = (i + Math.max(1, Math.floor(run.entries / 2))) % run.entries;
        return exchange(
            {side: run.store, stream: run.roles[role], position: i},
            {side: run.store, stream: run.roles[role], position: j});
    }

    /* What is asked for: the word that looks for a key, or all that stands there. */
    const asked = (position) =>
        (run.roles.query >= 0 ? symbol(0, run.roles.query, now(0, run.roles.query, position)) :
                                text(0, position).replace(/^\? /, ""));
    /* Asks for the key of another entry than the one that is asked for. */
    function askAt(position, source) {
        const stream = run.roles.key;
        if (stream < 0) throw new Error(t("learn.keyless"));
        return ask(
            {side: run.store, stream, position: (position + (position === source)) % run.entries});
    }
    /* A word in the place of one that stands at a position, of itself at the question's. */
    function putAt(position, word) {
        const {streams} = run.sides[0], at = position === undefined ? words.question : position,
              k = streams.map((s, i) => s.symbols.includes(word) && words.drawn[0][i][at] >= 0)
                      .lastIndexOf(true);
        if (k < 0) throw new Error(t("learn.cannot", {word, position: at}));
        put(0, k, at, streams[k].symbols.indexOf(word));
        return page.session.change();
    }
    /* What a change does, in words. */
    const told = ({
        set,
        hide,
        silent,
        random
    }) => [...set.map(([side, stream, position, id]) => t("learn.change.words", {
                          before: symbol(side, stream, words.drawn[side][stream][position]) || "–",
                          after: symbol(side, stream, id) || "–"
                      })),
           ...(hide & 2 ? [t("learn.change.hide.values")] : []),
           ...(hide & 1 ? [t("learn.change.hide.keys")] : []),
           ...(silent >= 0 ? [t("learn.change.off", {head: silent})] : []),
           ...(random ? [t("learn.change.random", {matrix: random})] : [])]
              .join(t("learn.between"));

    window.addEventListener("pointermove", onMove);
    window.addEventListener("pointerup", onUp);
    window.addEventListener("pointercancel", onUp);

    const named = () => setText(by("example-name"), t("example.name", {n: state.example}));

    return {
        build,
        show,
        again: show,
        named,
        retell: (described) => build(described, words),
        showWords,
        swapTwo,
        swapWords,
        putWord,
        putAt,
        askAt,
        asked,
        told,
        exchanges,
        text,
        lesson,
        touched,
        get words() { return words; }
    };
};
