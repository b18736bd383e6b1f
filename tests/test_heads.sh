#!/bin/sh
# test_heads.sh - qkv heads and qkv patch as a user calls them. QKV is the program's path. Reports in
# cmocka's words, for run.sh.
qkv=${QKV:-build/qkv}
case $qkv in /*) ;; *) qkv=$PWD/$qkv ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/suite.sh" || exit 1
cd "$dir" || exit 1

"$qkv" train --task induction --pairs 6 --keys 16 --heads 2 --steps 40 --out run --quiet || exit 1
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
        "$qkv" patch run --json | grep -q '"stream":\[\['
}

at_an_earlier_step() {
    "$qkv" train --config run/config.json --steps 15 --out short --quiet &&
        "$qkv" heads short --examples 64 --json >a && "$qkv" heads run --at 15 --examples 64 --json >b &&
        cmp a b && "$qkv" heads run --examples 64 --json >c && ! cmp -s b c &&
        says 'no state at step 41' heads run --at 41
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

suite tables json same_twice at_an_earlier_step patch refused
