#!/usr/bin/env bash
# test_completion.sh - what completions/qkv.bash offers for lines half typed. QKV is the program's
# path; run from the root of the tree. Reports in cmocka's words, for run.sh.
root=$PWD
QKV=${QKV:-build/qkv}
case $QKV in /*) ;; *) QKV=$root/$QKV ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1
. "$root/completions/qkv.bash" || exit 1
mkdir -p "$dir/runs/first" "$dir/runs/a run" "$dir/empty" "$dir/tree" && cd "$dir" || exit 1
touch runs/first/config.json 'runs/a run/config.json' own.json own.c

# offers WORD...: completes the line "qkv WORD..."; the last word is the one being typed.
offers() {
    COMP_WORDS=(qkv "$@")
    COMP_CWORD=$#
    _qkv "$QKV" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
}

# has EXPECTED...: all of these are offered.
has() {
    local word
    for word; do
        printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -e "$word" && continue
        echo "    '${COMP_WORDS[*]}': '$word' is not offered, but: ${COMPREPLY[*]}"
        return 1
    done
}

# only EXPECTED...: exactly these, in any order.
only() {
    has "$@" || return
    [ "${#COMPREPLY[@]}" -eq $# ] && return
    echo "    '${COMP_WORDS[*]}' offers more: ${COMPREPLY[*]}"
    return 1
}

commands() {
    offers '' && has train eval info export plot study gradcheck list --help --version &&
        offers tr && only train && offers --v && only --version && offers zzz && only
}

# Each command of the program can be completed to the end: its help is understood.
options_of_every_command() {
    local command
    offers ''
    for command in $(printf '%s\n' "${COMPREPLY[@]}" | grep -v '^-'); do
        offers "$command" --h && has --help || return
    done
    offers train --d- && has --d-model --d-k --d-v --d-ff && offers train --no-resi &&
        only --no-residual &&
        offers train --residual && has --residual &&
        offers plot --form && only --format && offers export runs/first --n && only --npy
}

choices() {
    offers train --mask '' && only task causal full memory && offers train --mask c &&
        only causal &&
        offers train --mask = && only task causal full memory &&
        offers train --mask = fu && only full && offers train --mask=fu && only --mask=full &&
        offers plot --format p && only png pdf && offers list '' && only tasks ops layers plots probes
}

names() {
    offers train --task p && has pairs partner pointer && offers plot x --only l &&
        has loss learning &&
        offers gradcheck soft && has softmax && offers gradcheck att && has attention &&
        offers probe runs/first pres && only pressure &&
        offers probe runs/first norms --at 3 --csv = f hul && only hull &&
        offers probe runs/fi && only runs/first &&
        offers gradcheck add so && has softmax && offers data pa && has pairs &&
        offers study role && only roles && offers study li && only list && offers study al &&
        only all
}

# A task's own options are offered with it, others are not.
options_of_a_task() {
    offers train --task coref --fo && only --form --force && offers train --task = mqar --order '' &&
        only kv vk && offers train --task mqar --ord && only --order && offers train --form &&
        only && offers data coref --fo && only --form && offers data mqar --order v && only vk &&
        offers train --task nonsense --hold- && only --hold-out &&
        offers train --task coref --pai && only
}

numbers_have_no_names() {
    offers train --lr '' && only && offers train --steps 1 && only && offers export --example '' &&
        only
}

directories_and_files() {
    offers eval '' && only runs && offers eval runs/ && only runs/first 'runs/a run' &&
        offers plot runs/first runs/a && only 'runs/a run' && offers eval --json r && only runs &&
        offers eval e && only empty && offers train --out '' && has runs empty tree &&
        offers train --plugin own && has own.c && offers study own && only own.json
}

a_program_that_is_not_there() {
    COMP_WORDS=(qkv train --mask '') COMP_CWORD=3
    _qkv "$dir/no such program" '' --mask 2>said
    only && [ ! -s said ]
}

tests='commands options_of_every_command choices names options_of_a_task numbers_have_no_names
directories_and_files
a_program_that_is_not_there'
suite $tests
