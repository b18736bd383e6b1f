/* stories.js - one guided story for each claim of docs/findings.md: lessons without questions, beside those of the course.
 * Question and answer come from the findings' table; here stands what to set and what to do, and "story.NAME.1" says what
 * to watch. Then the findings themselves. */
"use strict";

const qkvStories = (page) => {
    const {make, markdown, claims} = qkvText, {by} = page, {t, tables} = qkvStrings;
    const train = {step: 100000};  // to the end

    const stories = {
        roles: [
            {set: {}, change: train},
            {change: {swap: "key"}},
            {change: {swap: "value"}},
            {change: {hide: 3}},
            {change: {random: "wq"}},
        ],
        staged: [
            {set: {mask: "memory", "scores-from": "1000", steps: "1200"}, change: train},
            {change: {step: 1000}},
            {change: {step: 1080}},
        ],
        pressure: [
            {set: {}, change: {step: 0}},
            {change: train},
            {change: {step: 60}},
        ],
        generalise: [
            {set: {"hold-out": "true", steps: "400"}, change: train},
            {},
            {set: {pairs: "16"}, change: train},
        ],
        robust: [
            {set: {optimizer: "sgd", lr: "0.2", steps: "1000"}, change: train},
            {set: {"init-gain": "0.5"}, change: train},
            {set: {heads: "4"}, change: train},
        ],
        sharing: [
            {set: {task: "partner"}, beside: {tie: "qk"}, change: train},
            {set: {wq: "false", wk: "false", wv: "false"}, change: train},
        ],
        width: [
            {
                set: {"d-k": "4", "d-v": "4", batch: "32", steps: "1200"},
                beside: {tie: "kv"},
                change: train
            },
            {set: {batch: "32", steps: "1200"}, beside: {tie: "kv"}, change: train},
        ],
        magnitude: [
            {set: {task: "recall", tie: "qkv", steps: "1500", "eval-every": "50"}, change: train},
            {set: {task: "recall", steps: "1500", "eval-every": "50"}, change: train},
        ],
        scale: [
            {
                set: {
                    pairs: "16",
                    keys: "64",
                    values: "64",
                    "d-model": "64",
                    "d-k": "256",
                    "d-v": "64",
                    batch: "32",
                    "embed-init": "split",
                    "embed-std": "1.4142",
                    freeze: "embed.*"
                },
                beside: {scale: "none"},
                change: train
            },
        ],
        heads: [
            {set: {task: "two", heads: "2"}, beside: {heads: "1"}, change: train},
            {change: {off: 0}},
        ],
        output: [
            {
                set: {task: "set3", readout: "local", heads: "3", steps: "1000"},
                beside: {wo: "false"},
                change: train
            },
            {set: {task: "set3", heads: "3", wo: "false", steps: "1000"}, change: train},
        ],
        "kv-budget": [
            {
                set: {task: "attributes", "d-k": "8", "d-v": "8", "eval-every": "100"},
                beside: {"kv-heads": "1"},
                change: train
            },
        ],
        depth: [
            {set: {task: "mqar"}, beside: {layers: "1"}, change: train},
            {set: {task: "mqar", order: "vk"}, change: train},
        ],
        cross: [
            {set: {task: "cross"}, change: train},
            {change: {swap: "value"}},
        ],
        coref: [
            {set: {task: "coref"}, change: train},
            {},
            {set: {task: "coref", form: "11"}, change: train},
            {set: {task: "coref", form: "11", layers: "2", steps: "1200"}, change: train},
        ],
    };

    /* In each language that has it: {en: ..., zh: ...}. */
    const each = (of) =>
        Object.fromEntries(qkvStrings.names.map((lang) => [lang, of(lang)]).filter((e) => e[1]));
    const claimOf = (study, what) =>
        each((lang) => (claims(by("findings-" + lang).textContent)[study] || {})[what]);

    const lessons = () => Object.entries(stories).map(
        ([study, cards]) => ({
            study,
            title: study === "pressure" ? each((lang) => tables[lang]["story.pressure"]) :
                                          claimOf(study, "question"),
            short: claimOf(study, "answer"),
            show: [],
            cards:
                cards.map((card, i) => ({
                              ...card,
                              text: each((lang) => tables[lang]["story." + study + "." + (i + 1)])
                          }))
        }));

    function build() {
        by("dialog-close").addEventListener("click", () => by("dialog").close());
        by("dialog-body").addEventListener("click", (e) => {
            const link = e.target.closest("a[href^='#']");
            if (!link) return;
            e.preventDefault();
            const to = by("finding-" + link.getAttribute("href").slice(1));
            if (to) to.scrollIntoView();
        });
    }

    function dialog(title, content) {
        by("dialog-title").textContent = title;
        by("dialog-body").replaceChildren(content);
        by("dialog").showModal();
    }
    function findings(name) {
        const read = (lang) =>
            markdown(by("findings-" + lang).textContent.replace(/^\s*# .*\n/, ""));
        const {lang} = qkvStrings, body = make("div", {}, read(lang));
        if (lang !== "en") body.append(make("div", {lang: "en"}, read("en")));  // the details
        dialog(t("findings"), body);
        const at = by("finding-" + name);
        if (at) at.scrollIntoView();
    }

    return {build, lessons, dialog, findings};
};
