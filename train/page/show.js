/* show.js - the page as a part of another: only some of its panels, at a fixed height, with a small player or none. */
"use strict";

const qkvShow = (page) => {
    const {by, state, root, body} = page;

    /* Panels as state.show names them, [] being all; a box of panels goes with the last of them. */
    function apply() {
        const {bar} = state, show = state.show.length ? state.show : page.course.panels(),
              part = state.show.length > 0 || bar !== "";
        body.classList.toggle("part", part);
        body.dataset.bar = bar || "all";
        for (const e of root.querySelectorAll("[data-panel]"))
            e.classList.toggle("off", show.length > 0 && !show.includes(e.dataset.panel));
        for (const box of root.querySelectorAll("[data-panels]"))
            box.classList.toggle("off", !box.querySelector("[data-panel]:not(.off)"));
        const whole = by("whole");
        whole.hidden = !part || page.inText;
        page.redraw();
    }
    /* Where the link to the whole page goes to. */
    function link() {
        if (!by("whole").hidden)
            by("whole").href = "#" + qkvAddress.write({...state, show: [], bar: ""});
    }

    return {apply, link};
};
