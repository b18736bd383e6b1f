/* page_reader.js - node page_reader.js ENGINE.js ENGINE.wasm DIR: opens the checkpoints in DIR/files (length,
 * bytes) by the page's engine, and expects of each what the program said (DIR/said), and that a refused one
 * leaves the run as it was. */
"use strict";

const fs = require("fs"), vm = require("vm");
const [script, wasm, dir] = process.argv.slice(2);
const OPTIONS = "pairs=2\nkeys=3\nvalues=3\nd-model=4\nbatch=4\nsteps=20\neval-examples=8";

async function main() {
    const engine = await vm.runInThisContext(fs.readFileSync(script, "utf8") + "\nqkvEngine;")
                       .open(fs.readFileSync(wasm));
    const files = fs.readFileSync(dir + "/files"),
          said = fs.readFileSync(dir + "/said", "utf8").split("\n");
    engine.start(OPTIONS);
    const kept = Buffer.from(engine.save());
    let n = 0, refused = 0, wrong = 0;
    for (let at = 0; at < files.length; n++) {
        const length = files.readUInt32LE(at), file = files.subarray(at + 4, at + 4 + length);
        at += 4 + length;
        let says = null;
        try {
            engine.open("bad.safetensors", file);
            says = "step " + engine.step();
            engine.start(OPTIONS);
        } catch (e) {
            says = e.message;
            refused++;
            if (kept.compare(engine.save())) says += ", and the run has changed";
        }
        if (says === said[n]) continue;
        if (wrong++ < 5)
            console.log("    file " + n + ": \"" + says + "\"\n    and not \"" + said[n] + "\"");
    }
    console.log("    " + n + " files, " + refused + " of them refused in the same words");
    if (wrong || n !== said.length - 1 || refused < 500) process.exit(1);
}
main();
