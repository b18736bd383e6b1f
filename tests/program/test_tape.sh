#!/bin/sh
# test_tape.sh - qkv tape as a user calls it: every view, in words, JSON and CSV; what adds up; what is
# refused; that no byte of a run changes; and, where there is PyTorch, every number against its autograd.
. "$(dirname "$0")/../lib/program.sh" || exit 1

train plain
train deep --layers 2 --heads 4 --kv-heads 2 --d-ff 16 --norm layer --bias --positions learned --dropout 0.1 \
    --label-smoothing 0.1
double=$QKV-double

# Does the node FIRST stand before LAST in the list? order FILE FIRST LAST
order() {
    [ "$(awk -v first=$2 -v last=$3 '$2 == first || $2 == last { print $2 }' $1 | xargs)" = "$2 $3" ] ||
        say "$2 does not stand before $3"
}

the_list() {
    ran 0 tape plain && line 'layer0.attn.scores [1,1,9,9]' && line 'y = factor q k^T' &&
        line '<- the loss' && line 'embed.key [32,32]' && line 'Asked at 8, right is' || return 1
    order out embed.key loss && ran 0 tape plain --backward && order out loss embed.key || return 1
    ran 0 tape plain --json || return 1
    python '
assert o["asked"] == 8 and len(o["words"]) == 9 and len(o["nodes"]) == 19
at = {n["node"]: n for n in o["nodes"]}
assert at["loss"]["role"] == "loss" and at["embed.key"]["role"] == "parameter"
assert at["layer0.attn.scores"]["inputs"] == "layer0.attn.q layer0.attn.k"
assert all(n["gradient"] > 0 for n in o["nodes"]), o["nodes"]
assert abs(at["loss"]["value"] - o["loss"]) < 1e-6' || return
    ran 0 tape plain --csv && [ "$(wc -l <out)" -eq 20 ] && grep -q '^index,node,op,role,formula' out
}

a_node() {
    ran 0 tape plain --node layer0.attn.weights && line 'Gradient' || return 1
    awk '/^Value/ { on = 1 } on { gsub(/\342\200\246/, "."); if (length > 80) exit 1 }' out &&
        ran 0 tape deep --node layer1.attn.weights && line 'head 3' && ran 0 tape deep --node '#51' &&
        ran 0 tape plain --node embed.key && line 'of 32 columns' && ran 0 tape plain --node loss || return 1
    ran 0 tape plain --node layer0.attn.weights --json || return 1
    python '
rows = {}
for n in o["numbers"]:
    head, row, column = n["at"]
    rows[row] = rows.get(row, 0) + n["value"]
    assert n["words"].startswith("head 0, ") and (n["value"] == 0 or column <= row)
assert len(o["numbers"]) == 81 and all(abs(x - 1) < 1e-5 for x in rows.values()), rows' || return
    ran 0 tape plain --node layer0.attn.q --csv && [ "$(wc -l <out)" -eq 289 ]
}

# The parts of a gradient, and of a value where it is linear, add up to it; of a softmax there are none.
terms_add_up() {
    for run in plain deep; do
        for number in 'embed.key[3,1]' 'layer0.attn.wq[3,4]' 'layer0.attn.wv[0,0]' 'layer0.attn.k[2,5]' \
            'layer0.attn.scores[0,8,3]' 'final[0,2]'; do
            ran 0 tape $run --why-grad "$number" && ran 0 tape $run --why-grad "$number" --json || return 1
            python '
parts = [t["part"] for t in o["terms"]]
assert abs(sum(parts) - o["gradient"]) <= 1e-6 * (sum(map(abs, parts)) + 1e-6), (sum(parts), o["gradient"])
assert parts == sorted(parts, key=abs, reverse=True)' || return
        done
    done
    ran 0 tape plain --why 'layer0.attn.scores[8,3]' --json || return 1
    python '
for input in 0, 1:
    assert abs(sum(t["part"] for t in o["terms"] if t["input"] == input) - o["value"]) < 1e-5
assert not o["together"]' || return
    ran 0 tape plain --why 'layer0.out[8,3]' && line 'which add up to it' &&
        ran 0 tape plain --why 'layer0.attn.weights[8,3]' && line 'not linear' && line '= e^' || return 1
    ran 0 tape plain --why 'layer0.attn.weights[8,3]' --json || return 1
    python '
import math
x = {t["at"][2]: t["value"] for t in o["terms"]}
assert len(x) == 9 and all(t["part"] is None for t in o["terms"])
assert abs(math.exp(x[3]) / sum(map(math.exp, x.values())) - o["value"]) < 1e-5' || return
    ran 0 tape plain --why embed.key[0,0] && line 'It is a leaf'
}

a_path() {
    ran 0 tape deep --path 'layer0.attn.wq[3,4]' --json || return 1
    python '
names = [t["node"] for t in o["terms"]]
assert names[0] == "layer0.attn.q" and names[-1] == "loss" and len(names) > 8, names
assert o["terms"][-1]["value"] == 1' || return
    ran 0 tape deep --path 'layer0.attn.wq[3,4]' && line 'by the largest part'
}

# The parts of the update and what is together are the difference; the step is what training does.
the_update() {
    ran 0 tape plain --at 2 --update && line 'This step' && line 'together' || return 1
    for run in plain deep; do
        ran 0 tape $run --update --at 2 --json || return 1
        python '
for m in "score", "weight", "logit", "loss":
    parts = sum(p["part_" + m] for p in o["parts"]) + o["together"][m]
    assert abs(o["after"][m] - o["before"][m] - parts) < 1e-6, (m, parts)
at = {p["parameter"]: p for p in o["parts"]}
assert at["layer0.attn.wq"]["mean"] > 0 and at["layer0.attn.wq"]["square"] > 0
assert all(p["step"] > 0 for p in o["parts"]), o["parts"]
assert o["taught"].startswith("This step ")' || return
    done
    # Before and after are the losses of the states that the run itself had.
    ran 0 tape plain --at 2 --update --json && cp out then && ran 0 tape plain --at 3 --json || return 1
    python '
before = json.load(open("then"))
assert abs(before["after"]["loss"] - o["loss"]) < 1e-6, (before["after"], o["loss"])' || return
    train frozen --freeze '*.wq' && ran 0 tape frozen --update --json || return 1
    python '
assert {p["parameter"]: p["step"] for p in o["parts"]}["layer0.attn.wq"] == 0' || return
    ran 0 tape frozen --json || return 1
    python '
q = [n for n in o["nodes"] if n["node"] == "layer0.attn.wq"][0]
assert q["role"] == "frozen parameter" and q["gradient"] > 0' || return
    train sgd --optimizer sgd && ran 0 tape sgd --update && line 'mean step' || return 1
    if grep -qw square out; then say 'sgd keeps no squares'; fi
}

# Why does Q get no gradient at step 0 of --gains '*wv=0'? Three commands say so.
three_commands() {
    train silent --gains '*wv=0' && ran 0 tape silent --at 0 --json || return 1
    python '
at = {n["node"]: n["gradient"] for n in o["nodes"]}
assert at["layer0.attn.q"] == at["layer0.attn.weights"] == 0 < at["layer0.attn.mix"]' || return
    ran 0 tape silent --at 0 --why-grad 'layer0.attn.weights[8,3]' &&
        line 'layer0.attn.mix reads it: its gradients are not 0' || return 1
    ran 0 tape silent --at 0 --node layer0.attn.v --json || return 1
    python '
assert all(n["value"] == 0 and n["gradient"] != 0 or n["value"] == 0 for n in o["numbers"])
assert any(n["gradient"] != 0 for n in o["numbers"])'
}

# Any task, with its words; what training computes alone; an example of the batch; lines of one's own.
other_runs() {
    for task in $("$QKV" list tasks | awk '/^[a-z]/ { print $1 }'); do
        case $task in file | text) continue ;; esac
        train of-$task --task $task && ran 0 tape of-$task && ran 0 tape of-$task --update --json || return 1
        python '
assert o["taught"]' && ran 0 tape of-$task --as-trained --train --example 3 || return
    done
    train lines --data "$root/examples/it.txt" &&
        ran 0 tape lines --line 'the animal did not cross the street because it? was too tired => animal' \
            --node layer0.attn.weights && line 'Asked at 8, right is animal' && line '8 it' || return 1
    train words --task text --data "$root/examples/text.txt" --time 16 --d-model 16 --batch 4 &&
        ran 0 tape words --line 'the ' --path 'layer0.attn.q[0,0]' || return 1
    refused 2 "'pairs' has no words that a line could be made of" tape plain --line 'a b => c' &&
        refused 2 "the run has no word 'xyzzy'" tape lines --line 'the xyzzy => animal' &&
        refused 2 "no answer of the run is 'xyzzy'" tape lines --line 'the animal => xyzzy' &&
        refused 2 'a line is words' tape lines --line 'the animal' &&
        refused 2 'holds 16' tape words --line 'the and the and the and the and the and '
}

# The graph as a picture: a frame for each map, a line for each input.
a_picture() {
    needs gnuplot || return
    ran 0 plot plain --tape --out pic && [ -s pic/tape.png ] && [ "$(grep -c '^2,' pic/tape.csv)" -eq 38 ] &&
        [ "$(grep -c '^3,' pic/tape.csv)" -eq 21 ] || return 1
    ran 0 plot deep --tape --example 2 --at 1 --out pic --format svg &&
        grep -q 'layer1.mlp.hidden' pic/tape.svg || return 1
    refused 2 '--tape is of one run' plot plain deep --tape &&
        refused 2 'does nothing with --attention' plot plain --tape --attention &&
        refused 2 'there is no state at step 9' plot plain --tape --at 9
}

a_plugin() {
    train own --plugin "$root/examples/linear_attention.c" --block linear_attention &&
        ran 0 tape own --plugin "$root/examples/linear_attention.c" --path 'layer0.attn.q.w[0,1]' &&
        line 'layer0.attn.q'
}

files() {
    ran 0 tape plain --npy all && [ "$(ls all | wc -l)" -eq 38 ] &&
        ran 0 tape plain --npy one --node layer0.attn.q && [ "$(ls one | xargs)" = \
        'layer0.attn.q.grad.npy layer0.attn.q.npy' ] && cmp all/layer0.attn.q.npy one/layer0.attn.q.npy &&
        ran 0 tape deep --npy deeper && ls deeper | grep -q 'layer1.attn.weights#51.npy' || return 1
    : >file && refused 1 file tape plain --npy file
}

what_is_wrong_is_said() {
    refused 2 "no node is called 'q'; did you mean 'layer0.attn.q'?" tape plain --node q &&
        refused 2 "no node is called 'xyz'" tape plain --why 'xyz[0]' &&
        refused 2 "whose shape is [1,9,32]: say 'layer0.attn.q[0,0]'" tape plain --why 'layer0.attn.q[9,0]' &&
        refused 2 'is no place of' tape plain --why 'layer0.attn.q[0,0,0,0]' &&
        refused 2 'is no place of' tape plain --why-grad 'layer0.attn.q[-1,0]' &&
        refused 2 'is no place of' tape plain --path layer0.attn.q &&
        refused 2 'is no place of' tape plain --why 'layer0.attn.q[0,0' &&
        refused 2 'are two views' tape plain --why 'loss' --update &&
        refused 2 'is not between 0 and' tape plain --example -1 &&
        refused 2 'a batch has the examples 0 to 63' tape plain --train --example 64 &&
        refused 2 'there is no state at step 9' tape plain --at 9 &&
        refused 2 '--json does nothing with --csv' tape plain --json --csv &&
        refused 2 "there is no 'xyz'" tape plain --answer xyz || return 1
    "$QKV" tape plain --npy weights >/dev/null && "$QKV" export plain --npy exported >/dev/null || return 1
    cp plain/step-00000003.safetensors w.safetensors && ran 0 tape plain --weights w.safetensors &&
        refused 2 "needs the optimiser's moments" tape plain --weights w.safetensors --update || return 1
    [ ! -w /dev/full ] || { status=0; "$QKV" tape plain >/dev/full 2>err || status=$?; [ $status -eq 1 ]; }
}

# A float run in double: the same numbers, with more digits.
in_double() {
    [ -x "$double" ] || { cannot "there is no $double" || return; }
    ran 0 tape plain --json && cp out single && "$double" tape plain --json >out || return 1
    python '
for a, b in zip(json.load(open("single"))["nodes"], o["nodes"]):
    assert abs(a["value"] - b["value"]) <= 1e-4 * (abs(b["value"]) + 1e-6), (a, b)'
}

as_pytorch_has_it() {
    python3 -c 'import torch, numpy' 2>/dev/null || cannot 'no python3 with torch and numpy' || return
    [ -x "$double" ] || { cannot "there is no $double" || return; }
    train two --layers 2 --heads 2 --d-model 8 --pairs 4 --keys 8 --values 8 &&
        python3 "$root/tests/program/tape.py" "$double" two
}

# Looking changes no byte of any run; it must have been looked at, above.
nothing_changed() {
    find plain deep -type f -exec cksum {} + | sort >now && cmp before now
}

find plain deep -type f -exec cksum {} + | sort >before
suite the_list a_node terms_add_up a_path the_update three_commands other_runs a_picture a_plugin files \
    what_is_wrong_is_said in_double as_pytorch_has_it nothing_changed
