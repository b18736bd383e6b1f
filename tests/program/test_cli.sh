#!/bin/sh
# test_cli.sh - the program as a stranger meets it: help, mistakes, files, signals. QKV is its path.
# Reports in cmocka's words, so that run.sh can run it like any other test program.
. "$(dirname "$0")/../lib/program.sh" || exit 1
mkdir tmp || exit 1
TMPDIR=$dir/tmp
export TMPDIR
unset NO_COLOR QKV_PLUGINS

# ---- what the tests are written in; each says what it expected ----

# Names and contents of all files in a directory.
sum_of() { (cd "$1" && find . -type f -exec cksum {} + | sort); }
same_dir() { [ "$(sum_of "$1")" = "$2" ] || say "$1 has changed"; }
same_file() { cmp "$1" "$2" || say "$1 and $2 differ"; }

# metrics.csv without its last column, the wall clock.
metrics() { sed 's/,[^,]*$//' "$1/metrics.csv"; }
same_metrics() { [ "$(metrics "$1")" = "$(metrics "$2")" ] || say "metrics of $1 and $2 differ"; }
absent() { [ ! -e "$1" ] || say "$1 is there"; }

# A short run in directory $1: train DIR STEPS MORE...
train() {
    where=$1 steps=$2
    shift 2
    ran 0 train --out "$where" --steps "$steps" --d-model 8 --quiet "$@"
}

# ---- the tests ----

help_names_options() {
    ran 0 --help && grep -q '  qkv train ' out && ran 0 -h && ran 0 help || return 1
    ran 2 && grep -q '  qkv train ' out || return 1
    ran 0 --help
    for command in $(sed -n 's/^  qkv \([a-z]*\) .*/\1/p' out); do
        ran 0 $command --help && [ ! -s err ] && grep -q "^usage: qkv $command" out || return 1
        ran 0 $command -h || return 1
    done
    ran 0 train --help
    for option in task pairs heads d-model lr steps seed residual out force resume config json; do
        grep -q -E -e "^  --(\[no-\])?$option " out || { say "no --$option in the help"; return 1; }
    done
    ran 0 eval --help && grep -q -e --examples out && ran 0 plot --help && grep -q -e --format out
}

version() {
    ran 0 --version && grep -q '^qkv [0-9]' out && [ "$(wc -l <out)" -eq 1 ]
}

lists() {
    ran 0 list tasks && grep -q '^pairs ' out && ran 0 list ops && grep -q '^softmax ' out &&
        ran 0 list layers && grep -q '^attention ' out && ran 0 list plots && grep -q '^loss ' out
}

unknown_names_are_suggested() {
    refused 2 "did you mean 'train'" trian &&
        refused 2 "'conjure'" conjure &&
        refused 2 "did you mean '--steps'" train --stepz 5 &&
        refused 2 "'--conjure'" train --conjure=7 &&
        refused 2 "'-q'" train -q &&
        refused 2 "did you mean 'loss'" plot --only los x &&
        refused 2 "'conjure'" plot --only conjure x &&
        refused 2 "--format: 'gif'" plot --format gif x &&
        refused 2 "did you mean 'ops'" list opps &&
        refused 2 "did you mean 'softmax'" gradcheck softmx &&
        refused 2 "'pears'" train --task pears &&
        refused 2 "--optimizer: 'adamm'" train --optimizer adamm
}

# None of these may make a directory.
bad_values_are_usage_errors() {
    for value in 10abc '' ' 5' 5.5 nan -1 1e3 0x10 99999999999999999999; do
        refused 2 --steps train --out never --steps "$value" || return 1
    done
    for value in nan inf -inf 1e999 '' 1,5 -1 0x1p3 3.x; do
        refused 2 --lr train --out never --lr "$value" || return 1
    done
    refused 2 "3 heads" train --out never --heads 3 &&
        refused 2 "32 pairs" train --out never --pairs 32 &&
        refused 2 "--steps" train --out never --steps &&
        refused 2 "--json" train --out never --json=5 &&
        refused 2 "--self" train --out never --self=no &&
        refused 2 "--keep: 1" train --out never --keep 1 &&
        refused 2 "--keep belongs to --save-every" train --out never --keep 5 &&
        refused 2 "--threads: 'x'" train --out never --threads x &&
        refused 2 "'operand'" train --out never operand &&
        refused 2 "--resume" train --resume &&
        refused 2 "--examples: 0" eval --examples 0 never &&
        refused 2 "run directory" eval &&
        refused 2 "run directory" plot &&
        refused 2 "tasks, ops" list &&
        absent never && absent runs
}

# What would do nothing is refused, and what it belongs to is named. None makes a directory.
idle_options_are_refused() {
    refused 2 "--form belongs to the task coref; pairs has --pairs, --keys, --values, --hold-out, --absent" \
        train --form 9 &&
        refused 2 "--pairs belongs to" train --task coref --pairs 5 &&
        refused 2 "--momentum belongs to --optimizer sgd" train --momentum 0.5 &&
        refused 2 "--beta1 belongs to --optimizer adam" train --optimizer sgd --beta1 0.5 &&
        refused 2 "--activation belongs to --d-ff" train --activation relu &&
        refused 2 "--mask belongs to attention within" train --task cross --mask full &&
        refused 2 "'bogus'" data pairs --split bogus &&
        refused 2 "holds nothing out" data pairs --split heldout &&
        refused 2 "--n does nothing with --check" data pairs --check --n 3 &&
        refused 2 "--n: 0" data pairs --n 0 &&
        refused 2 "--batch does nothing with --gemm" bench --gemm --batch 3 &&
        refused 2 "--data belongs to" plot never --data dir &&
        refused 2 "--attention" plot never --example 3 &&
        refused 2 "ambiguous: --positions, --post-norm" train --pos none &&
        refused 2 "is not between" train --steps 99999999999999999999 &&
        absent runs && absent never &&
        ran 0 help train && grep -q -e --d-model out &&
        ran 0 train --task induction --help && grep -q 'default 2 for induction' out &&
        ran 0 train --task induction --steps 2 --out took && grep -q -e '--layers 2' out
}

# A check that finds nothing, and questions that training has shown.
few_examples_are_said() {
    ran 1 data pairs --pairs 1 --keys 2 --values 2 --check && grep -q 'fewer examples' out &&
        ran 0 data coref --check && grep -q 'sound, but 5' out &&
        ran 0 data pairs --check && grep -q 'verdict *sound$' out &&
        ran 0 train --pairs 1 --keys 2 --values 2 --steps 5 --out few &&
        tr -s '\n ' '  ' <out | grep -q '100.0 % were shown in training'
}

# Answers that are vectors, or several: words and levels of their own.
other_answers_have_other_words() {
    ran 0 train --task recall --steps 5 --out vector && grep -q 'squared error' out && ! grep -q nan out &&
        ran 0 eval vector --examples 50 && grep -q 'squared error' out &&
        ran 0 eval vector --examples 50 --json && grep -q '"accuracy":null' out &&
        grep -q 'squared error' vector/levels.csv &&
        ran 0 train --task set3 --steps 5 --out three --quiet &&
        grep -q '^8.3177.*3 ln 16' three/levels.csv &&
        ran 0 show three --answer both && grep -q 'Answer (both)' out &&
        refused 2 "only_a, only_b, both" show three --answer nothing &&
        ran 0 train --task cross --readout vector --steps 300 --out cross --json &&
        awk -F'"answer_attention":' '{ exit !($2 + 0 > 0.5) }' out
}

summary_is_json() {
    ran 0 train --out json --steps 20 --json || return 1
    [ ! -s err ] && [ "$(wc -l <out)" -eq 1 ] || { say "more than one line of JSON"; return 1; }
    for key in accuracy loss answer_attention in_context qk_diag qk_margin qk_ratio ov_diag ov_margin \
        ov_ratio steps99 steps seconds run; do
        grep -q "[{,]\"$key\":" out || { say "no $key in the JSON"; return 1; }
    done
    grep -q '"run":"json"' out && grep -q '"steps":20,' out || return 1
    ran 0 eval json --examples 50 --json && [ ! -s err ] && [ "$(wc -l <out)" -eq 1 ] || return 1
    command -v python3 >/dev/null || return 0 # grep has to do
    python3 -c 'import json; json.load(open("out")); json.load(open("json/config.json"))' ||
        say "python3 does not read the JSON"
}

output_to_a_file_is_plain() {
    ran 0 train --out plain --steps 20 && [ ! -s err ] && grep -q 'The run is in plain' out || return 1
    [ "$(cat out err | tr -dc '\033\r' | wc -c)" -eq 0 ] || { say "ESC or CR in a file"; return 1; }
    train quiet 2 && [ ! -s out ] && [ ! -s err ] || { say "--quiet is not quiet"; return 1; }
    ran 0 eval plain --examples 50 && [ ! -s err ] && ! tr -dc '\033\r' <out | grep -q .
}

a_directory_with_a_run_is_left_alone() {
    train kept 3 || return 1
    before=$(sum_of kept)
    refused 1 "'kept' is not empty" train --out kept --steps 5 && same_dir kept "$before" || return 1
    mkdir other && echo mine >other/file
    refused 1 "'other' is not empty" train --out other --steps 5 || return 1
    [ "$(ls -A other)" = file ] || { say "other has new files"; return 1; }
    train kept 5 --force && [ -e kept/step-00000005.safetensors ] && absent kept/step-00000003.safetensors
}

what_cannot_be_written_is_said() {
    refused 1 "/dev/null/x" train --out /dev/null/x --steps 1 || return 1
    [ "$(id -u)" -eq 0 ] && return 0 # root may write anywhere
    mkdir closed && chmod a-w closed || return 1
    refused 1 closed train --out closed --steps 1 && refused 1 closed/new train --out closed/new --steps 1
}

a_full_disk_is_an_error() {
    [ -w /dev/full ] || cannot "no /dev/full" || return
    train full 2 || return 1
    for arguments in --version --help 'list ops' 'train --help' 'train --out full2 --steps 2 --json' \
        'eval full --examples 9' 'gradcheck add'; do
        "$QKV" $arguments >/dev/full 2>err && { say "qkv $arguments >/dev/full: exit 0"; return 1; }
        [ "$(wc -l <err)" -eq 1 ] || { say "qkv $arguments >/dev/full: not one line"; return 1; }
    done
}

a_closed_pipe_is_silent() {
    [ "$("$QKV" list ops 2>err | head -n 1 | wc -l)" -eq 1 ] && [ ! -s err ]
}

config_repeats_a_run() {
    train first 25 --heads 2 --dropout 0.1 --optimizer adamw --seed 7 --lr 0.0123 || return 1
    ran 0 train --config first/config.json --out second --quiet --threads 1 || return 1
    same_file first/step-00000025.safetensors second/step-00000025.safetensors &&
        same_file first/config.json second/config.json && same_metrics first second
}

options_win_over_a_config() {
    train base 2 --seed 7 || return 1
    ran 0 train --config base/config.json --seed 8 --out changed --quiet || return 1
    grep -q '"seed": 8,' changed/config.json && grep -q '"d_model": 8,' changed/config.json
}

a_finished_run_stays() {
    train done 12 || return 1
    before=$(sum_of done)
    ran 0 train --resume --out done && same_dir done "$before" && grep -q 'Nothing to do' out
}

# Waits for a run to have begun (at most 20 s).
await() {
    i=0
    until [ -e "$1" ]; do
        i=$((i + 1))
        [ $i -le 200 ] || { say "no $1"; return 1; }
        sleep 0.1
    done
}

# In two processes what one would have done. A shell's children in the background ignore SIGINT, so it is the
# sender that waits there.
# Where whoever started the tests ignores interrupts, so does the program: then it is told to end.
interrupt() {
    case $(sed -n 's/^SigIgn:.*\(.\)$/\1/p' /proc/self/status) in [2367abef]) echo TERM ;; *) echo INT ;; esac
}

an_interrupted_run_goes_on() {
    signal=$(interrupt)
    set -- --d-model 8 --dropout 0.1 --eval-every 1000 --quiet
    (await cut/metrics.csv; sleep 0.5; kill -"$signal" "$(cat pid)") &
    status=0 wanted=130
    sh -c 'echo $$ >pid; exec "$@"' sh "$QKV" train --out cut --steps 1000000 "$@" >out 2>err || status=$?
    [ "$signal" = INT ] || wanted=143
    [ $status -eq $wanted ] || { say "exit status after SIG$signal is $status"; return 1; }
    [ "$(wc -l <err)" -eq 1 ] && grep -q 'stopped after step [0-9]*; .*--resume' err || return 1
    n=$(sed 's/.*after step \([0-9]*\).*/\1/' err)
    more=$(((n + 1) / 2))
    [ $more -le 20 ] || more=20
    last=$((n + more))
    ran 0 train --resume --out cut --steps $last --quiet || return 1
    # it is saved at the same steps, so that the best of them is the same
    ran 0 train --out whole --steps $last --save-every "$n" "$@" || return 1
    file=$(printf 'step-%08d.safetensors' $last)
    same_file cut/"$file" whole/"$file" && same_metrics cut whole
}

one_run_in_a_directory_at_once() {
    "$QKV" train --out busy --steps 100000000 --d-model 8 --quiet >/dev/null 2>err1 &
    child=$!
    await busy/metrics.csv &&
        refused 1 "another run" train --out busy --resume --steps 5 &&
        refused 1 "another run" train --out busy --force --steps 5 || return 1
    kill -TERM $child
    ended 143 && grep -q 'stopped after' err1 && ls busy/step-*.safetensors >/dev/null
}

damaged_files_are_exit_3() {
    train damaged 4 && cp -r damaged torn && cp -r damaged odd || return 1
    echo '{"lr": 1' >damaged/config.json
    for command in 'eval damaged' 'train --resume --out damaged --steps 9' \
        'train --out fresh --config damaged/config.json'; do
        refused 3 damaged/config.json $command || return 1
    done
    echo '{"stepz": 5}' >odd/config.json
    refused 3 "'stepz'" eval odd || return 1
    for file in torn/*.safetensors; do
        head -c 900 "$file" >part && cat part >"$file"
    done
    before=$(sum_of torn)
    refused 3 damaged eval torn && ran 3 train --resume --out torn --steps 9 &&
        same_dir torn "$before" && absent fresh
}

missing_files_are_exit_1() {
    train whole_config 1 && mkdir bare && cp whole_config/config.json bare || return 1
    refused 1 "no directory 'nowhere'" eval nowhere && refused 1 nowhere plot nowhere &&
        refused 1 nowhere.json train --config nowhere.json --out never2 && absent never2 &&
        refused 1 "no checkpoint" eval bare
}

a_diverged_run_is_exit_4() {
    refused 4 "is not finite" train --out wild --optimizer sgd --lr 1e6 --d-model 8
}

no_gnuplot_is_exit_6() {
    train drawn 12 && mkdir nothing || return 1
    (PATH=$dir/nothing && export PATH && run plot drawn --only loss && exit "$status") || status=$?
    [ "$status" -eq 6 ] || say "exit status without gnuplot is not 6"
    [ "$(wc -l <err)" -eq 1 ] && grep -q gnuplot err && [ ! -s out ]
}

pictures_are_drawn() {
    needs gnuplot || return
    train pictured 12 && ran 0 plot pictured --only circuits && [ ! -s err ] || return 1
    grep -q '^pictured/plots/circuits\.' out && [ -s "$(cat out)" ]
}

gradients_are_checked_by_name() {
    ran 0 gradcheck add softmax && grep -q '^op *add .* ok$' out && grep -q '2 checked' out &&
        ran 0 gradcheck --json add && grep -q '"passed":true' out &&
        refused 2 "'conjure'" gradcheck add conjure
}

# After all of the above.
nothing_temporary_is_left() {
    [ -z "$(ls -A "$TMPDIR")" ] || { say "left in TMPDIR: $(ls -A "$TMPDIR")"; return 1; }
    left=$(find . -name '*.tmp' -o -name '.*' ! -name . ! -name .lock)
    [ -z "$left" ] || say "left: $left"
}

# ---- running them ----

tests="help_names_options version lists unknown_names_are_suggested bad_values_are_usage_errors
idle_options_are_refused few_examples_are_said other_answers_have_other_words
summary_is_json output_to_a_file_is_plain a_directory_with_a_run_is_left_alone
what_cannot_be_written_is_said a_full_disk_is_an_error a_closed_pipe_is_silent config_repeats_a_run
options_win_over_a_config a_finished_run_stays an_interrupted_run_goes_on
one_run_in_a_directory_at_once damaged_files_are_exit_3 missing_files_are_exit_1
a_diverged_run_is_exit_4 no_gnuplot_is_exit_6 pictures_are_drawn gradients_are_checked_by_name
nothing_temporary_is_left"
suite $tests
