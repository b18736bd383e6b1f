/* size.js - what a run will need, before it is begun. Pure. */
"use strict";

const qkvSize = (() => {
    const MUCH = 6e6, BYTES = 4;
    /* Of each weight: value, gradient, two moments, and three more in the state that is kept at the start. */
    const COPIES = 7;

    /* About how many numbers learn in the layers, of options as texts; what is not given is as in `base`. */
    function numbers(given, base = {}) {
        const get = (name, unset) => {
            const v = given[name] !== undefined ? given[name] : base[name];
            return v === undefined || v === "" || !Number.isFinite(Number(v)) ? unset : Number(v);
        };
        const d = get("d-model", 32), heads = get("heads", 1),
              own = Math.max(1, Math.floor(d / Math.max(1, heads)));
        const kv = get("kv-heads", 0) || heads, dk = get("d-k", 0) || own,
              dv = get("d-v", 0) || own;
        const layer = d * (heads * dk + kv * dk + kv * dv + heads * dv) + 2 * d * get("d-ff", 0);
        return get("layers", 1) * layer;
    }

    const {t} = qkvStrings;
    const compact = {notation: "compact", compactDisplay: "long", maximumSignificantDigits: 2};
    const million = (n) => t("size.numbers", {n: n.toLocaleString(qkvStrings.tag, compact)});
    const bytes = (n) => n < 1e9 ? Math.ceil(n / 1e6) + " MB" : (n / 1e9).toFixed(1) + " GB";

    /* A sentence if that is much for a page; else "". */
    function warning(given, base) {
        const n = numbers(given, base), need = n * COPIES * BYTES;
        if (n < MUCH) return "";
        const places = {numbers: million(n), bytes: bytes(need)};
        return need > 4e9 ? t("size.most", places) : t("size.slow", places);
    }

    /* How many numbers, of a model that is large; of others nobody wants to know. */
    function words(given, base) {
        const n = numbers(given, base);
        return n < 1e6 ? t("size.run") : million(n);
    }

    return {numbers, words, warning};
})();
