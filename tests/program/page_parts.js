/* page_parts.js - tests of those parts of the page that need no browser: node page_parts.js FOLDER [SEED], FOLDER being
 * train/page. Reports in cmocka's words, for run.sh. Called by test_page_parts.sh. */
"use strict";

const assert = require("assert/strict"), fs = require("fs"), vm = require("vm");
const folder = process.argv[2], seed = Number(process.argv[3] || 1);

const PARTS = [
    "strings", "draw", "text", "size", "address", "state", "rpc", "rows", "narrate", "curves",
    "table"
];
const NAMES = [
    "qkvStrings", "qkvDraw", "qkvText", "qkvSize", "qkvAddress", "qkvState", "qkvRpc", "qkvFault",
    "qkvNarrate", "qkvCurves", "qkvTable"
];
const source = PARTS.map((name) => fs.readFileSync(folder + "/" + name + ".js", "utf8")).join("\n");
const {
    qkvStrings,
    qkvDraw,
    qkvText,
    qkvSize,
    qkvAddress,
    qkvState,
    qkvRpc,
    qkvFault,
    qkvNarrate,
    qkvCurves,
    qkvTable
} = vm.runInThisContext("(() => {" + source + "\nreturn {" + NAMES.join(", ") + "};})()");

const table = (name) => JSON.parse(fs.readFileSync(folder + "/strings/" + name + ".json", "utf8"));
qkvStrings.add("en", table("en"));
qkvStrings.add("zh", table("zh"), table("engine.zh"));

const tests = {};
const same = (a, b, why) =>
    assert.deepEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)), why);
const refuses = (address, pattern) => assert.throws(
    () => qkvAddress.read(address),
    (e) => e.constructor.name === "Error" && pattern.test(e.message),
    address + " is not refused with " + pattern);

/* ---- addresses ---- */

tests.an_address_is_read_as_it_was_written = () => {
    const address =
        "task=partner&seed=3&step=150&example=2&ask=4&head=1&map=questions&set=0.1.2.3_1.0.0.-1" +
        "&hide=3&silent=0&random=layer0.attn.wq&beside=from:20,lr:0.01,rates:a%252Cb" +
        "&show=cards,qk&bar=play";
    const state = qkvAddress.read("#" + address);
    assert.equal(qkvAddress.write(state), address.replace("%252C", "%252C"));
    same(state.given, {task: "partner", seed: "3"});
    same(state.set, [[0, 1, 2, 3], [1, 0, 0, -1]]);
    same(state.beside, {from: 20, given: {lr: "0.01", rates: "a,b"}});
    same(state.show, ["cards", "qk"]);
    same(qkvAddress.read(""), qkvAddress.blank());
};

tests.of_a_lesson_only_what_was_added_is_in_the_address = () => {
    const state = qkvState();
    Object.assign(
        state, {lesson: "3.2", extra: {seed: "7"}, given: {lr: "1", seed: "7"}, step: 9, hide: 3});
    assert.equal(state.address(), "seed=7&lesson=3.2");
    assert.equal(qkvAddress.read("story=roles").lesson, "roles");
    refuses("guess=2", /guess is a whole number from 0 to 1/);
};

/* ---- lessons ---- */

/* A text in each language, with the same places; no number in it that is not computed. */
tests.lessons_have_their_texts_and_write_no_number = () => {
    const files = fs.readdirSync(folder + "/lessons"),
          places = (text) => (text.match(/\{\w+\}/g) || []).sort();
    assert.equal(files.length, 10);
    for (const file of files) {
        let texts = 0;
        const walk = (x) => {
            if (!x || typeof x !== "object") return;
            if (typeof x.en === "string") {
                texts++;
                assert.deepEqual(
                    Object.keys(x).sort(), [...qkvStrings.names].sort(), file + ": " + x.en);
                for (const lang of qkvStrings.names) {
                    assert.deepEqual(places(x[lang]), places(x.en), file + ": " + x[lang]);
                    assert.doesNotMatch(
                        x[lang].replace(/\{\w+\}|1\/√/g, ""), /\d/, file + ": " + x[lang]);
                }
                assert.match(x.zh, /[\u4e00-\u9fff]/);
            } else {
                Object.values(x).forEach(walk);
            }
        };
        const lesson = JSON.parse(fs.readFileSync(folder + "/lessons/" + file, "utf8"));
        walk(lesson);
        assert.ok(
            lesson.cards.length >= 4 && lesson.cards.length <= 8 && texts > lesson.cards.length,
            file);
        assert.ok(lesson.careful && lesson.cards.some((c) => c.question), file);
    }
};

tests.symbols_become_words_and_words_stay = () => {
    same(
        qkvStrings.named({a: ["k0", "v1", "kite"], b: [1, 2], c: "k99", d: null}),
        {a: ["Anna", "ball", "kite"], b: [1, 2], c: "k99", d: null});
    qkvStrings.use("zh");
    same(
        [
            qkvStrings.named("k0"), qkvStrings.fill("问 {who} 吗", {who: "小明"}),
            qkvStrings.fill("问 {who} 吗", {who: "k0"})
        ],
        ["小明", "问小明吗", "问 k0 吗"]);
    qkvStrings.use("en");
};

tests.what_is_no_address_is_refused_in_words = () => {
    refuses("step=x", /step is a whole number from 0/);
    refuses("step=-1", /step is a whole number/);
    refuses("step=1e3", /step is a whole number/);
    refuses("step=99999999999", /step is a whole number from 0 to 2147483647/);
    refuses("hide=4", /hide is a whole number from 0 to 3/);
    refuses("set=1.2.3", /four numbers/);
    refuses("set=1.2.3.x", /set is a whole number/);
    refuses("seed=%ZZ", /not valid text/);
    refuses("seed=%ed%a0%80", /not valid text/);
    refuses("__proto__=1", /no part that is called '__proto__'/);
    refuses("Seed=1", /no part/);
    refuses("=1", /no part/);
    refuses("seed=1&seed=2", /seed twice/);
    refuses("data=a%0Aseed=2", /control character in data/);
    refuses("text=a%00b", /control character in text/);
    refuses("data=a%C2%85", /control character in data/);
    refuses("show=cards,colour", /show=colour, but it can be/);
    refuses("bar=left", /bar=left, but it can be all, play or none/);
    refuses("beside=__proto__:1", /no part/);
    assert.equal(qkvAddress.read("text=a%0Ab%09c").text, "a\nb\tc");
};

tests.names_of_objects_are_options_like_others = () => {
    const state = qkvAddress.read("constructor=1&tostring=2");
    same(state.given, {constructor: "1", tostring: "2"});
    assert.equal({}.polluted, undefined);
};

tests.half_a_pair_is_no_character = () => {
    const state = qkvState();
    state.text = "a\ud800b\udc00c\ud83d\ude00";
    assert.equal(qkvAddress.read(state.address()).text, "a\ufffdb\ufffdc\ud83d\ude00");
    state.text = "x".repeat(qkvAddress.MOST_TEXT + 1);
    assert.equal(qkvAddress.read(state.address()).text, "");
};

tests.what_a_run_does_not_have_is_said = () => {
    const run = {maps: [{}], heads: 2, steps: 600},
          at = (s) => qkvAddress.misfit({step: 0, head: -1, beside: null, ...s}, run);
    assert.equal(at({}), "");
    assert.equal(at({head: 1, step: 600}), "");
    assert.match(at({head: 99}), /head=99, but the last layer has 2 heads, 0 to 1/);
    assert.match(at({step: 601}), /step=601, but the last step of this run is 600/);
    assert.match(at({beside: {from: 700, given: {}}}), /from:700/);
};

/* Addresses made of pieces, and of bytes: each is refused with a sentence or read, and then written so that it is read
 * as the same. */
tests.a_thousand_addresses = () => {
    let x = seed;
    const random = (n) => {
        x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
        return Math.floor(x / 4294967296 * n);
    };
    const pieces = [
        "step",      "set",         "text",
        "beside",    "show",        "seed",
        "__proto__", "constructor", "hide",
        "=",         "=",           "=",
        "&",         "&",           "%",
        "%00",       "%0A",         "%ud800",
        "\ud800",    "é",           "1",
        "-1",        ".",           "_",
        ",",         ":",           "999999999999",
        "<script>",  "<!--",        "0.1.2.3",
        "from:3",    "cards",       "NaN",
        "1e9",       " ",           "#"
    ];
    let read = 0, refused = 0;
    for (let i = 0; i < 4000; i++) {
        let address = "";
        for (let n = random(9); n >= 0; n--)
            address += random(5) ? pieces[random(pieces.length)] : String.fromCharCode(random(400));
        let state = null;
        try {
            state = qkvAddress.read(address);
        } catch (e) {
            assert.equal(e.constructor.name, "Error", address + ": " + e.stack);
            assert.match(e.message, /^the address /, address);
            refused++;
            continue;
        }
        const again = qkvAddress.write(state);
        assert.equal(qkvAddress.write(qkvAddress.read(again)), again, address);
        for (const [name, value] of Object.entries(state.given))
            assert.ok(![...value].some((c) => c < " "), name);
        read++;
    }
    assert.ok(read > 100 && refused > 100, read + " read, " + refused + " refused");
    assert.equal(Object.prototype.step, undefined);
};

tests.a_command_is_quoted = () => {
    const state = qkvState();
    state.given = {task: "file", data: "who's there.txt", wo: "false", "hold-out": "true"};
    assert.equal(
        state.command(), "qkv train --task file --data 'who'\\''s there.txt' --no-wo --hold-out");
};

/* ---- words ---- */

const look = (weights, said, target) => ({
    at: weights.map((weight) => ({visible: true, weight})),
    answers: [{class: said, target, top: [["v" + said, 0.9]]}]
});
const run = {
    roles: {key: 0, value: 1, query: 0},
    store: 0,
    entries: 4
};

tests.only_what_was_changed_is_said_to_be = () => {
    const of = (set) => qkvNarrate.touched(set, run);
    same(of([[0, 0, 1, 5]]), {keys: true, values: false, asked: false, other: false});
    same(of([[0, 1, 1, 5]]), {keys: false, values: true, asked: false, other: false});
    same(of([[0, 0, 4, 5]]), {keys: false, values: false, asked: true, other: false});
    same(of([[0, 1, 4, 5]]), {keys: false, values: false, asked: false, other: true});
    same(of([[0, 0, 1, 5], [0, 1, 2, 3]]), {keys: true, values: true, asked: false, other: false});
    const none = {roles: {key: -1, value: -1, query: -1}, store: 0, entries: 0};
    same(
        qkvNarrate.touched([[0, 0, 1, 5]], none),
        {keys: false, values: false, asked: false, other: true});
};

tests.the_lesson_is_that_of_what_was_seen = () => {
    const say = (set, before, after) =>
        qkvNarrate.lesson(qkvNarrate.touched(set, run), {before, after});
    const before = look([0.9, 0.1], 1, 1), moved = look([0.1, 0.9], 2, 2),
          stayed = look([0.9, 0.1], 2, 2);
    assert.equal(
        say([[0, 0, 1, 5]], before, moved),
        "You changed keys: attention moved, the answer changed. Queries and keys decide where to look.");
    assert.equal(
        say([[0, 1, 1, 5]], before, stayed),
        "You changed values: attention stayed, the answer changed. Values decide what is brought back, not where to look.");
    assert.equal(
        say([[0, 0, 4, 5]], before, moved),
        "You asked for another key: attention moved, the answer changed. ");
    assert.equal(say([[0, 0, 1, 5], [0, 1, 1, 5]], before, moved), "");
    assert.equal(
        say([[0, 0, 1, 5]], look([0.9, 0.1], 3, 1), moved),
        "You changed keys: attention moved, the answer changed. ");
};

tests.the_course_is_told_of_every_kind_of_run = () => {
    const f = {task: "recall", summary: "back", entries: 8, step: 10, steps: 20, pairs: true};
    const say = (more) => qkvNarrate.course({...f, ...more});
    assert.match(say({step: 0}), /^Task recall: back\. The model has learned nothing yet\.$/);
    assert.equal(say({row: null}), "Nothing is measured at this step.");
    assert.equal(say({row: {accuracy: null, val_loss: 0.25}}), "Held-out error: 0.250.");
    assert.equal(
        say({row: {accuracy: 0.5, qk_diag: null}}),
        "50.0 % of the answers to new questions are right.");
    assert.match(say({row: {accuracy: 1, qk_diag: 0.5, ov_diag: 0.25}}), /V and O say 25\.0 %/);
    assert.match(say({step: 20, row: {accuracy: 1}}), /Swap two keys\.$/);
};

tests.a_score_without_answers_is_not_said = () => {
    const c = {words: false, lesson: "", hide: 3, silent: 1, random: "m"};
    assert.equal(
        qkvNarrate.changed({...c, score: null}),
        "K cannot see values. V cannot see keys. Head 1 is off. m is random.");
    const score = (accuracy, attention) => ({examples: 9, accuracy, attention});
    assert.doesNotMatch(
        qkvNarrate.changed({...c, score: [score(null, null), score(null, null)]}), /Over/);
    assert.match(
        qkvNarrate.changed({...c, score: [score(1, null), score(0.5, null)]}),
        /Over 9 other examples, right answers: 100 % before, 50\.0 % now\.$/);
};

/* ---- languages ---- */

const inChinese = (act) => {
    qkvStrings.use("zh");
    try {
        return act();
    } finally { qkvStrings.use("en"); }
};

tests.places_are_filled_and_plurals_chosen = () => {
    qkvStrings.add("en", {"test.steps": "{a}: {n} {n|step|steps} of {n}, {a}"});
    assert.equal(qkvStrings.t("test.steps", {n: 1, a: "{n}"}), "{n}: 1 step of 1, {n}");
    assert.equal(qkvStrings.t("test.steps", {n: 2, a: "$&"}), "$&: 2 steps of 2, $&");
    assert.equal(qkvStrings.t("test.none"), "test.none");
    assert.equal(inChinese(() => qkvStrings.t("test.steps", {n: 3, a: "a"})), "a: 3 steps of 3, a");
    assert.equal(qkvStrings.either(["a"]), "a");
    assert.equal(qkvStrings.either(["a", "b", "c"]), "a, b or c");
    assert.equal(inChinese(() => qkvStrings.either(["a", "b", "c"])), "a、b或c");
};

tests.a_browsers_language_is_one_of_ours_or_none = () => {
    for (const [tag, name] of [
             ["zh", "zh"], ["zh-Hans-CN", "zh"], ["ZH_tw", "zh"], ["en-GB", "en"], ["fr", ""],
             ["zhx", ""], ["__proto__", ""], ["", ""], [null, ""]])
        assert.equal(qkvStrings.known(tag), name);
    refuses("lang=fr", /lang=fr, but it can be en or zh/);
    assert.equal(qkvAddress.read("lang=zh").lang, "zh");
    same(qkvAddress.shape("step=x&lang=zh"), {show: [], bar: "", lang: "zh"});
};

tests.what_the_engine_says_is_said_in_chinese = () => {
    const said = (text) => inChinese(() => qkvStrings.said(text));
    assert.equal(said("training steps"), "训练步数");
    assert.equal(said("--d-model: 'a{b}$&' is not a whole number"), "--d-model：“a{b}$&”不是整数");
    assert.equal(said("--lr: 7 is not between 0 and 1"), "--lr：7 不在 0 与 1 之间");
    assert.equal(
        said("sentences.txt, line 3, column 8: no answer; a line is: words => answer"),
        "sentences.txt 第 3 行第 8 列：没有答案；每行的形式是：词语 => 答案");
    assert.equal(said("nobody has translated this"), "nobody has translated this");
    assert.equal(qkvStrings.said("training steps"), "training steps");
};

/* Of what is computed nothing is left in English but names. */
tests.sentences_are_told_in_chinese = () => inChinese(() => {
    const names = /[kv]\d|\b(B|A|OV|QK|[QKVO])\b|W\^[QKVO]/g;
    const f = {task: "7", summary: "。", entries: 8, steps: 20, pairs: true, row: null};
    const told = [];
    for (const step of [0, 10, 20])
        for (const accuracy of [null, 0.5])
            for (const [val_loss, qk_diag] of [[0.25, 0.5], [null, null]])
                for (const pairs of [true, false])
                    told.push(qkvNarrate.course(
                        {...f, step, pairs, row: {accuracy, val_loss, qk_diag, ov_diag: 0.25}}));
    const looks = [look([0.9, 0.1], 1, 1), look([0.1, 0.9], 2, 2), look([0.9, 0.1], 2, 2)];
    for (const after of looks) {
        const both = {before: looks[0], after};
        told.push(
            qkvNarrate.compare(both, () => "k1 v1"), qkvNarrate.wordsLesson(both, () => "v2"));
        for (const what of ["keys", "values", "asked"])
            told.push(qkvNarrate.lesson({keys: 0, values: 0, asked: 0, other: 0, [what]: 1}, both));
    }
    const score = (accuracy) => ({examples: 9, accuracy, attention: accuracy});
    told.push(qkvNarrate.changed(
        {words: true, lesson: "", hide: 3, silent: 1, random: "W^Q", score: [score(1), score(0)]}));
    for (const row of [null, {accuracy: 0.9}, {val_loss: 1}])
        for (const first of [-1, 5])
            told.push(qkvNarrate.pair(
                {name: "A", step: 5, row, first}, {name: "B", step: 6, row, first}));
    told.push(qkvSize.warning({"d-model": "4096"}), qkvSize.warning({"d-model": "16384"}));
    assert.ok(told.length > 40);
    for (const text of told) {
        assert.match(text, /[\u4e00-\u9fff]/);
        assert.doesNotMatch(
            text.replace(names, "").replace(/ (MB|GB)/g, ""), /[A-Za-z]|undefined|NaN|[{}]/);
    }
});

/* ---- numbers ---- */

tests.rows_are_merged_by_their_steps = () => {
    const curves = qkvCurves({by: () => null});
    curves.build({steps: 100});
    curves.add("step,loss,accuracy\n0,3.5,\n20,1.5,0.5\n");
    curves.add("10,2.5,0.25\n20,9,9\n");
    assert.equal(curves.csv(), "step,loss,accuracy\n0,3.5,\n10,2.5,0.25\n20,1.5,0.5\n");
    assert.equal(curves.at(15).loss, 2.5);
    assert.equal(curves.at(0).accuracy, null);
    assert.equal(curves.taken, 5);
};

tests.ticks_are_round_and_reach_the_top = () => {
    same(qkvDraw.ticks(4), [0, 1, 2, 3, 4]);
    for (const most of [1e-4, 0.1, 0.37, 1, 3.9, 17, 12345]) {
        const all = qkvDraw.ticks(most);
        assert.ok(all.length >= 3 && all.length <= 6, most + ": " + all);
        assert.ok(all[all.length - 1] > most * 0.6 && all[all.length - 1] <= most * 1.001, most);
    }
};

tests.numbers_and_claims_are_read = () => {
    assert.equal(qkvText.percent(1), "100 %");
    assert.equal(qkvText.percent(0.9999), "100 %");
    assert.equal(qkvText.percent(null), "–");
    same(
        qkvText.claims("| why? | so | [x](#one), [y](#two) |\n| - | - | - |").two,
        {question: "why?", answer: "so"});
};

tests.what_is_large_is_said_before_it_begins = () => {
    assert.equal(qkvSize.numbers({"d-model": "4096"}), 4 * 4096 * 4096);
    assert.equal(
        qkvSize.numbers({"d-k": "8", heads: "2", "kv-heads": "1"}, {"d-model": "32"}),
        32 * (16 + 8 + 16 + 32));
    assert.equal(qkvSize.warning({"d-model": "256"}), "");
    assert.equal(qkvSize.warning({"d-model": "abc"}), "");
    assert.match(qkvSize.warning({"d-model": "4096"}), /about 67 million numbers .* about 1\.9 GB/);
    assert.match(qkvSize.warning({"d-model": "16384"}), /A page has 4 GB at most/);
};

/* ---- the engine's worker ---- */

/* A worker that answers as `acts` says; what it was sent, and whether it was ended. */
function fake(acts) {
    const workers = [];
    const make = () => {
        const w = {
            sent: [],
            terminate() { w.ended = true; },
            postMessage(m) {
                w.sent.push(m.call);
                const act = acts[m.call];
                if (act) setImmediate(() => w.onmessage && act(w, m));
            }
        };
        workers.push(w);
        return w;
    };
    return {workers, make};
}
const answer = (value) => (w, m) => w.onmessage({data: {id: m.id, value}});

function rpcOf(acts) {
    const {workers, make} = fake({open: answer("table"), ...acts}), slow = [], faults = [];
    const rpc = qkvRpc({
        code: "",
        bytes: () => 0,
        slow: (entry) => slow.push(entry && entry.name),
        fault: (e) => faults.push(e.message),
        make
    });
    return {rpc, workers, slow, faults};
}

tests.a_refusal_leaves_the_worker = async () => {
    const {rpc, workers, faults} = rpcOf({
        start: (w, m) => w.onmessage({data: {id: m.id, error: "no"}}),
        frame: answer(7),
    });
    assert.equal(await rpc.open(), "table");
    await assert.rejects(rpc.call("start"), (e) => e.message === "no" && !(e instanceof qkvFault));
    assert.equal(await rpc.call("frame"), 7);
    assert.equal(workers.length, 1);
    same(faults, []);
    same(rpc.made, []);
};

tests.a_fault_is_told_to_all_that_wait_and_begun_again = async () => {
    const {rpc, workers, faults} = rpcOf({
        start: answer("run"),
        restore: answer("state"),
        frame: (w, m) => w.onmessage({data: {id: m.id, error: "trap", fault: true}}),
        change: null
    });
    await rpc.open();
    await rpc.call("start", {options: {seed: "2"}});
    await rpc.call("restore", {same: true});
    const both = [rpc.call("change"), rpc.call("frame")];
    for (const one of both)
        await assert.rejects(one, (e) => e instanceof qkvFault && e.message === "trap");
    same(faults, ["trap"]);
    assert.ok(workers[0].ended && rpc.waits === 0);
    await assert.rejects(rpc.call("frame"), /not running/);
    await rpc.again(rpc.made);
    same(workers[1].sent, ["open", "start", "restore"]);
};

tests.what_ends_or_is_refused_is_a_fault = async () => {
    const ended = rpcOf({frame: (w) => w.onerror({message: "gone"})});
    await ended.rpc.open();
    await assert.rejects(ended.rpc.call("frame"), /gone/);
    const refused = rpcOf({open: (w) => w.onerror({})});
    await assert.rejects(refused.rpc.open(), /lets it start no worker/);
    const never =
        qkvRpc({bytes: () => 0, slow() {}, fault() {}, make() { throw new Error("policy"); }});
    await assert.rejects(
        never.open(), (e) => e instanceof qkvFault && /no worker: policy/.test(e.message));
};

tests.what_takes_long_is_shown_and_can_be_stopped = async () => {
    const {rpc, workers, slow, faults} = rpcOf({start: answer("run"), frame: null});
    await rpc.open();
    await rpc.call("start");
    const hangs = rpc.call("frame");
    hangs.catch(() => {});
    await new Promise((done) => setTimeout(done, 200));
    same(slow, []);
    await new Promise((done) => setTimeout(done, 150));
    same(slow, ["frame"]);
    rpc.stop();
    await assert.rejects(hangs, (e) => e instanceof qkvFault && e.wanted);
    same(slow, ["frame", null]);
    same(faults, []);
    assert.ok(workers[0].ended);
};

/* ---- the table of a sweep ---- */

tests.cells_stand_at_their_places = () => {
    const table = qkvTable.read(
        "cell,lr,data,d_k,seed,loss,accuracy,failed\n" +
        "c1,0.1,\"a, b\",10,1,2,0.5,\nc2,0.1,\"a, b\",10,2,4,1,\n" +
        "c3,0.02,\"a, b\",9,1,,,\"it says \"\"no\"\", twice\"\nc4,0.02,\"a, b\",10,2,1,,\n");
    same(table.options, ["lr", "data", "d_k", "seed"]);
    same(table.measures, ["loss", "accuracy"]);
    assert.equal(table.rows[0].of.data, "a, b");
    assert.equal(table.rows[2].failed, "it says \"no\", twice");
    assert.ok(Number.isNaN(table.rows[2].got.loss) && table.rows[3].got.loss === 1);
    same(qkvTable.varying(table), ["lr", "d_k", "seed"]);
    same(qkvTable.axes(table), ["lr", "d_k"]);
    same(qkvTable.values(table.rows, "d_k"), ["9", "10"]);  // by size
    const all = qkvTable.map(table, {across: "lr", down: "d_k", show: "loss", where: {}});
    same([all.cols, all.rows, all.n], [["0.02", "0.1"], ["9", "10"], 4]);
    same(all.at.map((here) => here.map((r) => r.cell)), [["c3"], [], ["c4"], ["c1", "c2"]]);
    same(all.mean, [null, null, 1, 3]);
    const some = qkvTable.map(table, {across: "lr", down: "", show: "loss", where: {seed: "2"}});
    same([some.cols, some.rows, some.mean], [["0.02", "0.1"], [""], [1, 4]]);
};

async function main() {
    const failed = [];
    console.log("registered " + Object.keys(tests).length);
    for (const [name, test] of Object.entries(tests)) {
        console.log("[ RUN      ] " + name);
        try {
            await test();
            console.log("[       OK ] " + name);
        } catch (e) {
            failed.push(name);
            console.log("    " + String(e.stack).split("\n").slice(0, 12).join("\n    "));
            console.log("[  FAILED  ] " + name);
        }
    }
    const n = Object.keys(tests).length;
    console.log(
        "[==========] " + n + " test(s) run.\n[  PASSED  ] " + (n - failed.length) + " test(s).");
    if (failed.length) console.log("[  FAILED  ] " + failed.length + " test(s), listed below:");
    for (const name of failed) console.log("[  FAILED  ] " + name);
    process.exit(failed.length ? 1 : 0);
}
main();
