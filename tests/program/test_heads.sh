#!/bin/sh
# test_heads.sh - qkv heads and qkv patch as a user calls them. QKV is the program's path. Reports in
# cmocka's words, for run.sh.
qkv=${QKV:-build/qkv}
case $qkv in /*) ;; *) qkv=$PWD/$qkv ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/suite.sh" || exit 1
cd "$dir" || exit 1

"$qkv" train --task induction --pairs 6 --keys 16 --heads 2 --steps 40 --out run --quiet || exit 1
for a in a b c d e f g; do for b in a b c d e f g; do [ $a = $b ] || echo "$a $b => $a"; done; done >file.txt
"$qkv" train --task file --data file.txt --steps 20 --out file --force --quiet || exit 1
printf 'one\ntwo\n%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 >text.txt
"$qkv" train --task text --data text.txt --time 6 --data-held-out 0.3 --d-model 16 --steps 5 --batch 2 \
    --out text --quiet || exit 1
"$qkv" train --task recall --steps 2 --out vector --quiet || exit 1

tables() {
    "$qkv" heads run --examples 64 >out
    for words in 'Where each head looks' 'Who says the answer' 'Whose writing each head reads' \
        'Accuracy without it' 'random matrices' 'layer1.attn *head 1'; do
        grep -q "$words" out || { echo "no '$words'"; return 1; }
    done
    for k in 0 1 2 3; do [ "$(wc -l <run/heads/probe/example-$k.csv)" -eq 145 ] || return 1; done
    [ ! -e run/heads/probe/example-4.csv ]
}
json() {
    "$qkv" heads run --examples 64 --json --no-ablation >out
    [ "$(wc -l <out)" -eq 1 ] && grep -q '"does":' out && grep -q '"composition":\[{' out &&
        ! grep -q without_zero out && "$qkv" heads run --examples 64 --json | grep -q '"without_zero":'
}
same_twice() {
    "$qkv" heads run --examples 64 --json >a && "$qkv" heads run --examples 64 --json >b && cmp a b
}
patch() {
    "$qkv" patch run --clean 2 --other 5 >out &&
        grep -q 'layer0.attn *head 1 -> layer1.attn *head 0' out &&
        [ "$(wc -l <run/patch/probe/example-0.csv)" -eq 37 ] &&
        "$qkv" patch run --json | grep -q '"stream":\[\[' || return 1
    for k in 1 2 3 4 5; do [ -e run/patch/probe/example-$k.csv ] || break; done
    [ $k -eq 5 ] || { echo "$k maps instead of 5"; return 1; }
}
# Beside the exact numbers, which stay as they are, and in five more maps.
attribution() {
    "$qkv" patch run --json >a && "$qkv" patch run --attribution --json >b && ! cmp -s a b &&
        [ -e run/patch/probe/example-9.csv ] && "$qkv" patch run --attribution >out &&
        grep -q '^result  *48 ' out && grep -q 'by gradient' run/patch/probe/example-9.csv &&
        "$qkv" patch run >out && ! grep -q Attribution out && [ ! -e run/patch/probe/example-5.csv ]
}

# All that patch reports is what numpy computes from the exported weights: where two examples score other
# places, each one's logits are read in its own row. as_numpy RUN CLEAN-OTHER...: some of them do so.
as_numpy() {
    run=$1
    shift
    "$qkv" export $run --npy $run-npy >/dev/null
    for pair; do
        "$qkv" patch $run --clean ${pair%-*} --other ${pair#*-} --attribution --json >report || return 1
        python3 "$here/patching.py" $run-npy/weights $run.jsonl 2 ${pair%-*} ${pair#*-} <report >>$run.rows ||
            return 1
    done
    awk '$1 != $2 { found = 1 } END { exit !found }' $run.rows ||
        { echo "all of $run score the same rows"; return 1; }
}
patch_is_what_numpy_says() {
    python3 -c 'import numpy' 2>/dev/null || cannot "python3 has no numpy" || return
    for who in anna ben cleo dora; do for whom in anna ben cleo dora; do
        [ $who = $whom ] || for v in saw met knew; do
            echo "$who $v $whom who? whom? => $who $whom"
            echo "then $who $v $whom who? whom? => $who $whom"
        done
    done; done >ask.txt
    "$qkv" train --task file --data ask.txt --layers 2 --heads 2 --d-model 16 --norm none --d-ff 0 \
        --mask causal --steps 30 --out ask --quiet
    "$qkv" data file --data ask.txt --split test --n 7 --json >ask.jsonl
    "$qkv" data induction --pairs 6 --keys 16 --split test --n 21 --json >run.jsonl
    "$qkv" train --config run/config.json --kv-heads 1 --out shared --quiet && cp run.jsonl shared.jsonl
    as_numpy run 0-1 0-20 20-3 && as_numpy ask 0-4 0-5 5-1 && as_numpy shared 0-20
}

# One head's queries match the first question and its values answer it, the other's the second; a model of two
# layers has no circuits, and says so.
circuits() {
    needs python3 || return
    "$qkv" train --task two --steps 300 --pairs 4 --keys 8 --values 8 --out two --quiet &&
        "$qkv" heads two --no-ablation >out && grep -q 'layer0.attn *head 1  second' out &&
        "$qkv" heads two --no-ablation --json >json && python3 -c '
import json
of = {(c["head"], c["question"]): c for c in json.load(open("json"))["circuits"]}
own = 0 if of[0, "first"]["qk_margin"] > of[1, "first"]["qk_margin"] else 1
for q, h in ("first", own), ("second", 1 - own):
    for of_what in "qk", "ov":
        assert of[h, q][of_what + "_diag"] == 1, of
        assert of[h, q][of_what + "_margin"] > 2 * of[1 - h, q][of_what + "_margin"], of' &&
        "$qkv" export two --csv csv >out && [ "$(ls csv/circuits | wc -l)" -eq 16 ] &&
        [ -e csv/circuits/qk_key.head1.second.csv ] &&
        "$qkv" heads run --no-ablation | grep -q "circuits: not defined, "
}
at_an_earlier_step() {
    "$qkv" train --config run/config.json --steps 15 --out short --quiet &&
        "$qkv" heads short --examples 64 --json >a && "$qkv" heads run --at 15 --examples 64 --json >b &&
        cmp a b && "$qkv" heads run --examples 64 --json >c && ! cmp -s b c &&
        says 'no state at step 41' heads run --at 41 || return 1
    short() { "$qkv" patch "$@" --clean 2 --other 5 --json | sed 's/"step":[0-9]*//'; }
    short short >a && short run --at 15 >b && short run --weights "$(echo short/step-*)" >c &&
        cmp a b && cmp a c && short run >c && ! cmp -s b c && says 'no state at step 41' patch run --at 41
}

# Of your own examples and text, too: two examples with different answers are found, a line's end is printed
# as text, and asked is where most is known.
own_data() {
    for run in file text; do
        "$qkv" heads $run --examples 16 >out && grep -q 'Where each head looks' out || return 1
        "$qkv" patch $run >out || return 1
        grep -q '^Clean is held-out example 0, other [1-9]' out || { cat out; return 1; }
    done
    grep -q 'Asked at position 5,' out && "$qkv" patch text --json | grep -q '"position":5' &&
        [ "$(sed -n '/^at /,/^$/p' out | wc -l)" -eq 8 ] # six tokens, one a line
}

# The number of examples is that of those there were, in words, in --json and in what is divided by it; an
# example that is not there is refused.
what_there_is_is_counted() {
    "$qkv" heads file --examples 9999 >out && grep -q ' 3 held-out examples: ' out &&
        "$qkv" heads file --examples 3 --json >a && "$qkv" heads file --json >b && cmp a b &&
        grep -q '"examples":3,' a && "$qkv" data file --data file.txt --split test --n 99 >out &&
        [ "$(grep -c '^example' out)" -eq 3 ] && "$qkv" data file --data file.txt --check >out 2>&1
    grep -q '^file: 34 examples, 34 scored' out && grep -q 'test rows in train.* of 3$' out || return 1
    for command in 'show file --example' 'plot file --attention --example' 'patch file --clean' \
        'patch file --other' 'export file --npy none --example'; do
        says "there is no example 3, the held-out ones are 0 to 2" $command 3 || return 1
        [ ! -e none ] && "$qkv" $command 2 --at 20 >/dev/null || { echo "$command 2"; return 1; }
        rm -rf none
    done
    "$qkv" show run --example 99999 >/dev/null
}

# Keys alone change places, in show as in export: the entries' values stay, and attention follows the keys.
keys_alone_are_swapped() {
    "$qkv" train --steps 300 --out pairs --quiet && "$qkv" export pairs --csv before >/dev/null &&
        "$qkv" export pairs --csv after --change key:3,7 >/dev/null &&
        "$qkv" export pairs --csv both --change 3,7 >/dev/null || return 1
    at() { sed -n "$2p" "$1/attention/layer0.attn.head0.csv" | cut -d, -f "$3"; }
    [ "$(at after 1 5)" = '"3 k6 v10"' ] && [ "$(at before 1 5)" = '"3 k0 v10"' ] &&
        [ "$(at both 1 5)" = '"3 k6 v18"' ] || { at after 1 5; return 1; }
    awk -v a="$(at before 10 5)" -v b="$(at after 10 9)" -v c="$(at after 10 5)" \
        'BEGIN { exit !(a > 0.5 && b > 0.5 && c < 0.2) }' || { echo "attention stays"; return 1; }
    "$qkv" show pairs --change key:3,7 | grep -q 'from 3 to 7' &&
        says 'is no change' export pairs --csv no --change word:3,7 && [ ! -e no ] &&
        says 'is no change' export pairs --csv no --change key:3=k6
}

# says WORDS COMMAND...: fails, and says why.
says() {
    words=$1
    shift
    ! "$qkv" "$@" >/dev/null 2>err && grep -q "$words" err
}
refused() {
    says 'different answers' patch run --clean 3 --other 3 && says vector patch vector &&
        says 'not between 2' heads run --examples 1 && "$qkv" heads vector --examples 8 >out &&
        grep -q 'not defined, the answer is a vector' out
}

suite tables circuits json same_twice at_an_earlier_step patch attribution patch_is_what_numpy_says own_data \
    what_there_is_is_counted keys_alone_are_swapped refused
