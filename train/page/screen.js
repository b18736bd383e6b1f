/* screen.js - what is drawn again because the screen is another one: size, pixels, light or dark, paper. */
"use strict";

const qkvScreen = (page) => {
    /* On another screen pictures have other pixels. Not every browser says so: the pointer comes along. */
    let ratio = 0;
    function sharpen() {
        if (ratio && devicePixelRatio !== ratio) page.redraw();
        ratio = devicePixelRatio;
    }
    function watch() {
        sharpen();
        matchMedia("(resolution: " + ratio + "dppx)").addEventListener("change", watch, {
            once: true
        });
    }
    const print = (on) => () => {
        document.documentElement.classList.toggle("print", on);
        page.redraw();
    };

    function listen() {
        watch();
        addEventListener("pointermove", sharpen, {passive: true});
        addEventListener("resize", page.redraw);
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", page.redraw);
        addEventListener("beforeprint", print(true));
        addEventListener("afterprint", print(false));
    }
    return {listen};
};
