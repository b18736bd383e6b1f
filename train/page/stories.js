/* stories.js - one guided story for each claim of docs/findings.md. Question and answer come from its table; here
 * stands what to set and what to do, and "story.NAME.1" says what to watch. A step's `set` begins a run, `beside`
 * another one that differs in these options, and its other actions are touch.js's. */
"use strict";

const qkvStories = (page) => {
    const {make, markdown, claims} = qkvText, {by, state} = page, {t} = qkvStrings;
    const train = {play: true};

    const stories = {
        roles: [
            {set: {}, act: train},
            {act: {swap: "key"}},
            {act: {swap: "value", fresh: true}},
            {act: {hide: 3, fresh: true}},
            {act: {random: "wq", fresh: true}},
        ],
        staged: [
            {
                set: {mask: "memory", "scores-from": "1000", steps: "1200"},
                act: {...train, speed: "200"}
            },
            {act: {step: 1000}},
            {act: {step: 1080}},
        ],
        pressure: [
            {set: {}, act: {step: 0}},
            {act: train},
            {act: {step: 60}},
        ],
        generalise: [
            {set: {"hold-out": "true", steps: "400"}, act: train},
            {},
            {set: {pairs: "16"}, act: train},
        ],
        robust: [
            {set: {optimizer: "sgd", lr: "0.2", steps: "1000"}, act: {...train, speed: "200"}},
            {set: {"init-gain": "0.5"}, act: train},
            {set: {heads: "4"}, act: train},
        ],
        sharing: [
            {set: {task: "partner"}, beside: {tie: "qk"}, act: train},
            {set: {wq: "false", wk: "false", wv: "false"}, act: train},
        ],
        width: [
            {
                set: {"d-k": "4", "d-v": "4", batch: "32", steps: "1200"},
                beside: {tie: "kv"},
                act: {...train, speed: "200"}
            },
            {set: {batch: "32", steps: "1200"}, beside: {tie: "kv"}, act: {...train, speed: "200"}},
        ],
        magnitude: [
            {
                set: {task: "recall", tie: "qkv", steps: "1500", "eval-every": "50"},
                act: {...train, speed: "200"}
            },
            {
                set: {task: "recall", steps: "1500", "eval-every": "50"},
                act: {...train, speed: "200"}
            },
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
                act: train
            },
        ],
        heads: [
            {set: {task: "two", heads: "2"}, beside: {heads: "1"}, act: {...train, speed: "200"}},
            {act: {silent: 0, fresh: true}},
        ],
        output: [
            {
                set: {task: "set3", readout: "local", heads: "3", steps: "1000"},
                beside: {wo: "false"},
                act: {...train, speed: "200"}
            },
            {
                set: {task: "set3", heads: "3", wo: "false", steps: "1000"},
                act: {...train, speed: "200"}
            },
        ],
        "kv-budget": [
            {
                set: {task: "attributes", "d-k": "8", "d-v": "8", "eval-every": "100"},
                beside: {"kv-heads": "1"},
                act: {...train, speed: "0"}
            },
        ],
        depth: [
            {set: {task: "mqar"}, beside: {layers: "1"}, act: {...train, speed: "200"}},
            {set: {task: "mqar", order: "vk"}, act: {...train, speed: "200"}},
        ],
        cross: [
            {set: {task: "cross"}, act: train},
            {act: {swap: "value", fresh: true}},
        ],
        coref: [
            {set: {task: "coref"}, act: train},
            {},
            {set: {task: "coref", form: "11"}, act: {...train, speed: "200"}},
            {
                set: {task: "coref", form: "11", layers: "2", steps: "1200"},
                act: {...train, speed: "200"}
            },
        ],
    };

    let known = {}, run = null;

    function build(actions) {
        run = actions;
        list();
        by("story").addEventListener("change", (e) => tell(e.target.value, true));
        by("story-close").addEventListener("click", () => tell("", false));
        by("story-findings").addEventListener("click", () => findings(state.story));
        by("dialog-close").addEventListener("click", () => by("dialog").close());
        by("dialog-body").addEventListener("click", (e) => {
            const link = e.target.closest("a[href^='#']");
            if (!link) return;
            e.preventDefault();
            const to = by("finding-" + link.getAttribute("href").slice(1));
            if (to) to.scrollIntoView();
        });
    }

    /* What can be told, by what each claim asks. */
    function list() {
        known = claims(by("findings-" + qkvStrings.lang).textContent);
        by("story").replaceChildren(
            make("option", {value: "", text: t("story.none")}),
            ...Object.keys(stories).map(
                (name) => make("option", {value: name, text: questionOf(name)})));
    }
    const questionOf = (name) => name === "pressure" ? t("story.pressure") :
        known[name]                                  ? known[name].question :
                                                       name;

    /* What a step's button does, in words. */
    function label({act}) {
        if (!act) return t("act.set");
        if (act.step !== undefined) return t("act.step", {step: act.step});
        if (act.silent !== undefined) return t("act.head", {head: act.silent});
        if (act.random) return t("act.random", {matrix: "W^" + act.random[1].toUpperCase()});
        if (act.hide) return t("act.hide");
        return act.swap ? t(act.swap === "key" ? "change.keys" : "change.values") : t("act.train");
    }
    function stepOf(name, step, i) {
        const li = make("li"), text = label(step);
        if (step.set || step.act)
            li.append(make(
                "button",
                {text, "aria-label": t("act.label", {text, n: i + 1}), onclick: () => run(step)}));
        li.append(t("story." + name + "." + (i + 1)));
        return li;
    }

    /* Shows a story; `begin`: with the options of its first step. */
    function tell(name, begin) {
        const steps = Object.hasOwn(stories, name) ? stories[name] : null;
        state.story = steps ? name : "";
        by("story").value = state.story;
        by("story-box").hidden = !steps;
        if (steps) {
            const {answer} = known[name] || {answer: ""};
            by("story-title").textContent = questionOf(name);
            by("story-answer").textContent = t("story.short", {answer});
            by("story-steps").replaceChildren(...steps.map((step, i) => stepOf(name, step, i)));
        }
        if (begin) run(steps && steps[0].set ? {set: steps[0].set, beside: steps[0].beside} : {});
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

    function retell() {
        list();
        tell(state.story, false);
    }
    const has = (name) => name === "" || Object.hasOwn(stories, name);

    return {build, has, retell, tell, dialog, findings, stories};
};
