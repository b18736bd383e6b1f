/* address.js - the page's state as text behind the #, both ways: what an address may hold, and a sentence for what it
 * may not. Pure. */
"use strict";

const qkvAddress = (() => {
    const {t, either} = qkvStrings;
    const MOST_TEXT = 4000;  // characters of somebody's own sentences that an address can hold
    const PANELS = [
        "say", "own", "cards", "attention", "qk", "ov", "shares", "loss", "norms", "step", "lesson"
    ];
    const BARS = ["all", "play", "none"];

    const unchanged = () => ({set: [], hide: 0, silent: -1, random: ""});
    const blank = () => ({
        given: {},
        step: 0,
        example: 0,
        ask: -1,
        head: -1,
        map: "",
        lesson: "",
        extra: {},
        guess: 0,
        words: 0,
        text: "",
        beside: null,
        show: [],
        bar: "",
        inside: "",
        of: "",
        lang: "",
        ...unchanged()
    });

    /* Half a surrogate pair is no character: the engine reads it as U+FFFD, and so does an address. */
    const well = (text) => text.replace(
        /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
    const encode = (text) =>
        encodeURIComponent(well(text)).replace(/%(?:3A|2C|2F)/g, decodeURIComponent);
    const shorten = (text) => (text.length > 40 ? text.slice(0, 40) + "…" : text);
    /* eslint-disable-next-line no-control-regex */
    const control = (text, but) => [...text].some(
        (c) => (c < " " || (c >= "\x7f" && c <= "\x9f")) && !but.includes(c));

    function decode(text) {
        try {
            return decodeURIComponent(text);
        } catch (e) { throw new Error(t("address.text", {text: shorten(text)})); }
    }
    function whole(name, text, least = 0, most = 2147483647) {
        const n = Number(text);
        if (!/^-?\d+$/.test(text) || n < least || n > most)
            throw new Error(t("address.whole", {name, value: shorten(text), least, most}));
        return n;
    }
    function oneOf(name, text, all) {
        if (!all.includes(text))
            throw new Error(t("address.one", {name, value: shorten(text), all: either(all)}));
        return text;
    }
    function isName(name) {
        if (!/^[a-z][a-z0-9_-]{0,39}$/.test(name))
            throw new Error(t("address.part", {name: shorten(name)}));
        return name;
    }

    /* "from:170,lr:0.01": the run beside this one: the step at which it leaves it (-1: it is a run of its own), and the
     * options in which it differs. */
    function besideFrom(text) {
        const beside = {from: -1, given: {}};
        for (const part of text.split(",")) {
            const at = part.indexOf(":"), name = isName(at < 0 ? part : part.slice(0, at));
            const value = at < 0 ? "" : decode(part.slice(at + 1));
            if (name === "from")
                beside.from = whole("from", value);
            else
                beside.given[name] = value;
        }
        return beside;
    }
    const besideTo =
        ({from, given}) => [...(from >= 0 ? ["from:" + from] : []),
                            ...Object.entries(given).map(
                                ([name, value]) => name + ":" + encodeURIComponent(well(value)))]
                               .join(",");

    function changeFrom(text) {
        const parts = text.split(".");
        if (parts.length !== 4) throw new Error(t("address.set", {value: shorten(text)}));
        return parts.map((n, i) => whole("set", n, i === 3 ? -1 : 0));
    }

    /* Numbers: how an unset one is kept, the greatest. */
    const number = (name, unset, most) => [name, {
        to: (s) => (s[name] !== unset ? String(s[name]) : ""),
        from: (s, v) => {
            s[name] = whole(name, v, 0, most);
        }
    }];
    const text = (name) => [name, {
        to: (s) => s[name],
        from: (s, v) => {
            s[name] = v;
        }
    }];
    const own = new Map([
        number("step", 0),
        number("example", 0),
        number("ask", -1),
        number("head", -1),
        text("map"),
        [
            "set", {
                to: (s) => s.set.map((c) => c.join(".")).join("_"),
                from: (s, v) => {
                    s.set = v.split("_").map(changeFrom);
                }
            }
        ],
        number("hide", 0, 3),
        number("silent", -1),
        text("random"),
        [
            "text", {
                to: (s) => (s.text.length <= MOST_TEXT ? s.text : ""),
                from: (s, v) => {
                    s.text = well(v);
                }
            }
        ],
        text("lesson"),
        [
            "story", {
                to: () => "",
                from: (s, v) => {
                    s.lesson = v;
                }
            }
        ],  // as links once said it
        number("guess", 0, 1),
        number("words", 0, 1),
        [
            "beside", {
                to: (s) => (s.beside ? besideTo(s.beside) : ""),
                from: (s, v) => {
                    s.beside = v ? besideFrom(v) : null;
                }
            }
        ],
        [
            "show", {
                to: (s) => s.show.join(","),
                from: (s, v) => {
                    s.show = v.split(",").map((name) => oneOf("show", name, PANELS));
                }
            }
        ],
        [
            "inside", {
                to: (s) => s.inside,
                from: (s, v) => {
                    if (!/^(forward|backward|update)(\.[a-z]+\d*(\.\d{1,7})?)?$/.test(v))
                        throw new Error(t("address.inside", {value: shorten(v)}));
                    s.inside = v;
                }
            }
        ],
        [
            "of", {
                to: (s) => (s.inside ? s.of : ""),
                from: (s, v) => {
                    s.of = v;
                }
            }
        ],
        [
            "bar", {
                to: (s) => s.bar,
                from: (s, v) => {
                    s.bar = oneOf("bar", v, BARS);
                }
            }
        ],
        [
            "lang", {
                to: (s) => s.lang,
                from: (s, v) => {
                    s.lang = oneOf("lang", v, qkvStrings.names);
                }
            }
        ]
    ]);

    /* Of a lesson all but this is the lesson's own. */
    const OF_LESSON = ["lesson", "guess", "show", "bar", "lang"];

    function write(state) {
        const parts = Object.entries(state.lesson ? state.extra : state.given);
        for (const [name, one] of own)
            if (one.to(state) !== "" && (!state.lesson || OF_LESSON.includes(name)))
                parts.push([name, one.to(state)]);
        return parts.map(([name, value]) => name + "=" + encode(value)).join("&");
    }

    /* The state that an address gives. Throws a sentence if it is none of ours. */
    function read(hash) {
        const state = blank(), seen = new Set();
        for (const part of hash.replace(/^#/, "").split("&")) {
            if (!part) continue;
            const at = part.indexOf("="), name = isName(decode(at < 0 ? part : part.slice(0, at)));
            const value = at < 0 ? "" : decode(part.slice(at + 1));
            if (seen.has(name)) throw new Error(t("address.twice", {name}));
            seen.add(name);
            if (control(value, name === "text" ? "\n\t\r" : ""))
                throw new Error(t("address.control", {name}));
            if (own.has(name))
                own.get(name).from(state, value);
            else
                state.given[name] = value;
        }
        return state;
    }

    /* What of the page is shown, of an address of which the rest may be wrong. */
    function shape(hash) {
        const parts = hash.replace(/^#/, "").split("&").filter((p) => /^(show|bar|lang)=/.test(p));
        try {
            const {show, bar, lang} = read(parts.join("&"));
            return {show, bar, lang};
        } catch (e) { return {show: [], bar: "", lang: ""}; }
    }

    /* What an address says of a run can be checked once that is open; a sentence, or "". */
    function misfit(state, run) {
        const heads = run.maps.length ? run.heads : 0, {head: value, step} = state;
        if (value >= heads)
            return heads === 1 ? t("address.head.one", {value}) :
                heads > 1      ? t("address.heads", {value, n: heads, last: heads - 1}) :
                                 t("address.head.none", {value});
        if (step > run.steps) return t("address.step", {what: "step=" + step, last: run.steps});
        if (state.beside && state.beside.from > run.steps)
            return t("address.step", {what: "beside=from:" + state.beside.from, last: run.steps});
        return "";
    }

    return {MOST_TEXT, PANELS, blank, unchanged, well, write, read, shape, misfit};
})();
