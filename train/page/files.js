/* files.js - what is taken along: link, command, checkpoint, metrics, pictures; and a checkpoint opened. */
"use strict";

const qkvFiles = (page) => {
    const {by, state} = page, {t} = qkvStrings;

    function give(name, parts, type) {
        const url = URL.createObjectURL(new Blob(parts, {type})), a = document.createElement("a");
        a.href = url;
        a.download = name;
        a.click();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
    }
    const name = (run, step) => "qkv-" + run.options.task + "-" + String(step).padStart(8, "0");

    /* Into the clipboard, or, where that is refused, to be copied by hand. */
    async function copy(text, what, say) {
        try {
            await navigator.clipboard.writeText(text);
            say(t("copied", {what, text}));
        } catch (e) {
            const field = qkvText.make(
                "textarea", {readonly: true, rows: 3, style: "width:100%", "aria-label": what});
            field.value = text;
            page.stories.dialog(what, field);
            field.select();
        }
    }

    /* All pictures of the page as one SVG, each under its heading. */
    function svg(redraw) {
        const c = qkvDraw.colours(), boxes = [
            ...page.root.querySelectorAll("main .maps .panel, main .charts .panel")
        ].filter((p) => !p.hidden);
        const first = by("maps").getBoundingClientRect(),
              last = page.root.querySelector(".charts").getBoundingClientRect();
        const origin = {left: first.left, top: first.top - 26}, w = Math.ceil(first.width),
              h = Math.ceil(last.bottom - origin.top);
        const safe = (s) => s.replace(/&/g, "&amp;").replace(/</g, "&lt;");
        const text = (x, y, s, size, weight, colour) => "<text x=\"" + x + "\" y=\"" + y +
            "\" font-size=\"" + size + "\" font-weight=\"" + weight + "\" fill=\"" + colour +
            "\">" + safe(s) + "</text>";
        const frames = boxes.map((p) => {
            const r = p.getBoundingClientRect(), x = r.left - origin.left, y = r.top - origin.top,
                  title = p.querySelector("h2").firstChild.textContent;
            const legend =
                [...p.querySelectorAll(".legend li")].map((li) => li.textContent).join("   ");
            return "<rect x=\"" + x + "\" y=\"" + y + "\" width=\"" + r.width + "\" height=\"" +
                r.height + "\" rx=\"10\" fill=\"" + c.panel + "\" stroke=\"" + c.line + "\"/>" +
                text(x + 14, y + 26, title, 15, 700, c.ink) +
                (legend ? text(x + 14, y + r.height - 12, legend, 10, 400, c.faint) : "");
        });
        const title = [
            state.command(), t("step", {step: state.step}),
            ...(state.example ? [t("example.name", {n: state.example})] : [])
        ].join("   ");
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h +
            "\" viewBox=\"0 0 " + w + " " + h + "\" font-family=\"system-ui, sans-serif\">" +
            "<rect width=\"100%\" height=\"100%\" fill=\"" + c.paper + "\"/>" +
            text(2, 16, title, 13, 400, c.ink) + frames.join("") + qkvDraw.record(redraw, origin) +
            "</svg>";
    }

    function png(text, done) {
        const image = new Image(),
              url = URL.createObjectURL(new Blob([text], {type: "image/svg+xml"}));
        image.onload = () => {
            const canvas = document.createElement("canvas");
            canvas.width = 2 * image.width;
            canvas.height = 2 * image.height;
            canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
            URL.revokeObjectURL(url);
            canvas.toBlob(done, "image/png");
        };
        image.src = url;
    }

    function link() {
        const {length} = state.text;
        if (length > qkvAddress.MOST_TEXT)
            return page.trouble(
                t("link.long", {
                    most: qkvAddress.MOST_TEXT.toLocaleString("en"),
                    n: length.toLocaleString("en")
                }),
                [t("link.save"), () => give(page.own.NAME, [state.text], "text/plain")]);
        copy(location.href.split("#")[0] + "#" + state.address(), t("link.name"), page.tell);
    }

    function build() {
        by("copy-link").addEventListener("click", link);
        by("copy-command")
            .addEventListener(
                "click", () => copy(page.pair.commands(), t("command.name"), page.tell));
        by("save-checkpoint")
            .addEventListener(
                "click",
                async () => give(
                    name(page.run, state.step) + ".safetensors", [await page.call("save", {})],
                    "application/octet-stream"));
        by("save-metrics")
            .addEventListener(
                "click",
                () => give(name(page.run, state.step) + ".csv", [page.curves.csv()], "text/csv"));
        by("save-svg")
            .addEventListener(
                "click",
                () =>
                    give(name(page.run, state.step) + ".svg", [svg(page.redraw)], "image/svg+xml"));
        by("save-png")
            .addEventListener(
                "click",
                () =>
                    png(svg(page.redraw),
                        (blob) => give(name(page.run, state.step) + ".png", [blob], "image/png")));
        by("open-checkpoint").addEventListener("change", async (e) => {
            const file = e.target.files[0];
            if (!file) return;
            try {
                const bytes = new Uint8Array(await file.arrayBuffer());
                page.session.opened(
                    await page.call(
                        "restore", {name: file.name, file: bytes, files: page.own.shipped()}),
                    file.name);
            } catch (error) { page.trouble(error.message); }
            e.target.value = "";
        });
        page.root.addEventListener("click", (e) => {
            if (!by("files").contains(e.target) || e.target.tagName === "BUTTON")
                by("files").open = false;
        });
    }

    return {build, give};
};
