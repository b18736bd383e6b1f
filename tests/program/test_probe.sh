#!/bin/sh
# test_probe.sh - qkv probe: every probe of the catalogue on a run that it fits gives the numbers that a study
# measures; mistakes, and what the command prints. QKV is the program's path.
. "$(dirname "$0")/../lib/program.sh" || exit 1

STEPS=40

# A probe, and the options of a model that it fits: task and more.
cat >fits <<'END'
interventions task=pairs
ablations task=pairs
heldout task=coref d_model=16
lengths task=pairs keys=12
layers task=induction d_model=16
ov_probe task=mqar d_model=16 pairs=4
scale task=pairs
entropy task=pairs heads=2
norms task=pairs scale=learned
coref task=coref d_model=16
cross task=cross d_model=16
join task=cross d_model=16
pressure task=pairs
hull task=pairs heads=4
slots task=two d_model=16
circuits task=pairs heads=2
exchange task=two heads=1 keys=4 values=4 pairs=2
heads task=induction d_model=16
phase task=mqar d_model=16 pairs=4
partner task=partner tie=qk d_model=64
basis task=pairs
sink task=pairs absent=0.5
average task=pairs
state task=pairs block=linear
features task=attributes d_model=16
sizes task=mqar layers=3 d_model=16 pairs=4
pointer task=pointer d_model=16
capacity task=pairs d_model=4 embed_init=unit scale=none
capacity_linear task=pairs d_model=8
lines task=file data=it.txt d_model=16 layers=1
ledger task=pairs d_model=16
attribution task=induction d_model=16
END
cp "$root/examples/it.txt" . || exit 1

# Options as JSON members, and as those of `qkv train`.
members() { for o; do echo "$o"; done | sed 's/^/"/; s/=/": /; s/: \([a-z].*\)/: "\1"/; s/$/,/'; }
flags() { for o; do echo "--$o" | sed 's/=.*//; s/_/-/g'; echo "${o#*=}"; done; }

# as_studied PROBE OPTION...: its numbers on a run are those of a study of one training.
as_studied() {
    probe=$1
    shift
    cat >one.json <<END
{"name": "one", "seeds": 1,
 "base": {$(members "$@") "steps": $STEPS, "eval_every": $STEPS, "eval_examples": 32},
 "variants": [{"name": "v"}], "probes": ["$probe"], "columns": ["accuracy"]}
END
    at='' when=$(sed -n "s/^QKV_STUDY_PROBE($probe, \([A-Z]*\),.*/\1/p" "$root/train/study/probes.def")
    [ "$when" != BEFORE ] || at='--at 0'
    ran 0 study one.json --out "s-$probe" --quiet || return 1
    case $when in DURING) step=@$STEPS ;; *) step= ;; esac
    sed -n "s/^\"\",\"v\",1,\"\($probe\.[^\"@]*\)$step\",/\"\1\",/p" "s-$probe/seeds.csv" >want
    # shellcheck disable=SC2046,SC2086
    ran 0 train --out "r-$probe" --steps $STEPS --eval-every $STEPS --eval-examples 32 --quiet \
        $(flags "$@") &&
        ran 0 probe "r-$probe" "$probe" $at --csv got.csv || return 1
    [ ! -s err ] || { say "$probe: $(cat err)"; return 1; }
    [ -s want ] || { say "the study has no number of $probe"; return 1; }
    sed 1d got.csv | cmp - want || say "$probe: other numbers than the study's"
}

every_probe_gives_the_numbers_of_a_study() {
    sed -n 's/^QKV_STUDY_PROBE(\([a-z_]*\),.*/\1/p' "$root/train/study/probes.def" | sort >catalogue
    cut -d' ' -f1 fits | sort | cmp - catalogue || { say 'a probe of the catalogue is not tested'; return 1; }
    while read -r probe options; do
        # shellcheck disable=SC2086
        as_studied "$probe" $options || return 1
    done <fits
}

# Without a name each probe of the catalogue is run, or it is said why not; a name gives the same numbers.
all_that_fit_are_run() {
    train pairs && ran 0 probe pairs --csv all.csv && [ ! -s err ] || return 1
    line 'pairs after 3 steps' && line 'Not run:' && line "cross this probe is of the task 'cross'" &&
        line 'scale studies run it before the first step: name it, or --at 0' || return 1
    for probe in $(cat catalogue); do
        [ "$(grep -c "^$probe: \|^  $probe  *[a-z]" out)" -eq 1 ] || { say "$probe: not once"; return 1; }
    done
    awk -F'["]' 'NR > 1 { split($2, part, "."); print part[1] }' all.csv | sort -u >with
    for probe in $(cat with); do
        grep -q "^$probe: " out || { say "$probe has numbers, and no heading"; return 1; }
    done
    ran 0 probe pairs norms hull norms --csv two.csv || return 1
    grep '^measure\|^"norms\.\|^"hull\.' all.csv | cmp - two.csv || return 1
    ran 0 probe pairs --at 0 && line 'scale: how sharp' && line 'capacity: how many'
}

json_is_valid() {
    train pairs && ran 0 probe pairs --json --csv same.csv && [ ! -s err ] &&
        [ "$(wc -l <out)" -eq 1 ] || return 1
    python "
rows = [line.rstrip().rsplit(',', 1) for line in open('same.csv')][1:]
found = [(r['measure'], '%.9g' % r['value']) for r in o['found']]
assert found == [(a.strip('\"'), '%.9g' % float(b)) for a, b in rows]
assert len(rows) > 50 and o['step'] == 3
run = {r['measure'].split('.')[0] for r in o['found']}
left = {r['probe'] for r in o['not_run']}
assert all(r['why'] for r in o['not_run']) and not run & left, (run, left)
assert run | left == set(open('catalogue').read().split())"
}

mistakes_are_said() {
    train pairs && refused 2 "did you mean 'norms'" probe pairs norm &&
        refused 2 "no probe 'xyzzy'" probe pairs xyzzy &&
        refused 2 'a run directory is needed' probe &&
        refused 1 "no directory 'nowhere'" probe nowhere norms &&
        refused 2 "'cross' does not fit this run: this probe is of the task" probe pairs norms cross &&
        refused 2 "'layers' does not fit this run: the model has one layer" probe pairs layers &&
        refused 2 'there is no state at step 9' probe pairs --at 9 norms &&
        refused 1 "'no/where.csv'" probe pairs norms --csv no/where.csv || return 1
    ! ls ./*.csv.* 2>/dev/null
}

# What is meant for the first weights can be had of later ones, with a note.
later_than_meant() {
    train pairs && ran 0 probe pairs scale && line 'scale.score_std' && [ "$(wc -l <err)" -eq 1 ] &&
        grep -q "note: studies run 'scale' before the first step: see --at 0" err || return 1
    ran 0 probe pairs --at 0 scale && [ ! -s err ] || return 1
    train more --from pairs --steps 6 && ran 0 probe more --at 3 scale && [ ! -s err ] &&
        ran 0 probe more scale && grep -q "see --at 3" err
}

# A run as the other commands take it: its weights from a file, its data moved, its plugin.
other_places() {
    train pairs && train other --seed 5 && ran 0 probe other norms --csv b.csv || return 1
    ran 0 probe pairs norms --weights other/step-00000003.safetensors --csv a.csv &&
        cmp a.csv b.csv || return 1
    ran 0 probe pairs norms --csv b.csv && ! cmp -s a.csv b.csv || return 1
    for a in a b c d e f; do for b in a b c d e f; do echo "$a $b => $a"; done; done >file.txt
    train file --task file --data file.txt && mv file.txt moved.txt && refused 3 file.txt probe file norms &&
        ran 0 probe file norms --data moved.txt || return 1
    needs "${CC:-cc}" || return
    ran 0 train --plugin "$root/examples/successor.c" --task successor --steps 3 --out own --quiet || return 1
    refused 2 successor probe own && ran 0 probe own --plugin "$root/examples/successor.c" && line 'norms.wq'
}

suite every_probe_gives_the_numbers_of_a_study all_that_fit_are_run json_is_valid mistakes_are_said \
    later_than_meant other_places
