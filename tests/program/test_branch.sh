#!/bin/sh
# test_branch.sh - branches: --from a step with one thing changed for some steps, and qkv diff, which says
# where two runs part. A branch without a change is its parent.
. "$(dirname "$0")/../lib/program.sh" || exit 1
few="--d-model 16 --eval-every 10 --eval-examples 64 --quiet"

parent() { [ -e p ] || ran 0 train --steps 40 --save-every 10 --keep 9 $few --out p; }

# branch DIR STEP ARGS...: from the parent, once.
branch() {
    parent || return 1
    where=$1 step=$2
    shift 2
    [ -e "$where" ] || ran 0 train --from "p@$step" --eval-every 10 --save-every 5 --keep 9 --quiet \
        --out "$where" "$@"
}

# Rows from a step on, without the time: rows DIR STEP
rows() { awk -F, -v from="$2" 'NR > 1 && $1 >= from' "$1/metrics.csv" | sed 's/,[^,]*$//'; }

# What a run is at its end: every weight, attention and circuit, by numpy's files.
same_end() {
    for run in "$1" "$2"; do
        ran 0 export "$run" --npy "end-$run" --force || return 1
    done
    diff -r "end-$1" "end-$2" >/dev/null || say "$1 and $2 do not end alike"
}

without_a_change_it_is_its_parent() {
    branch b 20 && ran 0 diff p b && line "equal: the same losses, weights and moments" && same_end p b ||
        return 1
    rows p 20 >of-p && rows b 20 >of-b && [ "$(wc -l <of-b)" -eq 3 ] && cmp of-p of-b &&
        cmp p/levels.csv b/levels.csv || return 1
    for file in p/probe/*after*; do cmp "$file" "b/probe/${file##*/}" || return 1; done
    ran 0 diff p p --csv && [ "$(wc -l <out)" -eq 12 ]
}

# The first number is of what was held, a step after it was; the distance is that of the weights.
a_difference_is_found_and_measured() {
    branch h 20 --hold '*.wq@25..35' && ran 1 diff p h --every 20 --json || return 1
    cp out rows
    for run in p h; do ran 0 export "$run" --csv "csv-$run" --force || return 1; done
    cp rows out
    python '
import csv
assert not o["equal"] and o["from"] == 20 and o["to"] == 40, o
assert o["step"] == 26 and o["number"].startswith("layer0.attn.wq["), o
assert o["loss_step"] == 26 and o["number_a"] != o["number_b"], o
def weights(run):
    with open("csv-%s/weights/layer0.attn.wq.csv" % run) as f:
        return [float(x) for row in list(csv.reader(f))[1:] for x in row[1:]]
a, b = weights("p"), weights("h")
apart = (sum((x - y) ** 2 for x, y in zip(a, b)) / sum(x * x for x in a)) ** 0.5
first, last = o["rows"]
assert apart > 0.01 and abs(last["layer0.attn.wq"] - apart) < 1e-5, (apart, last)
assert first["step"] == 20 and not any(v for k, v in first.items() if k not in ("step", "loss_a", "loss_b"))
assert 0 <= last["other_answers"] <= 1 and 0 < last["moved"] <= 1 and last["qk_key.head0"] > 0, last
assert last["loss_a"] != last["loss_b"]'
}

# Resumed, and branched from, between the steps in which something holds.
it_goes_on_between_its_steps() {
    branch h 20 --hold '*.wq@25..35' && cp -r h again || return 1
    rm again/step-00000035* again/step-00000040* && cp again/step-00000030* again/best.safetensors || return 1
    ran 0 train --resume --out again --quiet && ran 0 diff h again && line equal || return 1
    ran 0 train --from h@30 --quiet --out later && ran 0 diff h later && line equal && same_end h later ||
        return 1
    ran 0 train --config h/config.json --quiet --out repeated && ran 0 diff h repeated && line equal
}

# One matrix is the other run's, all else the parent's; a branch of the branch does not swap again.
a_matrix_is_swapped_at_the_beginning() {
    parent && ran 0 train --steps 20 --seed 2 $few --out q && branch s 20 --swap-matrix wq=q@10 || return 1
    ran 0 export s --at 20 --npy of-s && ran 0 export q --at 10 --npy of-q &&
        ran 0 export p --at 20 --npy of-p20 || return 1
    for name in of-s/weights/*; do
        from=of-p20
        case $name in *.wq.npy) from=of-q ;; esac
        cmp "$name" "$from/weights/${name##*/}" || return 1
    done
    ran 0 train --config s/config.json --quiet --out s-again && ran 0 diff s s-again && line equal &&
        ran 0 train --from s@30 --quiet --out s-later && ran 0 diff s s-later && line equal || return 1
    refused 2 'belongs to --from, which is not given' train --swap-matrix wq=q --out x &&
        refused 2 "no parameter is called 'wx'" train --from p@20 --swap-matrix wx=q --out x &&
        refused 2 'is not NAME=RUN' train --from p@20 --swap-matrix wq --out x || return 1
    [ ! -e x ] || say 'something was trained'
}

lines_of_words() {
    awk 'BEGIN {
        split("Anna Ben Cleo Dan Eva", name)
        print "# who?"
        for (i = 1; i <= 5; i++)
            for (k = 1; k <= 5; k++)
                if (i != k) print name[i], name[k], "=>", name[i]
    }' >lines.txt
    some="--data lines.txt --layers 1 --heads 1 --d-model 8 --d-ff 0 --eval-every 9 --eval-examples 2"
}

# Of a step of three examples three lines change the model: the others, those held out and the comment none.
what_no_batch_drew_changes_no_bit() {
    lines_of_words && ran 0 train $some --steps 1 --batch 3 --quiet --out one || return 1
    other=0
    for without in $(seq 21); do
        ran 0 train $some --steps 1 --batch 3 --quiet --without $without --out less --force || return 1
        run diff one less
        other=$((other + status))
    done
    [ "$other" -eq 3 ] || { say "$other of 21 lines changed something"; return 1; }
    ran 0 train $some --steps 1 --batch 3 --quiet --without 1-21 --out none && ran 1 diff one none &&
        line 'First other loss: that of step 0' && ran 0 data file --data lines.txt --without 1-21 &&
        ran 0 train --from one@0 --without 1-21 --quiet --out from-one && ran 0 diff none from-one
}

# A table of what leaving out each line does to one: most, where that is the line itself.
lines_teach_answers() {
    lines_of_words && ran 0 sweep $some --steps 30 --lr 0.02 --without '' --without 1..n --out S --quiet &&
        ran 0 table S --by without --show loss:5 --csv || return 1
    python '
import csv
rows = list(csv.DictReader(text.splitlines()))
assert len(rows) == 22, len(rows)
loss = {r["without"]: float(r["lines.5_mean"]) for r in rows}
assert loss["1"] == loss[""], "a comment taught something"
cells = {r["without"]: r for r in csv.DictReader(open("S/cells.csv"))}
taught = 0
for line in range(2, 22):
    effect = {k: float(r["lines.%d" % line]) - float(cells[""]["lines.%d" % line]) for k, r in cells.items()}
    assert effect[""] == 0
    if effect[str(line)] > 0.001 and max(effect, key=effect.get) == str(line):
        taught += 1
assert taught >= 6, taught' || return 1
    refused 2 'there is no line 22, the file has 21' train $some --without 20-22 --out x &&
        refused 2 'is not lines as in' train $some --without 4-2 --out x &&
        refused 2 'belongs to the task file' train --without 4 --out x &&
        refused 2 'is no range of lines' sweep $some --without 4..2 --out x && [ ! -e x ]
}

what_makes_no_sense_is_refused() {
    parent || return 1
    refused 2 "'*.wq@30..25' ends before it begins" train --from p@20 --hold '*.wq@30..25' --out x &&
        refused 2 'after the last step, which is 40' train --from p@20 --hold '*.wq@30..50' --out x &&
        refused 2 "no parameter is called 'qw'" train --from p@20 --hold 'qw@30..40' --out x &&
        refused 2 'is not NAME=X' train --from p@20 --gradients '*.wq=many@30..40' --out x &&
        refused 2 'two run directories' diff p &&
        refused 2 "no directory 'nowhere'" diff p nowhere || return 1
    ran 0 train --steps 3 $few --d-model 32 --out wide && refused 2 'another shape' diff p wide || return 1
    [ ! -e x ] || say 'something was trained'
}

suite without_a_change_it_is_its_parent a_difference_is_found_and_measured it_goes_on_between_its_steps \
    a_matrix_is_swapped_at_the_beginning what_no_batch_drew_changes_no_bit lines_teach_answers \
    what_makes_no_sense_is_refused
