/* ledger.js - what lowers the held-out loss: the parts of the next step as bars, and their running sum as curves. */
"use strict";

const qkvLedger = (() => {
    const {num, sum} = qkvInside, {t, said} = qkvStrings;
    /* Kinds of parameters: which names, in which hue, as which line. */
    const KINDS = {
        q: [/\.(wq|q\.w)$/, "where", {}],
        k: [/\.(wk|k\.w)$/, "where", {dash: [6, 3]}],
        v: [/\.(wv|v\.w)$/, "what", {width: 3.2}],
        o: [/\.(wo|o\.w)$/, "what", {width: 3.2, dash: [2, 3]}],
        embeddings: [/^(embed|memory)\./, "stored", {}],
        unembedding: [/^unembed\./, "stored", {dash: [6, 3]}],
        mlp: [/\.mlp\./, "minus", {}],
        others: [/^/, "minus", {dash: [6, 3]}],
        left: [null, "faint", {dash: [2, 3]}],
        change: [null, "ink", {width: 2.4}]
    };
    const kindOf = (name) => Object.keys(KINDS).find((k) => KINDS[k][0].test(name));

    /* A row's parts by kind, of the kinds that the model has, then what is left and the change itself. */
    function parts(row) {
        const of = {};
        for (const p of row.parts) (of[kindOf(p.name)] = of[kindOf(p.name)] || []).push(p.part);
        const all = Object.keys(KINDS).filter((k) => of[k]).map((k) => [k, sum(of[k])]);
        return [...all, ["left", row.left], ["change", row.after - row.before]];
    }

    /* What a kind is called: one matrix may stand for several. */
    function title(kind, options = {}) {
        const tie = /^[qkv]+$/.test(options.tie || "") ? options.tie : "";
        if (kind === "embeddings" && options["tie-unembedding"] === "true") return t("ledger.tied");
        if (!/^[qkvo]$/.test(kind)) return t("ledger." + kind);
        return [...(tie[0] === kind ? tie : kind)].map((c) => "W^" + c.toUpperCase()).join(" = ");
    }

    /* The running sums of rows that follow one another: [step, {kind: sum}] from the first step on. */
    function sums(rows) {
        if (!rows.length) return [];
        const at = Object.fromEntries(parts(rows[0]).map(([kind]) => [kind, 0])),
              out = [[rows[0].first, {...at}]];
        for (const row of rows) {
            for (const [kind, x] of parts(row)) at[kind] += x;
            out.push([row.next, {...at}]);
        }
        return out;
    }

    /* Rows with more of them behind; one that begins earlier takes the place of those from there on. */
    const joined = (rows, more) =>
        more.reduce((all, row) => [...all.filter((r) => r.next <= row.first), row], rows);

    const signed = (x) => (x > 0 ? "+" : "") + num(x);

    /* Sentences: what the next step does; over which steps the points of the curve are taken. */
    function tell(row) {
        const change = row.after - row.before, places = {
            first: row.first,
            next: row.next,
            n: row.examples,
            before: row.before.toPrecision(5),
            after: row.after.toPrecision(5)
        };
        const kind = change < 0 ? "falls" : change > 0 ? "rises" : "stays";
        return [
            t("ledger.says." + kind, places), t("ledger.bars"),
            ...(Math.abs(row.left) > row.allowed ? [t("ledger.more")] : [])
        ].join(t("list.space"));
    }
    function caption(rows) {
        const spans = rows.map((r) => r.next - r.first), most = Math.max(...spans),
              least = Math.min(...spans.slice(0, -1), most);
        const places = {first: rows[0].first, last: rows[rows.length - 1].next, least, most};
        return t(least < most ? "ledger.caption.kept" : "ledger.caption", places);
    }

    /* ---- the panel's part ---- */

    const panel = (page) => {
        const {make, svg, setText} = qkvText, {state} = page, PACE = 40, HIGH = 210;
        let run = null, next = null, rows = [], going = 0, turn = 0, chart = null, wrong = "";

        const note = (id) => make("p", {class: "note", id: "ledger-" + id});
        const e = {
            say: note("say"),
            table: make("table", {id: "ledger-table"}),
            button: make("button", {id: "ledger-compute", onclick: () => compute()}),
            progress: make("span", {class: "note", id: "ledger-progress"}),
            curve: make("canvas", {id: "ledger-curve", role: "img", onpointerdown: (at) => go(at)}),
            caption: note("caption"),
            points: make(
                "details", {class: "numbers", id: "ledger-points", ontoggle: () => tabulate()},
                make("summary", {"data-t": "ledger.table"}), make("div"))
        };
        const root = make(
            "div", {class: "ledger", id: "inside-ledger", hidden: true},
            make("h3", {"data-t": "ledger.title"}), e.say,
            make(
                "div", {class: "books"}, make("div", {}, e.table),
                make(
                    "div", {}, make("p", {class: "touch"}, e.button, e.progress), e.curve,
                    e.caption, e.points)));

        const last = () => (rows.length ? rows[rows.length - 1].next : 0);
        const name = (kind) => title(kind, run.options);

        function sample(kind) {
            const [, hue, {width = 1.8, dash = []}] = KINDS[kind];
            const s = svg("svg", {width: 26, height: 8, "aria-hidden": "true"});
            s.append(svg("path", {
                d: "M1 4H25",
                "stroke-width": width,
                fill: "none",
                "stroke-dasharray": dash.join(" "),
                style: "stroke:var(--" + hue + ")"
            }));
            return s;
        }
        /* From the line at 0, which stands at --zero, to the left below 0, to the right above. */
        function bar(kind, share) {
            const style = "width:" + 100 * Math.abs(share) + "%;" +
                (share < 0 ? "right:calc(100% - var(--zero))" : "left:var(--zero)") +
                ";background:var(--" + KINDS[kind][1] + ")";
            return make(
                "td", {class: "amount", "aria-hidden": "true"},
                make("div", {}, make("i", {style})));
        }

        /* A row a kind: its bar, its part of the next step, and of the steps so far where they were computed. */
        function tabled() {
            const all = parts(next), down = Math.max(0, ...all.map(([, x]) => -x)),
                  up = Math.max(0, ...all.map(([, x]) => x)), wide = down + up;
            const past = sums(rows).filter(([step]) => step <= state.step),
                  so = past.length > 1 ? past[past.length - 1] : null;
            const head = [
                "", "", t("ledger.step", {first: next.first, last: next.next}),
                ...(so ? [t("ledger.steps", {first: past[0][0], last: so[0]})] : [])
            ];
            const line = ([kind, x]) => make(
                "tr", {class: kind === "change" ? "whole" : ""},
                make("th", {scope: "row"}, sample(kind), name(kind)),
                bar(kind, wide ? x / wide : 0), make("td", {text: signed(x)}),
                so && make("td", {text: signed(so[1][kind])}));
            e.table.style.setProperty("--zero", (wide ? 100 * down / wide : 50) + "%");
            e.table.replaceChildren(
                make(
                    "thead", {},
                    make(
                        "tr", {},
                        ...head.map(
                            (text) => (text ? make("th", {scope: "col", text}) : make("td"))))),
                make("tbody", {}, ...all.map(line)));
        }

        function draw() {
            const points = sums(rows), c = qkvDraw.colours();
            e.curve.hidden = e.caption.hidden = e.points.hidden = !rows.length;
            if (!rows.length || !e.curve.clientWidth) return;
            const kinds = Object.keys(points[0][1]),
                  all = points.flatMap(([, at]) => Object.values(at)),
                  least = 1.06 * Math.min(0, ...all), greatest = 1.06 * Math.max(0, ...all),
                  ticks = qkvDraw.ticks(Math.max(-least, greatest) || 1);
            chart = qkvDraw.curves(e.curve, HIGH, {
                lines: [...kinds].reverse().map(
                    (kind) => ({
                        colour: c[KINDS[kind][1]],
                        ...KINDS[kind][2],
                        points: points.map(([step, at]) => [step, at[kind]])
                    })),
                steps: run.steps,
                least,
                greatest: greatest > least ? greatest : least + 1,
                ticks: [
                    ...ticks.map((y) => -y).filter((y) => y && y >= least),
                    ...ticks.filter((y) => y <= greatest)
                ],
                cursor: state.step
            });
            const [step, end] = points[points.length - 1];
            e.curve.setAttribute(
                "aria-label", t("ledger.label", {
                    step,
                    all: qkvStrings.list(kinds.map((kind) => name(kind) + " " + signed(end[kind])))
                }));
            setText(e.caption, caption(rows));
            tabulate();
        }
        function tabulate() {
            const points = sums(rows);
            if (!e.points.open || !points.length) return;
            const kinds = Object.keys(points[0][1]);
            const cells = (tag, list, scope) => list.map((text) => make(tag, {scope, text}));
            e.points.lastChild.replaceChildren(make(
                "table", {},
                make("tr", {}, ...cells("th", [t("ledger.upto"), ...kinds.map(name)], "col")),
                ...points.map(
                    ([step, at]) => make(
                        "tr", {}, ...cells("th", [step], "row"),
                        ...cells("td", kinds.map((kind) => signed(at[kind])))))));
        }

        function render() {
            const ready = last() >= state.step && !going;
            setText(
                e.button,
                going                ? t("stop") :
                    state.step === 0 ? t("ledger.none") :
                    ready            ? t("ledger.done", {step: last()}) :
                    rows.length      ? t("ledger.on", {step: state.step}) :
                                       t("ledger.compute"));
            e.button.setAttribute("aria-disabled", String(ready));
            const progress = t("player.where", {step: last(), last: state.step});
            setText(e.progress, wrong ? said(wrong) : going ? " " + progress : "");
            if (next) tabled();
            draw();
        }

        /* The rows up to the present step, a piece at a time: what else is asked comes in between. What was asked
         * before it was stopped is of no use any more. */
        async function compute() {
            if (going || last() >= state.step) {
                going = 0;
                return render();
            }
            const mine = going = ++turn;
            wrong = "";
            try {
                for (let done = false; !done;) {
                    render();
                    const {ledger} =
                        await page.call("look", {wants: {ledger: {from: last(), budget: PACE}}});
                    if (mine !== going) return;
                    rows = joined(rows, ledger.rows);
                    wrong = ledger.trouble || "";
                    done = ledger.done || wrong !== "";
                }
            } catch (error) {
                if (mine !== going) return;
                page.refused(error);
            }
            going = 0;
            render();
            page.speak(wrong ? said(wrong) : t("ledger.reached", {step: last()}));
        }
        function go(at) {
            if (chart)
                page.player.goTo(chart.toStep(at.clientX - e.curve.getBoundingClientRect().left));
        }

        /* What the engine said of the next step. */
        function show(row) {
            next = row.trouble ? null : row;
            setText(e.say, row.trouble ? said(row.trouble) : tell(row));
            if (!next) e.table.replaceChildren();
            render();
        }
        function forget(described) {
            run = described;
            next = chart = null;
            rows = [];
            wrong = "";
            going = 0;
        }
        return {root, show, forget, again: () => root.offsetParent && draw()};
    };

    return {parts, title, sums, joined, tell, caption, panel};
})();
