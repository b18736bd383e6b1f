#!/bin/sh
# test_study.sh - qkv study as a stranger meets it: built-in and own studies, parts and merging, mistakes.
# QKV is the program. Reports in cmocka's words, so that run.sh can run it like any other test program.
. "$(dirname "$0")/../lib/program.sh" || exit 1
examples=$root/examples

cat >tiny.json <<'END'
{"name": "tiny", "claim": "Nothing much.", "seeds": 2,
 "base": {"pairs": 2, "keys": 4, "values": 4, "d_model": 8, "steps": 20, "eval_every": 10,
          "eval_examples": 64},
 "variants": [{"name": "separate"}, {"name": "tied, Q=K", "set": {"tie": "qk"}}],
 "columns": ["accuracy", "loss", {"measure": "accuracy@10", "as": "early"}],
 "bands": [{"variant": "separate", "measure": "loss", "most": 5}],
 "picture": {"kind": "bars", "measures": ["accuracy"], "title": "Tiny"},
 "seen": "It is {tied, Q=K|accuracy|%}.", "holds": "So it is.", "fails": "So it is not."}
END

# The results without the time each took, in one order.
results() { sed 's/,*"seconds":[^,}]*//' "$1/results.jsonl" | sort; }

# ---- the tests ----

built_in_studies_are_listed() {
    ran 0 study list && [ ! -s err ] || return 1
    for one in roles staged generalise robust sharing width rank heads several position output scale \
        capacity magnitude kv-budget pressure partner depth phase basis cross join coref tasks; do
        grep -q "^$one  *[A-Z\"]" out || { say "no $one in the list"; return 1; }
    done
}

a_file_is_a_study() {
    ran 0 study tiny.json --jobs 2 --out whole && [ ! -s err ] || return 1
    grep -q '^tied, Q=K  *[01]\.' out && grep -q '^  holds  *separate: loss <= 5$' out || return 1
    grep -q '^Claim    Nothing much.$' out &&
        grep -q '^Verdict  the one band holds. So it is.$' out || return 1
    grep -q '^Seen     It is [0-9.]*.*%\.$' out || { say "$(grep Seen out)"; return 1; }
    if LC_ALL=C awk 'length($0) > 104' out | grep -q .; then say "a line is too long"; return 1; fi
    [ "$(wc -l <whole/results.jsonl)" -eq 4 ] && [ -s whole/table.csv ] && [ -s whole/seeds.csv ]
}

finished_trainings_are_kept() {
    before=$(cksum <whole/results.jsonl)
    ran 0 study tiny.json --out whole && [ "$(cksum <whole/results.jsonl)" = "$before" ] || return 1
    ran 0 study tiny.json --out whole --seeds 3 && [ "$(wc -l <whole/results.jsonl)" -eq 6 ] || return 1
    ran 0 study tiny.json --out whole --first-seed 3 --seeds 1 --quiet && [ ! -s out ] || return 1
    [ "$(wc -l <whole/results.jsonl)" -eq 6 ]
}

parts_merged_are_the_whole() {
    for i in 1 2; do ran 0 study tiny.json --part $i/2 --out p$i --quiet || return 1; done
    [ "$(cat p1/results.jsonl p2/results.jsonl | wc -l)" -eq 4 ] || { say "not 4 trainings"; return 1; }
    ran 0 study --merge --out merged tiny.json p1 p2 && cp out told || return 1
    ran 0 study tiny.json --out alone && sed 's/alone/merged/' out | cmp - told || return 1
    [ "$(results merged)" = "$(results alone)" ] || say "merged parts differ from the whole"
}

# Tables are of the trainings, not of the order in which they came: at once or read again, backwards, after
# a stop, or merged in any order. The time that each took is its own.
any_order_gives_the_same_tables() {
    sed 's/"kind": "bars"/"kind": "lines", "x": "step"/; s/"measures": \["accuracy"\]/"measures": ["loss@#"]/
        s/"tiny"/"order"/; s/@10/@8/; s/"eval_every": 10/"eval_every": 4/' tiny.json >order.json
    ran 0 study order.json --seeds 3 --jobs 2 --out live && [ "$(wc -l <live/results.jsonl)" -eq 6 ] ||
        return 1
    same() { # DIR
        for file in table.csv lines.csv seeds.csv; do
            grep -v '"seconds' live/$file >want && grep -v '"seconds' $1/$file | cmp - want || return 1
        done
        [ "$(wc -l <want)" -gt 100 ] || say "nothing was compared"
    }
    mkdir back stopped one two
    sed '1!G;h;$!d' live/results.jsonl >back/results.jsonl
    sed 4,6d live/results.jsonl >stopped/results.jsonl
    sed 2,4d live/results.jsonl >one/results.jsonl
    sed -n 2,4p live/results.jsonl >two/results.jsonl
    cp -r live again
    for dir in again back stopped; do
        ran 0 study order.json --seeds 3 --jobs 2 --out $dir --quiet && same $dir || return 1
    done
    for parts in 'one two' 'two one' 'back one'; do
        rm -rf merged
        ran 0 study --merge --seeds 3 --out merged order.json $parts && same merged || return 1
        [ -e rows ] || cp merged/results.jsonl rows
        cmp rows merged/results.jsonl || return 1
    done
    ! command -v gnuplot >/dev/null || ! command -v python3 >/dev/null ||
        { (cd live/plots && gnuplot -c lines.gp svg 2>/dev/null) &&
            python3 "$root/tests/program/curves.py" live/plots/lines.svg 2 6; }
}

# One long line in training makes every other one be filled up: what is measured of these is the same, but for
# the order in which a processor sums longer rows.
padding_is_not_measured() {
    for a in a b c d; do for b in a b c d; do [ $a = $b ] || echo "$a $b => $a"; done; done >short.txt
    { cat short.txt && echo 'a b c d a b c d => a'; } >long.txt
    cp short.txt lines.txt
    cat >padding.json <<'END'
{"name": "padding", "seeds": 1,
 "base": {"task": "file", "data": "short.txt", "valid": "lines.txt", "test": "lines.txt", "layers": 2,
          "heads": 2, "d_model": 8, "norm": "none", "positions": "none", "steps": 0, "eval_examples": 99},
 "variants": [{"name": "short"}, {"name": "long", "set": {"data": "long.txt"}}],
 "probes": ["sizes", "entropy", "heads", "phase", "sink", "norms", "hull", "layers"], "columns": ["loss"]}
END
    ran 0 study padding.json --out padded && grep -c sizes padded/seeds.csv >/dev/null || return 1
    for name in short long; do
        grep "\"$name\"" padded/seeds.csv | grep -v '"seconds' | sed "s/\"$name\"//" >$name.csv
    done
    [ "$(wc -l <short.csv)" -gt 60 ] || return 1
    paste -d, short.csv long.csv | awk -F, '
        { n = NF / 2; d = $n - $NF; far = (d < 0 ? -d : d) > 1e-6 }
        $(n - 1) != $(NF - 1) || far { print "    " $0; wrong = 1 }
        END { exit wrong }'
}

summary_is_json() {
    ran 0 study tiny.json --out whole --json && [ ! -s err ] && [ "$(wc -l <out)" -eq 1 ] || return 1
    grep -q '"study":"tiny","holds":true,"seeds":2' out || { say "$(cat out)"; return 1; }
    grep -q '"variant":"tied, Q=K","measure":"accuracy@10","n":2' out || return 1
    command -v python3 >/dev/null || return 0 # grep has to do
    python3 -c 'import json; json.load(open("out"))' || say "python3 does not read the JSON"
}

# The table and the verdict as ever, nothing on stderr, and exit 1.
a_claim_that_fails_is_exit_1() {
    sed 's/"most": 5/"most": 0.001/; s/"tiny"/"wrong"/' tiny.json >wrong.json
    ran 1 study wrong.json --out wrong && [ ! -s err ] &&
        grep -q '^Verdict  the one band fails (separate: loss). So it is not.$' out || return 1
    ran 1 study wrong.json --out wrong --quiet && [ ! -s out ] || return 1
    ran 1 study --merge --out both wrong.json wrong
}

# What is not there, or not asked, has not held.
nothing_to_judge_is_no_verdict() {
    ran 0 study tiny.json --part 1/2 --out some && grep -q '^Verdict  none: 2 of its 4 trainings' out &&
        ran 1 study --merge --out less tiny.json some && grep -q '^Verdict  none: 2 of its 4' out &&
        ran 1 study --merge --out less tiny.json some --json && grep -q '"holds":null,.*"missing":2}' out ||
        return 1
    sed 's/"bands": *\[[^]]*\]/"bands": []/; s/"tiny"/"open"/' tiny.json >open.json
    ran 0 study open.json --out open && grep -q '^Verdict  none: the study has no bands' out
}

# A clause of the claim that no band tests is named before the training, in the verdict and in JSON; one that
# some band tests is not. A band is about a clause that there is.
untested_clauses_are_named() {
    sed 's/"most": 5/"most": 5, "tests": "little"/; s/"tiny"/"clauses"/
        s/"seeds": 2/"clauses": ["little", "less sharp"], "seeds": 2/' tiny.json >clauses.json
    ran 0 study clauses.json --out clauses && [ "$(wc -l <err)" -eq 1 ] &&
        grep -q "warning: no band of 'clauses' tests the clause 'less sharp' of its claim" err || return 1
    grep -q "^Verdict  the one band holds; no band tests the clause 'less sharp'. So it is.$" out || return 1
    ran 0 study clauses.json --out clauses --json && grep -q '"untested":\["less sharp"\]' out || return 1
    ran 0 study --merge --out clauses2 clauses.json clauses --quiet && grep -q "'less sharp'" err || return 1
    ran 0 study tiny.json --out whole --json && [ ! -s err ] && grep -q '"untested":\[\]' out || return 1
    sed 's/"little", //' clauses.json >gone.json
    refused 2 "tests 'little', which is no clause" study gone.json --out gone && [ ! -e gone ] || return 1
    sed 's/"little", /3, /' clauses.json >number.json
    refused 2 "a clause of the claim must be a text" study number.json --out gone
}

unknown_names_are_usage_errors() {
    refused 2 "did you mean 'roles'" study role &&
        refused 2 "there is no study 'conjure'" study conjure &&
        refused 2 "--part: '3/2'" study tiny.json --part 3/2 &&
        refused 2 "--seeds: 0 is not between 1 and" study tiny.json --seeds 0 &&
        refused 2 "a study is needed" study && refused 2 "one study at a time" study roles staged &&
        refused 2 "--merge needs" study --merge tiny.json p1
}

bad_files_are_exit_3() {
    printf '{"name": "x",' >torn.json
    refused 3 "'torn.json': line 1" study torn.json && refused 1 "none.json" study none.json
}

# misspelt SED TEXT: the study with that in it is refused, and nothing is trained.
misspelt() {
    sed "$1" tiny.json >typo.json && ! cmp -s tiny.json typo.json || { say "'$1' changes nothing"; return 1; }
    refused 2 "$2" study typo.json --out typo && absent typo
}
absent() { [ ! -e "$1" ] || say "$1 is there"; }

sums() { find "$1" -type f -exec cksum {} + | sort; }
what_is_misspelt_is_refused_before_training() {
    misspelt 's/"d_model"/"d_modle"/' "'d_modle'" && misspelt 's/"tie": "qk"/"tie": "qq"/' "tied, Q=K" &&
        misspelt 's/"accuracy", "loss"/"acuracy", "loss"/' "columns: 'acuracy' is not measured" &&
        misspelt 's/accuracy@10/accuracy@15/' "'accuracy@15' is not measured" &&
        misspelt 's/"measure": "loss"/"measure": "lost"/' "the band about 'separate': 'lost'" &&
        misspelt 's/"variant": "separate"/"variant": "seperate"/' "'seperate', which is no variant" &&
        misspelt 's/, "most": 5//' "has neither 'least' nor 'most'" &&
        misspelt 's/"measures": \["accuracy"/"measures": ["accurate"/' "the picture: 'accurate'" &&
        misspelt 's/{tied, Q=K|/{tied|/' "the variant is none of the study's" &&
        misspelt 's/"steps": 20/"steps": 20, "seed": 4/' "'seed' in 'base'" &&
        misspelt 's/"steps": 20/"steps": 20, "momentum": 0.5/' "--momentum belongs to" &&
        misspelt 's/"claim"/"probes": ["norm"], "claim"/' "there is no probe 'norm'" &&
        misspelt 's/"claim"/"probes": ["coref"], "claim"/' "the variant 'separate': " || return 1
    sed 's/"accuracy", "loss"/"acuracy", "loss"/' tiny.json >typo.json
    ran 0 study tiny.json --part 1/1 --out part --quiet && before=$(sums part) &&
        refused 2 "'acuracy' is not measured" study --merge --out part typo.json part &&
        [ "$(sums part)" = "$before" ]
}

# A rate at which nothing stays finite. What went well is kept; the rest is told, and tried again.
trainings_that_fail_are_exit_1() {
    sed 's/"tie": "qk"/"tie": "qk", "lr": 1000000, "optimizer": "sgd", "clip": 0/; s/"tiny"/"lost"/' \
        tiny.json >lost.json
    ran 1 study lost.json --out lost && [ ! -s err ] || return 1
    grep -q '^failed: tied, Q=K, seed 1: ' out &&
        grep -q '^Verdict  none: 2 of its 4 trainings failed$' out ||
        { say "$(cat out)"; return 1; }
    ran 1 study lost.json --out lost --json && grep -q '"holds":null,.*"failed":2,' out || return 1
    ran 1 study lost.json --out lost2 --part 2/2 --quiet &&
        ran 0 study lost.json --out lost2 --part 1/2 --quiet &&
        ran 1 study --merge --out lost3 lost.json lost2 && grep -q '^Verdict  none: 2 of its 4' out ||
        return 1
    sed 's/"bands": *\[[^]]*\]/"bands": []/' lost.json >open.json
    ran 1 study open.json --out lost
}

a_picture_is_drawn() {
    needs gnuplot || return
    ran 0 study tiny.json --out whole && grep -q '^Picture  whole/plots/bars.png$' out || return 1
    [ -s whole/plots/bars.png ] && [ -s whole/plots/bars.gp ] && [ -s whole/plots/bars.csv ] || return 1
    (cd whole/plots && gnuplot -c bars.gp svg 2>/dev/null) || return 1
    grep -q 'tied.*Q=K' whole/plots/bars.svg && grep -q '>Tiny<' whole/plots/bars.svg ||
        say "no names in the picture"
    for format in svg pdf txt; do # drawn again from what is there
        ran 0 study tiny.json --out whole --format $format &&
            grep -q "^Picture  whole/plots/bars.$format\$" out &&
            [ -s whole/plots/bars.$format ] || return 1
    done
    ran 0 study tiny.json --out whole --format svg --size 700x300 --font Times,15 &&
        grep -q 'width="700" height="300"' whole/plots/bars.svg &&
        grep -q Times whole/plots/bars.svg || return 1
    ran 0 study tiny.json --out whole --size 550x300 --dpi 192 --quiet && [ ! -s out ] &&
        [ "$(od -An -tu1 -j16 -N8 whole/plots/bars.png | xargs)" = '0 0 4 76 0 0 2 88' ] || return 1
    refused 2 "--format: 'gif'" study tiny.json --out whole --format gif &&
        refused 2 '--dpi' study tiny.json --out whole --format svg --dpi 96 &&
        refused 2 '--size' study tiny.json --out whole --size 5
}

# The example's study, with few steps.
short_example() {
    sed 's/"steps": 600/"steps": 20/; s/"seeds": 3/"seeds": 2/; s/0.99}/0}/' "$examples/study.json" >rate.json
}

gnu_parallel_runs_the_parts() {
    parallel --version 2>/dev/null | grep -q GNU || cannot "no GNU parallel" || return
    short_example
    sh "$examples/study_parallel.sh" rate.json 2 "with blanks" >out 2>err ||
        { say "$(cat err)"; return 1; }
    grep -q '^Study rate: 2 variants, 2 seeds$' out && [ "$(wc -l <"with blanks/results.jsonl")" -eq 4 ]
}

# The study by Slurm; a stand-in for its sbatch runs the jobs of an array side by side, and what
# depends on an array if all of it went well, before it says the number of the job.
slurm() { # STUDY PARTS OUT
    PATH=$PWD/slurm:$PATH QKV=$QKV sh "$examples/study_slurm.sh" "$@" >out 2>err && [ ! -s err ]
}

slurm_runs_the_parts() {
    short_example
    mkdir -p slurm && cat >slurm/sbatch <<'END'
#!/bin/sh
for word; do
    case $word in
    --parsable | --kill-on-invalid-dep=yes) ;;
    --array=1-*) array=${word#--array=1-} ;;
    --output=*) output=${word#--output=} ;;
    --dependency=afterok:*) after=${word#--dependency=afterok:} ;;
    *) [ $# -eq 1 ] && script=$word || exit 9 ;;
    esac
    shift
done
job=$(($(cat jobs 2>/dev/null || echo 40) + 1))
echo $job >jobs
if [ -n "${array:-}" ]; then
    for i in $(seq "$array"); do
        log=$(echo "$output" | sed "s/%a/$i/")
        SLURM_JOB_ID=$job SLURM_ARRAY_TASK_ID=$i sh "$script" >"$log" 2>&1 &
        children="${children:-} $!"
    done
    for child in $children; do wait "$child" || touch failed-$job; done
elif [ ! -e "failed-$after" ]; then SLURM_JOB_ID=$job sh "$script" >"$output" 2>&1; fi
echo $job
END
    chmod +x slurm/sbatch
    slurm rate.json 3 "on nodes" || { say "$(cat err "on nodes"/*.log)"; return 1; }
    [ "$(cat out)" = 42 ] && [ "$(cat "on nodes"/part-*/results.jsonl | wc -l)" -eq 4 ] || return 1
    grep -q '^Study rate: 2 variants, 2 seeds$' "on nodes/study.log" || return 1
    ran 0 study rate.json --out all && [ "$(results "on nodes")" = "$(results all)" ] || return 1
    echo '{' >torn.json
    slurm torn.json 2 none || return 1
    grep -q "torn.json" none/part-1.log && [ ! -e none/study.log ]
}

# Whatever a study may say stands in the page on it.
the_page_names_every_member() {
    sed -n '/members\[\] *=/,/;/p' "$root"/train/study/parse*.c | grep -o '"[a-z_]*"' |
        tr -d '"' | sort -u >members
    [ "$(wc -l <members)" -gt 30 ] || { say "only $(wc -l <members) members"; return 1; }
    while read -r member; do
        grep -qE "[\`\"]$member[\`\":]" "$root/docs/studies.md" || say "no $member"
    done <members
}

tests="built_in_studies_are_listed a_file_is_a_study finished_trainings_are_kept parts_merged_are_the_whole
any_order_gives_the_same_tables padding_is_not_measured
nothing_to_judge_is_no_verdict untested_clauses_are_named summary_is_json a_claim_that_fails_is_exit_1
unknown_names_are_usage_errors bad_files_are_exit_3 what_is_misspelt_is_refused_before_training
trainings_that_fail_are_exit_1
a_picture_is_drawn gnu_parallel_runs_the_parts slurm_runs_the_parts the_page_names_every_member"
suite $tests
