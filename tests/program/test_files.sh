#!/bin/sh
# test_files.sh - what the program writes, replaces, removes and leaves: outputs that are no plain files,
# signals in the middle of a write, what --force takes away, and runs whose files lie elsewhere. QKV is the
# program's path; run from the root of the tree. Reports in cmocka's words, for run.sh.
root=$PWD
qkv=${QKV:-build/qkv}
case $qkv in /*) ;; *) qkv=$root/$qkv ;; esac
dir=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1
cd "$dir" || exit 1
export LC_ALL=C
unset QKV
quiet='--quiet --threads 1 --eval-examples 4'

# gives CODE ARGUMENTS...: runs the program, leaves `out` and `err` here.
gives() {
    expected=$1 status=0
    shift
    "$qkv" "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
    [ $status -eq "$expected" ] || say "qkv $*: exit $status, not $expected: $(cat "$dir/err")"
}

# says TEXT: in the one line on stderr.
says() {
    [ "$(wc -l <"$dir/err")" -eq 1 ] || { say "not one line: $(cat "$dir/err")"; return 1; }
    grep -qF -e "$1" "$dir/err" || say "'$(cat "$dir/err")' does not say '$1'"
}
same() { cmp "$1" "$2" >/dev/null || say "$1 and $2 differ"; }

gives 0 train --steps 6 --save-every 2 --out run $quiet || exit 1
echo '<script type="application/json" id="run">null</script>' >page
"$qkv" view run --page page --out probe.html >/dev/null 2>&1 || views=no # single precision only

# view TARGET: writes the run there.
view() { gives "$1" view run --page page --out "$2"; }
can_view() { [ -z "$views" ] || cannot "this build writes no page"; }

# ---- outputs that are no plain files ---------------------------------------------------------------

a_link_stays_a_link() {
    can_view || return
    mkdir -p far && view 0 far/plain
    ln -s far/plain link && ln -s link second && ln -s far/new dangling
    for name in dangling link second; do
        echo old >far/plain
        view 0 $name
        [ -L $name ] || say "$name is no link any more"
    done
    same far/plain far/new
    ln -s round round
    view 1 round
    says "'round': Too many levels of symbolic links"
    ln -s none/at/all broken
    view 1 broken
    [ -L broken ] && [ ! -e none ]
}

a_device_stays_a_device() {
    can_view || return
    view 0 plain
    for device in /dev/null /dev/full; do
        [ -c $device ] || cannot "no $device" || return
    done
    # not the system's own: today's program would replace them
    if mknod full c 1 7 2>/dev/null && (echo x >full) 2>&1 | grep -q 'No space'; then
        view 1 full
        says "cannot write 'full': No space left on device"
        [ -c full ] || say "the device is gone"
        mknod null c 1 3
        view 0 null
        [ -c null ] || say "the device is gone"
    fi
    ln -s /dev/null to_null
    view 0 to_null
    [ -L to_null ]
    mkfifo fifo
    (cat fifo >through) &
    child=$!
    view 0 fifo
    ended 0
    [ -p fifo ] && same through plain
}

standard_output_gets_the_file_alone() {
    can_view || return
    view 0 plain
    # by links of its own: a program that replaced them would harm the system
    ln -s /dev/stdout stdout && ln -s /proc/self/fd/1 one_fd
    for name in stdout one_fd /dev/fd/1 /proc/self/fd/1; do
        gives 0 view run --page page --out $name
        same out plain
        grep -q "The run is in $name" err
        "$qkv" view run --page page --out $name 2>/dev/null | cmp - plain
        echo before >appended
        "$qkv" view run --page page --out $name 2>/dev/null >>appended
        { echo before; cat plain; } | cmp - appended
    done
    view 1 /dev/fd/87
    says 'Bad file descriptor'
}

what_may_not_be_written_is_refused() {
    can_view || return
    mkdir -p directory && echo mine >closed && chmod 400 closed
    for name in directory directory/; do
        view 1 $name
        says 'Is a directory'
    done
    for name in '' none/file closed/file; do view 1 "$name" && says 'cannot '; done
    [ "$(cat closed)" = mine ]
    [ "$(id -u)" -ne 0 ] || setpriv --clear-groups --reuid 65534 true 2>/dev/null || return 0
    if [ "$(id -u)" -eq 0 ]; then
        chmod 711 "$dir" && mkdir -p theirs && cp closed theirs && chown -R 65534 theirs &&
            chmod 400 theirs/closed
        status=0
        setpriv --clear-groups --reuid 65534 \
            "$qkv" view run --page page --out theirs/closed >out 2>err || status=$?
        [ $status -eq 1 ] || say "exit $status: $(cat err)"
    else
        cp closed theirs.closed && view 1 theirs.closed
    fi
    says 'Permission denied'
}

other_names_of_a_file_show_the_same() {
    can_view || return
    view 0 plain && echo old >one && ln one other
    view 0 one
    same one plain && same other plain
    [ "$(stat -c %h one)" -eq 2 ]
}

# Each command that writes files of its own goes the same way: a link where a file will come is followed.
every_command_follows_links() {
    mkdir -p away linked/weights linked/plots linked/heads/probe
    gives 0 export run --npy plainly
    one=$(cd plainly/weights && ls | head -n 1)
    ln -s ../../away/weight linked/weights/"$one"
    gives 0 export run --npy linked --force
    [ -L linked/weights/"$one" ]
    same away/weight plainly/weights/"$one"
    cp -r run linked/run && mkdir -p linked/run/plots linked/run/heads/probe
    ln -s ../../away/config linked/run/new.json && mv linked/run/config.json away/config
    mv linked/run/new.json linked/run/config.json
    gives 0 train --resume --out linked/run --steps 8 --quiet --threads 1
    [ -L linked/run/config.json ]
    grep -q '"steps": 8' away/config
    ln -s ../../../../away/map linked/run/heads/probe/example-0.csv
    gives 0 heads linked/run --examples 8
    [ -L linked/run/heads/probe/example-0.csv ]
    [ -s away/map ]
    ln -s ../../../away/picture linked/run/plots/loss.txt
    gives 0 plot linked/run --only loss --format txt || gives 6 plot linked/run --only loss --format txt
    [ ! -s out ] || { [ -L linked/run/plots/loss.txt ] && [ -s away/picture ]; }
}

# ---- signals ---------------------------------------------------------------------------------------

# Every fsync of a file whose name has $SLOW in it takes a minute: so long there is its temporary file.
cat >slow.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int fsync(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    const char *slow = getenv("SLOW"), *name;
    path[n < 0 ? 0 : n] = 0;
    name = strrchr(path, '/');
    if (slow && name && strstr(path, slow) && strstr(name, ".qkv-"))
        for (int i = 0; i < 600; i++) usleep(100000);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
END
slowly() {
    [ -e slow.so ] || "${CC:-cc}" -shared -fPIC slow.c -o slow.so -ldl 2>/dev/null ||
        cannot "no compiler" || return
    LD_PRELOAD=$dir/slow.so "$qkv" --version >/dev/null 2>&1 || cannot "this build cannot be slowed down"
}

temporaries() { find "$1" -name '.qkv-*.tmp' | wc -l; }
temporary() { find "$1" -name '.qkv-*.tmp' 2>/dev/null || true; }

# begin WHERE ARGUMENTS...: starts the program, until it writes a temporary file there.
begin() {
    where=$1 earlier=$(temporary "$1")
    shift
    SLOW=/$where/ LD_PRELOAD=$dir/slow.so "$qkv" "$@" >out 2>err </dev/null &
    child=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
        now=$(temporary "$where")
        [ -z "$now" ] || [ "$now" = "$earlier" ] || return 0
        sleep 0.2
    done
    say "qkv $*: no temporary file in $where: $(cat err)"
}

signals_remove_temporary_files() {
    slowly || return
    cp -r run cut
    for number in 1 10 12 14 15 24; do # HUP USR1 USR2 ALRM TERM XCPU
        code=$((128 + number))
        begin npy/weights export cut --npy npy --force
        kill -$number $child
        ended $code
        [ "$(temporaries npy)" -eq 0 ] || say "signal $number leaves $(find npy -name '.qkv-*')"
    done
    for command in patch heads; do
        begin cut/$command/probe $command cut
        kill -TERM $child
        ended 143
        [ "$(temporaries cut)" -eq 0 ] || say "$command leaves $(find cut -name '.qkv-*')"
    done
}

# A training finishes its step and saves; who insists ends it in the middle of the save.
a_second_signal_removes_them_too() {
    slowly || return
    begin train train --steps 6 --out train $quiet
    kill -TERM $child && sleep 1 && kill -TERM $child
    ended 143
    [ "$(temporaries train)" -eq 0 ]
    mkdir -p claim && cat >claim.json <<'END'
{"name": "claim", "claim": "None.", "seeds": 1, "base": {"steps": 2, "eval_examples": 4},
 "variants": [{"name": "one"}], "columns": ["accuracy"], "seen": "It is.", "holds": "Yes.", "fails": "No.",
 "bands": [{"variant": "one", "measure": "accuracy", "least": 0}]}
END
    begin claim study claim.json --out claim --quiet
    kill -TERM $child && sleep 1 && kill -TERM $child
    ended 143
    [ "$(temporaries claim)" -eq 0 ]
}

# What a killed process leaves goes at the next start; what a living one writes stays.
killed_ones_are_swept() {
    slowly || return
    cp -r run cut2
    begin cut2/patch/probe patch cut2
    kill -KILL $child
    ended 137
    [ "$(temporaries cut2)" -eq 1 ]
    begin cut2/patch/probe patch cut2
    [ "$(temporaries cut2)" -eq 1 ] || say "the first one's stays"
    living=$(temporary cut2)
    gives 0 patch cut2 # beside the living one
    [ -e "$living" ] || say "a living process lost its file"
    kill -KILL $child
    ended 137
    gives 0 patch cut2
    [ "$(temporaries cut2)" -eq 0 ]
    for name in .qkv-1-0.tmp .qkv-999999999-3.tmp; do touch cut2/$name cut2/probe/$name; done
    touch cut2/.qkv-mine cut2/mine.tmp
    gives 0 train --resume --out cut2 --steps 7 --quiet --threads 1
    [ "$(temporaries cut2)" -eq 0 ]
    [ -e cut2/.qkv-mine ]
    [ -e cut2/mine.tmp ]
    touch .qkv-1-0.tmp
    can_view || return 0
    view 0 plain && [ ! -e .qkv-1-0.tmp ]
}

# ---- what a run consists of, and keeps --------------------------------------------------------------

force_removes_all_of_the_old_run_and_nothing_else() {
    cp -r run old && gives 0 heads old --examples 8 && gives 0 patch old
    gives 0 plot old --attention --format txt || gives 6 plot old --attention --format txt
    mkdir -p old/plots/.drawing-abc old/heads/mine
    touch old/view.html old/plots/loss.gp~ old/plots/.drawing-abc/x
    for mine in notes.txt step-notes.txt step-5.safetensors step-00000002.safetensors.bak plots/mine.png \
        plots/loss.html probe/mine.csv heads/mine/x .hidden; do
        echo mine >old/$mine
    done
    mkdir -p linkedplots && mv old/patch/plots/* linkedplots && rmdir old/patch/plots
    ln -s ../../linkedplots old/patch/plots
    gives 0 train --steps 1 --force --out old $quiet
    [ -L old/patch/plots ]
    [ -z "$(ls linkedplots)" ]
    rm old/patch/plots
    rmdir old/patch
    for gone in heads/probe heads/plots patch view.html plots/example.csv plots/loss.gp~ plots/.drawing-abc \
        step-00000006.safetensors step-00000004.safetensors probe/example-0.csv; do
        [ ! -e old/$gone ] || say "old/$gone stays"
    done
    for mine in notes.txt step-notes.txt step-5.safetensors step-00000002.safetensors.bak plots/mine.png \
        plots/loss.html probe/mine.csv heads/mine/x .hidden; do
        [ "$(cat old/$mine)" = mine ] || say "old/$mine is gone"
    done
}

saved() { ls "$1" | grep -c '^step-'; }

# Resumed or repeated without them, a run saves as it did.
save_every_and_keep_are_the_runs() {
    gives 0 train --steps 4 --save-every 1 --keep 30 --out often $quiet
    grep -q '"save_every": 1,' often/config.json
    grep -q '"keep": 30' often/config.json
    gives 0 train --resume --out often --steps 9 --quiet --threads 1
    [ "$(saved often)" -eq 9 ] || say "$(ls often)"
    gives 0 train --config often/config.json --out again --quiet --threads 1
    [ "$(saved again)" -eq 9 ]
    same often/config.json again/config.json
    gives 0 train --resume --out often --steps 11 --keep 3 --quiet --threads 1
    [ "$(saved often)" -eq 3 ]
    gives 0 train --steps 4 --save-every log --out doubling $quiet
    gives 0 train --resume --out doubling --steps 20 --quiet --threads 1
    [ "$(saved doubling)" -eq 6 ]
    grep -q '"save_every": "log"' doubling/config.json
    # another one has its own, and older runs have none
    gives 0 train --from often --steps 14 --out another $quiet
    [ "$(saved another)" -eq 1 ]
    sed -i '/"save_every"/d; s/\("numbers": .*\),$/\1/; /"keep"/d' doubling/config.json
    gives 0 train --resume --out doubling --steps 22 --quiet --threads 1
    sed -i 's/"keep": [0-9]*/"keep": "many"/' doubling/config.json
    gives 3 train --resume --out doubling --steps 24 --quiet --threads 1
    says "'keep' is no whole number"
    # the training is the same
    gives 0 train --steps 11 --out plainly2 $quiet
    gives 0 export plainly2 --npy weights1
    gives 0 export often --npy weights2
    diff -r weights1 weights2
}

# ---- files that lie elsewhere -----------------------------------------------------------------------

lines() {
    for i in 1 2 3 4 5 6 7 8; do for w in cat dog log mat; do echo "the $w sat $i who? => $w"; done; done
}

a_file_may_be_elsewhere() {
    lines >it.txt
    gives 0 train --data it.txt --steps 4 --out onfile $quiet
    gives 0 eval onfile --json
    cp out before
    mkdir -p moved/deep && mv it.txt moved && cp -r onfile moved/deep/run && cd moved/deep
    for command in eval show heads patch info 'plot --attention' 'plot --animate --frames 2' \
        'export --npy np --force' 'view --page ../../page --out v.html'; do
        more=$(echo "$command" | sed 's/^[a-z]*//') command=${command%% *}
        gives 3 $command run $more
        says 'name its new place: --data FILE'
        for place in ../it.txt .. "$dir/moved"; do
            [ $command != view ] || [ -z "$views" ] || continue
            status=0
            "$qkv" $command run --data "$place" $more >"$dir/out" 2>"$dir/err" || status=$?
            [ $status -eq 0 ] || [ $command$status = plot6 ] ||
                say "$command $more --data $place: $status, $(cat "$dir/err")"
        done
    done
    gives 0 eval run --json --data ..
    sed 's/"run": "[^"]*"//' "$dir/out" >now
    sed 's/"run": "[^"]*"//; s/onfile/run/' "$dir/before" | cmp - now
    echo 'one more => one' >>../it.txt
    for command in eval show info; do
        gives 2 $command run --data ../it.txt
        says 'has changed since, or is another file'
    done
    gives 2 eval run --data none
    says "cannot open 'none'"
    gives 2 eval "$dir/run" --data ../it.txt
    says 'the task pairs of this run reads no file'
    sed -i '$d' ../it.txt
    gives 0 train --resume --out run --steps 6 --data ../it.txt --quiet --threads 1
    gives 0 eval run
    gives 2 train --resume --out run --steps 8 --data-held-out 0.2 --quiet
    says 'a resumed run stays what it is'
}

three_files_and_a_text_may_be_elsewhere() {
    mkdir -p three && lines >three/a && lines >three/b && lines >three/c
    gives 0 train --data three/a --data-valid three/b --data-test three/c --steps 2 --out of3 $quiet
    mv three four
    gives 2 eval of3 --data four/a
    says "cannot open 'three/b'"
    gives 0 eval of3 --data four
    for i in 1 2 3 4 5 6; do lines; done >text
    gives 0 train --task text --data text --steps 2 --out ontext $quiet
    mkdir -p four
    mv text four
    gives 3 sample ontext
    gives 0 sample ontext --data four/text --tokens 3
    gives 0 train --resume --out ontext --data four/text --steps 3 --quiet --threads 1
    grep -q '"task": "text"' ontext/config.json
    grep -q '"data": "four/text"' ontext/config.json
    gives 0 train --from ontext --data four/text --steps 5 --out ontext2 $quiet
    grep -q '"task": "text"' ontext2/config.json
}

# Nothing may be written into the run: --out names another place.
a_run_that_is_read_only() {
    cp -r run sealed && rm -rf sealed/plots
    find sealed -type f -o -type d | sort | xargs stat -c '%n %s %Y' >was
    code=0
    "$qkv" plot sealed --out pictures --only loss --format txt >out 2>err || code=$?
    [ $code -eq 0 ] || [ $code -eq 6 ] || say "$(cat err)"
    [ -e pictures/loss.csv ]
    [ -e pictures/loss.gp ]
    for how in '--attention' '--animate --frames 2'; do
        code=0
        "$qkv" plot sealed $how --out "pictures2" >out 2>err || code=$?
        [ $code -eq 0 ] || [ $code -eq 6 ] || say "$(cat err)"
    done
    [ -e pictures2/example.csv ]
    [ -e pictures2/animation.csv ]
    gives 0 heads sealed --examples 8 --out heads2
    gives 0 patch sealed --out patch2
    find sealed -type f -o -type d | sort | xargs stat -c '%n %s %Y' | cmp - was
}

# ---- the rest ---------------------------------------------------------------------------------------

# A file of weights that is a checkpoint brings its task's options along.
whose_options_hold() {
    gives 0 train --pairs 5 --keys 20 --steps 2 --out five $quiet
    gives 0 train --from five/best.safetensors --steps 2 --out next $quiet
    says "the task pairs and every option that you do not give come from"
    says " come from 'five/best.safetensors': --pairs 5 --keys 20"
    gives 0 train --from five/best.safetensors --steps 2 --pairs 4 --out next2 $quiet
    says "five/best.safetensors': --keys 20"
    gives 0 train --from five --steps 4 --out next3 $quiet && [ ! -s err ]
}

# The clock jumps back by three years in the middle of a run, and nobody sees it.
a_clock_that_jumps() {
    cat >jump.c <<'END'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t c, struct timespec *t) {
    static int calls;
    long r = syscall(SYS_clock_gettime, c, t);
    if (c == CLOCK_REALTIME || ++calls > 8) t->tv_sec -= 9 * 10000000;
    return (int)r;
}
END
    "${CC:-cc}" -shared -fPIC jump.c -o jump.so 2>/dev/null || cannot "no compiler" || return
    jumping() { LD_PRELOAD=$dir/jump.so "$qkv" "$@"; }
    jumping --version >/dev/null 2>&1 || cannot "this build cannot be told the time" || return
    jumping train --steps 60 --eval-every 1 --out jumped $quiet
    jumping train --resume --out jumped --steps 62 --quiet --threads 1
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") c = i }
        NR > 1 { if ($c < last || $c > 3600) bad = 1; last = $c; n++ }
        END { exit !(c && n >= 60 && !bad) }' jumped/metrics.csv || say "seconds: $(cat jumped/clock.csv)"
    awk -F, 'NR > 1 && ($2 < 0 || $2 > 3600) { exit 1 }' jumped/clock.csv
}

suite a_link_stays_a_link a_device_stays_a_device standard_output_gets_the_file_alone \
    what_may_not_be_written_is_refused other_names_of_a_file_show_the_same every_command_follows_links \
    signals_remove_temporary_files a_second_signal_removes_them_too killed_ones_are_swept \
    force_removes_all_of_the_old_run_and_nothing_else save_every_and_keep_are_the_runs \
    a_file_may_be_elsewhere three_files_and_a_text_may_be_elsewhere a_run_that_is_read_only \
    whose_options_hold a_clock_that_jumps
