#!/bin/sh
# test_sample.sh - qkv sample, and the attention of a prompt, as a user calls them. QKV is the program's path.
# Reports in cmocka's words, for run.sh.
qkv=${QKV:-build/qkv}
case $qkv in /*) ;; *) qkv=$PWD/$qkv ;; esac
text=$(cd "$(dirname "$0")/.." && pwd)/examples/text.txt
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/suite.sh" || exit 1
cd "$dir" || exit 1

# train NAME OPTIONS...: a run on a text
train() {
    name=$1
    shift
    "$qkv" train --task text --data-held-out 0.2 --time 16 --d-model 16 --d-ff 16 --quiet \
        --out "$name" "$@" || exit 1
}
sed 's/o/ö/g; s/e/𝄞/g' "$text" >wide.txt
train run --data "$text" --steps 60
train words --data "$text" --unit words --steps 20
train bytes --data wide.txt --unit bytes --steps 20
"$qkv" train --steps 2 --quiet --out pairs || exit 1

# Longer than the window, the same text twice, another by another seed; the prompt comes first.
goes_on() {
    "$qkv" sample run --prompt 'Tom and Ida' --tokens 60 >a &&
        "$qkv" sample run --prompt 'Tom and Ida' --tokens 60 >b && cmp a b &&
        [ "$(tr -d '\n' <a | cut -c1-11)" = 'Tom and Ida' ] && [ "$(wc -m <a)" -eq 72 ] &&
        "$qkv" sample run --prompt 'Tom and Ida' --tokens 60 --seed 2 >b && ! cmp -s a b
}
# Temperature 0 and the likeliest alone are one and the same; 0 tokens add nothing.
greedy() {
    "$qkv" sample run --prompt Tom --tokens 30 --temperature 0 >a &&
        "$qkv" sample run --prompt Tom --tokens 30 --top-k 1 >b && cmp a b &&
        [ "$("$qkv" sample run --prompt Tom --tokens 0)" = Tom ]
}
# A run without a prompt begins as its text does.
begins() { "$qkv" sample run --tokens 5 >a && [ "$(head -c 1 a)" = T ] && [ "$(wc -m <a)" -eq 7 ]; }
json() {
    "$qkv" sample run --prompt Tom --tokens 9 --json >a && [ "$(wc -l <a)" -eq 1 ] &&
        grep -q '"prompt":"Tom","text":"' a && [ "$(grep -o '"p":0\.' a | wc -l)" -eq 9 ]
}
units() {
    "$qkv" sample words --prompt 'the wheel, the' --tokens 20 >a && grep -q '^the wheel, the ' a &&
        "$qkv" sample bytes --tokens 300 --temperature 2 >a && iconv -f UTF-8 -t UTF-8 a >b && cmp a b &&
        "$qkv" sample bytes --tokens 300 --temperature 2 --json | grep -q '"text"'
}
earlier() {
    "$qkv" sample run --at 5 --prompt Tom --tokens 30 >a &&
        "$qkv" sample run --prompt Tom --tokens 30 >b && ! cmp -s a b
}
picture() {
    "$qkv" plot run --attention --prompt 'Ida sang' --format txt >out &&
        [ "$(wc -l <run/probe/example-0.csv)" -eq 65 ] && grep -q '"I"' run/probe/example-0.csv
}

# says WORDS COMMAND...: fails, and says why.
says() {
    words=$1
    shift
    ! "$qkv" "$@" >/dev/null 2>err && [ "$(wc -l <err)" -eq 1 ] && grep -q "$words" err ||
        { cat err; return 1; }
}
refused() {
    says "the character '@' does not occur" sample run --prompt 'T@m' &&
        says "the word 'Tomm' does not occur" sample words --prompt 'the Tomm' &&
        says 'the prompt has no words' sample words --prompt ' ' &&
        says 'no UTF-8' sample run --prompt "$(printf 'T\377m')" &&
        says "the task 'pairs' is no text" sample pairs &&
        says "the task 'pairs' takes no prompt" plot pairs --attention --prompt Tom &&
        says 'an example holds 16' plot run --attention --prompt 'The mice will be glad to hear it' &&
        says 'temperature: .-1. is not between' sample run --temperature -1 &&
        says 'one run directory is needed' sample
}

suite goes_on greedy begins json units earlier picture refused
