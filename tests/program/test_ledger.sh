#!/bin/sh
# test_ledger.sh - qkv ledger and its picture as a user calls them: rows add up, the run stays as it was to
# the byte, PyTorch finds the same parts. QKV is the program's path. Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1

train run --steps 40 --eval-every 10 --seed 3 --d-model 16 --save-every 10 || exit 1

# What each file of a run is, ledger and pictures left out: sums DIR
sums() {
    (cd "$1" && find . -type f ! -name ledger.csv ! -path './plots/*' -exec cksum {} + | sort -k 3)
}

# Every row of a ledger adds up to its change, and begins where the one before ended: adds_up FILE LEAST
adds_up() {
    awk -F, -v least="$2" '
        function abs(x) { return x < 0 ? -x : x }
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "left") left = i; next }
        {
            sum = size = 0
            for (i = 5; i <= left; i++) { sum += $i; size += abs($i) }
            if (abs(sum - $4) > 1e-7 * size) { print "row " NR ": " sum " is not " $4; bad = 1 }
            if (NR > 2 && ($1 != next_step || abs($3 - loss) > 1e-8 * loss)) {
                print "row " NR " does not begin where the last one ended"; bad = 1
            }
            next_step = $2; loss = $3 + $4; rows++
        }
        END { exit bad || rows != least || !left }' "$1" || say "$1 does not add up to $2 rows"
}

rows_add_up() {
    sums run >before && ran 0 ledger run && line 'steps 0 to 40: the loss of 128 held-out examples' &&
        line 'layer0.attn.wv' && line 'left' && sums run | cmp - before &&
        adds_up run/ledger.csv 40 || return 1
    # the loss is that of metrics.csv, of the same examples
    python 'import csv
examples = json.load(open("run/config.json"))["eval_examples"]
os.system(os.environ["QKV"] + " ledger run --out all.csv --json --examples %d >out" % examples)
mine = {r["step"]: float(r["loss"]) for r in csv.DictReader(open("all.csv"))}
run = {r["step"]: float(r["val_loss"]) for r in csv.DictReader(open("run/metrics.csv")) if r["val_loss"]}
both = [s for s in run if s in mine]
assert len(both) >= 4 and all(abs(mine[s] - run[s]) <= 2e-8 * run[s] for s in both), (mine, run)'
}

# Any part of it is the same part, also as straight lines over several steps.
any_part_is_the_same() {
    ran 0 ledger run --out whole.csv && ran 0 ledger run --from 13 --to 29 --out part.csv &&
        adds_up part.csv 16 && sed -n '15,30p' whole.csv >want && tail -n +2 part.csv | cmp - want &&
        ran 0 ledger run --every 7 --out lines.csv && adds_up lines.csv 6 &&
        [ "$(tail -n 1 lines.csv | cut -d , -f 1,2)" = 35,40 ] || say "other rows"
}

what_is_frozen_gets_nothing() {
    train frozen --steps 20 --d-model 16 --freeze '*.wq,embed.key' && ran 0 ledger frozen --json &&
        python 'import csv
rows = list(csv.DictReader(open("frozen/ledger.csv")))
for name in "layer0.attn.wq", "embed.key":
    assert {r[name] for r in rows} == {"0"}, name
assert all(float(r["layer0.attn.wk"]) != 0 for r in rows) and len(rows) == 20
assert [p["all"] for p in o["parameters"] if p["name"] == "embed.key"] == [0]
assert o["rows_over_tolerance"] == 0'
}

scores_held_at_0_teach_nothing() {
    train shut --steps 20 --d-model 16 --scores-from 12 && ran 0 ledger shut --every 5 && python 'import csv
rows = list(csv.DictReader(open("shut/ledger.csv")))
assert [r["next"] for r in rows] == ["5", "10", "12", "17", "20"]
for r in rows:
    moved = float(r["layer0.attn.wq"]), float(r["layer0.attn.wk"])
    assert (moved == (0, 0)) == (int(r["next"]) <= 12), r'
}

ways_and_symbols_add_up() {
    ran 0 ledger run --through layer0.attn --symbols embed.value --out w.csv && line 'way.scores' || return 1
    python 'import csv
for r in csv.DictReader(open("w.csv")):
    x = {k: float(v) for k, v in r.items()}
    tables = "embed.key", "embed.value", "unembed.value"
    size = sum(abs(x[n]) for n in x if n in tables or ".attn." in n)
    near = lambda a, b: abs(a - b) < 1e-6 * size
    assert near(x["way.scores"] + x["way.values"] + x["way.past"], x["change"] - x["left"]), r
    assert near(sum(x["embed.value:" + w] for w in ("scores", "values", "past")), x["embed.value"])
    symbols = [n for n in x if n.startswith("embed.value[")]
    assert len(symbols) >= 32 and "embed.value[v31]" in symbols
    assert near(sum(x[n] for n in symbols), x["embed.value"])'
}

deep_models_have_ways_through_both() {
    train deep --layers 2 --heads 2 --d-model 16 --steps 10 && ran 0 ledger deep --through all &&
        line way.both &&
        ran 0 ledger deep --through layer1.attn && ! grep -q way.both out || say "other ways"
}

# A ledger changes nothing of a training that goes on.
a_run_goes_on_the_same() {
    cp -r run looked && cp -r run plain && ran 0 ledger looked --through all &&
        "$QKV" train --out looked --resume --steps 60 --quiet &&
        "$QKV" train --out plain --resume --steps 60 --quiet &&
        cmp looked/step-00000060.safetensors plain/step-00000060.safetensors &&
        sed 's/,[^,]*$//' looked/metrics.csv >one && sed 's/,[^,]*$//' plain/metrics.csv | cmp - one &&
        "$QKV" train --out looked --force --steps 3 --quiet &&
        [ ! -e looked/ledger.csv ]
}

a_run_from_another_has_its_steps() {
    "$QKV" train --from run@20 --steps 30 --out on --quiet && ran 0 ledger on && adds_up on/ledger.csv 10 &&
        [ "$(sed -n 2p on/ledger.csv | cut -d , -f 1)" = 20 ] &&
        refused 2 "has steps 20 to 30" ledger on --from 10
}

what_makes_no_sense_is_refused() {
    sums run >before
    refused 2 "--from 9 is not before --to 9" ledger run --from 9 --to 9 &&
        refused 2 "has steps 0 to 40" ledger run --to 41 &&
        refused 2 "has steps 0 to 40" ledger run --from 40 &&
        refused 2 "--every: 0 is not between 1 and" ledger run --every 0 &&
        refused 2 "--examples: 'x' is not a whole number" ledger run --examples x &&
        refused 2 "there are: layer0.attn, or all" ledger run --through layer1.attn &&
        refused 2 "no table of embeddings 'unembed.value'" ledger run --symbols unembed.value &&
        refused 2 "one run directory is needed" ledger &&
        refused 2 "one run directory is needed" ledger run run &&
        refused 1 "there is no directory 'nowhere'" ledger nowhere &&
        refused 1 "nowhere/x" ledger run --out nowhere/x && sums run | cmp - before || return 1
    train none --steps 0 && refused 2 "has steps 0 to 0" ledger none || return 1
    [ -w /dev/full ] || return 0
    refused 1 "/dev/full" ledger run --to 2 --out /dev/full
}

its_picture_is_drawn() {
    cp -r run drawn && rm -rf drawn/ledger.csv drawn/plots &&
        refused 1 "qkv ledger writes it" plot drawn --ledger &&
        ran 0 ledger drawn && needs gnuplot || return
    ran 0 plot drawn --ledger --format svg && [ "$(cat out)" = drawn/plots/ledger.svg ] &&
        grep -q 'The loss falls by' drawn/plots/ledger.svg && grep -q 'unembedding' drawn/plots/ledger.svg &&
        ran 0 plot drawn --ledger --format txt && line 'embeddings' && line 'training step' &&
        refused 2 "--ledger is of one run" plot drawn run --ledger &&
        refused 2 "--ledger does nothing with --attention" plot drawn --ledger --attention &&
        refused 2 "is drawn with --ledger" plot drawn --only ledger || return 1
    # its areas are the table's numbers
    python 'import csv
blocks = open("drawn/plots/ledger.csv").read().split("\n\n\n")
first, sums = ([dict(zip(b.split("\n")[0].split(","), map(float, l.split(","))))
                for l in b.strip().split("\n")[1:]] for b in blocks)
rows = list(csv.DictReader(open("drawn/ledger.csv")))
groups = ("W^V", ["layer0.attn.wv"]), ("embeddings", ["embed.key", "embed.value"]), ("left", ["left"])
for shown, r in zip(first, rows):
    for name, of in groups:
        assert abs(shown[name] - sum(float(r[n]) for n in of)) < 1e-9, (shown, r)
assert len(first) >= 30 and len(sums) == len(first) + 1
last = sums[-1]
parts = sum(v for k, v in last.items() if k not in ("step", "loss"))
assert abs(last["loss"] - sums[0]["loss"] - parts) < 1e-6' || return 1
    for damage in 's/^3,4,/4,4,/' 's/^5,6,[^,]*/5,6,x/' '1s/change/charge/' '2,$d'; do
        sed "$damage" run/ledger.csv >drawn/ledger.csv 2>/dev/null &&
            refused 3 "drawn/ledger.csv" plot drawn --ledger || return 1
    done
}

# By autograd, another rule of integration and other ways of telling ways apart: from checkpoints of every
# step, in double.
pytorch_finds_the_same() {
    python3 -c 'import torch, numpy' 2>/dev/null || cannot "no python3 with torch and numpy" || return
    double=$(dirname "$QKV")/qkv-double
    [ -x "$double" ] || cannot "no $double" || return
    for optimizer in adam sgd; do
        "$double" train --out "d$optimizer" --steps 130 --optimizer "$optimizer" --save-every 1 --keep \
        1000 --quiet &&
            "$double" ledger "d$optimizer" --from 1 --to 130 --every 8 --examples 32 --through layer0.attn \
        >out &&
            python3 "$root/tests/program/ledger.py" "d$optimizer" "d$optimizer/ledger.csv" 32 1e-7 || return 1
    done
    # what is told apart wrongly is found
    sed 's/"embed.key:scores"/X/; s/"embed.key:values"/"embed.key:scores"/; s/X/"embed.key:values"/' \
        dadam/ledger.csv >dadam/wrong.csv
    python3 "$root/tests/program/ledger.py" dadam dadam/wrong.csv 32 1e-7 >out && say "swapped ways pass"
    sed '2s/^\([^,]*,[^,]*,[^,]*,[^,]*\),[^,]*/\1,0/' dadam/ledger.csv >dadam/wrong.csv
    python3 "$root/tests/program/ledger.py" dadam dadam/wrong.csv 32 1e-7 >out && say "a missing part passes"
    [ -z "$complained" ]
}

suite rows_add_up any_part_is_the_same what_is_frozen_gets_nothing scores_held_at_0_teach_nothing \
    ways_and_symbols_add_up deep_models_have_ways_through_both a_run_goes_on_the_same \
        a_run_from_another_has_its_steps what_makes_no_sense_is_refused \
    its_picture_is_drawn pytorch_finds_the_same
