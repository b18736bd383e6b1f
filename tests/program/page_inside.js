/* page_inside.js - tests of "Inside one step" that need no browser: node page_inside.js FOLDER ENGINE, FOLDER being
 * train/page and ENGINE the compiled engine. What the engine says of every card of every task and of many models is
 * held together: parts add up, formulas are true. Reports in cmocka's words. Called by test_page_parts.sh. */
"use strict";

const assert = require("assert/strict"), fs = require("fs"), vm = require("vm");
const [folder, binary] = process.argv.slice(2);
const source = ["strings", "text", "engine", "inside", "effect", "ledger"]
                   .map((name) => fs.readFileSync(folder + "/" + name + ".js", "utf8"))
                   .join("\n");
const {qkvStrings, qkvEngine, qkvInside, qkvEffect, qkvLedger} = vm.runInThisContext(
    "(() => {" + source + "\nreturn {qkvStrings, qkvEngine, qkvInside, qkvEffect, qkvLedger};})()");
const table = (name) => JSON.parse(fs.readFileSync(folder + "/strings/" + name + ".json", "utf8"));
qkvStrings.add("en", table("en"));
qkvStrings.add("zh", table("zh"), table("engine.zh"));
const {sum} = qkvInside;

const MODELS = [
    "",
    "layers=2\nheads=2",
    "layers=2\nd-ff=64\nnorm=layer",
    "heads=4\nkv-heads=2\nqk-norm=true",
    "positions=rotary\nnorm=rms\nd-ff=32",
    "softmax-one=true",
    "soft-cap=2",
    "scale=learned",
    "scale=log",
    "tie=qkv",
    "wo=false",
    "latent=8",
    "scores-from=50",
    "residual=false",
    "positions=alibi",
    "post-norm=true\nnorm=layer",
    "dropout=0.3",
    "label-smoothing=0.1",
    "freeze=embed.*",
    "d-v=16",
    "block=linear",
    "block=recurrent"
];
/* Lines of which each asks for another pair of words. */
const lines = Array
                  .from(
                      {length: 64},
                      (_, i) => {
                          const [a, b] = [i % 8, i >> 3];
                          return "w" + a + " b w" + b + " => " + (a > b ? "w" + a : "b");
                      })
                  .join("\n") +
    "\n";
const FILES = {
    "task=file\ndata=a.txt": ["a.txt", lines],
    "task=text\ndata=b.txt\ntime=12": ["b.txt", "to be or not to be, that is. ".repeat(20)]
};

/* One look: the engine's answer as the page keeps it. */
function look(engine, run, of, card, cell, phase) {
    const got = engine.inside({changed: false, card, cell, phase, ...of});
    return {
        ...got,
        order: got.list.map((c) => c.key),
        cards: Object.fromEntries(got.list.map((c) => [c.key, c])),
        why: got.why && qkvInside.read(got.why),
        side: run.store
    };
}
const heads = (run) => run.maps.length ?
    run.maps.map((m) => ({prefix: m.name.replace(/\.weights$/, ""), head: m.heads - 1})) :
    [{prefix: "", head: 0}];
const cells = ({rows, cols}) => [...new Set([0, (rows * cols) >> 1, rows * cols - 1])];

const counted = {
    parts: 0,
    formulas: 0,
    linear: 0,
    rows: 0,
    exact: 0
};

function addsUp(data, card, cell, where) {
    const {terms, others, value} = data.why, parts = [...terms, ...others].map((t) => t.term);
    const size = sum(parts.map(Math.abs)), left = Math.abs(sum(parts) - value);
    assert.ok(left <= 2e-5 * size + 1e-9, where + ": " + sum(parts) + " instead of " + value);
    counted.parts += terms.length;
}

/* A formula with an equals sign: both sides, as far as they are numbers, are the same. */
function isTrue(text, value, where) {
    counted.formulas++;
    const shown = qkvInside.num(value);
    assert.ok(text.includes(shown), where + ": '" + text + "' does not say " + shown);
}

function oneCard(engine, run, of, c, name) {
    for (const cell of cells(c)) {
        const where = name + " " + of.prefix + " " + c.key + "[" + cell + "]";
        const back = look(engine, run, of, c.key, cell, "backward"),
              ahead = look(engine, run, of, c.key, cell, "forward");
        if (c.key !== "loss") addsUp(back, c.key, cell, where);
        const words = qkvInside.backward(back, c.key, cell, back.why);
        if (c.key !== "loss") isTrue(words, back.why.value, where);
        const says = qkvInside.forward(ahead, c.key, cell, ahead.why, (table, row) => row + table);
        isTrue(says, ahead.why.value, where);
        counted.linear += / = /.test(says);
        for (const [data, phase] of [[back, "backward"], [ahead, "forward"]]) {
            assert.equal(data.cards[c.key].x.length, c.rows * c.cols);
            assert.ok(qkvInside.first(data, c.key, phase) >= 0);
            const told = qkvInside.tell(data, c.key, phase, (k, i) => k + i);
            assert.ok(told.length > 10 && !/^(tell|push)|undefined|[{}]/.test(told), told);
        }
    }
}

const tests = {};

tests.every_number_of_every_model_is_explained = async (engine) => {
    const tasks =
        engine.table().tasks.map((t) => "task=" + t.name).filter((t) => !/file|text/.test(t));
    const runs = [...tasks, ...Object.keys(FILES), ...MODELS.map((m) => "task=pairs\n" + m)];
    for (const name of runs) {
        if (FILES[name]) engine.lend(...FILES[name]);
        engine.start(name + "\nsteps=30");
        engine.go(12);
        const run = engine.describe();
        for (const of of heads(run))
            for (const c of look(engine, run, of, "", -1, "forward").list)
                oneCard(engine, run, of, c, name.replace(/\n/g, " "));
    }
    assert.ok(
        counted.parts > 10000 && counted.formulas > 2000 && counted.linear > 800,
        JSON.stringify(counted));
};

tests.a_formula_whose_numbers_do_not_fit_is_not_shown = async (engine) => {
    engine.start("steps=30");
    engine.go(12);
    const run = engine.describe(), of = heads(run)[0];
    for (const [key, wrong, pattern] of [
             ["weights", "scores", /^0\.\d+ = e\^/], ["scores", "k", / \/ √32$/],
             ["loss", "logits", /−ln /]]) {
        const data = look(engine, run, of, key, 0, "forward");
        assert.match(qkvInside.forward(data, key, 0, data.why), pattern);
        data.cards[wrong].x[0] += 0.5;
        assert.doesNotMatch(qkvInside.forward(data, key, 0, data.why), pattern);
    }
    for (const [key, wrong, pattern] of [
             ["scores", "weights", /^dL\/ds = w \(dL/], ["logits", "logits", /^dL\/dlogit = p/]]) {
        const data = look(engine, run, of, key, 0, "backward");
        assert.match(qkvInside.backward(data, key, 0, data.why), pattern);
        data.cards[wrong].x[0] += 0.5;
        assert.doesNotMatch(qkvInside.backward(data, key, 0, data.why), pattern);
    }
};

tests.why_no_gradient_comes_is_said = async (engine) => {
    const said = (options, card) => {
        engine.start("steps=30\n" + options);
        const run = engine.describe();
        return qkvInside.nothing(look(engine, run, heads(run)[0], card, 0, "backward"), card);
    };
    assert.match(said("gains=*wv=0", "q"), /none reaches w.*every number of v is 0/);
    assert.match(said("gains=*wk=0", "q"), /^No gradient reaches q.*every number of k is 0/);
    assert.match(said("gains=*wq=0", "k"), /^No gradient reaches k.*every number of q is 0/);
    assert.match(said("gains=*wo=0", "v"), /none reaches mix/);
    assert.equal(said("gains=*wk=0", "k"), "");
    assert.equal(said("", "q"), "");
};

/* What is looked at, and the update that is tried, change nothing that is trained. */
tests.looking_changes_no_bit = async (engine) => {
    const rows = [];
    const bytes = () => Buffer.from(engine.save()).toString("latin1");
    const trained = (looking) => {
        engine.start("steps=40\nlayers=2\nheads=2\nnorm=layer\ndropout=0.1\nscores-from=25");
        const run = engine.describe();
        for (let step = 1; step <= 40; step++) {
            engine.go(step);
            for (const of of looking ? heads(run) : []) look(engine, run, of, "k", 3, "backward");
            if (!looking) continue;
            engine.update(false);
            engine.ledgerNext();
            rows.push(...sofar(engine, rows.length ? rows[rows.length - 1].next : 0));
        }
        return bytes().replace(/"[a-z_]*seconds[a-z_]*":[^,}]*/g, "");
    };
    assert.ok(trained(false) === trained(true));
    assert.equal(rows.length, 40);
};

/* The rows of the ledger from a step on, up to the present one. */
function sofar(engine, from = 0) {
    const rows = [];
    for (let row; (row = engine.ledgerAfter(from)); from = row.next) rows.push(row);
    return rows;
}

/* What is left is no more than rounding where parts of the right step are there. */
function balanced(row, where) {
    const left = row.after - row.before - sum(row.parts.map((p) => p.part)),
          size = sum(row.parts.map((p) => Math.abs(p.part)));
    assert.ok(Math.abs(left - row.left) < 1e-8 * (1 + size), where + ": " + left);
    assert.ok(Math.abs(left) < 2e-3 * size + 1e-5, where + ": " + left + " of " + size);
    counted.rows++;
    counted.exact += Math.abs(left) <= row.allowed;
    const kinds = qkvLedger.parts(row), by = Object.fromEntries(kinds);
    assert.equal(by.change, row.after - row.before);
    assert.equal(by.left, row.left);
    assert.ok(Math.abs(sum(kinds.slice(0, -1).map(([, x]) => x)) - by.change) < 1e-7 * (1 + size));
    return by;
}

tests.the_ledger_adds_up = async (engine) => {
    for (const model of [...MODELS, "tie=qk", "tie-unembedding=true"]) {
        engine.start(model + "\nsteps=60");
        engine.go(34);
        const rows = sofar(engine), next = engine.ledgerNext();
        assert.deepEqual(rows.map((r) => r.next), [10, 20, 30, 34], model);
        assert.deepEqual([next.first, next.next, next.examples], [34, 35, 128]);
        const sums = qkvLedger.sums(rows);
        let total = 0;
        [...rows, next].forEach((row, i, all) => {
            const by = balanced(row, model + " " + row.first);
            if (i + 1 < all.length) assert.equal(row.after, all[i + 1].before);
            total += i < rows.length ? by.change : 0;
        });
        const [step, end] = sums[sums.length - 1];
        assert.equal(step, 34);
        assert.ok(Math.abs(end.change - total) < 1e-9 && end.change !== 0);
        engine.go(35);
        assert.equal(engine.ledgerNext().before, next.after);
    }
    assert.ok(counted.rows > 100 && counted.exact > 0.9 * counted.rows, JSON.stringify(counted));
    const row = engine.ledgerNext();
    row.parts[2].part *= 1.5;
    assert.throws(() => balanced(row, "planted"));
};

/* Kinds by name: every parameter has one, and a matrix that stands for several says so. */
tests.kinds_of_parameters_have_their_names = async (engine) => {
    const titles = (options) => {
        engine.start(options + "\nsteps=20");
        const run = engine.describe();
        return qkvLedger.parts(engine.ledgerNext())
            .map(([kind]) => qkvLedger.title(kind, run.options))
            .slice(0, -2)
            .join(", ");
    };
    assert.equal(titles(""), "W^Q, W^K, W^V, W^O, embeddings, unembedding");
    assert.equal(titles("tie=qk"), "W^Q = W^K, W^V, W^O, embeddings, unembedding");
    assert.equal(titles("tie=kv"), "W^Q, W^K = W^V, W^O, embeddings, unembedding");
    assert.equal(titles("tie=qv"), "W^Q = W^V, W^K, W^O, embeddings, unembedding");
    assert.equal(titles("tie=qkv\nwo=false"), "W^Q = W^K = W^V, embeddings, unembedding");
    assert.equal(titles("tie-unembedding=true"), "W^Q, W^K, W^V, W^O, embeddings, tied");
    assert.equal(titles("block=linear"), "W^Q, W^K, W^V, W^O, embeddings, unembedding");
    assert.equal(
        titles("d-ff=16\nnorm=layer"),
        "W^Q, W^K, W^V, W^O, embeddings, unembedding, feed-forward, others");
};

/* A row ends where the scores open: Q and K have exactly 0 before. Where no state is kept there, that is said. */
tests.the_ledger_knows_when_the_scores_open = async (engine) => {
    const options = "steps=60\nscores-from=25";
    engine.start(options);
    engine.go(40);
    const rows = sofar(engine), file = engine.save();
    assert.deepEqual(rows.map((r) => r.next), [10, 20, 25, 30, 40]);
    for (const row of rows) {
        const by = balanced(row, "row " + row.first);
        for (const kind of ["q", "k"]) assert.equal(by[kind] === 0, row.next <= 25, kind);
        assert.ok(by.v !== 0);
    }
    engine.open("step-40", file);
    assert.throws(() => engine.ledgerAfter(0), /the scores open at step 25.*go to that step once/);
    engine.go(25);
    engine.go(40);
    const again = sofar(engine);
    assert.deepEqual(again.map((r) => r.next), [10, 20, 25, 40]);
    assert.deepEqual(again.slice(0, 3), rows.slice(0, 3));
    engine.start("steps=60");
    assert.equal(engine.ledgerAfter(0), null);
};

/* A last row that ended between two kept states gives way to the whole one, and so do those of dropped states. */
tests.rows_of_the_ledger_are_joined = async () => {
    const row = (first, next) => ({first, next});
    const rows = [row(0, 10), row(10, 20), row(20, 25)];
    assert.deepEqual(
        qkvLedger.joined(rows, [row(20, 30), row(30, 33)]),
        [row(0, 10), row(10, 20), row(20, 30), row(30, 33)]);
    assert.deepEqual(qkvLedger.joined(rows, [row(0, 40)]), [row(0, 40)]);
    assert.match(qkvLedger.caption(rows), /0 to 25\. .* 10 steps, as qkv ledger --every 10 does/);
    assert.match(qkvLedger.caption([row(0, 40), row(40, 50), row(50, 60)]), /10 to 40 steps, from/);
};

/* The parts of the update and what they do jointly are the change; the sentence says it. */
tests.the_update_adds_up = async (engine) => {
    engine.start("steps=200");
    engine.go(120);
    const before =
              look(engine, engine.describe(), {prefix: "layer0.attn", head: 0}, "", -1, "forward"),
          u = engine.update(false);
    engine.go(121);
    const after =
        look(engine, engine.describe(), {prefix: "layer0.attn", head: 0}, "", -1, "forward");
    const measured = (d) =>
        [d.cards.scores.x[d.source], d.cards.weights.x[d.source], d.cards.logits.x[d.targets[0]],
         d.cards.loss.x[0]];
    u.before.forEach((x, m) => {
        assert.equal(Math.fround(x), measured(before)[m]);
        assert.equal(Math.fround(u.after[m]), measured(after)[m]);
        const parts = sum(u.parts.map((p) => p.part[m])) + u.together[m];
        assert.ok(Math.abs(parts - (u.after[m] - x)) < 1e-6 * Math.abs(x), m + ": " + parts);
    });
    assert.match(
        qkvEffect.taught(u),
        /^This step (raised|lowered) the score of the right entry by [\d.e-]+ \(.*together/);
};

/* Options with their help, tasks, streams and readouts: all that the page shows of the engine's words. */
tests.what_can_be_chosen_is_said_in_chinese = (engine) => {
    const {said} = qkvStrings, table = engine.table(), left = new Set();
    qkvStrings.use("zh");
    const say = (text) => text && said(text) === text && left.add(text);
    for (const {name, summary} of table.tasks) {
        [name, summary].forEach(say);
        const own = Object.keys(FILES).find((key) => key.startsWith("task=" + name));
        if (own) engine.lend(...FILES[own]);
        engine.start(own || "task=" + name);
        const run = engine.describe();
        for (const o of run.table) say(o.kind === "section" ? o.name : o.help);
        for (const s of [...run.sides.flatMap((side) => side.streams), ...run.readouts])
            say(s.name);
    }
    qkvStrings.use("en");
    assert.deepEqual([...left], []);
};

async function main() {
    const failed = [], names = Object.keys(tests),
          engine = await qkvEngine.open(fs.readFileSync(binary));
    console.log("registered " + names.length);
    for (const name of names) {
        console.log("[ RUN      ] " + name);
        try {
            await tests[name](engine);
            console.log("[       OK ] " + name);
        } catch (e) {
            failed.push(name);
            console.log("    " + String(e.stack).split("\n").slice(0, 12).join("\n    "));
            console.log("[  FAILED  ] " + name);
        }
    }
    console.log(
        "[==========] " + names.length + " test(s) run.\n[  PASSED  ] " +
        (names.length - failed.length) + " test(s).");
    if (failed.length) console.log("[  FAILED  ] " + failed.length + " test(s), listed below:");
    for (const name of failed) console.log("[  FAILED  ] " + name);
    process.exit(failed.length ? 1 : 0);
}
main();
