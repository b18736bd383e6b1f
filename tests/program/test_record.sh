#!/bin/sh
# test_record.sh - what a run's directory promises: it stays the run that it is, can be begun from
# another, be had again at any step, and is refused where something in it is missing or damaged. QKV
# is the program's path. Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1

sum_of() { (cd "$1" && find . -type f ! -name .lock -exec cksum {} + | sort); }
same_dir() { [ "$(sum_of "$1")" = "$2" ] || say "$1 has changed"; }
same_file() { cmp "$1" "$2" || say "$1 and $2 differ"; }
metrics() { sed 's/,[^,]*$//' "$1/metrics.csv"; }
same_metrics() { [ "$(metrics "$1")" = "$(metrics "$2")" ] || say "metrics of $1 and $2 differ"; }
small='--d-model 8 --batch 8 --eval-examples 32 --quiet --threads 1'
train() {
    where=$1 steps=$2
    shift 2
    ran 0 train --out "$where" --steps "$steps" $small "$@"
}
last_row() { tail -n 1 "$1/metrics.csv"; }
await() {
    i=0
    until [ -e "$1" ]; do
        i=$((i + 1))
        [ $i -le 200 ] || { say "no $1"; return 1; }
        sleep 0.1
    done
}
# The tensors of two checkpoints, whatever their configurations.
same_tensors() {
    command -v python3 >/dev/null || return 0
    python3 - "$1" "$2" <<'END' || say "the tensors of $1 and $2 differ"
import json, sys
def tensors(path):
    raw = open(path, "rb").read()
    n = 8 + int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8:n])
    head.pop("__metadata__")
    return {k: raw[n + v["data_offsets"][0]:n + v["data_offsets"][1]] for k, v in head.items()}
sys.exit(tensors(sys.argv[1]) != tensors(sys.argv[2]))
END
}

# ---- a resumed run stays what it is ----

resume_takes_more_steps_only() {
    train kept 20 --seed 7 || return 1
    before=$(sum_of kept)
    for option in '--lr 0.1' '--seed 7' '--seed 2' '--batch 4' '--dropout 0.1' '--heads 4' '--eval-every 5' \
        '--no-bias' '--task coref' '--until-accuracy 0.5' '--schedule cosine' '--config kept/config.json'; do
        name=${option%% *}
        refused 2 "$name" train --out kept --resume --steps 30 $option || return 1
        grep -q -e '--from' err || { say "no word of --from: $(cat err)"; return 1; }
    done
    refused 2 '--from' train --out kept --resume --from kept && same_dir kept "$before" || return 1
    ran 0 train --out kept --resume --steps 30 --threads 2 --save-every 7 --keep 3 --quiet &&
        train whole 30 --seed 7 && same_metrics kept whole &&
        same_tensors kept/step-00000030.safetensors whole/step-00000030.safetensors &&
        grep -v -e save_every -e '"keep"' kept/config.json >kept.json &&
        grep -v -e save_every -e '"keep"' whole/config.json >whole.json &&
        same_file kept.json whole.json || return 1
    ran 0 train --config kept/config.json --out again --quiet && same_metrics kept again
}

a_schedule_keeps_its_length() {
    for schedule in cosine linear wsd; do
        train short-$schedule 40 --schedule $schedule --least-lr 0.001 &&
            ran 0 train --out short-$schedule --resume --steps 80 --quiet || return 1
        train long-$schedule 80 --schedule $schedule --least-lr 0.001 --schedule-steps 40 &&
            same_metrics short-$schedule long-$schedule || return 1
        grep -q '"schedule_steps": 40' short-$schedule/config.json || return 1
        # it never rises again, and ends at the least rate
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "lr") lr = i; next }
            NR > 2 && $lr > before + 1e-12 { print "    rises at step " $1; bad = 1 }
            { before = $lr } END { exit bad || before != 0.001 }' short-$schedule/metrics.csv || return 1
    done
    refused 2 '--least-lr' train --out never --schedule cosine --lr 0.001 --least-lr 0.1
}

seconds_add_up() {
    train legs 400 --eval-every 100000 && first=$(tail -n 1 legs/clock.csv | cut -d, -f2) || return 1
    ran 0 train --out legs --resume --steps 401 --json --threads 1 || return 1
    all=$(sed 's/.*"seconds":\([0-9.e-]*\).*/\1/' out)
    awk "BEGIN { exit !($all > $first) }" || { say "$all s in all, $first s in the first leg"; return 1; }
    ran 0 train --out legs --resume --json &&
        awk "BEGIN { exit !($(sed 's/.*"seconds":\([0-9.e-]*\).*/\1/' out) >= $first) }"
}

# ---- damaged and incomplete ----

# refuses_damage NAME SENTENCE: the run "bad", with whatever was done to it
refuses_damage() {
    before=$(sum_of bad)
    refused 3 "$1" train --out bad --resume --steps 60 --quiet && same_dir bad "$before"
}
what_is_damaged_is_refused() {
    train sound 40 --seed 7 || return 1
    rm -rf bad && cp -r sound bad && sed -i '3s/.*/nonsense/' bad/metrics.csv &&
        refuses_damage 'line 3 is not the row of step 10' || return 1
    rm -rf bad && cp -r sound bad && sed -i 3d bad/metrics.csv &&
        refuses_damage 'line 3 is not the row of step 10' || return 1
    rm -rf bad && cp -r sound bad && sed -i '4s/,[^,]*,/,x,/' bad/metrics.csv && refuses_damage 'line 4' ||
        return 1
    rm -rf bad && cp -r sound bad && sed -i '4s/,[^,]*//' bad/metrics.csv && refuses_damage 'line 4' ||
        return 1
    rm -rf bad && cp -r sound bad && sed -i 1d bad/metrics.csv && refuses_damage 'first line' || return 1
    rm -rf bad && cp -r sound bad && : >bad/metrics.csv && refuses_damage 'it is empty' || return 1
    rm -rf bad && cp -r sound bad && rm bad/metrics.csv && refuses_damage 'missing' || return 1
    for field in seed lr steps task pairs from; do
        rm -rf bad && cp -r sound bad && sed -i "/\"$field\":/d" bad/config.json &&
            refuses_damage "'$field'" || return 1
    done
    rm -rf bad && cp -r sound bad && sed -i 's/"seed": 7/"seed": 8/' bad/config.json &&
        refuses_damage '--seed' || return 1
    rm -rf bad && cp -r sound bad && rm bad/best.safetensors && refuses_damage best.safetensors || return 1
    rm -rf bad && cp -r sound bad && echo x >>bad/best.safetensors && refuses_damage best.safetensors ||
        return 1
    for change in 1d '1s/seconds/second/' '2s/.*/nonsense/' '2s/,.*/,/' '2s/$/,1/'; do
        rm -rf bad && cp -r sound bad && sed -i "$change" bad/clock.csv &&
            refuses_damage "'bad/clock.csv' is damaged: line ${change%%[ds]*}" || return 1
    done
    rm -rf bad && cp -r sound bad && sed -i 's/"kv_heads": 1/"kv_heads": 5/' bad/config.json &&
        refuses_damage "'bad/config.json': 5 key/value heads" || return 1
    # what was never promised may be anything: rows after the checkpoint, a torn last one
    rm -rf bad && cp -r sound bad && printf '50,garbage' >>bad/metrics.csv && rm bad/clock.csv &&
        ran 0 train --out bad --resume --steps 60 --quiet && train good 60 --seed 7 &&
            same_metrics bad good || return 1
    sed -i '/"seed":/d' sound/config.json && refused 3 "'seed'" eval sound
}

weights_that_are_not_finite_are_said() {
    command -v python3 >/dev/null || return $SKIP
    train nan 10 && python3 - <<'END' || return 1
import json, re, struct, zlib
path = "nan/step-00000010.safetensors"
raw = bytearray(open(path, "rb").read())
n = 8 + int.from_bytes(raw[:8], "little")
at = n + json.loads(raw[8:n])["layer0.attn.wk"]["data_offsets"][0]
raw[at:at + 4] = struct.pack("<f", float("nan"))
blank = re.sub(rb'"crc32":"[0-9a-f]{8}"', b'"crc32":"00000000"', bytes(raw), count=1)
open(path, "wb").write(blank.replace(b'"crc32":"00000000"', b'"crc32":"%08x"' % zlib.crc32(blank)))
END
    for command in 'eval nan' 'eval nan --json' 'show nan' 'train --out nan --resume --steps 20' \
        'train --from nan --steps 20 --out never'; do
        refused 4 "layer0.attn.wk" $command || return 1
    done
    [ ! -e never ]
}

a_gradient_too_large_for_adam_is_refused() {
    refused 4 'cannot hold' train --out huge --steps 5 $small --readout vector --embed-std 1e6 \
        --init-gain 1e6 &&
        refused 4 'cannot hold' train --out huge2 --steps 5 $small --readout vector --embed-std 1e6 \
            --init-gain 1e6 \
            --optimizer adamw && train huge3 5 --readout vector --embed-std 1e6 --init-gain 1e6 --clip 1
}

# ---- one run from another ----

a_run_begins_from_another() {
    train source 40 --dropout 0.1 --save-every 15 || return 1
    before=$(sum_of source)
    # the same options: the same run
    ran 0 train --from source@25 --out same --quiet &&
        same_tensors source/step-00000040.safetensors same/step-00000040.safetensors &&
        [ "$(metrics source | tail -n 2)" = "$(metrics same | tail -n 2)" ] || return 1
    # other options, repeated bit for bit by its config.json
    ran 0 train --from source@25 --steps 60 --lr 0.01 --batch 4 --save-every 25 --out other --quiet &&
        grep -q '"from": "source@25"' other/config.json &&
        grep -q '"from_checksum": "[0-9a-f]\{8\}"' other/config.json &&
        ran 0 train --config other/config.json --save-every 25 --out repeated --quiet &&
            same_metrics other repeated &&
        same_file other/step-00000060.safetensors repeated/step-00000060.safetensors &&
        same_file other/config.json repeated/config.json || return 1
    head -n 2 other/metrics.csv | tail -n 1 | grep -q '^30,' || return 1
    # the newest, another optimiser, a chain, and in two legs without its source
    ran 0 train --from source --steps 60 --out newest --quiet &&
        grep -q '"from": "source@40"' newest/config.json &&
        refused 2 '--no-moments' train --from source --steps 60 --optimizer sgd --out never &&
        ran 0 train --from source --steps 60 --optimizer sgd --no-moments --out sgd --quiet &&
        ran 0 train --from other@50 --steps 70 --out chain --quiet || return 1
    cp -r source gone && ran 0 train --from gone@25 --steps 50 --lr 0.01 --batch 4 --out two --quiet &&
        rm -r gone && ran 0 train --out two --resume --steps 60 --quiet && same_metrics other two &&
        same_tensors other/step-00000060.safetensors two/step-00000060.safetensors || return 1
    same_dir source "$before" || return 1
    refused 2 'cannot replace' train --from source@20 --out source --force && same_dir source "$before" ||
        return 1
    refused 2 'no state at step 41' train --from source@41 --steps 60 --out never &&
        refused 2 '--steps 40' train --from source --out never &&
        refused 2 'does not fit' train --from source --steps 60 --d-model 16 --out never &&
        refused 2 '--from' train --no-moments --out never &&
            refused 1 nowhere train --from nowhere --out never || return 1
    sed 's/"from_checksum": "[0-9a-f]*"/"from_checksum": "00000000"/' other/config.json >odd.json &&
        refused 3 'checksum' train --config odd.json --out never && [ ! -e never ]
}

# Fresh moments are corrected from where they began: with Adam the first step is one rate long.
fresh_moments_begin_anew() {
    train moments 30 && ran 0 train --from moments@30 --steps 31 --no-moments --lr 0.01 --out fresh \
        --quiet || return 1
    command -v python3 >/dev/null || return $SKIP
    python3 - <<'END' || say "the first step is not one rate long"
import json, struct
def weights(path, name):
    raw = open(path, "rb").read()
    n = 8 + int.from_bytes(raw[:8], "little")
    a, b = json.loads(raw[8:n])[name]["data_offsets"]
    return struct.unpack("<%df" % ((b - a) // 4), raw[n + a:n + b])
x = weights("fresh/start.safetensors", "layer0.attn.wv")
y = weights("fresh/step-00000031.safetensors", "layer0.attn.wv")
moved = [abs(a - b) for a, b in zip(x, y)]
assert 0.0099 < max(moved) < 0.0101, max(moved)
END
}

# An empty name, as an unset variable gives, is not the directory that one is in.
an_empty_name_is_no_run() {
    train here 10 || return 1
    before=$(sum_of here)
    cd here || return 1
    taken=
    for command in eval info show heads patch plot view sample 'export --csv never' 'train --from' \
        'train --steps 20 --resume --out' 'train --steps 20 --force --out'; do
        run $command ''
        [ "$status" -ne 0 ] && grep -q "'' names no directory" err || taken="$taken; $command: $(cat err)"
    done
    rm -f out err
    cd .. && [ -z "$taken" ] || say "$taken" || return 1
    same_dir here "$before"
}

a_source_that_is_not_there_is_named() {
    for from in nowhere nowhere@3 here@x here@-1 here@ @5; do
        refused 1 "--from" train --from $from --steps 20 --out never || return 1
    done
    ran 0 train --from here --steps 20 --out there --quiet && rm -rf here &&
        refused 1 '--from here@10: ' train --config there/config.json --out never && [ ! -e never ]
}

# ---- any step again ----

any_step_can_be_had_again() {
    train film 40 --dropout 0.1 --save-every log && [ "$(ls film/step-* | wc -l)" -eq 7 ] || return 1
    for step in 0 1 7 23 39 40; do
        train upto 40 --dropout 0.1 --force --save-every 1 --keep 100 || return 1
        [ $step -eq 0 ] || { ran 0 eval upto --at $step --json --examples 64 &&
            sed 's/"run":"[a-z]*"//' out >one; }
        ran 0 eval film --at $step --json --examples 64 && grep -q "\"step\":$step," out && [ ! -s err ] ||
            return 1
        [ $step -eq 0 ] || { sed 's/"run":"[a-z]*"//' out | cmp - one || return 1; }
    done
    ran 0 show film --at 5 && ran 0 export film --at 5 --csv exported &&
        refused 2 'no state' eval film --at 41 &&
        refused 2 '--at' eval film --at x && refused 2 '--at' plot film --at 3 || return 1
    # by another build it is said
    sed -i 's/"compiler": "[^"]*"/"compiler": "another"/' film/config.json
    ran 0 eval film --at 23 --examples 64 && grep -q 'note: .*another build.*not the same bits' err &&
        ran 0 eval film --at 16 --examples 64 && [ ! -s err ]
}

# ---- ending early ----

it_stops_when_told_to() {
    ran 0 train --out reached --steps 2000 --until-accuracy 0.9 --json || return 1
    steps=$(sed 's/.*"steps":\([0-9]*\).*/\1/' out)
    [ "$steps" -lt 600 ] && [ "$(last_row reached | cut -d, -f1)" -eq "$steps" ] &&
        awk -F, 'NR > 1 && $4 >= 0.9 { n++ } END { exit n != 1 }' reached/metrics.csv || return 1
    before=$(sum_of reached)
    ran 0 train --out reached --resume --steps 3000 && grep -q 'Nothing to do' out &&
        same_dir reached "$before" || return 1
    train stuck 500 --lr 0 --patience 3 && [ "$(last_row stuck | cut -d, -f1)" -eq 30 ] || return 1
    # interrupted or not, it stops at the same step
    train patient 3000 --lr 0.3 --patience 2 && last=$(last_row patient | cut -d, -f1) &&
        [ "$last" -gt 5 ] && train halves $((last - 5)) --lr 0.3 --patience 2 &&
        ran 0 train --out halves --resume --steps 3000 --quiet && same_metrics patient halves
}

# ---- several at once ----

who_makes_a_directory_has_it() {
    mkdir many && (cd many && for i in 1 2 3 4 5 6; do
        "$QKV" train --steps 3 $small >out$i 2>&1 &
    done && wait)
    [ "$(ls many/runs | wc -l)" -eq 6 ] &&
        [ "$(ls many/runs/pairs-*/step-00000003.safetensors | wc -l)" -eq 6 ] ||
        say "$(ls many/runs; cat many/out*)"
}

one_study_in_a_directory_at_once() {
    cat >s.json <<'END'
{"name": "s", "claim": "c", "seeds": 2, "base": {"steps": 100000000, "d_model": 8},
 "variants": [{"name": "v", "set": {}}], "columns": ["accuracy"], "seen": "s", "holds": "h", "fails": "f"}
END
    "$QKV" study s.json --out study --quiet >/dev/null 2>&1 &
    child=$!
    await study/results.jsonl && refused 1 "another study is writing to 'study'" study s.json --out study &&
        refused 1 "another study" study --merge --out study s.json study || return 1
    kill -TERM $child
    ended 143
}

# ---- signals ----

# Whatever ends a program by itself ends a training with a checkpoint.
signals_save() {
    for signal in INT TERM HUP QUIT USR1 USR2 XCPU ALRM VTALRM PROF PIPE PWR IO RTMIN RTMAX; do
        kill -l $signal >/dev/null 2>&1 || bash -c "kill -l $signal" >/dev/null 2>&1 || continue
        command -v bash >/dev/null || return $SKIP
        rm -rf caught err1
        bash -c '"$@" 2>err1 >/dev/null & echo $! >pid; wait $!; echo $? >code' bash \
            env --default-signal "$QKV" train --out caught --steps 100000000 $small --eval-every 100000 &
        child=$!
        await caught/metrics.csv
        await pid
        sleep 0.1
        bash -c "kill -$signal $(cat pid)"
        wait $child
        child=
        n=$(bash -c "kill -l $signal")
        [ "$(cat code)" -eq $((128 + n)) ] && grep -q 'stopped after' err1 &&
            ls caught/step-*.safetensors >/dev/null ||
            { say "$signal: exit $(cat code); $(cat err1)"; return 1; }
        rm -f pid code
    done
}

# Where the soft limit of processor time is the hard one, the kernel would only kill.
a_limit_of_processor_time_saves() {
    code=0
    (ulimit -t 2 && exec "$QKV" train --out limited --steps 100000000 $small) >out 2>err || code=$?
    [ $code -eq 152 ] && grep -q 'stopped after' err && ls limited/step-*.safetensors >/dev/null ||
        say "$(cat err; ls limited)"
}

# `timeout` asks twice, one right after the other: to the program, and to its group.
asking_twice_at_once_is_asking_once() {
    "$QKV" train --out twice --steps 100000000 --d-model 256 --batch 2048 --eval-examples 1 --quiet \
        >/dev/null 2>err &
    child=$!
    await twice/metrics.csv
    sleep 0.5
    kill -TERM $child
    sleep 0.05
    kill -TERM $child
    ended 143
    ls twice/step-*.safetensors >/dev/null && grep -q 'stopped after' err
}

# ---- what is replaced ----

force_leaves_nothing_of_the_old_run() {
    train old 20 && mkdir -p old/plots old/probe && echo mine >old/plots/mine.png &&
        echo mine >old/probe/mine.csv &&
        echo mine >old/notes || return 1
    for file in loss.png loss.gp loss.csv attention.svg circuits.pdf learning.txt; do echo x \
        >old/plots/$file; done
    echo x >old/probe/example-3.csv && train old 5 --force --readout vector || return 1
    [ "$(ls old/plots)" = mine.png ] && [ -e old/probe/mine.csv ] && [ -e old/notes ] &&
        [ ! -e old/probe/example-3.csv ] && [ ! -e old/probe/attention-after.csv ] || say "$(find old)"
}

a_path_that_cannot_be_made_is_an_error() {
    [ -d /proc/self ] || return $SKIP
    for path in /proc/x /proc/x/y/z /sys/x /dev/null/x; do
        if mkdir $path 2>/dev/null; then rmdir $path && continue; fi # no sysfs
        status=0
        timeout 20 "$QKV" train --out $path --steps 1 $small >out 2>err || status=$?
        [ $status -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] || { say "$path: $(head -c 300 err)"; return 1; }
    done
}

# ---- one account ----

cached_numbers_have_one_account() {
    cat >cache.json <<'END'
{"name": "cache", "claim": "c", "seeds": 1, "base": {"steps": 1, "tie": "kv", "wk": false},
 "variants": [{"name": "with", "set": {"wk": true}}, {"name": "v"}], "columns": ["cached"],
 "seen": "s", "holds": "h", "fails": "f"}
END
    ran 0 study cache.json --out cache --json &&
        study=$(sed 's/.*"measure":"cached"[^}]*"mean":\([0-9]*\).*/\1/' out) &&
        train apart 1 --no-wk --d-model 32 &&
        sed 's/"tie": "none"/"tie": "kv"/' apart/config.json >tied.json &&
        ran 0 train --config tied.json --out tied --quiet && ran 0 info tied --json || return 1
    grep -q "\"cache[a-z_]*\":$study[,.}]" out || grep -q "[:,{]\"layer\":$study" out ||
        grep -qw "$study" out ||
        say "a study says $study"
    [ "$study" -eq 64 ] || say "a study says $study, not 64"
}

suite resume_takes_more_steps_only a_schedule_keeps_its_length seconds_add_up what_is_damaged_is_refused \
    weights_that_are_not_finite_are_said a_gradient_too_large_for_adam_is_refused a_run_begins_from_another \
    fresh_moments_begin_anew an_empty_name_is_no_run a_source_that_is_not_there_is_named \
    any_step_can_be_had_again it_stops_when_told_to who_makes_a_directory_has_it \
    one_study_in_a_directory_at_once signals_save a_limit_of_processor_time_saves \
    asking_twice_at_once_is_asking_once \
    force_leaves_nothing_of_the_old_run a_path_that_cannot_be_made_is_an_error cached_numbers_have_one_account
