/* language.js - which language the page speaks: that of its address, or the one chosen last, or the browser's. */
"use strict";

const qkvLanguage = (page) => {
    const KEPT = "qkv-lang";

    const read = (id) => JSON.parse(document.getElementById(id).textContent);
    for (const name of qkvStrings.names)
        qkvStrings.add(name, read("strings-" + name), name === "en" ? {} : read("engine-" + name));

    /* Where nothing may be kept, the choice holds while the page is open. */
    function kept(name) {
        try {
            if (name) localStorage.setItem(KEPT, name);
            return localStorage.getItem(KEPT);
        } catch (e) { return ""; }
    }
    function wanted() {
        const asked = [
            qkvAddress.shape(page.address()).lang, new URLSearchParams(location.search).get("lang"),
            kept(), ...(navigator.languages || [])
        ];
        return asked.map(qkvStrings.known).find((name) => name) || "en";
    }

    function use(name) {
        qkvStrings.use(name);
        document.documentElement.lang = qkvStrings.tag;
        document.title = qkvStrings.t("title");
        qkvText.words(page.root);
    }
    function listen() {
        page.by("lang").addEventListener(
            "click", () => choose(qkvStrings.lang === "en" ? "zh" : "en"));
    }
    /* Another language: everything is said again, the run stays as it is. */
    function choose(name) {
        kept(name);
        if (page.state.lang) page.state.lang = name;
        use(name);
        page.retell();
    }

    use(wanted());
    return {
        listen,
        choose,
        follow: () =>
            page.state.lang && page.state.lang !== qkvStrings.lang && choose(page.state.lang)
    };
};
