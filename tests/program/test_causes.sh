#!/bin/sh
# test_causes.sh - what a message names is the cause, and its place: each file of a run gone, empty, a
# directory, unreadable, or as an editor leaves it; plugins that lack something or say nothing; options
# that do not go together. QKV is the program's path; run from the root of the tree. Reports in cmocka's
# words, for run.sh.
root=$PWD
qkv=${QKV:-$root/build/qkv}
case $qkv in /*) ;; *) qkv=$root/$qkv ;; esac
dir=$(mktemp -d) || exit 1
trap 'chmod -R u+rwx "$dir"; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1
examples=$root/examples
cd "$dir" || exit 1
export LC_ALL=C

"$qkv" train --quiet --steps 20 --save-every 10 --out whole || exit 1

# gives CODE ARGUMENTS...: runs the program; stderr is in `err`, and is one line where it failed.
gives() {
    expected=$1 status=0
    shift
    "$qkv" "$@" >out 2>err </dev/null || status=$?
    [ $status -eq "$expected" ] || { cat err; say "qkv $*: exit $status, not $expected"; }
    [ $status -eq 0 ] || [ "$(grep -c '^qkv [a-z]*: [^ ]' err)" -eq 1 ] || say "qkv $*: $(cat err)"
}
has() { grep -qF -e "$1" err || say "no '$1' in: $(cat err)"; }

# every CODE WORDS: all that look at the run `r` end so, and say so.
every() {
    for command in eval heads probe patch show info 'plot --attention' 'plot --animate --frames 2' \
        'export --csv e --force'; do
        gives "$1" ${command%% *} r $(echo "$command " | cut -d' ' -f2-)
        [ "$1" -eq 0 ] || has "$2"
    done
}
resume() { gives "$1" train --resume --quiet --steps 30 --out r; }
fresh() { rm -rf r; cp -r whole r; }

# ---- the files of a run ----

no_run() {
    mkdir -p empty
    : >file
    for command in eval heads probe patch show info plot 'plot --attention' 'train --resume --out' \
        'train --quiet --from'; do
        gives 1 $command gone
        has "there is no directory 'gone'"
        gives 1 $command empty
        has "'empty' holds no run: config.json is missing"
        gives 1 $command file
        has "'file' is a file; a run is a directory"
    done
}
config() {
    fresh && rm r/config.json
    every 1 "'r' holds no run: config.json is missing"
    resume 1 && has "'r' holds no run: config.json is missing"
    : >r/config.json
    every 3 "'r/config.json': the file is empty"
    resume 3 && has "'r/config.json': the file is empty"
    gives 3 train --quiet --from r --steps 30 --out from
    has "'r/config.json': the file is empty"
    { printf '\377\376' && cat whole/config.json; } >r/config.json
    every 3 "'r/config.json': the file is encoded as UTF-16"
    rm r/config.json && mkdir r/config.json
    every 1 "cannot read 'r/config.json': Is a directory"
    resume 1 && has "cannot read 'r/config.json': Is a directory"
}
metrics() {
    fresh && rm r/metrics.csv
    every 0
    gives 1 plot r
    has "cannot read 'r/metrics.csv': No such file or directory"
    resume 3 && has "'r/metrics.csv' is missing"
    : >r/metrics.csv
    gives 3 plot r --only loss
    has "'r/metrics.csv' is empty"
    resume 3 && has "'r/metrics.csv' is damaged: it is empty"
    printf 'step' >r/metrics.csv
    resume 3 && has "'r/metrics.csv' is damaged: its header has no end"
    rm r/metrics.csv && mkdir r/metrics.csv
    resume 1 && has "cannot read 'r/metrics.csv': Is a directory"
    printf '<script type="application/json" id="run">null</script>\n' >page.html
    gives 1 view r --page page.html
    has "cannot read 'r/metrics.csv': Is a directory"
    rmdir r/metrics.csv && printf '\377' >r/metrics.csv
    gives 1 view r --page page.html
    has "'r/metrics.csv' is no UTF-8 text"
    sed 's/^step/stop/' whole/metrics.csv >other
    mv other r/metrics.csv
    resume 3 && has 'its first line does not name the columns of this run'
    gives 3 plot r --only loss
    has "'r/metrics.csv' has no column named step"
}
levels() {
    fresh && : >r/levels.csv
    gives 3 plot r --only loss
    has "'r/levels.csv' is empty"
    printf 'loss,accuracy,label,measure\n1,0.5' >r/levels.csv
    gives 3 plot r --only loss
    has "'r/levels.csv' ends within a row"
}
checkpoints() {
    fresh && rm r/step-*
    for command in eval heads probe patch show; do
        gives 1 $command r
        has "there is no checkpoint in 'r'"
    done
    fresh && : >r/step-00000020.safetensors && : >r/step-00000010.safetensors
    every 3 "safetensors' is damaged: 0 bytes are no safetensors file"
    fresh && rm r/step-00000020.safetensors && mkdir r/step-00000020.safetensors
    every 1 "cannot read 'r/step-00000020.safetensors': Is a directory"
    fresh && rm r/best.safetensors
    resume 3 && has "cannot open 'r/best.safetensors': No such file or directory"
}
unreadable() {
    [ "$(id -u)" -ne 0 ] || { cannot 'nothing is unreadable for root'; return; }
    for file in config.json metrics.csv step-00000020.safetensors; do
        fresh && chmod 0 r/$file
        resume 1 && has "cannot open 'r/$file': Permission denied"
    done
}

# A byte order mark, line ends of Windows, and a last line without end are no damage: the run goes on to
# the same end.
editors() {
    needs gnuplot || return
    fresh && resume 0
    cp r/step-00000030.safetensors want
    for file in config.json metrics.csv clock.csv levels.csv; do
        for edit in mark ends last; do
            fresh
            case $edit in
                mark) { printf '\357\273\277' && cat whole/$file; } >r/$file ;;
                ends) sed 's/$/\r/' whole/$file >r/$file ;;
                last) head -c -1 whole/$file >r/$file ;;
            esac
            if cmp -s whole/$file r/$file; then say "$file is as it was"; fi
            gives 0 eval r
            gives 0 plot r --only loss
            resume 0
            cmp want r/step-00000030.safetensors || say "$file, $edit"
            cmp whole/levels.csv r/levels.csv
        done
    done
    { printf '\357\273\277' && cat whole/config.json; } >marked.json
    gives 0 train --quiet --config marked.json --steps 1 --out marked --force
    printf '\357\273\277{"seeds": 1}' >study.json
    gives 2 study study.json
    has "'study.json': "
    if grep -q "'\[' or '{' expected" err; then say "the mark is no text: $(cat err)"; fi
}

# ---- plugins ----

# edited FILE SCRIPT: an example with something changed, as plugin.c.
edited() {
    sed "$2" "$examples/$1" >plugin.c
    if cmp -s "$examples/$1" plugin.c; then say "the script found nothing in $1"; fi
}
# header: what begins a plugin's file
header() { printf '#include "autograd/op.h"\n#include "train/config/plugin.h"\n'; }
plugin() { echo "const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), $1};"; }

members() {
    { header && echo 'static bool shape(ag_node *n) { return n != 0; }
static const ag_op half = {.name = "half", .shape = shape}, *const ops[] = {&half, 0};' &&
        plugin '.ops = ops'; } >plugin.c
    gives 1 gradcheck --plugin plugin.c
    has "the op 'half' lacks forward, backward, sample"
    { header && echo 'static const ag_op none = {0}, *const ops[] = {&none, 0};' &&
        plugin '.ops = ops'; } >plugin.c
    gives 1 gradcheck --plugin plugin.c
    has 'the op number 0 lacks name, shape, forward, backward, sample'
    { header && echo 'static const data_task t = {.name = "hollow"}, *const tasks[] = {&t, 0};' &&
        plugin '.tasks = tasks'; } >plugin.c
    gives 1 train --plugin plugin.c --task hollow
    has "the task 'hollow' lacks configure, example"
    { header && echo 'static const qkv_config_plugin_block blocks[] = {{.name = "hole"}, {0}};' &&
        plugin '.blocks = blocks'; } >plugin.c
    gives 1 train --plugin plugin.c --block hole
    has "the block 'hole' lacks block"
}
targets() {
    edited successor.c 's/out->target\[0\]\[n\] = value\[t\];//'
    gives 2 train --plugin plugin.c --task successor --out never
    has 'an example asks nothing: none of its positions has a target'
    edited successor.c 's/out->target\[0\]\[n\] = value\[t\];/if (t) &/'
    gives 2 train --plugin plugin.c --task successor --out sometimes
    has 'an example asks nothing: none of its positions has a target'
    edited successor.c 's/out->target\[0\]\[n\] = value\[t\];/& out->target[0][0] = value[t];/'
    gives 2 train --plugin plugin.c --task successor --out more
    has 'targets at more positions than spec->scored'
}
silent() {
    edited successor.c 's/if (!data_pairs_fit(.*/(void)error, (void)size; if (o->pairs > 7) return false;/'
    gives 2 train --plugin plugin.c --task successor --pairs 8 --out silent
    has "the task 'successor' refuses its options without a reason"
    edited linear_attention.c 's/if (memory) return .*/return ag_fail_graph(g, "%s", "");/'
    gives 2 train --plugin plugin.c --block linear_attention --out silent
    has 'an error was raised without a reason'
}
nodes() {
    edited linear_attention.c 's/\.attn\.k"/.attn.key"/; s/\.attn\.v"/.attn.value"/'
    gives 0 train --quiet --plugin plugin.c --block linear_attention --steps 2 --out unnamed
    gives 0 eval unnamed --plugin plugin.c
    grep -qF "Nothing is swapped: the block has no node 'layer0.attn.k' [B,S,G*E]" out
    for command in heads patch; do
        gives 1 $command unnamed --plugin plugin.c
        has "no layer of the block 'linear_attention' has attention that can be looked at: the nodes"
    done
    gives 1 show unnamed --plugin plugin.c
    has "the block has no node 'layer0.attn.k'"
}

# ---- options ----

ties() {
    gives 2 train --task position --tie-unembedding --out tied
    has "--tie-unembedding: the task 'position' has 32 answers 'place', and an embedding of 8"
    gives 2 train --task coref --tie-unembedding --out tied
    has "the task 'coref' answers with a 'colour' and embeds none"
    gives 2 train --task two --tie-unembedding --readout local --out tied
    has '--readout local an answer reads 16 of that'
    gives 0 train --task two --tie-unembedding --steps 1 --quiet --out tied
}
# A run of no steps takes its schedule's length from the steps that it is given.
schedules() {
    for schedule in cosine linear wsd; do
        gives 0 train --quiet --steps 0 --schedule $schedule --out later --force
        gives 0 train --quiet --resume --steps 12 --out later
        gives 0 train --quiet --steps 12 --schedule $schedule --out at_once --force
        cmp later/step-00000012.safetensors at_once/step-00000012.safetensors
        gives 0 train --quiet --resume --steps 14 --out later
    done
    sed 's/"schedule_steps": 12/"schedule_steps": 13/' later/config.json >edited.json
    mv edited.json later/config.json
    gives 3 train --resume --steps 20 --out later
    has "was trained with --schedule-steps 12, and the run's options now say 13"
}
data() {
    : >nothing.txt
    for unit in characters bytes words; do
        gives 2 train --task text --data nothing.txt --unit $unit --out data
        has 'nothing.txt: the file is empty'
    done
}

suite no_run config metrics levels checkpoints unreadable editors members targets silent nodes ties \
    schedules data
