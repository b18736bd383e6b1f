/* state.js - what the page shows, all of it: options given, step, example, changes; as an address, and as a command. */
"use strict";

const qkvState = (() => {
    const MOST_TEXT = 4000;  // characters of somebody's own sentences that an address can hold
    const nothing = () => ({set: [], hide: 0, silent: -1, random: ""});
    const state = {
        given: {},
        step: 0,
        example: 0,
        ask: -1,
        head: -1,
        map: "",
        story: "",
        text: "",
        ...nothing()
    };

    const changedWords = () => state.set.length > 0;
    const changedModel = () => state.hide !== 0 || state.silent >= 0 || state.random !== "";
    const changed = () => changedWords() || changedModel();
    function undo() { Object.assign(state, nothing()); }

    /* One symbol at one place; the symbol that was drawn there takes the change back. */
    function put(side, stream, position, id, drawn) {
        state.set = state.set.filter((s) => s[0] !== side || s[1] !== stream || s[2] !== position);
        if (id !== drawn) state.set.push([side, stream, position, id]);
    }

    /* What stands in the address beside options. */
    const own = {
        step: {
            to: () => state.step || "",
            from: (v) => {
                state.step = whole(v, 0);
            }
        },
        example: {
            to: () => state.example || "",
            from: (v) => {
                state.example = whole(v, 0);
            }
        },
        ask: {
            to: () => (state.ask >= 0 ? state.ask : ""),
            from: (v) => {
                state.ask = whole(v, 0);
            }
        },
        head: {
            to: () => (state.head >= 0 ? state.head : ""),
            from: (v) => {
                state.head = whole(v, 0);
            }
        },
        map: {
            to: () => state.map,
            from: (v) => {
                state.map = v;
            }
        },
        set: {
            to: () => state.set.map((s) => s.join(".")).join("_"),
            from: (v) => {
                state.set = v.split("_").map((s) => s.split(".").map((n) => whole(n, -1)));
            },
        },
        hide: {
            to: () => state.hide || "",
            from: (v) => {
                state.hide = whole(v, 0);
            }
        },
        silent: {
            to: () => (state.silent >= 0 ? state.silent : ""),
            from: (v) => {
                state.silent = whole(v, 0);
            }
        },
        random: {
            to: () => state.random,
            from: (v) => {
                state.random = v;
            }
        },
        text: {
            to: () => (state.text.length <= MOST_TEXT ? state.text : ""),
            from: (v) => {
                state.text = v;
            }
        },
        story: {
            to: () => state.story,
            from: (v) => {
                state.story = v;
            }
        },
    };

    function whole(text, least) {
        const n = Number(text);
        if (!/^-?\d+$/.test(text) || n < least || n > 2147483647)
            throw new Error("the address has '" + text + "' where a number belongs");
        return n;
    }

    function address() {
        const parts = Object.entries(state.given).map(([name, value]) => [name, value]);
        for (const [name, one] of Object.entries(own))
            if (one.to() !== "") parts.push([name, String(one.to())]);
        return parts.map(([name, value]) => name + "=" + encodeURIComponent(value)).join("&");
    }

    /* Throws a sentence if the address is none of ours. */
    function read(hash) {
        Object.assign(state, {
            given: {},
            step: 0,
            example: 0,
            ask: -1,
            head: -1,
            map: "",
            story: "",
            text: "",
            ...nothing()
        });
        for (const part of hash.replace(/^#/, "").split("&")) {
            if (!part) continue;
            const at = part.indexOf("="), name = at < 0 ? part : part.slice(0, at);
            const value = at < 0 ? "" : decodeURIComponent(part.slice(at + 1));
            if (own[name])
                own[name].from(value);
            else
                state.given[name] = value;
        }
    }

    /* The command that trains the same; quotes where a shell would see more than a word. */
    function command() {
        const word = (s) =>
            /^[A-Za-z0-9_.,+/-]+$/.test(s) ? s : "'" + s.replace(/'/g, "'\\''") + "'";
        const options = Object.entries(state.given)
                            .map(
                                ([name, value]) => value === "true" ? " --" + name :
                                    value === "false"               ? " --no-" + name :
                                                        " --" + name + " " + word(value));
        return "qkv train" + options.join("");
    }

    return {state, changed, changedWords, changedModel, undo, put, address, read, command};
})();
