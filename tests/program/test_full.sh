#!/bin/sh
# test_full.sh - real limits: a disk that is full, a limit on a file's size, a directory where nothing may be
# written. The program says so in one line, with the right exit code, and what was there before stays whole.
# Reports in cmocka's words, for run.sh.
#
# The disk is a small tmpfs, which takes root (else it is skipped); root borrows another user's rights for the
# directory.
QKV=${QKV:-build/qkv}
case $QKV in /*) ;; *) QKV=$(pwd)/$QKV ;; esac
dir=$(mktemp -d) || exit 1
trap 'umount "$dir/disk" 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1
cd "$dir" || exit 1
small="--d-model 16 --batch 4 --eval-examples 4 --threads 1 --quiet"
quiet='--quiet --threads 1' # what a resumed run takes

# The program, with its exit code in $status and what it says in out and err.
run() {
    status=0
    "$QKV" "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
}

# failed CODE TEXT: the last run ended with that, and with one line on stderr that has TEXT in it.
failed() {
    [ "$status" -eq "$1" ] || { say "exit $status, not $1: $(cat "$dir/err")"; return 1; }
    [ "$(wc -l <"$dir/err")" -eq 1 ] || { say "not one line: $(cat "$dir/err")"; return 1; }
    grep -qF -e "$2" "$dir/err" || say "'$(cat "$dir/err")' does not say '$2'"
}

# No temporary file is left in a run, and its newest checkpoint is whole.
whole() {
    left=$(find "$1" -name '.qkv-*')
    [ -z "$left" ] || { say "left: $left"; return 1; }
    run eval "$1" --examples 4
    [ $status -eq 0 ] || say "eval $1: $(cat "$dir/err")"
}

# mounted BYTES: a disk of that size in `disk`, or not.
mounted() {
    ! mountpoint -q disk || umount disk # an earlier test's
    [ "$(id -u)" -eq 0 ] && mkdir -p disk && mount -t tmpfs -o size="$1" none disk 2>/dev/null
}

fill() { ! cat /dev/zero >disk/ballast 2>/dev/null; }

a_full_disk_at_the_start() {
    mounted 64k || cannot "no right to mount a small disk" || return
    fill
    run train --out disk/run --steps 3 $small
    failed 1 "No space left" || return 1
    umount disk
}

# The disk fills up between two saves: the earlier one stays, later ones are reported, and the run goes on
# from there when there is room again.
a_disk_that_fills_up() {
    mounted 2m || cannot "no right to mount a small disk" || return
    run train --out disk/run --steps 4 --save-every 2 $small
    [ $status -eq 0 ] || say "$(cat "$dir/err")"
    before=$(cksum disk/run/step-*4.safetensors disk/run/best.safetensors)
    fill
    run train --out disk/run --resume --steps 9 $quiet
    failed 1 "No space left" &&
        [ "$(cksum disk/run/step-*4.safetensors disk/run/best.safetensors)" = "$before" ] || return 1
    rm disk/ballast
    whole disk/run && run train --out disk/run --resume --steps 9 $quiet && [ $status -eq 0 ] &&
        run train --out alone --steps 4 --save-every 2 $small &&
        run train --out alone --resume --steps 9 $quiet &&
        cmp alone/step-*9.safetensors disk/run/step-*9.safetensors || return 1
    umount disk
}

# SIGXFSZ would be exit 153. 4 blocks are 2 kB: less than a checkpoint has.
a_limit_on_a_files_size() {
    run train --out limited --steps 4 $small
    before=$(cksum limited/*.safetensors)
    (ulimit -f 4 && run train --out limited --resume --steps 8 $quiet && exit $status) || status=$?
    failed 1 "File too large" && [ "$(cksum limited/*.safetensors)" = "$before" ] && whole limited || return 1
    (ulimit -f 4 && run train --out limited --resume --steps 8 --save-every 2 $quiet && exit $status) ||
        status=$?
    [ $status -eq 1 ] && [ "$(grep -c 'warning: .*File too large' "$dir/err")" -eq 1 ] ||
        { say "$(cat "$dir/err")"; return 1; }
    [ "$(cksum limited/*.safetensors)" = "$before" ] && whole limited
}

# Somebody without rights here: as_nobody ARGUMENTS...
as_nobody() {
    status=0
    # Counts of what was reached (make coverage) go where nobody may write them.
    GCOV_PREFIX="$dir/counts" setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$QKV" "$@" >"$dir/out" 2>"$dir/err" </dev/null ||
        status=$?
}

a_directory_that_is_read_only() {
    mkdir -p closed && mkdir -m 777 counts && run train --out closed/run --steps 2 $small || return 1
    if [ "$(id -u)" -eq 0 ]; then
        command -v setpriv >/dev/null && chmod 755 "$dir" closed closed/run && as_nobody --version &&
            [ $status -eq 0 ] || cannot "root cannot act as another user (setpriv)" || return
    else
        as_nobody() { run "$@"; }
    fi
    chmod a-w closed closed/run
    before=$(find closed -type f -exec cksum {} + | sort)
    for arguments in "--out closed/new $small" "--out closed/run --force $small" \
        "--out closed/run --resume $quiet"; do
        as_nobody train $arguments --steps 5
        failed 1 "ermission denied" || return 1
    done
    as_nobody eval closed/run --examples 4
    [ $status -eq 0 ] || { say "eval of what may only be read: $(cat "$dir/err")"; return 1; }
    [ "$(find closed -type f -exec cksum {} + | sort)" = "$before" ] ||
        { say "closed has changed"; return 1; }
    chmod u+w closed closed/run
}

a_full_standard_output() {
    [ -w /dev/full ] || cannot "no /dev/full" || return
    run train --out full --steps 2 $small || return 1
    for arguments in --version --help 'list ops' 'list tasks' 'train --help' 'eval full --examples 4' \
        'eval full --examples 4 --json' 'train --out full --resume --json' 'gradcheck add' \
        'plot full --only loss --format svg' 'study list'; do
        status=0
        "$QKV" $arguments >/dev/full 2>err </dev/null || status=$?
        [ $status -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] ||
            { say "qkv $arguments: exit $status, $(cat err)"; return 1; }
    done
}

# A save that fails again and again for one reason is said once, and counted.
equal_warnings_are_counted() {
    (ulimit -f 200 && run train --out warned --steps 12 --save-every 1 --eval-every 100 --d-model 64 \
        --batch 4 --eval-examples 4 --threads 1 --quiet; exit $status) || status=$?
    [ $status -eq 1 ] && [ "$(wc -l <"$dir/err")" -le 4 ] &&
        grep -q 'the same [0-9]* times more' "$dir/err" ||
        say "$(cat "$dir/err")"
}

tests="equal_warnings_are_counted a_full_disk_at_the_start a_disk_that_fills_up a_limit_on_a_files_size
a_directory_that_is_read_only a_full_standard_output"
suite $tests
