#!/bin/sh
# test_bench.sh - qkv bench: what it says of sizes, counts and rates agrees with the formulas. (How fast
# the machine is, no test can know.)
. "$(dirname "$0")/../lib/program.sh" || exit 1
quick='--seconds 0.02'

# ---- a step --------------------------------------------------------------------------------------

# 6 P N + 12 L B T^2 d, P = 12 L d^2 + d V; and the parameters one by one.
a_step_adds_up() {
    for sizes in '--preset tiny' '--preset tiny --layers 3 --heads 4 --threads 2' \
        '--batch 6 --time 5 --d-model 24 --heads 3 --vocab 11 --lanes 2'; do
        # shellcheck disable=SC2086
        ran 0 bench $quick --json $sizes || return 1
        python "
B, T, d, L, V, ms = o['B'], o['T'], o['d'], o['layers'], o['V'], o['ms_median']
flops = 6 * (12 * L * d * d + d * V) * B * T + 12 * L * B * T * T * d
assert abs(o['gflops'] * ms * 1e6 / flops - 1) < 1e-6
assert abs(o['tokens_per_s'] * ms / 1e3 / (B * T) - 1) < 1e-6
assert abs(o['gflops_cpu'] * o['cpu_ms_median'] * 1e6 / flops - 1) < 1e-6
block = 4 * (d * d + d) + 2 * 4 * d * d + 4 * d + d + 2 * 2 * d
assert o['params'] == V * d + T * d + L * block + 2 * d + d * V, (o['params'], V * d + T * d + L * block)
assert 0 < o['ms_min'] <= ms and o['steps'] >= 3 and o['peak_rss_mib'] > 1
import math
assert abs(o['loss_first'] - math.log(V)) < 1 and 0 < o['loss_last'] < 3 * math.log(V)
wanted = '$sizes'.split()
for name, key in ('--batch', 'B'), ('--time', 'T'), ('--d-model', 'd'), ('--heads', 'h'), \
        ('--layers', 'layers'), ('--vocab', 'V'), ('--threads', 'threads'):
    if name in wanted: assert o[key] == int(wanted[wanted.index(name) + 1]), name" || return
    done
}

presets_are_as_documented() {
    # preset B T d heads V
    while read -r name sizes; do
        # shellcheck disable=SC2086
        ran 0 bench $quick --json --preset "$name" || return 1
        python "
assert [o[k] for k in ('B', 'T', 'd', 'h', 'V')] == [int(x) for x in '$sizes'.split()], o" || return
    done <<END
tiny 32 16 32 2 64
small 64 32 64 4 64
pairs 64 9 32 1 32
END
}

a_line_for_people() {
    # shellcheck disable=SC2086
    ran 0 bench $quick --preset tiny && [ "$(wc -l <out)" -eq 1 ] &&
        line 'B 32, T 16, D 32, heads 2, layers 1, V 64: ' && line ' ms a step (CPU ' && line 'GFLOP/s, '
}

# ---- op by op ------------------------------------------------------------------------------------

every_op_is_timed() {
    # shellcheck disable=SC2086
    ran 0 bench $quick --ops --json --preset tiny && cp out timed && ran 0 list ops || return 1
    awk '/^[^ ]/ { print $1 }' out | sort >catalogue
    cp timed out
    python "
names = [r['op'] for r in rows]
assert sorted(names) == open('catalogue').read().split(), set(names) ^ set(open('catalogue').read().split())
assert all(r['forward_us'] >= 0 and r['backward_us'] >= 0 and r['forward_rate'] >= 0 for r in rows)
assert len([r for r in rows if r['backward_us'] == 0]) < 3  # through a few nothing learns
step = {r['op']: r for r in rows if r['nodes']}
assert {'linear', 'scores', 'softmax', 'mix', 'embedding', 'layer_norm', 'relu', 'add'} <= set(step), step
assert step['linear']['nodes'] == 7 and step['layer_norm']['nodes'] == 3 and step['add']['nodes'] == 2
assert 0.2 < sum(r['of_step'] for r in rows) < 1.2 and all(r['of_step'] == 0 for r in rows if not r['nodes'])
products = {r['op'] for r in rows if r['unit'] == 'GFLOP/s'}
assert products == {'linear', 'matmul', 'scores', 'mix'}, products"
}

# By hand: x [B,T,D] times [D,D] has 2 B T D D; its gradients are two such products. A number is 4 bytes,
# or 8.
rates_are_work_by_time() {
    # shellcheck disable=SC2086
    ran 0 bench $quick --ops --preset tiny && sizes=$(sed -n 's/.*one call at \[\(.*\)\]:.*/\1/p' out) &&
        [ -n "$sizes" ] && ran 0 bench $quick --ops --json --preset tiny || return 1
    python "
B, T, D = [int(x) for x in '$sizes'.split(',')]
r = {r['op']: r for r in rows}
work = 1e3 * r['matmul']['forward_rate'] * r['matmul']['forward_us']
assert abs(work / (2 * B * T * D * D) - 1) < 1e-3, work
assert abs(1e3 * r['matmul']['backward_rate'] * r['matmul']['backward_us'] / work - 2) < 1e-3
bytes = [1e3 * r[op]['forward_rate'] * r[op]['forward_us'] / (B * T * D) for op in ('neg', 'sub', 'reshape')]
size = round(bytes[0] / 2)
assert size in (4, 8) and [round(b / size) for b in bytes] == [2, 3, 0], bytes"
}

a_table_for_people() {
    # shellcheck disable=SC2086
    ran 0 bench $quick --ops --preset tiny && line 'peak of one core: ' && line 'a step: ' &&
        line 'update, data' && grep -q '^linear  *7 ' out && grep -q '^reshape  *-  *[0-9.]* *- *- ' out ||
        say 'a row is missing'
}

# ---- matrix products, and starting ---------------------------------------------------------------

what_fast_forms_gain() {
    # shellcheck disable=SC2086
    ran 0 bench $quick --ops --plain --preset tiny --json || return 1
    python "ops = [r for r in rows if 'op' in r]
assert {'softmax', 'scores', 'mix', 'linear', 'layer_norm'} <= {r['op'] for r in ops}, ops
assert all(r[k] > 0 for r in ops for k in r if k != 'op')
assert rows[-1]['plain_step_us'] > rows[-1]['step_us']" || return
    # shellcheck disable=SC2086
    ran 0 bench $quick --ops --plain --preset tiny && line 'a step: ' && line 'by plain loops' &&
        refused 2 '--plain belongs to --ops' bench --plain
}

products_of_all_sizes() {
    # shellcheck disable=SC2086
    ran 0 bench $quick --gemm --json || return 1
    python "
assert len(rows) % 3 == 0 and len(rows) >= 30
assert {r['form'] for r in rows} == {'A B', 'A B^T', 'A^T B'} and all(r['gflops'] > 0 for r in rows)
assert all(r['m'] == r['n'] == r['k'] == int(r['shape']) for r in rows if r['shape'].isdigit())
peak = [r['gflops'] / r['of_peak'] for r in rows]
assert max(peak) / min(peak) < 1.0001" || return
    # shellcheck disable=SC2086
    ran 0 bench $quick --gemm && line 'peak of one core' && grep -q '^large down  *512  *512  *2048 ' out ||
        say 'no row of large down'
}

how_long_it_takes_to_start() {
    ran 0 bench --startup --json || return 1
    python "assert len(o) == 4 and all(x > 0 for x in o.values()) and o['node_ns'] < 1e5, o" || return
    ran 0 bench --startup && [ "$(wc -l <out)" -eq 4 ] && line 'a node, replayed and differentiated'
}

# ---- mistakes ------------------------------------------------------------------------------------

mistakes_are_said() {
    refused 2 "'huge' is none of tiny, small" bench --preset huge &&
        refused 2 "--batch: '0' is not a whole number from 1 to" bench --batch 0 &&
        refused 2 "--time: '65537'" bench --time 65537 && refused 2 "--heads: 'x'" bench --heads x &&
        refused 2 "--seconds: '0'" bench --seconds 0 && refused 2 "--seconds: 'nan'" bench --seconds nan &&
        refused 2 "--seconds: '3601'" bench --seconds 3601 &&
        refused 2 "'fast' is no option" bench fast &&
        refused 2 'its sizes stay' bench --preset pairs --batch 3 &&
        refused 2 'one of --ops, --gemm and --startup' bench --ops --gemm &&
        refused 2 "did you mean '--json'" bench --jsn || return 1
    refused 2 '--batch does nothing with --gemm' bench --gemm --batch 3 &&
        refused 2 '--preset does nothing with --gemm' bench --gemm --preset tiny &&
        refused 2 '--threads does nothing with --startup' bench --startup --threads 2 &&
        refused 2 '--seconds does nothing with --startup' bench --startup --seconds 2 || return 1
    ran 2 bench --d-model 30 --heads 4 && grep -q '[a-z]' err
}

suite a_step_adds_up presets_are_as_documented a_line_for_people every_op_is_timed rates_are_work_by_time \
    a_table_for_people what_fast_forms_gain products_of_all_sizes how_long_it_takes_to_start mistakes_are_said
