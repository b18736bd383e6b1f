/* stories.js - one guided story for each claim of docs/findings.md. Question and answer come from its table; here
 * stands what to set, what to do and what to watch. A step's `set` begins a run, `beside` another one that differs in
 * these options, and its other actions are touch.js's. */
"use strict";

const qkvStories = (page) => {
    const {make, markdown, claims} = qkvText, {by, state} = page;
    const train = {text: "Train", play: true};

    const stories = {
        roles: [
            {say: "A look-up, trained to the end.", set: {}, act: train},
            {
                say:
                    "Swap two keys. Attention follows the key, and the answer is the value stored there.",
                act: {text: "Swap two keys", swap: "key"}
            },
            {
                say:
                    "Swap two values instead. Attention stays where it was; only the answer changes.",
                act: {text: "Swap two values", swap: "value", fresh: true}
            },
            {
                say:
                    "Let K see no values and V no keys: nothing is lost. Each path needs its own part alone.",
                act: {text: "Hide both", hide: 3, fresh: true}
            },
            {
                say:
                    "Make W^Q random: no match. Make W^V random: it looks at the right place and says the wrong thing.",
                act: {text: "Random W^Q", random: "wq", fresh: true}
            },
        ],
        staged: [
            {
                say:
                    "The scores are held at 0 until step 1000: every entry gets the same attention.",
                set: {mask: "memory", "scores-from": "1000", steps: "1200"},
                act: {...train, speed: "200"}
            },
            {
                say:
                    "Watch V and O: their diagonal fills although nothing can be matched; one answer in eight is right.",
                act: {text: "Look at step 1000", step: 1000}
            },
            {
                say: "Then scores are allowed. Q and K need some 80 steps.",
                act: {text: "Look at step 1080", step: 1080}
            },
        ],
        pressure: [
            {
                say:
                    "Step 0. Look at the gradients of the four matrices: W^V and W^O get about six times as much.",
                set: {},
                act: {text: "Look at step 0", step: 0}
            },
            {
                say:
                    "A score's gradient is w (dy·v - Σ w dy·v): while all values are equally useless, it does not matter where the model looks.",
                act: train
            },
            {
                say:
                    "Go to step 60: the model carries many values, matches few keys, and gets hardly any answer right.",
                act: {text: "Look at step 60", step: 60}
            },
        ],
        generalise: [
            {
                say: "A quarter of all combinations of key and value never occurs in training.",
                set: {"hold-out": "true", steps: "400"},
                act: train
            },
            {
                say:
                    "Now change a word: click on “changes it”, then on a value, and choose any other. The new one is answered, seen together before or not."
            },
            {
                say:
                    "Another length: 16 pairs. Attention spreads over more entries, and the right one still leads.",
                set: {pairs: "16"},
                act: train
            },
        ],
        robust: [
            {
                say: "Plain gradient descent with a rate of 0.2 reaches the same solution, later.",
                set: {optimizer: "sgd", lr: "0.2", steps: "1000"},
                act: {...train, speed: "200"}
            },
            {
                say: "So do initial weights of half the size, four heads, or another seed.",
                set: {"init-gain": "0.5"},
                act: train
            },
            {say: "Four heads: not every head has to look.", set: {heads: "4"}, act: train},
        ],
        sharing: [
            {
                say:
                    "Each key asks for its partner (2 for 3, 3 for 2), which is stored beside it. A has W^Q and W^K apart: in its circuit, the marks stand beside the diagonal. B has Q = K and gets half right: a key resembles itself most.",
                set: {task: "partner"},
                beside: {tie: "qk"},
                act: train
            },
            {
                say:
                    "For the plain look-up, x itself is enough, without any projection: the embeddings do the work.",
                set: {wq: "false", wk: "false", wv: "false"},
                act: train
            },
        ],
        width: [
            {
                say:
                    "Heads of 4 numbers. A has K and V apart, and that is enough. B has K = V: one vector must both match and carry, and cannot do both.",
                set: {"d-k": "4", "d-v": "4", batch: "32", steps: "1200"},
                beside: {tie: "kv"},
                act: {...train, speed: "200"}
            },
            {
                say: "With a head of 32 numbers, sharing only costs B some steps.",
                set: {batch: "32", steps: "1200"},
                beside: {tie: "kv"},
                act: {...train, speed: "200"}
            },
        ],
        magnitude: [
            {
                say:
                    "The model must return an entry exactly, as a vector of length 1. One matrix for all three: a compromise between sharpness and size.",
                set: {task: "recall", tie: "qkv", steps: "1500", "eval-every": "50"},
                act: {...train, speed: "200"}
            },
            {
                say:
                    "Three matrices: watch the sizes of the weights part. W^Q and W^K grow, W^V stays at the size of the answer.",
                set: {task: "recall", steps: "1500", "eval-every": "50"},
                act: {...train, speed: "200"}
            },
        ],
        scale: [
            {
                say:
                    "Heads of 256 numbers, embeddings given. A divides scores by sqrt(d_k): attention starts spread out, and every row can learn where else to look. B does not: at step 0 each row already stands on one place.",
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
            {
                say:
                    "One place asks two questions at once. A has two heads and answers both. B has one head, as wide as A's two together: one weighted mean, which answers one of the two.",
                set: {task: "two", heads: "2"},
                beside: {heads: "1"},
                act: {...train, speed: "200"}
            },
            {
                say: "Switch one head off: one of the two answers is gone.",
                act: {text: "Head 0 off", silent: 0, fresh: true}
            },
        ],
        output: [
            {
                say:
                    "The model fetches two sets and must say what is only in the first, only in the second, and in both. Each reader sees a third of the channels. Run A has W^O: the readers get what other heads brought. Run B has none.",
                set: {task: "set3", readout: "local", heads: "3", steps: "1000"},
                beside: {wo: "false"},
                act: {...train, speed: "200"}
            },
            {
                say:
                    "Without W^O, but with readers that see all channels: a full matrix mixes the heads as well.",
                set: {task: "set3", heads: "3", wo: "false", steps: "1000"},
                act: {...train, speed: "200"}
            },
        ],
        "kv-budget": [
            {
                say:
                    "Items of four attributes. A has keys and values for each of its four heads, 8 numbers each: 64 in the cache. B has one head of them for all four (MQA), just as wide: 16 in the cache. That is too little.",
                set: {task: "attributes", "d-k": "8", "d-v": "8", "eval-every": "100"},
                beside: {"kv-heads": "1"},
                act: {...train, speed: "0"}
            },
        ],
        depth: [
            {
                say:
                    "Keys and values are tokens of their own. A has two layers and gets it all: choose layer 0 among its attentions, where each value looks at the key before it. B has one layer and gets one in eight.",
                set: {task: "mqar"},
                beside: {layers: "1"},
                act: {...train, speed: "200"}
            },
            {
                say:
                    "The value before its key: now the key's token is found, and has to carry what it fetched.",
                set: {task: "mqar", order: "vk"},
                act: {...train, speed: "200"}
            },
        ],
        cross: [
            {
                say: "The questions stand in one sequence, the pairs in a memory beside it.",
                set: {task: "cross"},
                act: train
            },
            {
                say:
                    "Swap two values in the memory: attention stays, and the answer is the new value.",
                act: {text: "Swap two values", swap: "value", fresh: true}
            },
        ],
        coref: [
            {
                say:
                    "“The animal did not cross the street because it was tired”: the colour of what? “it” stands with its predicate.",
                set: {task: "coref"},
                act: train
            },
            {
                say:
                    "Change the predicate: choose “changes it”, then the word beside “it” (tired, hungry … or wide, deep …). Attention goes to the other noun."
            },
            {
                say:
                    "With “it” and its predicate apart, one layer gets half: “it” asks the same in every sentence.",
                set: {task: "coref", form: "11"},
                act: {...train, speed: "200"}
            },
            {
                say: "Two layers get it, in ways that differ between seeds.",
                set: {task: "coref", form: "11", layers: "2", steps: "1200"},
                act: {...train, speed: "200"}
            },
        ],
    };

    let known = {}, run = null;

    function build(actions) {
        run = actions;
        known = claims(by("findings").textContent);
        by("story").append(make("option", {value: "", text: "none"}));
        for (const name of Object.keys(stories))
            by("story").append(make("option", {
                value: name,
                text: known[name] ?
                    (name === "pressure" ? "Why does V go first?" : known[name].question) :
                    name
            }));
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

    function stepOf(step, i) {
        const li = make("li");
        if (step.set || step.act) {
            const text = step.act ? step.act.text : "Set it";
            li.append(make(
                "button",
                {text, "aria-label": text + ", step " + (i + 1), onclick: () => run(step)}));
        }
        li.append(step.say);
        return li;
    }

    /* Shows a story; `begin`: with the options of its first step. */
    function tell(name, begin) {
        const list = Object.hasOwn(stories, name) ? stories[name] : null;
        state.story = list ? name : "";
        by("story").value = state.story;
        by("story-box").hidden = !list;
        if (list) {
            const claim = known[name] || {question: name, answer: ""};
            by("story-title").textContent =
                name === "pressure" ? "Why does V go first?" : claim.question;
            by("story-answer").textContent = "In short: " + claim.answer + ".";
            by("story-steps").replaceChildren(...list.map(stepOf));
        }
        if (begin) run(list && list[0].set ? {set: list[0].set, beside: list[0].beside} : {});
    }

    function dialog(title, content) {
        by("dialog-title").textContent = title;
        by("dialog-body").replaceChildren(content);
        by("dialog").showModal();
    }
    function findings(name) {
        dialog("Findings", markdown(by("findings").textContent.replace(/^\s*# .*\n/, "")));
        const at = by("finding-" + name);
        if (at) at.scrollIntoView();
    }

    const retell = () => tell(state.story, false);
    const has = (name) => name === "" || Object.hasOwn(stories, name);

    return {build, has, retell, tell, dialog, findings, stories};
};
