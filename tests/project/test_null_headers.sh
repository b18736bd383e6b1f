#!/bin/sh
# test_null_headers.sh - NULL in every place of every public function that must bear it, as the
# installed headers have them: whatever leaves a sentence in `error` (which must then be there), all of
# ag.h, nn.h and sample.h, what works on arenas and trainers, what frees, what finds by name. Run from
# the root of the tree.
root=$PWD
build=$(dirname "${QKV:-$root/build/qkv}")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1
# Whoever links a library that was built under a sanitizer needs it, too.
sanitize=$(echo "${CFLAGS:-}" | tr ' ' '\n' | grep -e '^-fsanitize' -e '^-fno-sanitize' -e '^--coverage' |
    tr '\n' ' ')

# prototypes HEADER: a line for each of its functions; names HEADER: what they are called.
prototypes() {
    "${CC:-cc}" -E -P -I"$root" -I"$build" -x c -std=gnu11 "$1" | awk -f "$root/tests/null/prototypes.awk"
}
names() { prototypes "$1" | cut -d '|' -f 1 | sort; }

# Left out are what the author of an op calls, whom the engine gives what is never NULL, and what takes
# a format.
choose() {
    prototypes "$build/qkv.h" >"$dir/all"
    names "$root/autograd/sample.h" >"$dir/for-all"
    names "$root/autograd/op.h" | comm -23 - "$dir/for-all" >"$dir/left-out"
    grep -E -e '^(ag|nn|tensor_arena)_' -e '\|char \*error' \
        -e '^[a-z_]*(_free|_release|_find|_of)\|[^|]*\|\|[^|]*$' \
        -e '^qkv_trainer_.*\|(const )?qkv_trainer(_worker)? \*' "$dir/all" | grep -v -e '|\.\.\.|' |
        awk -F '|' 'NR == FNR { out[$1]; next } !($1 in out)' "$dir/left-out" - >"$dir/chosen"
}

# walked FLAG...: builds and runs the walk over $dir/chosen.
walked() {
    awk -F '|' -f "$root/tests/null/calls.awk" "$dir/chosen" >"$dir/calls.h"
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=gnu11 -g $sanitize "$@" -I"$root" -I"$build" -I"$dir" -include qkv.h \
        -DCALLS='"calls.h"' -o "$dir/walk" "$root/tests/null/walk.c" "$build/libqkv.a" -ljansson \
        -lpthread -ldl -lm || return 2
    mkdir -p "$dir/here"
    (cd "$dir/here" && "$dir/walk") >"$dir/said" 2>"$dir/errors"
}

null_is_borne() {
    choose
    [ "$(wc -l <"$dir/all")" -gt 330 ] && [ "$(wc -l <"$dir/chosen")" -gt 150 ] ||
        say 'the headers were not read'
    for name in qkv_run_save ag_sum ag_store nn_block tensor_arena_take qkv_trainer_config \
        data_configure qkv_io_params_load; do
        grep -q "^$name|" "$dir/chosen" || say "$name is not walked"
    done
    walked || { cat "$dir/said" "$dir/errors"; return 1; }
    cat "$dir/said"
    awk '/calls, / { calls = $1; refused = $3 } END { exit !(calls > 500 && refused > 200) }' "$dir/said"
}

# A function that cannot bear it, and one that fails without a word, are found.
a_fault_is_found() {
    printf '%s|_Bool||const int *x|char *error\n' control_crashes control_says_nothing >"$dir/chosen"
    ! walked -DCONTROL
    grep -q '^control_crashes(), NULL in place 1: ' "$dir/said"
    grep -q '^control_says_nothing(), NULL in place 1: fails without a sentence' "$dir/said"
    ! grep -q 'place 0' "$dir/said"
}

suite null_is_borne a_fault_is_found
