#!/bin/sh
# test_sample.sh - qkv sample, and the attention of a prompt, as a user calls them. QKV is the program's path.
# Reports in cmocka's words, for run.sh.
qkv=${QKV:-build/qkv}
case $qkv in /*) ;; *) qkv=$PWD/$qkv ;; esac
text=$(cd "$(dirname "$0")/../.." && pwd)/examples/text.txt
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1
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

# What does not print is shown as what it is, and not as a question mark; running text stays text.
printf 'Tom\302\240? \\ "a" \t e\314\201 \327\251\342\200\217\n%.0s' $(seq 60) >odd.txt
train odd --data odd.txt --steps 20
shown() {
    "$qkv" show odd >out && "$qkv" patch odd >>out && "$qkv" plot odd --attention --format txt >/dev/null &&
        cat odd/plots/example.txt >>out && ! grep -q "$(printf '\302\240\|\342\200\217\|\t')" out || return 1
    for name in '?' '\u{a0}' '\t' '\n' '\u{200f}' '␣' '\' '"'; do
        grep -qF " $name " out || { echo "no $name"; return 1; }
    done
    grep -qF ' ◌' out && "$qkv" sample odd --prompt "$(printf 'Tom\302\240')" --tokens 200 >out &&
        grep -q "$(printf '\302\240')" out && grep -qF '\u{200f}' out &&
        ! grep -q "$(printf '\342\200\217')" out &&
        "$qkv" sample odd --tokens 200 --json >out && grep -qF '\u200F' out && ! grep -qF 'u{' out
}

# says WORDS COMMAND...: fails, and says why.
says() {
    words=$1
    shift
    ! "$qkv" "$@" >/dev/null 2>err && [ "$(wc -l <err)" -eq 1 ] && grep -q "$words" err ||
        { cat err; return 1; }
}
refused() {
    says "prompt, line 1, column 2: the character '@' does not occur" sample run --prompt 'T@m' &&
        says "prompt, line 2, column 3: the character '.t' does not occur" \
            sample run --prompt "$(printf 'Tom\nId\tx')" &&
        says "prompt, line 1, column 5: the word 'Tomm' does not occur" sample words --prompt 'the Tomm' &&
        says 'the prompt has no words' sample words --prompt ' ' &&
        says 'no UTF-8' sample run --prompt "$(printf 'T\377m')" &&
        says "the task 'pairs' is no text" sample pairs &&
        says "the task 'pairs' takes no prompt" plot pairs --attention --prompt Tom &&
        says 'an example holds 16' plot run --attention --prompt 'The mice will be glad to hear it' &&
        says 'temperature: .-1. is not between' sample run --temperature -1 &&
        says 'one run directory is needed' sample
}

suite goes_on greedy begins json units earlier picture shown refused
