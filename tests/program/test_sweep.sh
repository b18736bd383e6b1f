#!/bin/sh
# test_sweep.sh - qkv sweep: which cells there are, each once whoever trains them and whoever is killed,
# and what
# is refused before anything is trained.
. "$(dirname "$0")/../lib/program.sh" || exit 1
few="--steps 4 --eval-every 4 --eval-examples 16"

rows() { wc -l <"$1/cells.csv"; }

# Lists, ranges, pairs, repeated options: so many rows and a header.
every_combination_is_a_row() {
    ran 0 sweep --lr 1e-3..1e-1:3log --d-k 2,4 --seed 1..3 $few --out a --quiet && [ "$(rows a)" -eq 19 ] &&
        ran 0 sweep --pair lr,warmup --lr 0.1,0.2 --warmup 3,4 --bias --no-bias $few --out b --quiet &&
        [ "$(rows b)" -eq 5 ] &&
        ran 0 sweep --lr 1e-4..1:random:4log --optimizer adam,sgd $few --out c --quiet &&
        [ "$(rows c)" -eq 9 ] &&
        ran 0 sweep --rates '*.wq=0.5,*.wk=2' --rates '*.wv=2' $few --out d --quiet &&
        [ "$(rows d)" -eq 3 ] &&
        ran 0 sweep --task pairs,induction --seed 1,1 --seed 2 $few --out e --quiet &&
        [ "$(rows e)" -eq 5 ] ||
        return 1
    grep -q ',0.01,' a/cells.csv && [ "$(cut -d, -f1 a/cells.csv | sort -u | wc -l)" -eq 19 ]
}

# A row has the numbers of the run that qkv train makes of the same options.
a_cell_is_a_run() {
    every_combination_is_a_row || return 1
    cell=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        $at["d_k"] == 4 && $at["lr"] == "0.01" && $at["seed"] == 2 { print $1 }' a/cells.csv)
    [ -n "$cell" ] || { say "no such cell"; return 1; }
    ran 0 sweep a --run "$cell" && line "a/runs/$cell: 4 steps" && [ -s "a/runs/$cell/config.json" ] ||
        return 1
    ran 0 train --lr 0.01 --d-k 4 --seed 2 $few --out run --json || return 1
    cp out trained
    python '
import csv
rows = {r["cell"]: r for r in csv.DictReader(open("a/cells.csv"))}
o = json.loads(open("trained").read())
r = rows["'"$cell"'"]
assert abs(float(r["accuracy"]) - o["accuracy"]) < 1e-8, (r, o)
a, b = (json.load(open(f + "/config.json")) for f in ("a/runs/'"$cell"'", "run"))
assert a == b, [k for k in a if a[k] != b[k]]'
}

# A longer list, and an option more, train only what is new.
a_longer_list_adds_cells() {
    ran 0 sweep --lr 0.1,0.01 $few --out g --quiet && cp g/results.jsonl before &&
        ran 0 sweep --lr 0.1,0.01,0.001 --optimizer adam,sgd --seed 1,2 $few --out g --quiet || return 1
    [ "$(rows g)" -eq 13 ] && [ "$(wc -l <g/results.jsonl)" -eq 12 ] &&
        head -n 2 g/results.jsonl | cmp - before || return 1
    ran 0 sweep --lr 0.1,0.01,0.001 --optimizer adam,sgd --seed 1,2 $few --out whole --quiet &&
        cmp g/cells.csv whole/cells.csv && cmp g/sweep.json whole/sweep.json && cp g/results.jsonl before &&
        ran 0 sweep g --quiet && cmp g/results.jsonl before
}

grid="--lr 1e-3..1e-1:5log --d-k 2,4 --seed 1..6 --steps 30 --eval-every 30 --eval-examples 16"
undisturbed() { [ -e calm/cells.csv ] || ran 0 sweep $grid --out calm --quiet; }

lines() { grep -c '^{.*}$' "$1/results.jsonl" || :; }

# Twenty times killed in the middle: no cell is lost, and none has two lines. What was killed too late
# does not count.
killed_twenty_times_it_is_the_same() {
    undisturbed || return 1
    kills=0
    while [ $kills -lt 20 ]; do
        "$QKV" sweep $grid --out shot --quiet --jobs 2 2>/dev/null &
        sleep 0.$((kills % 3 + 1))
        kill -9 $! 2>/dev/null || :
        wait $! 2>/dev/null || :
        if [ -e shot/results.jsonl ] &&
        [ "$(lines shot)" -lt 60 ]; then kills=$((kills + 1)); else rm -rf shot; fi
    done
    ran 0 sweep $grid --out shot --quiet && cmp shot/cells.csv calm/cells.csv && [ "$(lines shot)" -eq 60 ]
}

# Three processes in one folder, one of them killed in the middle.
three_processes_share_a_folder() {
    undisturbed || return 1
    for i in 1 2 3; do
        "$QKV" sweep $grid --out both --quiet --jobs 1 2>err$i &
        eval "p$i=$!"
    done
    sleep 0.3
    kill -9 $p2 2>/dev/null || :
    wait $p1 && wait $p3 || { say "a process failed: $(cat err1 err3)"; return 1; }
    wait $p2 2>/dev/null || :
    cmp both/cells.csv calm/cells.csv && [ "$(lines both)" -eq 60 ]
}

# A line that a killed process left half is none; the next one begins on its own line.
a_torn_line_is_trained_again() {
    undisturbed || return 1
    mkdir -p torn && cp calm/sweep.json torn && head -c 1500 calm/results.jsonl >torn/results.jsonl
    ran 0 sweep torn --quiet && cmp torn/cells.csv calm/cells.csv
}

parts_merged_are_the_whole() {
    undisturbed || return 1
    for i in 1 2 3; do ran 0 sweep $grid --part $i/3 --out part$i --quiet || return 1; done
    [ "$(cat part?/results.jsonl | wc -l)" -eq 60 ] &&
        ran 0 sweep --merge part1 part2 part3 --out sum --quiet &&
        cmp sum/cells.csv calm/cells.csv
}

# A folder that is none must not be merged as an empty one: a part would be missing.
a_part_that_is_not_there_is_refused() {
    undisturbed && mkdir -p empty || return 1
    refused 2 "'calmer' has no sweep.json" sweep --merge calm calmer --out sum2 &&
        refused 2 "'empty' has no sweep.json" sweep --merge calm empty --out sum2 && [ ! -e sum2 ]
}

# A stand-in for sbatch: notes what it was asked for, and runs the jobs of an array but the first, whose node
# is lost; then what depends on them.
sbatch_stand_in() {
    mkdir -p bin && cat >bin/sbatch <<'END'
#!/bin/sh
echo "$@" >>asked
if [ -e broken ]; then exit 1; fi
while [ "${1#-}" != "$1" ]; do
    case $1 in --array=1-*) last=${1#--array=1-} ;; --output=*) log=${1#--output=} ;; esac
    shift
done
for i in $(seq 2 "${last:-2}"); do
    SLURM_ARRAY_TASK_ID=$i SLURM_CPUS_PER_TASK=1 sh "$@" >"$(echo "$log" | sed "s/%a/$i/; s/%%/%/g")" 2>&1
done
echo "$(wc -l <asked);cluster"
END
    chmod +x bin/sbatch
}

slurm_trains_parts_and_merges_them() {
    undisturbed && sbatch_stand_in || return 1
    to="it's 100 % new"
    PATH=$PWD/bin:$PATH ran 0 sweep $grid --out "$to" --slurm 3 --jobs 2 -- --partition=p --time=9 &&
        line "Job 1 trains 3 parts, job 2 merges them" && cmp "$to/cells.csv" calm/cells.csv &&
        [ "$(lines "$to")" -eq 60 ] && [ "$(lines "$to/slurm/part-3")" -eq 20 ] &&
        [ ! -e "$to/slurm/part-1" ] || return 1
    own="--parsable --partition=p --time=9" logs="--output=$PWD/it's 100 %% new/slurm"
    cat >expected <<END
$own --array=1-3 $logs/%a.log $to/slurm/job.sh part
$own --dependency=afterany:1 $logs/merge.log $to/slurm/job.sh merge
END
    diff asked expected || return 1
    for words in requeue cpus-per-task=2 open-mode=append; do
        grep -qx -e "#SBATCH --$words" "$to/slurm/job.sh" || say "no $words"
    done
    PATH=$PWD/bin:$PATH ran 0 sweep "$to" --slurm 3 --quiet && [ ! -s out ] && diff asked expected
}

# What Slurm refuses is said; no part begins with what is trained already.
slurm_submits_what_is_left() {
    sbatch_stand_in && ran 0 sweep --lr 0.1,0.01 $few --out left --quiet && touch broken || return 1
    PATH=$PWD/bin:$PATH refused 1 "nothing was submitted" sweep --lr 0.1,0.01,1 $few --out left --slurm 9 &&
        rm broken asked || return 1
    PATH=$PWD/bin:$PATH ran 0 sweep left --slurm 9 && [ "$(rows left)" -eq 4 ] &&
        [ "$(lines left)" -eq 3 ] && grep -q 'array=1-1 ' asked || return 1
    refused 2 "--slurm: 0 is not between" sweep --lr 0.1 --slurm 0 --out no &&
        refused 2 "--plan" sweep --lr 0.1 --slurm 2 --plan --out no &&
        refused 2 "given twice" sweep --slurm 2 --out no left && [ ! -e no ]
}

# The files of a run, but for the seconds.
files_of() {
    (cd "$1" && for f in *.safetensors config.json levels.csv probe/*; do cksum "$f"; done &&
        sed 's/,[^,]*$//' metrics.csv)
}

# Each cell that has numbers is a run, the one that --run makes; one that is not whole goes on.
kept_runs_are_those_of_single_cells() {
    ran 0 sweep --d-model 4..6 --heads 2 --seed 1,2 $few --out kept --keep-runs --quiet &&
        [ "$(ls kept/runs | wc -l)" -eq 4 ] || return 1
    mkdir -p single && cp kept/sweep.json single || return 1
    for cell in $(ls kept/runs); do
        ran 0 sweep single --run "$cell" && files_of "kept/runs/$cell" >files &&
            files_of "single/runs/$cell" | diff - files || return 1
    done
    cp kept/results.jsonl before && rm "kept/runs/$cell"/*.safetensors && rm -r "single/runs/$cell" &&
        ran 0 sweep kept --keep-runs --quiet && files_of "kept/runs/$cell" | diff - files &&
        cmp before kept/results.jsonl &&
        ran 0 sweep single --run "$cell" && ran 0 sweep single --run "$cell" && line "4 steps, accuracy" &&
        refused 2 "--run" sweep single --run "$cell" --keep-runs
}

# What cannot be trained is a row that says why, and is not tried again.
a_failed_cell_is_a_row() {
    ran 0 sweep --d-model 4..6 --heads 2 $few --out f &&
        grep -q '2 heads do not divide the width 5' err f/cells.csv &&
        grep -q 'the first: 2 heads do not divide the width 5' out && [ "$(rows f)" -eq 4 ] || return 1
    cp f/results.jsonl before
    ran 0 sweep f --quiet && cmp before f/results.jsonl
}

a_plan_trains_nothing() {
    ran 0 sweep --lr 0.1,0.2 --seed 1..5 $few --out plan --plan &&
        line "10 cells, 10 of them still to be trained" &&
        line "all take about" && [ ! -e plan ] &&
        ran 0 sweep --lr 0.1 --seed 1..5 $few --out plan --plan --json &&
        python 'assert o["cells"] == 5 and o["trainings"] == 5 and o["seconds"] > 0 and o["bytes"] > 0'
}

# One sentence, exit 2, and no folder.
nonsense_is_refused_before_training() {
    refused 2 "reversed" sweep --lr 3..1:4 --out no && refused 2 "empty" sweep --lr 1..2:0 --out no &&
        refused 2 "needs a number of values" sweep --lr 1..2 --out no &&
        refused 2 "more than 1000000" sweep --seed 1..1000000000 --out no &&
        refused 2 "1000000000 combinations, more than" sweep --seed 1..1000 --batch 1..1000 --d-model \
            1..1000 --out no &&
        refused 2 "takes no value" sweep --quiet=a,b --out no &&
        refused 2 "takes no value" sweep --bias=a,b --out no &&
        refused 2 "'1,2' is not a whole number" sweep --lr 1,2 --jobs 1,2 --out no &&
        refused 2 "is missing" sweep --lr '' --out no &&
        refused 2 "no range of whole numbers" sweep --seed .. --out no &&
        refused 2 "is not a number" sweep --lr nan --out no &&
        refused 1 "Not a directory" sweep --lr 1,2 --out /dev/null &&
        refused 2 "is missing" sweep --lr 0.1,,2 --out no &&
        refused 2 "begins above 0" sweep --lr 0..1:3log --out no &&
        refused 2 "not between" sweep --batch 0,4 --out no &&
        refused 2 "no task 'nope'" sweep --task pairs,nope --out no &&
        refused 2 "--from" sweep --from x --out no &&
        refused 2 "belongs to --optimizer sgd" sweep --momentum 0,0.9 --out no &&
        refused 2 "has no list" sweep --pair lr,seed --lr 1,2 --seed 3 --out no &&
        refused 2 "3 values, the one before it 2" sweep --pair lr,seed --lr 1,2 --seed 3,4,5 --out no &&
        refused 2 "one option" sweep --pair lr --lr 1,2 --out no &&
        refused 2 "no probe" sweep --probe x --out no &&
        refused 2 "--out DIR is needed" sweep --lr 1,2 && refused 2 "no sweep.json" sweep nowhere &&
        refused 2 "I/N" sweep --lr 1,2 --part 3/2 --out no && [ ! -e no ]
}

somebody_elses_folder_is_refused() {
    undisturbed && cp calm/results.jsonl before || return 1
    refused 2 "a cell that this sweep has not" sweep --lr 0.1,0.2 --out calm &&
        cmp before calm/results.jsonl || return 1
    mkdir -p other && touch other/file && refused 2 "no sweep's folder" sweep --lr 0.1,0.2 --out other ||
        return 1
    mkdir -p bad && echo '{' >bad/sweep.json && ran 3 sweep bad
}

# A limit of the file's size is a disk that fills: what was written stays, the same command goes on.
a_full_disk_loses_nothing() {
    undisturbed || return 1
    (ulimit -f 8 && exec "$QKV" sweep $grid --out full --quiet) 2>err &&
        { say "it did not fail"; return 1; }
    grep -q "File too large" err && [ "$(lines full)" -gt 5 ] || return 1
    ran 0 sweep full --quiet && cmp full/cells.csv calm/cells.csv || return 1
    # no byte for a file: what it says goes into a pipe
    (ulimit -f 0 && ! "$QKV" sweep $grid --out none --quiet && mkdir refused) 2>&1 | cat >err
    grep -q "File too large" err && [ -d refused ] && [ ! -e none/results.jsonl ] || return 1
    (ulimit -f 8 && exec "$QKV" sweep --lr 0.1,0.2 $few --out filled --keep-runs) 2>err &&
        { say "it kept runs"; return 1; }
    grep -q "File too large" err && [ "$(rows filled)" -eq 3 ] &&
        ran 0 sweep filled --keep-runs && [ "$(ls filled/runs/*/config.json | wc -l)" -eq 2 ]
}

# Two files differ in their checksums, too, which are no option that would be unequal between them.
files_are_compared() {
    awk 'BEGIN { for (i = 0; i < 40; i++) print "w" i % 7 " cup w" i % 5 " box cup? => w" i % 7 }' >one.txt
    sed 's/cup/jug/g' one.txt >two.txt
    ran 0 sweep --task file --data one.txt --data two.txt --seed 1,2 $few --out by --keep-runs --quiet ||
        return 1
    for folder in by by/runs; do
        ran 0 table $folder --compare data --show loss --json && python 'assert o["loss_pairs"] == 2, o' ||
            return 1
    done
}

pandas_reads_the_table() {
    undisturbed || return 1
    needs python3 || return
    python3 -c 'import pandas' 2>/dev/null || { cannot "no pandas"; return; }
    python 'import pandas
t = pandas.read_csv("calm/cells.csv")
assert t.shape[0] == 60 and t.lr.nunique() == 5 and t.accuracy.notna().all() and t.cell.nunique() == 60'
}

R_reads_the_table() {
    undisturbed || return 1
    needs Rscript || return
    Rscript -e 't <- read.csv("calm/cells.csv"); stopifnot(nrow(t) == 60, length(unique(t$lr)) == 5,
        is.numeric(t$accuracy), is.character(t$cell))' >/dev/null
}

suite every_combination_is_a_row a_cell_is_a_run a_longer_list_adds_cells \
    killed_twenty_times_it_is_the_same \
    three_processes_share_a_folder a_torn_line_is_trained_again parts_merged_are_the_whole \
    a_part_that_is_not_there_is_refused slurm_trains_parts_and_merges_them slurm_submits_what_is_left \
    kept_runs_are_those_of_single_cells a_failed_cell_is_a_row \
    a_plan_trains_nothing nonsense_is_refused_before_training somebody_elses_folder_is_refused \
        a_full_disk_loses_nothing files_are_compared \
    pandas_reads_the_table R_reads_the_table
