/* state.js - what the page shows, all of it: options given, step, example, changes; as an address, and as a command. */
"use strict";

const qkvState = () => {
    const state = qkvAddress.blank();

    /* One symbol at one place; the symbol that was drawn there takes the change back. */
    function put(side, stream, position, id, drawn) {
        state.set = state.set.filter((s) => s[0] !== side || s[1] !== stream || s[2] !== position);
        if (id !== drawn) state.set.push([side, stream, position, id]);
    }

    /* The command that trains the same; quotes where a shell would see more than a word. */
    function command(given = state.given) {
        const word = (s) =>
            /^[A-Za-z0-9_.,+/-]+$/.test(s) ? s : "'" + s.replace(/'/g, "'\\''") + "'";
        const options = Object.entries(given).map(
            ([name, value]) => value === "true" ? " --" + name :
                value === "false"               ? " --no-" + name :
                                                  " --" + name + " " + word(value));
        return "qkv train" + options.join("");
    }

    return Object.assign(state, {
        put,
        command,
        changedWords: () => state.set.length > 0,
        changedModel: () => state.hide !== 0 || state.silent >= 0 || state.random !== "",
        changed: () => state.changedWords() || state.changedModel(),
        undo: () => Object.assign(state, qkvAddress.unchanged()),
        address: () => qkvAddress.write(state),
        /* Throws a sentence, and leaves the state as it is, if the address is none of ours. */
        read: (hash) => Object.assign(state, qkvAddress.read(hash))
    });
};
