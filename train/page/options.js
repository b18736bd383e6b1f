/* options.js - every option of the command line, from the engine's own table. */
"use strict";

const qkvOptions = (page) => {
    const {make} = qkvText, {by, state} = page, {t, said} = qkvStrings;
    let change = null, run = null, made = "", all = null;

    /* Asks for `value`; what is the task's own default needs not be said. */
    async function give(name, value) {
        const given = {...state.given};
        if (page.course.keeps(name, value)) return;
        if (name === "task")
            for (const other of Object.keys(given)) delete given[other];
        if (name === "task") Object.assign(given, {task: value}, page.own.first(value));
        const unsaid = name === "task" ? value === "pairs" : run && value === run.base[name];
        if (unsaid)
            delete given[name];
        else
            given[name] = value;
        const wrong = await change(given);
        if (wrong) refuse(name, value, wrong);
    }

    /* The sentence stands at the field, too, and what was typed stays there. */
    function refuse(name, value, why) {
        const e = by("option-" + name), help = by("option-" + name + "-help");
        if (!e) return;
        if (e.type !== "checkbox") e.value = value;
        e.setAttribute("aria-invalid", "true");
        help.textContent = why;
        help.classList.add("wrong");
    }

    /* "whole_block rotary:self_attention", as the table of options has it, in words. */
    const condition = (needs) => qkvStrings.list(needs.split(" ").map((need) => {
        const [what, value] = need.split(":").reverse(), key = "needs." + what,
                     words = qkvStrings.has(key) ? t(key) : what.replace(/_/g, "-");
        return value ? t("needs.of", {value, words}) : words;
    }));

    function control(o) {
        const id = "option-" + o.name,
              given = (e) => give(
                  o.name, o.kind === "flag" ? String(e.target.checked) : e.target.value.trim());
        if (o.kind === "flag") return make("input", {id, type: "checkbox", onchange: given});
        if (o.kind === "choice")
            return make(
                "select", {id, onchange: given},
                ...o.choices.split("|").map((c) => make("option", {value: c, text: c})));
        const numeric = o.kind === "int" ? "numeric" : o.kind === "real" ? "decimal" : null;
        return make("input", {
            id,
            inputmode: numeric,
            autocomplete: "off",
            onchange: given,
            "aria-describedby": id + "-help"
        });
    }

    /* What can be chosen depends on the task. */
    function fill() {
        const form = by("options");
        const now = run.options.task + " " + qkvStrings.lang;
        if (made === now) return;
        made = now;
        form.replaceChildren();
        for (const o of run.table) {
            if (o.kind === "section") {
                form.append(make("h2", {text: said(o.name)}));
                continue;
            }
            if (o.name === "task") continue;  // chosen above
            form.append(make("div", {class: "option", id: "box-" + o.name}, make("label", { for: "option-" + o.name, text: o.name
                             }), control(o), make("small", {
                                 id: "option-" + o.name + "-help",
                                 text: said(o.help)
                             })));
        }
    }

    function build(table, changed) {
        const form = by("options");
        all = table;
        change = changed;
        form.addEventListener("submit", (e) => e.preventDefault());
        for (const {name} of all.tasks) by("task").append(make("option", {value: name}));
        by("task").addEventListener("change", (e) => give("task", e.target.value));
        by("seed").addEventListener("change", (e) => give("seed", e.target.value.trim()));
        by("more").addEventListener("click", () => {
            const open = form.hidden;
            form.hidden = !open;
            by("more").setAttribute("aria-expanded", String(open));
        });
    }

    /* The run as it was begun: what was asked for, and beside a 0 what it stands for. */
    function show(described) {
        run = described;
        fill();
        for (const o of by("task").options) {
            o.text = said(o.value);
            o.title = said(all.tasks.find(({name}) => name === o.value).summary);
        }
        by("task").value = run.options.task;
        by("seed").value = run.options.seed;
        for (const o of run.table) {
            const e = by("option-" + o.name);
            if (!e) continue;
            const asked =
                state.given[o.name] !== undefined ? state.given[o.name] : run.base[o.name];
            if (o.kind === "flag")
                e.checked = run.options[o.name] === "true";
            else
                e.value = asked;
            by("box-" + o.name).classList.toggle("set", state.given[o.name] !== undefined);
            e.removeAttribute("aria-invalid");
            by("option-" + o.name + "-help").classList.remove("wrong");
            const now = run.options[o.name];
            let help = said(o.help);
            if (asked === "0" && now !== "0") help = t("option.here", {help, now});
            if (o.needs) help = t("option.needs", {help, needs: condition(o.needs)});
            by("option-" + o.name + "-help").textContent = help;
        }
    }

    return {build, show, give};
};
