#!/bin/sh
# test_plugin.sh - plugins as people write them: good ones, broken ones, and file names that were
# meant to do harm. What a broken plugin gives is one sentence and the right exit code, and
# nothing stays behind. QKV is the program's path; run from the root of the tree. Reports in
# cmocka's words, for run.sh.
root=$PWD
qkv=${QKV:-$root/build/qkv}
case $qkv in /*) ;; *) qkv=$root/$qkv ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1
examples=$root/examples
export LC_ALL=C

echo "registered $(grep -c '^try ' "$0")"

# try NAME: runs the function of that name in a directory of its own, under `set -e`; it fails by
# returning anything but 0.
try() {
    name=$1
    mkdir "$dir/$name"
    echo "[ RUN      ] $name"
    (set -e; cd "$dir/$name"; "$name") >"$dir/said" 2>&1
    status=$?
    [ $status -eq 0 ] || sed 's/^/    /' "$dir/said"
    verdict "$name" $status
}

# gives CODE ARGUMENTS...: runs the program, leaves `out` and `err`.
gives() {
    expected=$1 status=0
    shift
    "$qkv" "$@" >out 2>err </dev/null || status=$?
    [ $status -eq "$expected" ] && return
    echo "qkv $*: exit $status, expected $expected"
    cat out err
    return 1
}

# says TEXT: a line of the messages begins with "qkv" and has TEXT in it; it is the only line
# unless the compiler spoke.
says() {
    grep '^qkv' err >line || true
    [ "$(wc -l <line)" -eq 1 ] && grep -qF -e "$1" line && return
    echo "no single line with '$1':"
    cat err
    return 1
}
alone() { [ "$(wc -l <err)" -eq 1 ] || { echo "not one line:"; cat err; return 1; }; }

# prints TEXT: somewhere on the standard output.
prints() { grep -qF -e "$1" out || { echo "no '$1' in:"; cat out; return 1; }; }

# edited FILE SCRIPT: an example with one thing changed, as plugin.c; the change must have found
# its place.
edited() {
    sed "$2" "$examples/$1" >plugin.c
    ! cmp -s "$examples/$1" plugin.c
}

# A block around EXPRESSION, which may use x, name and c.
block() {
    cat >plugin.c <<END
#include "autograd/op.h"
#include "train/config/plugin.h"
static ag_node *own(ag_node *x, ag_node *memory, const char *name, const nn_model_config *c) {
    (void)memory, (void)name, (void)c;
    return $1;
}
static ag_node *sample(ag_graph *g, int i) {
    nn_model_config c = {.d_model = 4, .init = {.gain = 1}};
    return i ? NULL : own(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(3, 2, 3, 4)), NULL, "layer0", &c);
}
static const qkv_config_plugin_block blocks[] = {{"own", "a block", own, sample}, {NULL, NULL, NULL, NULL}};
const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), .blocks = blocks};
END
}

# ---- good ones -----------------------------------------------------------------------------------

op_is_checked() {
    gives 0 gradcheck --plugin "$examples/square.c" square
    grep -q '^op  *square  *10  *134 .* ok$' out
}

block_is_checked() {
    gives 0 gradcheck --plugin "$examples/linear_attention.c" linear_attention
    grep -q '^block  *linear_attention .* ok$' out
}

block_is_trained_and_looked_at() {
    block=linear_attention
    gives 0 train --plugin "$examples/$block.c" --block $block --steps 200 --out run --json
    [ -s run/probe/attention-after.csv ]
    gives 0 eval run --plugin "$examples/$block.c" --examples 100
    prints 'attention on the answer'
    prints 'keys of t and j swapped'
    gives 0 plot run --only attention --format txt
    prints 'attention-after'
}

task_is_learned() {
    gives 0 train --plugin "$examples/successor.c" --task successor --steps 300 --out run
    grep -Eq '(99|100)\.[0-9] % of the answers' out
    prints '12 of 12'
    gives 0 data successor --plugin "$examples/successor.c" --check
}

# Task and block of one plugin, stopped and gone on with: the same bits as in one go.
run_is_resumed() {
    cat >both.c <<END
#define qkv_plugin months_plugin
#include "$examples/successor.c"
#undef qkv_plugin
#define qkv_plugin linear_plugin
#include "$examples/linear_attention.c"
#undef qkv_plugin
const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), .blocks = blocks, .tasks = tasks};
END
    set -- train --plugin both.c --task successor --block linear_attention --quiet
    gives 0 "$@" --steps 20 --out whole
    gives 0 "$@" --steps 10 --out parts
    gives 2 train --steps 20 --out parts --resume
    says 'a plugin'
    gives 0 train --plugin both.c --steps 20 --out parts --resume --quiet
    cmp whole/step-00000020.safetensors parts/step-00000020.safetensors
}

# A task's own options: in the help, on the command line in any place, in config.json and back.
options_of_a_task() {
    sed -e 's/bool hold_out;/bool hold_out; double share; int way; char place[32];/
s/^    DATA_END,/    DATA_REAL(options, share, "share", 0.5, 0, 1, "a share"),\
    DATA_CHOICE(options, way, "way", "down", "up|down", "a way"),\
    DATA_TEXT(options, place, "place-where", "here", "FILE", "a place"),\
    DATA_END,/
s/data_task_pairs/own/; s/^const data_task/static &/; s/"pairs", *\.sum/"own", .sum/; s/= "pairs",/= "own",/
s/"pairs: n/"n/; s/steps=/steps=/' "$root/data/pairs.c" >plugin.c
    cat >>plugin.c <<'END'
#include "train/config/plugin.h"
static const data_task *const tasks[] = {&own, NULL};
const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), .tasks = tasks};
END
    gives 0 train --help --task own --plugin plugin.c
    prints '--share X'
    prints '--way up|down'
    prints '--place-where FILE'
    prints '--[no-]hold-out'
    prints '(default here)'
    prints '(default down)'
    prints '(default 0.5)'
    gives 0 train --way up --steps 2 --place-where there --share 0.1 --hold-out --task own \
        --plugin plugin.c --quiet --out run --pairs 3
    grep -q '"way": "up"' run/config.json
    grep -q '"place": "there"' run/config.json
    grep -q '"share": 0.1,' run/config.json
    grep -q '"hold_out": true' run/config.json
    gives 0 train --plugin plugin.c --resume --out run --steps 4 --quiet
    gives 0 train --plugin plugin.c --config run/config.json --out run2 --quiet
    cmp run/step-00000004.safetensors run2/step-00000004.safetensors
    gives 0 info run --plugin plugin.c
    prints '--place-where there'
    gives 2 train --plugin plugin.c --task own --way sideways
    says "--way: 'sideways' is none of up|down"
    alone
    gives 2 train --plugin plugin.c --way up
    says '--way belongs to the task own; pairs has'
    alone
    gives 0 data own --plugin plugin.c --way up --pairs 3
    sed 's/"share", 0.5/"lr", 0.5/; s/share/lr/g' plugin.c >clash.c
    gives 1 data own --plugin clash.c
    says '--lr is an option of every run'
}

# What an author forgets: scratch that is used and not asked for, a source that is no position.
task_writes_where_it_may_not() {
    edited successor.c '/s->scratch = /d'
    gives 2 train --plugin plugin.c --task successor --steps 2
    says 'uses more scratch memory than it asks for'
    alone
    gives 2 data successor --plugin plugin.c
    says 'scratch'
    alone
    edited successor.c 's/source\[0\]\[n\] = t/source[0][n] = 999/'
    gives 2 train --plugin plugin.c --task successor --steps 2
    says 'no position of the store'
    alone
    edited successor.c 's/target\[0\]\[n\] = value\[t\]/target[0][n + 1] = value[t]/'
    gives 2 train --plugin plugin.c --task successor --steps 2
    says 'beyond the positions of the sequence'
    alone
    [ ! -e runs ]
}

# The compiled object lies in TMPDIR.
temporary_directory() {
    mkdir own
    TMPDIR=$PWD/own gives 0 gradcheck --plugin "$examples/square.c" square
    [ -z "$(ls own)" ]
    TMPDIR=$PWD/none gives 1 train --plugin "$examples/square.c" --steps 1
    says "none': No such file"
    says TMPDIR
    alone
}

# Two plugins: what both have, side by side; the same name twice is refused.
two_plugins() {
    gives 0 train --plugin "$examples/successor.c" --plugin "$examples/linear_attention.c" \
        --task successor --block linear_attention --steps 2 --out run --quiet
    gives 0 eval run --plugin "$examples/linear_attention.c" --plugin "$examples/successor.c" \
        --examples 20
    gives 2 train --plugin "$examples/successor.c" --plugin "$examples/successor.c" --steps 1
    says "there is a 'successor' of a plugin already"
    alone
}

shared_object() {
    "${CC:-cc}" -shared -fPIC -I"$root" "$examples/successor.c" -o months.so
    gives 0 train --plugin months.so --task successor --steps 2 --out run --quiet
    gives 0 train --plugin ./months.so --task successor --steps 2 --out run2 --quiet
}

empty_plugin() {
    echo '#include "train/config/plugin.h"
const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real)};' >plugin.c
    gives 0 train --plugin plugin.c --steps 1 --out run --quiet
    gives 0 gradcheck --plugin plugin.c add
}

# ---- no plugins ----------------------------------------------------------------------------------

missing_file() {
    gives 1 train --plugin none.c --steps 1
    says "'none.c': No such file"
    alone
    gives 1 gradcheck --plugin none.so
    says "'none.so': No such file"
    alone
    gives 1 train --plugin '' --steps 1
    says 'No such file'
    alone
    [ ! -e runs ]
}

no_symbol() {
    echo 'int x;' >plugin.c
    gives 1 train --plugin plugin.c --steps 1
    says 'it defines no qkv_plugin'
    alone
}

no_object() {
    echo 'text' >plugin.so
    gives 1 train --plugin plugin.so --steps 1
    says 'plugin.so'
    alone
    mkdir directory.so
    gives 1 train --plugin directory.so --steps 1
    alone
}

other_version() {
    edited square.c 's/{QKV_CONFIG_PLUGIN_ABI,/{QKV_CONFIG_PLUGIN_ABI + 1,/'
    gives 1 gradcheck --plugin plugin.c square
    says 'version'
    alone
}

other_precision() {
    "${CC:-cc}" -shared -fPIC -I"$root" "$examples/square.c" -o plugin.so
    gives 1 gradcheck --plugin plugin.so square
    says 'another precision'
    alone
    says '-DQKV_DOUBLE'
}

does_not_compile() {
    echo 'int f( {' >plugin.c
    gives 1 train --plugin plugin.c --steps 1
    says "'plugin.c' does not compile"
    grep -q 'plugin\.c:1:' err
    CC=no-such-compiler gives 1 train --plugin plugin.c --steps 1
    says 'no-such-compiler'
    alone
}

# ---- file names ----------------------------------------------------------------------------------

hostile_names() {
    mkdir elsewhere "a directory"
    newline='
'
    for file in 'two words.c' "quo'te.c" 'quo"te.c' '$(touch harm).c' '`touch harm`.c' \
        ';touch harm;.c' '-o.c' '--help.c' '*.c' '%s%n.c' 'a directory/x.c' \
        '-Delsewhere.c' '@harm.c'; do
        cp "$examples/square.c" "./$file"
        gives 0 gradcheck --plugin "$file" square
        prints '0 wrong'
        gives 0 gradcheck "--plugin=$file" square
        prints '0 wrong'
        rm "./$file"
        gives 1 gradcheck --plugin "$file" square
        alone
    done
    cp "$examples/square.c" "./new${newline}line.c"  # a compiler would print it as it is
    gives 1 gradcheck --plugin "new${newline}line.c" square
    alone
    [ ! -e harm ] && [ -z "$(ls elsewhere)" ]
}

# The compiler notes what it is to write: neither that nor its directory is there afterwards.
nothing_stays_behind() {
    cat >compiler <<'END'
#!/bin/sh
for word; do
    [ "$before" != -o ] || echo "$word" >>"$NOTES"
    before=$word
done
exec "$REAL_CC" "$@"
END
    chmod +x compiler
    NOTES=$PWD/notes REAL_CC=${CC:-cc} CC=$PWD/compiler
    export NOTES REAL_CC CC
    gives 0 gradcheck --plugin "$examples/square.c" square
    edited square.c 's/real/rael/'
    gives 1 gradcheck --plugin plugin.c square
    [ "$(wc -l <notes)" -eq 2 ]
    while read -r object; do
        [ ! -e "$(dirname "$object")" ] || { echo "$object stays"; return 1; }
    done <notes
}

# ---- wrong ones ----------------------------------------------------------------------------------

wrong_gradient() {
    edited square.c 's/dy\[i\] \* 2 /dy[i] * 3 /'
    gives 5 gradcheck --plugin plugin.c square
    prints "sample 0, 'in0'[0]: analytic 2.39569946949, numeric 1.59713297966"
    gives 5 gradcheck --plugin plugin.c square --json
    prints '"passed":false'
    gives 0 gradcheck --plugin plugin.c add
}

gradient_not_added() {
    edited square.c 's/dx\[i\] += /dx[i] = /'
    gives 5 gradcheck --plugin plugin.c square
    prints 'backward must add'
}

output_not_written() {
    edited square.c 's/i < node->val.n; i++) y/i + 1 < node->val.n; i++) y/'
    gives 5 gradcheck --plugin plugin.c square
}

no_samples() {
    edited square.c 's/, .sample = sample//'
    gives 1 gradcheck --plugin plugin.c square
    says "the op 'square' lacks sample; set it"
    alone
}

block_with_wrong_shape() {
    block 'ag_add(x, nn_linear(x, ag_text(x->graph, "%s.up", name), c->d_model + 1, &c->init))'
    gives 2 train --plugin plugin.c --block own --steps 1 --out run
    says 'layer0.up'
    alone
    says 'do not broadcast'
    [ ! -e run/metrics.csv ]
    gives 5 gradcheck --plugin plugin.c own
    prints 'do not broadcast'
}

# Training goes on without weights to look at; the pictures are skipped, nothing is called "nan".
block_without_attention() {
    block 'ag_add(x, nn_linear(x, ag_text(x->graph, "%s.up", name), c->d_model, &c->init))'
    gives 0 train --plugin plugin.c --block own --steps 3 --out run
    gives 0 eval run --plugin plugin.c --examples 50
    ! grep -q 'attention on the answer' out
    gives 0 train --plugin plugin.c --block own --steps 3 --out run2 --json
    prints '"answer_attention":null'
}

block_says_no() {
    set -- train --plugin "$examples/linear_attention.c" --block linear_attention
    gives 2 "$@" --no-self --out run
    says 'linear_attention: without itself'
    alone
    gives 2 "$@" --task cross --out run2
    says 'linear_attention: there is no attention to a memory'
    alone
}

task_says_no() {
    gives 2 train --plugin "$examples/successor.c" --task successor --keys 20
    says '; successor has --pairs, --values'
    alone
    gives 2 train --plugin "$examples/successor.c" --task successor --pairs 12
    says '12 is not between 1 and 11'
    alone
    gives 2 train --plugin "$examples/successor.c" --task successor --values 6
    says '6 pairs need more than'
    alone
    [ ! -e runs ]
}

task_with_wrong_ids() {
    edited successor.c 's/= before(month\[t\])/= MONTHS/'
    gives 2 train --plugin plugin.c --task successor --steps 1 --out run
    says "id 12 of table 'embed.month' is outside 0..11"
    alone
    edited successor.c 's/target\[0\]\[n\] = value\[t\]/target[0][n] = 99/'
    gives 2 train --plugin plugin.c --task successor --steps 1 --out run2
    says 'target 99'
    alone
    gives 1 data successor --plugin plugin.c --check
    grep -q '10000 of 10000 examples have an id or a target that is in no vocabulary' out
}

task_with_wrong_source() {
    edited successor.c 's/source\[0\]\[n\] = t/source[0][n] = (t + 2) % n/'
    gives 1 data successor --plugin plugin.c --check
    grep -q 'right source  *NO' out
}

# ---- names ---------------------------------------------------------------------------------------

unknown_names() {
    gives 2 train --plugin "$examples/square.c" --task sucessor
    says "no task 'sucessor'"
    alone
    gives 2 train --plugin "$examples/square.c" --block linear_attention
    says "no block 'linear_attention'"
    alone
    gives 2 gradcheck --plugin "$examples/square.c" sqare
    says "did you mean 'square'?"
    alone
}

# The messages say that it takes a plugin to open the run.
forgotten_plugin() {
    gives 0 train --plugin "$examples/successor.c" --task successor --steps 2 --out run --quiet
    status=0
    "$qkv" eval run >out 2>err || status=$?
    [ $status -eq 2 ] || [ $status -eq 3 ]
    says "no task 'successor'"
    alone
    says '--plugin'
    gives 0 plot run --only loss --format txt || gives 6 plot run --only loss --format txt
}

# A plugin cannot take the name of what is built in.
# refuses WHAT: no command loads plugin.c, each says so in one line, and nothing is made.
refuses() {
    for command in "train --steps 1 --out made" "data pairs" "gradcheck relu"; do
        gives 1 $command --plugin plugin.c
        says "$1"
        alone
    done
    [ ! -e made ]
}

clash_of_tasks() {
    edited successor.c 's/= "successor"/= "pairs"/'
    refuses "the task 'pairs' has a built-in one's name"
}

clash_of_blocks() {
    edited linear_attention.c 's/{"linear_attention"/{"transformer"/'
    refuses "the block 'transformer' has a built-in one's name"
}

clash_of_ops() {
    edited square.c 's/"square"/"add"/'
    refuses "the op 'add' has a built-in one's name"
    cat >plugin.c <<END
#include "train/config/plugin.h"
static ag_node *sample(ag_graph *g, int i) { return (void)g, (void)i, NULL; }
static const nn_layer layers[] = {{"mlp", "", "", sample}, {NULL, NULL, NULL, NULL}};
const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), .layers = layers};
END
    refuses "the layer 'mlp' has a built-in one's name"
    edited square.c 's/{&op_square, NULL}/{\&op_square, \&op_square, NULL}/'
    gives 2 gradcheck --plugin plugin.c square
    says "there is a 'square' of a plugin already"
}

# A task's option may be called like none that a command has, by its field in config.json neither.
clash_of_options() {
    for name in lr d-model out force resume config save-every keep threads json quiet split check n help; do
        edited successor.c "s/\"pairs\", /\"$name\", /"
        refuses "--$name is an option of every run"
    done
    for field in version precision flags save_every keep; do
        edited successor.c "s/int pairs,/int $field,/; s/->pairs/->$field/
            s/options, pairs, \"pairs\"/options, $field, \"own-name\"/"
        refuses "--own-name is an option of every run"
    done
}

# Each place of what a plugin fills in, left NULL.
nothing_may_be_null() {
    edited linear_attention.c 's/, sample}/, NULL}/; s/, sample, /, NULL, /'
    refuses "the block 'linear_attention' lacks sample"
    edited linear_attention.c 's/{"linear_attention", \("[^"]*"\), [a-z_]*/{"linear_attention", \1, NULL/'
    refuses "the block 'linear_attention' lacks block; set it"
    block NULL
    gives 2 train --plugin plugin.c --block own --steps 1 --out made
    says 'the block returned NULL instead of a node, as layer0'
    cat >plugin.c <<END
#include "train/config/plugin.h"
static const nn_layer layers[] = {{"own", "", "", NULL}, {NULL, NULL, NULL, NULL}};
const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), .layers = layers};
END
    refuses "the layer 'own' lacks sample"
    [ ! -e made ]
}

# A backward of two inputs that adds to what nobody wants, and code that ends the process: wrong, in words.
code_that_crashes_is_wrong() {
    multiply 'da[i] += dy[i] * b[i], db[i] += dy[i] * a[i]' ''
    gives 5 gradcheck --plugin plugin.c times
    grep -q '^op  *times .* WRONG$' out
    prints "while nobody wants the gradient of 'in0': ag_grad() returns NULL there"
    gives 5 gradcheck --plugin plugin.c --json times
    [ "$(wc -l <out)" -eq 1 ]
    multiply 'if (da) da[i] += dy[i] * b[i]; if (db) db[i] += dy[i] * a[i]' ''
    gives 0 gradcheck --plugin plugin.c times
    for code in 0 3; do
        multiply ';' "exit($code)"
        gives 5 gradcheck --plugin plugin.c times
        prints "its code ended the process (exit code $code)"
    done
    multiply ';' 'abort()'
    gives 5 gradcheck --plugin plugin.c times
    prints 'its code ended the process (signal 6'
}

# multiply STATEMENT BEGINNING: an op of two inputs, with this in backward for each i, and that in forward.
multiply() {
    cat >plugin.c <<END
#include <stdlib.h>
#include "autograd/op.h"
#include "train/config/plugin.h"
static void forward(ag_node *y) {
    $2;
    for (size_t i = 0; i < y->val.n; i++) y->val.x[i] = y->in[0]->val.x[i] * y->in[1]->val.x[i];
}
static void backward(ag_node *y) {
    real *da = ag_grad(y->in[0]), *db = ag_grad(y->in[1]), *dy = y->grad;
    real *a = y->in[0]->val.x, *b = y->in[1]->val.x;
    for (size_t i = 0; i < y->val.n; i++) { $1; }
    (void)da, (void)db, (void)dy, (void)a, (void)b;
}
static ag_node *sample(ag_graph *g, int i);
static const ag_op times = {
    .name = "times", .shape = ag_same_shape, .forward = forward, .backward = backward, .sample = sample};
static ag_node *sample(ag_graph *g, int i) {
    tensor_shape s = tensor_dims(2, 2, 3);
    ag_node *a = i ? NULL : ag_sample(g, AG_SAMPLE_NORMAL, s);
    return i ? NULL : ag_apply(&times, AG_IN(a, ag_sample(g, AG_SAMPLE_NORMAL, s)), NULL, 0);
}
static const ag_op *const ops[] = {&times, NULL};
const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), .ops = ops};
END
}

# A task whose words, answers, levels or facts are not all there.
words_may_not_be_null() {
    for wrong in 'side[0].stream[0].words = none' 'side[0].stream[0].prefix = NULL' \
        'side[0].stream[0].name = NULL' 'readout[0].words = none' 'readout[0].prefix = NULL' \
        'readout[0].name = NULL' 'side[0].stream[0].second = 2' 'side[0].stream[0].marker = 99'; do
        case $wrong in *prefix*) numbered=1 ;; *) numbered=0 ;; esac
        task "s->$wrong" $numbered
        gives 2 data own --plugin plugin.c
        says "the task 'own' is not complete: a "
        alone
        gives 2 train --task own --plugin plugin.c --steps 1 --out made
        alone
    done
    task '' && gives 0 data own --plugin plugin.c && prints 'a | b | c'
    gives 0 train --task own --plugin plugin.c --steps 2 --out named
    prints ' 3 number'
    for file in out named/levels.csv named/data.csv; do [ -z "$(grep '(null)' $file)" ]; done
    [ ! -e made ]
}

# task STATEMENT: three words and their first as the answer; nothing but numbers is known of it.
task() {
    cat >plugin.c <<END
#include "train/config/plugin.h"
static const char *const some[] = {"a", "b", "c"}, *const none[] = {"a", NULL, "c"};
static bool configure(data_spec *s, char *error, size_t size) {
    (void)error, (void)size, (void)none;
    s->side[0] = (data_side){3, 1, {{"word", "", 3, -1, some, 0, NULL}}};
    s->n_readouts = s->scored = 1;
    s->readout[0] = (data_readout){"first", "", 3, some, false};
    if (${2:-0}) s->side[0].stream[0].words = s->readout[0].words = NULL;
    $1;
    return true;
}
static void example(const data_spec *s, rng *r, const data_example *e) {
    (void)s, (void)r;
    for (int t = 0; t < 3; t++) e->ids[0][0][t] = t;
    e->target[0][2] = 0, e->source[0][2] = 0;
}
static int levels(const data_spec *s, data_split split, data_level out[DATA_MAXLEVELS]) {
    (void)s, (void)split;
    out[0] = (data_level){NULL, NULL, NULL, 0.3, 1.2};
    return 1;
}
static int facts(const data_spec *s, data_fact out[DATA_MAXFACTS]) {
    (void)s;
    out[0] = (data_fact){NULL, NULL, 3};
    return 1;
}
static const data_task own = {.name = "own", .configure = configure, .example = example,
                              .levels = levels, .facts = facts};
static const data_task *const tasks[] = {&own, NULL};
const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), .tasks = tasks};
END
}

# Circuits of a block whose one matrix, wq, makes queries, keys and values: what is missing is named, and
# the options that say so bring them.
one_matrix_has_circuits() {
    cat >one.c <<'END'
#include <math.h>
#include "autograd/op.h"
#include "train/config/plugin.h"
static ag_node *one(ag_node *x, ag_node *memory, const char *name, const nn_model_config *c) {
    ag_graph *g = x->graph;
    const nn_attention_config *a = &c->attention;
    (void)memory;
    ag_node *w = ag_param(g, ag_text(g, "%s.attn.wq", name), tensor_dims(2, c->d_model, a->d_k),
                          (ag_init){.kind = AG_NORMAL, .scale = 1 / sqrt(c->d_model)});
    ag_node *p = ag_linear(x, w, NULL), *k = ag_name(ag_scale(p, 1), "%s.attn.k", name);
    ag_node *scores = ag_scale(ag_scores(p, k, 1, 1, a->mask), 1 / sqrt(a->d_k));
    ag_node *weights = ag_name(ag_softmax(scores, a->mask), "%s.attn.weights", name);
    return ag_add(x, ag_mix(weights, ag_name(ag_scale(p, 1), "%s.attn.v", name), 1, a->mask));
}
static ag_node *sample(ag_graph *g, int i) { (void)g, (void)i; return NULL; }
static const qkv_config_plugin_block blocks[] = {{"one", "one matrix", one, sample, false},
                                                 {NULL, NULL, NULL, NULL, false}};
const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), .blocks = blocks};
END
    for missing in wk,--tie=none wv,--tie=qk wk,--tie=qv wo,--tie=qkv; do
        gives 0 train --plugin one.c --block one --steps 2 --out few --force --quiet "${missing#*,}"
        gives 0 eval few --plugin one.c --examples 50
        prints "No circuits: layer0 has no matrix called ${missing%,*}, and"
        prints "--no-${missing%,*}"
        grep -q "^qk_key,\"layer0 has no matrix called ${missing%,*}" few/probe/missing.csv
    done
    gives 0 train --plugin one.c --block one --steps 200 --out one --quiet --tie qkv --no-wo
    gives 0 eval one --plugin one.c --examples 50
    ! grep 'No circuits' out
    gives 0 eval one --plugin one.c --examples 50 --json
    prints '"qk_diag":1.0' && prints '"ov_diag":1.0'
}

try one_matrix_has_circuits
try op_is_checked
try block_is_checked
try block_is_trained_and_looked_at
try task_is_learned
try run_is_resumed
try options_of_a_task
try two_plugins
try task_writes_where_it_may_not
try temporary_directory
try shared_object
try empty_plugin
try missing_file
try no_symbol
try no_object
try other_version
try other_precision
try does_not_compile
try hostile_names
try nothing_stays_behind
try wrong_gradient
try gradient_not_added
try output_not_written
try no_samples
try block_with_wrong_shape
try block_without_attention
try block_says_no
try task_says_no
try task_with_wrong_ids
try task_with_wrong_source
try unknown_names
try forgotten_plugin
try clash_of_tasks
try clash_of_blocks
try clash_of_ops
try clash_of_options
try nothing_may_be_null
try code_that_crashes_is_wrong
try words_may_not_be_null

summary
