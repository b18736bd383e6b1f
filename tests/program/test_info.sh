#!/bin/sh
# test_info.sh - qkv info and qkv export as a stranger meets them; and what a run says that goes
# wrong. QKV is the program's path. Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1
examples=$root/examples
page=$root/docs/qkv-run.5

plain() { train plain; }

# 2 layers, 4 heads on 2, latent, gated feed-forward, biases, norms, frozen parameters.
rich() {
    train rich --task induction --layers 2 --d-model 32 --heads 4 --kv-heads 2 --latent 8 \
        --d-ff 100 --activation silu-gated --norm layer --bias --scale learned --weight-decay 0.1 \
        --freeze 'embed.*,layer1.mlp.up.w'
}

# ---- info ----------------------------------------------------------------------------------------

what_differs_comes_first() {
    plain && ran 0 info plain && line 'plain: 3 of 3 steps done' && line '--steps 3' || return 1
    sed -n '/^What differs/,/^All options/p' out >first
    if grep -q -e --d-model -e --d-k -e --pairs first; then
        say "a default, or what follows from one, is said to differ"
        return 1
    fi
    rich && ran 0 info rich && line '--heads 4' && line '--bias' &&
        line "embed.*,layer1.mlp.up.w" || return 1
    grep -q 'd-model 32' out && grep -q 'eval-every 10' out || say "not all options are there"
}

parameters_are_listed() {
    rich && ran 0 info rich && line 'layer0.attn.wd [32,8] 256' &&
        line 'layer0.attn.temperature [] 1' || return 1
    grep -q '^  embed.token .* no *yes$' out ||
        { say "embed.token should be frozen, without decay"; return 1; }
    grep -q '^  layer0.attn.wq .* yes *no$' out || { say "wq should learn and decay"; return 1; }
    grep -q '^  layer0.attn.bq .* no *no$' out || { say "biases do not decay"; return 1; }
    line '23122 learn, 4992 frozen' && line 'which is 0.1 here'
}

the_account_adds_up() {
    plain && ran 0 info plain && line 'all of it 4096 = 4.00 d^2' && line '8 d^2 = 8192' || return 1
    rich && ran 0 info rich && line 'W^K latent x G d_k 8 x 16 144' &&
        line 'temperature 1 x 1 1 x 1 1' &&
        line 'all of it 2657 = 2.59 d^2' && line 'down F x d 100 x 32 3232' && line 'latent 8' ||
        return 1
    train tied --tie qkv --tie-unembedding && ran 0 info tied && line 'W^K is W^Q 0' &&
        line "unembeddings: the embeddings' own tables 0" && line 'G d_k: K is V 32'
}

everything_fits_in_80_columns() {
    plain && rich && train cross --task cross --arch encoder-decoder --d-ff 12345 || return 1
    for run in plain rich cross; do
        ran 0 info $run || return 1
        awk -v run=$run 'length > 80 || / $/ { print "    " run ": " $0; bad = 1 }
            END { exit bad }' out || return 1
    done
}

# What the formulas say is what there is, for every variation of attention.
formulas_are_right() {
    n=0
    for options in '' '--heads 4' '--heads 4 --kv-heads 1' '--latent 5' '--tie qk' '--tie kv' \
        '--tie qv' '--tie qkv' '--no-wq --no-wk' '--no-wk --no-wv --no-wo' \
        '--d-k 3 --d-v 7' '--bias --d-ff 50' '--scale learned --layers 3' \
        '--d-ff 50 --activation silu-gated --bias --tie kv' \
        '--scale exp --layers 2' '--qk-norm --heads 2 --kv-heads 1 --latent 4 --scale exp' \
        '--task cross --d-ff 9' '--task cross --arch encoder-decoder --bias --layers 2' \
        '--positions learned --token-shift --norm rms'; do
        n=$((n + 1))
        # shellcheck disable=SC2086
        train "f$n" $options && ran 0 info "f$n" --json || return 1
        python "
a = o['account']
for part, name in ('attention', 'attention'), ('feed_forward', 'feed-forward'):
    assert a[part]['count'] * a[part]['copies'] == a['parts'][name], ('$options', a)
assert sum(a['parts'].values()) == o['total'] == sum(p['count'] for p in o['parameters'])
assert a['parts']['other'] == 0, '$options'
assert abs(sum(a['work'].values()) - a['flops_per_token']) < 1e-3" || return
    done
}

# By hand: T = 9 causal positions see 5 on average; one of them is scored.
work_and_cache() {
    plain && ran 0 info plain --json || return 1
    python "
a = o['account']
w = a['work']
assert w['projections'] == 2 * 4 * 32 * 32 and w['scores'] == w['mix'] == 2 * 32 * 5, w
assert abs(w['unembeddings'] - 2 * 32 * 32 / 9) < 1e-3 and a['cached_per_token'] == 64" || return
    train gqa --heads 4 --kv-heads 2 --layers 3 && ran 0 info gqa --json || return 1
    python "assert o['account']['cached_per_token'] == 3 * 2 * (8 + 8)"
}

json_is_one_line() {
    rich && ran 0 info --json rich && [ ! -s err ] && [ "$(wc -l <out)" -eq 1 ] || return 1
    python "
config = json.load(open('rich/config.json'))
assert o['config'] == {k: config[k] for k in o['config']} and len(o['config']) == len(config) - 7
assert {'heads', 'latent', 'freeze'} <= set(o['differs']) and 'd_k' not in o['differs']
p = {p['name']: p for p in o['parameters']}
assert p['layer0.attn.wd']['shape'] == [32, 8] and p['layer1.mlp.up.w']['frozen'], p
assert not p['layer0.norm1.gain']['decays'] and p['layer0.attn.wq']['decays'] and o['step'] == 3"
}

# A run that has not saved anything yet.
without_a_checkpoint() {
    plain && mkdir -p bare && cp plain/config.json bare || return 1
    ran 0 info bare && line 'no checkpoint; the weights are the initial ones' &&
        refused 1 'no checkpoint' export bare --csv never && [ ! -e never ]
}

a_plugin_s_block() {
    [ -e "$examples/linear_attention.c" ] || cannot "no examples/" || return
    needs "${CC:-cc}" || return
    train other --plugin "$examples/linear_attention.c" --block linear_attention || return 1
    ran 0 info other --plugin "$examples/linear_attention.c" &&
        line "unknown: the block is a plugin's" &&
        line 'attention 4096' && line 'mix 2 H d_v for each position seen 320' &&
        refused 2 "--plugin" info other
}

mistakes_are_said() {
    plain && refused 2 'one run directory' info && refused 2 'one run directory' info plain plain &&
        refused 1 "no directory 'nowhere'" info nowhere &&
        refused 2 "did you mean '--json'" info plain --jsn &&
        refused 2 '--npy DIR or --csv DIR' export plain &&
        refused 2 'one run directory' export --csv x &&
        refused 2 "--example: '1x'" export plain --csv x --example 1x &&
        refused 2 '--example: -1' export plain --csv x --example -1 && [ ! -e x ]
}

# ---- export --------------------------------------------------------------------------------------

files_of_an_export() {
    plain && ran 0 export plain --npy e/npy --csv e/csv && line 'e/npy: 7 parameters' &&
        line '4 circuits' || return 1
    for kind in npy csv; do
        for name in weights/embed.key weights/layer0.attn.wo weights/unembed.value \
            attention/layer0.attn.head0 circuits/qk_key.head0 circuits/qk_value.head0 \
            circuits/ov_value.head0 circuits/ov_key.head0; do
            [ -s e/$kind/$name.$kind ] || { say "no e/$kind/$name.$kind"; return 1; }
        done
    done
    head -n 1 e/csv/circuits/qk_value.head0.csv | grep -q '^"","v0","v1",' ||
        { say "no labels of columns"; return 1; }
    grep -q '^"k31",' e/csv/circuits/qk_value.head0.csv &&
        grep -q '^"?",' e/csv/weights/embed.value.csv &&
        head -n 1 e/csv/weights/unembed.value.csv | grep -q '"v31"$' ||
        { say "no labels"; return 1; }
    grep -q '^"8 k[0-9]* ?",' e/csv/attention/layer0.attn.head0.csv ||
        say "the question is not labelled"
}

numpy_reads_it() {
    needs python3 || return
    python3 -c 'import numpy' 2>/dev/null || cannot "python3 has no numpy" || return
    rich && ran 0 export rich --npy n --csv n && : >out || return 1
    python "
import csv, glob, numpy
names = sorted(glob.glob('n/*/*.npy'))
assert len(names) == 45 + 8 + 1, len(names)  # two layers of four heads, one answer
for name in names:
    x = numpy.load(name)
    table = list(csv.reader(open(name[:-3] + 'csv')))
    rows = numpy.array([[float(v) for v in row[1:]] for row in table[1:]], x.dtype).reshape(x.shape)
    assert numpy.array_equal(rows, x), name
    assert len(table[0]) == len(table[1]) and open(name, 'rb').read().index(b'\n') % 64 == 63
    if '/attention/' in name: assert abs(x.sum(1) - 1).max() < 1e-5 and x.shape == x.T.shape, name
    if 'temperature' in name: assert x.shape == ()
    if '.bq' in name: assert x.shape == (32,)"
}

# The weights are those of the checkpoint.
weights_are_the_checkpoints() {
    needs python3 || return
    python3 -c 'import numpy' 2>/dev/null || cannot "python3 has no numpy" || return
    plain && ran 0 export plain --npy w --example 5 && : >out || return 1
    python "
import glob, numpy
raw = open(sorted(glob.glob('plain/step-*.safetensors'))[-1], 'rb').read()
n = int.from_bytes(raw[:8], 'little')
head = json.loads(raw[8:8 + n])
for name in glob.glob('w/weights/*.npy'):
    h = head[os.path.basename(name)[:-4]]
    begin, end = h['data_offsets']
    kind = {'F32': '<f4', 'F64': '<f8'}[h['dtype']]
    want = numpy.frombuffer(raw[8 + n + begin:8 + n + end], kind)
    assert numpy.array_equal(numpy.load(name).ravel(), want), name"
}

the_example_is_chosen() {
    plain && ran 0 export plain --csv x0 && ran 0 export plain --csv x1 --example 1 &&
        ran 0 export plain --csv x2 || return 1
    ! cmp -s x0/attention/layer0.attn.head0.csv x1/attention/layer0.attn.head0.csv ||
        say "example 1 is example 0"
    diff -r x0 x2 && cmp x0/weights/embed.key.csv x1/weights/embed.key.csv
}

a_directory_in_use_is_left_alone() {
    plain && mkdir used && echo mine >used/file || return 1
    refused 1 "'used' is not empty" export plain --npy free --csv used && [ ! -e free ] &&
        refused 1 "'plain' is not empty" export plain --csv plain && [ "$(ls used)" = file ] &&
        refused 1 'used/file' export plain --csv used/file &&
        ran 0 export plain --csv used --force &&
        [ "$(cat used/file)" = mine ] && [ -s used/weights/embed.key.csv ] &&
        refused 1 /dev/null/x export plain --npy /dev/null/x
}

# A block whose parameters have the names of places elsewhere.
names_stay_in_the_directory() {
    needs "${CC:-cc}" || return
    cat >evil.c <<'C'
#include "train/config/plugin.h"
static ag_node *block(ag_node *x, ag_node *memory, const char *name, const nn_model_config *c) {
    (void)memory, (void)name, (void)c;
    ag_graph *g = x->graph;
    static const char *const names[] = {"../../escaped", "/tmp/qkv-escaped", "..", ".hidden", "a/b",
                                        "a%2Fb", "a b\n"};
    ag_init ones = {.kind = AG_ONES};
    for (int i = 0; i < 7; i++) x = ag_mul(x, ag_param(g, names[i], tensor_dims(0), ones));
    return ag_name(x, "../up.weights");
}
static ag_node *sample(ag_graph *g, int i) { (void)g, (void)i; return NULL; }
static const qkv_config_plugin_block blocks[] = {{"evil", "", block, sample}, {NULL, NULL, NULL, NULL}};
const qkv_config_plugin qkv_plugin = {QKV_CONFIG_PLUGIN_ABI, sizeof(real), .blocks = blocks};
C
    ran 0 train --plugin evil.c --block evil --out evil --steps 1 --quiet || return 1
    mkdir -p deep/er && ran 0 export evil --plugin evil.c --csv deep/er/out --npy deep/er/out ||
        return 1
    [ "$(ls -A deep)$(ls -A deep/er)" = erout ] && [ ! -e /tmp/qkv-escaped.csv ] &&
        [ ! -e escaped.csv ] ||
        { say "a file is where it should not be"; return 1; }
    for name in ..%2F..%2Fescaped %2Ftmp%2Fqkv-escaped .. .hidden a%2Fb a%252Fb a%20b%0A; do
        name=$(echo "$name" | sed 's/^\./%2E/')
        [ -s "deep/er/out/weights/$name.csv" ] ||
            { say "no $name: $(ls deep/er/out/weights)"; return 1; }
    done
    ran 0 info evil --plugin evil.c && awk '/[[:cntrl:]]/ { exit 1 }' out
}

# ---- going wrong ---------------------------------------------------------------------------------

a_run_that_diverges_says_where() {
    refused 4 'is not finite; ' train --out wild --optimizer sgd --lr 5 --save-every 1 &&
        grep -q "step [0-9]*: the gradient of '[a-z.]*' is not finite; " err &&
        grep -q " node '[a-z0-9.]*' ([a-z_]*), [a-z]*ward" err ||
        { cat err; return 1; }
    step=$(sed 's/.*step \([0-9]*\):.*/\1/' err)
    ls wild/step-*.safetensors >/dev/null && ran 0 eval wild --examples 64 --json &&
        [ "$step" -gt 1 ] || return 1
    refused 4 'is not finite' train --out wild --resume
}

detection_changes_nothing() {
    train seen --detect-anomaly --dropout 0.1 && train unseen --dropout 0.1 &&
        cmp seen/step-00000003.safetensors unseen/step-00000003.safetensors &&
        cmp seen/config.json unseen/config.json
}

rates_beyond_the_range() { refused 2 '--lr: 1e30' train --out never --lr 1e30 && [ ! -e never ]; }

# ---- the page that describes the files -----------------------------------------------------------

every_column_is_described() {
    [ -e "$page" ] || cannot "no manual page" || return
    plain && ran 0 train --help || return 1
    for column in $(head -n 1 plain/metrics.csv | tr , ' '); do
        case $column in norm.* | grad.*) column=${column%%.*}. ;; esac
        grep -q "^\.It Dv .*\<$column" "$page" || { say "'$column' is not in qkv-run.5"; return 1; }
    done
    for file in plain/*.csv plain/*.json plain/probe/*; do
        name=$(basename "$file" | sed 's/^\([qo][kv]_[a-z]*\)-.*/\1-*.csv/')
        grep -qF "$name" "$page" || { say "'$name' is not in qkv-run.5"; return 1; }
    done
}

# The program in the page that checks a checkpoint.
the_sum_is_computed_so() {
    needs python3 || return
    [ -e "$page" ] || cannot "no manual page" || return
    sed -n '/^import json, re/,/^\.Ed/p' "$page" | sed '$d' >sum.py
    plain && [ "$(python3 sum.py plain/best.safetensors)" = True ] || say 'another sum'
}

the_page_is_well_formed() {
    needs mandoc || return
    [ -e "$page" ] || cannot "no manual page" || return
    mandoc -Tlint "$page" 2>/dev/null | grep -v 'referenced manual not found' && return 1
    return 0
}

# ---- running them --------------------------------------------------------------------------------

tests="what_differs_comes_first parameters_are_listed the_account_adds_up
everything_fits_in_80_columns formulas_are_right work_and_cache json_is_one_line
without_a_checkpoint a_plugin_s_block mistakes_are_said
files_of_an_export numpy_reads_it weights_are_the_checkpoints the_example_is_chosen
a_directory_in_use_is_left_alone names_stay_in_the_directory a_run_that_diverges_says_where
detection_changes_nothing rates_beyond_the_range every_column_is_described the_sum_is_computed_so
the_page_is_well_formed"
suite $tests
