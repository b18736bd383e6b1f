#!/bin/sh
# test_guard.sh - a plugin that ends the process, or crashes: an error in words that names it, wherever it
# does so. QKV is the program. Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1

# A task, a block and an op which do what HOW says once they are at WHERE.
cat >ends.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "autograd/op.h"
#include "train/config/plugin.h"
static volatile int zero, depth;
static int deeper(int n) {
    volatile char room[4096];
    room[0] = (char)n;
    return zero == 0 ? deeper(n + 1) + room[0] : n;
}
static void *leaves(void *nothing) { exit(0); return nothing; }
static void end(void) {
    const char *how = getenv("HOW");
    pthread_t thread;
    if (!strcmp(how, "exit")) exit(0);
    if (!strcmp(how, "_exit")) _exit(0);
    if (!strcmp(how, "_Exit")) _Exit(0);
    if (!strcmp(how, "quick_exit")) quick_exit(0);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "segv")) *(volatile int *)(long)zero = 1;
    if (!strcmp(how, "library")) depth = (int)strlen((char *)(long)zero + 1);
    if (!strcmp(how, "deep")) depth = deeper(0);
    if (!strcmp(how, "divide")) depth = 1000 / zero;
    if (!strcmp(how, "thread")) pthread_create(&thread, NULL, leaves, NULL), pthread_join(thread, NULL);
    if (!strcmp(how, "child") && fork() == 0) _exit(0);
}
static void at(const char *where) {
    const char *wanted = getenv("WHERE");
    if (wanted && !strcmp(wanted, where)) end();
}
static __attribute__((constructor)) void load(void) { at("load"); }

static bool configure(data_spec *s, char *error, size_t size) {
    (void)error, (void)size;
    at("configure");
    s->side[DATA_SEQUENCE].T = 2;
    s->side[DATA_SEQUENCE].n_streams = 1;
    s->side[DATA_SEQUENCE].stream[0] = data_plain("a", "a", 4);
    s->n_readouts = 1;
    s->readout[0] = (data_readout){.name = "a", .prefix = "a", .classes = 4};
    s->scored = 1;
    s->sees = DATA_CAUSAL;
    return true;
}
static void example(const data_spec *s, rng *r, const data_example *out) {
    (void)s;
    at("example");
    for (int i = 0; i < 2; i++) out->ids[DATA_SEQUENCE][0][i] = (int)rng_below(r, 4);
    out->target[0][1] = out->ids[DATA_SEQUENCE][0][0];
}
static const data_task ends = {.name = "ends", .summary = "s", .configure = configure, .example = example};
static const data_task *const tasks[] = {&ends, NULL};

static bool shape(ag_node *node) { return at("shape"), ag_same_shape(node); }
static void forward(ag_node *node) {
    at("forward");
    for (size_t i = 0; i < node->val.n; i++) node->val.x[i] = 2 * node->in[0]->val.x[i];
}
static void backward(ag_node *node) {
    at("backward");
    real *dx = ag_grad(node->in[0]);
    for (size_t i = 0; dx && i < node->val.n; i++) dx[i] += 2 * node->grad[i];
}
static ag_node *sample(ag_graph *g, int i);
static const ag_op twice = {
    .name = "twice", .shape = shape, .forward = forward, .backward = backward, .sample = sample};
static ag_node *sample(ag_graph *g, int i) {
    at("sample");
    return i ? NULL : ag_apply(&twice, AG_IN(ag_sample(g, AG_SAMPLE_NORMAL, tensor_dims(1, 3))), NULL, 0);
}
static const ag_op *const ops[] = {&twice, NULL};
static ag_node *block(ag_node *x, ag_node *memory, const char *name, const nn_model_config *c) {
    (void)memory, (void)name, (void)c;
    at("block");
    return ag_apply(&twice, AG_IN(x), NULL, 0);
}
static const qkv_config_plugin_block blocks[] = {
    {"ending", "a block", block, sample}, {NULL, NULL, NULL, NULL}};
const qkv_config_plugin qkv_plugin = {
    QKV_CONFIG_PLUGIN_ABI, sizeof(real), .tasks = tasks, .blocks = blocks, .ops = ops};
END
for precision in '' -DQKV_DOUBLE; do # once, not at every start
    "${CC:-cc}" -std=gnu11 -O1 -w -shared -fPIC $precision -I"$root" -pthread \
        -o "ends$precision.so" ends.c || exit 1
done
options="--task ends --block ending --steps 2 --batch 2 --eval-examples 2 --threads 1 --d-model 4"
small="--plugin ends.so $options"

# One line, beside what the shell says of a signal.
one_line() {
    [ "$(grep -c ^qkv err)" -eq 1 ] && ! grep -v -e ^qkv -e '^Aborted' -e '^Segmentation' -e '^Floating' err
}

# ended CODE WHERE HOW TEXT ARGUMENTS...: it ends so, says that of the plugin, in one line.
ended() {
    code=$1 WHERE=$2 HOW=$3 text=$4
    shift 4
    rm -rf one
    status=0
    (export WHERE HOW; ulimit -c 0; run "$@"; exit $status) || status=$?
    [ "$status" -eq "$code" ] ||
        say "$HOW in $WHERE, qkv $*: exit $status, expected $code: $(cat err)" || return 1
    one_line && grep -qF "qkv $1: the plugin 'ends" err && grep -qF "$text" err ||
        say "$HOW in $WHERE, qkv $*: '$(cat err)' does not say '$text'"
}

# checked WHERE HOW TEXT: what is checked runs in a process of its own, whose end is a verdict.
checked() {
    status=0
    (export WHERE=$1 HOW=$2; ulimit -c 0; run gradcheck --plugin ends-DQKV_DOUBLE.so twice; exit $status) ||
        status=$?
    [ "$status" -eq 5 ] && [ ! -s err ] && grep -qF "its code ended the process $3" out ||
        say "$2 in $1, qkv gradcheck: exit $status: $(cat out err)"
}

nothing_ends_without_a_reason() {
    status=0
    run train --out one $small && [ "$status" -eq 0 ] || say "$(cat err)"
    run gradcheck --plugin ends-DQKV_DOUBLE.so twice
    [ "$status" -eq 0 ] || say "$(cat out err)"
}

exit_is_an_error_wherever_it_stands() {
    for where in load configure example shape forward backward block; do
        ended 1 $where exit 'ended the program by exit()' train --out one $small || return 1
    done
    for where in load configure example; do
        ended 1 $where exit 'by exit()' data ends --check --plugin ends.so || return 1
    done
    ended 1 load exit 'by exit()' gradcheck --plugin ends-DQKV_DOUBLE.so twice || return 1
    for where in sample shape forward backward; do
        checked $where exit '(exit code 0)' || return 1
    done
    echo '{"name": "s", "base": {"task": "ends", "steps": 2}, "variants": [{"name": "a"}]}' >s.json
    ended 1 example exit 'by exit()' study s.json --plugin ends.so --out one &&
        ended 1 load exit 'by exit()' info pairs --plugin ends.so &&
        ended 1 load exit 'by exit()' data ends --plugin ends.so
}

however_it_ends() {
    ended 1 forward _exit 'ended the program by _exit()' train --out one $small &&
        ended 1 example _Exit 'by _exit()' data ends --check --plugin ends.so &&
        ended 1 forward quick_exit 'by exit()' train --out one $small &&
        ended 1 forward thread 'by exit()' train --out one $small &&
        ended 134 backward abort 'crashed: it ended the program by abort()' train --out one $small &&
        ended 134 load abort 'by abort()' train --out one $small &&
        ended 136 forward divide '(SIGFPE)' train --out one $small
}

a_crash_names_the_plugin() {
    for where in load configure example shape forward backward block; do
        ended 139 $where segv 'crashed: it used memory that is not there' train --out one $small || return 1
    done
    ended 139 forward library '(SIGSEGV)' train --out one $small &&
        ended 139 configure deep '(SIGSEGV)' train --out one $small &&
        checked sample segv '(signal 11' && checked backward abort '(signal 6' &&
        ended 139 load segv '(SIGSEGV)' gradcheck --plugin ends-DQKV_DOUBLE.so twice &&
        ended 139 example segv '(SIGSEGV)' data ends --check --plugin ends.so
}

# Trains with two plugins.
two() { (ulimit -c 0; TMPDIR=$PWD/tmp run train --out one --force --plugin "$1" --plugin "$2" $options); }

# It is the one that did it, of several; and it is called as it was given, where it was compiled, too.
which_plugin_it_was() {
    sed 's/"twice"/"thrice"/; s/"ends"/"other"/; s/"ending"/"othering"/' ends.c >'o ther.c'
    sed -i 's/getenv("WHERE")/NULL/' 'o ther.c'
    mkdir tmp
    for way in exit segv; do
        WHERE=forward HOW=$way && export WHERE HOW
        two ends.c 'o ther.c'
        one_line && grep -q "the plugin 'ends.c'" err || say "$(cat err)" || return 1
        two 'o ther.c' ends.c
        one_line && grep -q "the plugin 'ends.c'" err || say "$(cat err)" || return 1
        WHERE=load
        two 'o ther.c' ends.c
        grep -q "the plugin 'ends.c'" err && [ -z "$(ls -A tmp)" ] || say "$(cat err; ls -R tmp)" || return 1
    done
    unset WHERE HOW
}

# A child of its own is its own; and what is handed back wrong is told from what crashes by itself.
what_is_not_the_plugins_end() {
    WHERE=configure HOW=child && export WHERE HOW
    ran 0 train --out one --force $small --quiet && [ ! -s err ] || return 1
    unset WHERE HOW
    sed 's/\.forward = forward/.forward = (void (*)(ag_node *))8/' ends.c >wild.c
    status=0
    (ulimit -c 0; run train --out one --force --plugin wild.c $options --quiet; exit $status) || status=$?
    [ "$status" -eq 139 ] && one_line && grep -q "(SIGSEGV) outside the code of the plugin 'wild.c'" err ||
        say "$status: $(cat err)"
    ran 0 train --out one --force $small --quiet && ran 2 train --plugin ends.so --lr x && ran 2 train --lr x
}

suite nothing_ends_without_a_reason exit_is_an_error_wherever_it_stands however_it_ends \
    a_crash_names_the_plugin which_plugin_it_was what_is_not_the_plugins_end
