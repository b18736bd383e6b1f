#!/bin/sh
# test_table.sh - qkv table and qkv plot over the rows of a sweep, a study, and runs: its numbers are those
# that Python finds in cells.csv.
. "$(dirname "$0")/../lib/program.sh" || exit 1

swept() {
    [ -e s/cells.csv ] || ran 0 sweep --lr 0.003,0.01,0.03 --optimizer adam,sgd --seed 1..4 --steps 60 \
        --eval-every 20 --eval-examples 64 --out s --quiet
}

means_and_shares_are_those_of_the_rows() {
    swept && ran 0 table s --by optimizer,lr --show 'accuracy,accuracy>=0.2,loss' --quantiles 0.5 --json ||
        return 1
    python '
import csv, statistics
cells = list(csv.DictReader(open("s/cells.csv")))
assert len(rows) == 6
for r in rows:
    x = [float(c["accuracy"]) for c in cells
        if c["optimizer"] == r["optimizer"] and float(c["lr"]) == r["lr"]]
    assert len(x) == 4 == r["n"] == r["accuracy_n"]
    assert abs(statistics.mean(x) - r["accuracy_mean"]) < 1e-7
    assert abs(statistics.stdev(x) - r["accuracy_sd"]) < 1e-7
    assert abs(statistics.median(x) - r["accuracy q0.5"]) < 1e-7
    assert sum(v >= 0.2 for v in x) == r["accuracy>=0.2_count"]
assert any(r["accuracy>=0.2_count"] for r in rows) and not all(r["accuracy>=0.2_count"] for r in rows)'
}

differences_are_of_pairs() {
    swept && ran 0 table s --compare optimizer --by lr --show accuracy --json || return 1
    python '
import csv, statistics
at = {(c["optimizer"], float(c["lr"]), c["seed"]): float(c["accuracy"])
    for c in csv.DictReader(open("s/cells.csv"))}
assert len(rows) == 3
for r in rows:
    d = [at["sgd", r["lr"], s] - at["adam", r["lr"], s] for s in "1234"]
    half = 3.18244631 * statistics.stdev(d) / 2
    assert r["optimizer"] == "sgd - adam" and r["accuracy_pairs"] == 4
    assert abs(r["accuracy_difference"] - statistics.mean(d)) < 1e-7
    assert abs(r["accuracy_low"] - statistics.mean(d) + half) < 1e-7
    assert abs(r["accuracy_high"] - statistics.mean(d) - half) < 1e-7'
}

conditions_choose_rows() {
    swept && ran 0 table s --by optimizer --where 'lr>=0.01 optimizer!=sgd seed<=2' --json &&
        python 'assert len(rows) == 1 and o["n"] == 4 and o["optimizer"] == "adam"' || return 1
    ran 1 table s --where 'lr>1' && grep -q 'no row is left' err
}

every_format_has_the_rows() {
    swept && ran 0 table s --by lr --csv && [ "$(wc -l <out)" -eq 4 ] &&
        grep -q '^lr,n,failed,accuracy_n' out &&
        ran 0 table s --by lr --markdown && [ "$(grep -c '^|.*|$' out)" -eq 5 ] &&
        ran 0 table s && [ "$(wc -l <out)" -eq 7 ] && grep -q '±' out
}

studies_and_runs_are_tables_too() {
    echo '{"name": "g", "base": {"steps": 4, "eval_examples": 16}, "seeds": 2,
        "grid": {"lr": [0.1, 0.01], "d_k": [1, 2]}, "columns": ["accuracy"]}' >g.json
    ran 0 study g.json --out g --quiet && ran 0 table g --by lr,d_k --json &&
        python 'assert len(rows) == 4 and all(r["n"] == 2 for r in rows)' || return 1
    train runs/a --lr 0.1 && train runs/b --lr 0.2 && train runs/c --lr 0.2 --seed 2 &&
        ran 0 table runs --by lr --json && python 'assert [r["n"] for r in rows] == [1, 2]' &&
        ran 0 table runs/a runs/b --by lr --json && python 'assert [r["n"] for r in rows] == [1, 1]'
}

what_is_not_there_is_said() {
    swept && refused 2 "there is no column 'x'" table s --by x &&
        refused 2 "no column 'x'" table s --show x &&
        refused 2 "'x' is not a number" table s --where 'lr<x' &&
        refused 2 "no condition" table s --where lr &&
        refused 2 "not between 0 and 1" table s --quantiles 2 &&
        refused 2 "no option" table s --compare accuracy &&
        refused 2 "no option with several" table s --compare steps && refused 2 "folder" table &&
        refused 1 "has no runs in it" table nowhere || return 1
    refused 2 "curves are of an option" plot s --x lr --y accuracy --colour loss &&
        refused 2 "is an option; a map" plot s --x lr --y optimizer --colour seed &&
        refused 2 "no option, but a measure" plot s --x lr --y accuracy --panel loss &&
        refused 2 "--x belongs to --y" plot s --x lr && refused 2 "no column" plot s --x lr --y nothing
}

rows_are_drawn() {
    needs gnuplot || return
    swept && ran 0 plot s --x lr --y optimizer && [ -s s/plots/sweep.png ] && [ ! -s err ] || return 1
    grep -c '^1,' s/sweep.csv | grep -qx 6 || { say "not 6 cells in the map"; return 1; }
    ran 0 plot s --x lr --y accuracy --colour optimizer --panel seed --format svg &&
        [ -s s/plots/sweep.svg ] &&
        [ ! -s err ] && ran 0 plot s --x loss --y accuracy --colour answer_attention && [ ! -s err ] &&
        ran 0 plot s --x lr --y accuracy --format txt && grep -q '0.01' out
}

suite means_and_shares_are_those_of_the_rows differences_are_of_pairs conditions_choose_rows \
    every_format_has_the_rows studies_and_runs_are_tables_too what_is_not_there_is_said rows_are_drawn
