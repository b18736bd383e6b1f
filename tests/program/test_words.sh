#!/bin/sh
# test_words.sh - numbers that are to become words: odd runs, in which this or that is 0/0, through every
# command that looks at a run; nowhere stands "nan" or "inf", and where there is no number stands why.
# QKV is the program's path. Reports in cmocka's words, for run.sh.
qkv=${QKV:-build/qkv}
case $qkv in /*) ;; *) qkv=$PWD/$qkv ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1
cd "$dir" || exit 1
export LC_ALL=C

# run NAME OPTIONS...: trains, and keeps what was said in NAME.train.out; the same as JSON.
run() {
    name=$1
    shift
    "$qkv" train --threads 1 --steps 2 --batch 8 --out "$name" "$@" >"$name.train.out" 2>&1 &&
        "$qkv" train --threads 1 --steps 2 --batch 8 --out twice --force --json "$@" \
            >"$name.json.out" 2>&1 || { cat "$name".*.out; exit 1; }
}
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    echo 'the cat sat on the mat, the dog sat on the log, and that was all there was to it.'
done >text.txt
for a in a b c d; do
    for b in a b c d; do for c in a b c d; do echo "$a $b ; $c => $a"; done; done
done >lines.txt
sed 's/=> ./=> z/' lines.txt >nowhere.txt
text="--task text --data text.txt --time 8 --d-model 16 --d-ff 0 --layers 1 --heads 1"
run zero --scale zero
run still --init-gain 0 --embed-std 0
run begun --steps 0
run nothing --steps 0 --init-gain 0 --embed-std 0
run vector --readout vector
run recall --task recall --scale zero
run induction --task induction --readout vector
run text $text
run chars $text --readout vector
run lines --task file --data lines.txt --scale zero --init-gain 0
run nowhere --task file --data nowhere.txt
run absent --absent 1
run coref --task coref --steps 0 --init-gain 0 --embed-std 0
run recurrent --block recurrent
runs='zero still begun nothing vector recall induction text chars lines nowhere absent coref recurrent'

# looks RUN COMMAND...: what it says, and that it did not die of it; a refusal has a reason.
looks() {
    at=$1
    shift
    status=0
    "$qkv" "$@" >said 2>&1 || status=$?
    cp said "$at.$(echo "$*" | tr ' /' '__').out"
    [ $status -le 1 ] || { cat said; say "qkv $*: exit $status"; }
    [ -s said ] || say "qkv $*: exit $status without a word"
}
look_at() {
    for n in $runs; do
        for command; do looks "$n" ${command%% *} "$n" $(echo "$command " | cut -d' ' -f2-); done
    done
}

# clean FILE...: no number that is none. Of a picture, what stands in it; not its name of a curve, which
# is gnuplot's own text.
clean() {
    [ -e "$1" ] || say "there is no $1"
    if sed 's/<title>[^<]*//' "$@" | grep -niE '(^|[^a-z])[-+]?(nan|inf)([^a-z]|$)'; then say "in $*"; fi
}

summaries() { clean ./*.train.out ./*.json.out; }
tables() {
    look_at eval 'eval --examples 1' heads 'heads --examples 2 --no-ablation' patch \
        'patch --clean 0 --other 0' show 'show --change 0,1' info 'sample --tokens 4'
    clean ./*.eval* ./*.heads* ./*.patch* ./*.show* ./*.info* ./*.sample*
}
json() {
    needs python3 || return
    look_at 'eval --json' 'heads --json' 'patch --json' 'info --json' 'sample --json --tokens 4'
    for n in ./*.json.out ./*--json*.out; do
        if grep -q '^qkv' "$n"; then continue; fi # a refusal
        grep '^{' "$n" >one || say "no JSON in $n: $(cat "$n")"
        python3 -c 'import json, sys
json.loads(open("one").read(), parse_constant=lambda x: sys.exit(x))' || say "in $n"
    done
    clean ./*--json*.out
}
maps() {
    look_at 'plot --format txt' 'export --csv exported --force'
    clean ./*.plot* ./*/probe/qk_*.csv ./*/probe/ov_*.csv ./*/probe/attention*.csv ./*/levels.csv
    clean exported/*/*.csv
}
pictures() {
    needs gnuplot || return
    for n in zero still nothing vector; do
        "$qkv" plot $n --format svg >drawn 2>&1 || { cat drawn; say "$n"; }
        clean $n/plots/*.svg
    done
    [ -e still/plots/circuits.svg ]
    clean still/plots/circuits.csv
}

# ---- what is said instead ----

has() { grep -qF -e "$2" "$1" || { cat "$1"; say "no '$2' in $1"; }; }
lacks() { if grep -niE -e "$2" "$1"; then say "'$2' in $1"; fi; }

reasons() {
    tr -s ' \n' ' ' <zero.train.out >one
    has one 'no key changes a score: there is nothing to compare values with'
    tr -s ' \n' ' ' <still.train.out >one
    has one 'no value changes an answer: there is nothing to compare keys with'
    has zero/probe/qk_value-after.csv 'beside it nothing varies'
    "$qkv" heads vector >said
    has said 'held-out examples: squared error '
    "$qkv" eval absent >said
    has said 'Nothing is swapped: no example stores both what it asks for and a second entry'
}
a_text_in_vectors() {
    tr -s ' \n' ' ' <chars.train.out >one
    has one 'the squared error of the answers to fresh questions is '
    lacks one "nats|bits|predicted"
    "$qkv" eval chars >said
    has said 'squared error '
    lacks said "nats|bits|%"
    "$qkv" eval chars --json >said
    lacks said bits
    lacks chars/levels.csv nats
}
# Logits that are all 0 leave no way from one example to the other.
no_difference() {
    status=0
    "$qkv" patch nothing >said 2>&1 || status=$?
    [ $status -eq 1 ]
    has said 'is 0 on both examples, so no part can lead back'
    [ "$(wc -l <said)" -eq 1 ]
}

suite summaries tables json maps pictures reasons a_text_in_vectors no_difference
