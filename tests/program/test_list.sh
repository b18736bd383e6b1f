#!/bin/sh
# test_list.sh - qkv list: every catalogue in full, as the sources have it; and qkv gradcheck, which
# walks two of them.
. "$(dirname "$0")/../lib/program.sh" || exit 1

# Names at the beginning of a line of `out`.
names() { awk '/^[^ ]/ { print $1 }' out; }

# same FILE MACRO MORE...: the names are those of the lines MACRO(name, ...) of a catalogue, in its order,
# and MORE.
same() {
    [ -e "$root/$1" ] || { cannot "no $1"; return; }
    sed -n "s/^$2(\([a-z0-9_]*\),.*/\1/p" "$root/$1" >wanted
    [ -s wanted ] || return 1
    shift 2
    for name; do echo "$name"; done >>wanted
    names >listed
    cmp wanted listed
}

ops_are_all_there() {
    ran 0 list ops && line 'scores y = factor q k^T, head by head; 0 where masked' &&
        line '[B,T,H*E] [B,S,G*E] -> [B,H,T,S], G divides H' || return 1
    same autograd/ops.def AG_OP
}

layers_are_all_there() {
    ran 0 list layers && line 'attention' || return 1
    same layers/layers.def NN_LAYER model
}

# What is listed can be used.
tasks_are_all_there() {
    ran 0 list tasks && names >tasks && [ "$(wc -l <tasks)" -ge 10 ] || return 1
    awk 'NF < 4 { print "    " $0 ": says nothing"; bad = 1 } END { exit bad }' out || return 1
    while read -r task; do
        "$QKV" data "$task" >out 2>err || grep -qF -e '--data FILE' err ||
            { say "$task cannot be used: $(cat err)"; return 1; }
    done <tasks
}

plots_are_all_there() {
    ran 0 list plots && names >plots && grep -qx loss plots && grep -qx attention plots || return 1
    # shellcheck disable=SC2046
    for plot in $(cat plots); do ls "$root/train/plot/$plot.gp" >/dev/null 2>&1 || echo "$plot"; done >without
    [ "$(wc -l <without)" -lt "$(wc -l <plots)" ] || say 'no plot has a script'
}

probes_are_all_there() {
    ran 0 list probes && line 'norms sizes of the attention matrices' || return 1
    same train/study/probes.def QKV_STUDY_PROBE
}

mistakes_are_said() {
    refused 2 "did you mean 'tasks'" list task && refused 2 "no list of 'xyzzy'" list xyzzy &&
        refused 2 'is needed' list && refused 2 'is needed' list ops tasks
}

# ---- qkv gradcheck -------------------------------------------------------------------------------

everything_is_checked() {
    ran 0 list ops && names >wanted && ran 0 list layers && names >>wanted &&
        ran 0 gradcheck --json || return 1
    python "
assert [r['name'] for r in rows] == open('wanted').read().split()
assert all(r['passed'] and r['coordinates'] > 40 and r['samples'] > 1 for r in rows)
assert all(r['worst'] < 1 and r['inconclusive'] == 0 and r['reason'] == '' for r in rows), rows" || return
    ran 0 gradcheck softmax && line ' ok' && line '1 checked' && line '0 wrong'
}

# An op of one's own whose samples compare nothing: gradcheck of square.c, edited.
plugin() {
    [ -e "$root/examples/square.c" ] || { cannot "no examples/square.c"; return; }
    needs "${CC:-cc}" || return
    sed "$1" "$root/examples/square.c" >plugin.c
    ! cmp -s "$root/examples/square.c" plugin.c || return 1
    ran 5 gradcheck --plugin plugin.c square && line "$2" && line ' WRONG' && line '1 wrong' || return 1
    ran 5 gradcheck --plugin plugin.c square --json || return 1
    python "assert o['passed'] is False and '$2' in o['reason'] and o['name'] == 'square', o"
}

what_compares_nothing_is_wrong() {
    wrong='s/dy\[i\] \* 2 /dy[i] * 3 /'
    plugin 's/ag_sample(g, AG_SAMPLE_NORMAL, s)/ag_input(g, "x", s)/;'"$wrong" \
        'nothing was compared' || return
    plugin 's/? square(ag_sample(g, AG_SAMPLE_NORMAL, s))/? ag_sample(g, AG_SAMPLE_NORMAL, s)/' \
        'nothing was compared' || return
    plugin 's/? square(\(.*\)) : NULL/? ag_exp(\1) : NULL/' 'nothing was compared' || return
    plugin 's/x\[i\] \* x\[i\];/3;/;s/dx\[i\] += .*;/dx[i] += 0;/' 'nothing was compared' || return
    plugin 's/^    return true;/    return false;/' 'refuses this without a reason' || return
    plugin 's/ag_sample_shape(i, &s) ?/(s = tensor_dims(1, 0), i < 4) ?/' 'nothing was compared' || return
    # A jump that is stated hides no wrong slope.
    plugin 's/\.name = "square",/.name = "square", .facts = AG_KINKS,/
        s/y\[i\] = x\[i\] \* x\[i\]/y[i] = (real)sin(1e5 * (double)x[i])/' 'analytic'
}

suite ops_are_all_there layers_are_all_there tasks_are_all_there plots_are_all_there probes_are_all_there \
    mistakes_are_said everything_is_checked what_compares_nothing_is_wrong
