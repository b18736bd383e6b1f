#!/bin/sh
# test_runner.sh - feeds run.sh made-up test programs, good and bad. Reports in cmocka's words, so
# that run.sh can run it like any other test program.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1
if env --default-signal true 2>/dev/null; then echo "registered 23"; else echo "registered 22"; fi

# Makes the program $dir/NAME of the shell commands on standard input.
program() {
    { echo '#!/bin/sh'; cat; } >"$dir/$1"
    chmod +x "$dir/$1"
}

# The commands which print TEXT1 to TEXTn: list n TEXT
list() {
    echo "i=1; while [ \$i -le $1 ]; do echo \"$2\$i\" >&2; i=\$((i + 1)); done"
}

# The commands by which a program prints what cmocka 1.1.5 would:
# cmocka REGISTERED PASSED FAILED SKIPPED
cmocka() {
    echo "echo 'registered $1'"
    echo "echo '[==========] $(($2 + $3 + $4)) test(s) run.'"
    echo "echo '[  PASSED  ] $2 test(s).' >&2"
    if [ "$4" -gt 0 ]; then
        echo "echo '[  SKIPPED ] $4 test(s), listed below:' >&2"
        list "$4" '[  SKIPPED ] idle'
    fi
    if [ "$3" -gt 0 ]; then
        echo "echo '[  FAILED  ] $3 test(s), listed below:' >&2"
        list "$3" '[  FAILED  ] broken'
    fi
}

# expect NAME LAST-LINE EXIT-STATUS PATTERN PROGRAM...: what the runner must say about them. The
# last line must be the only one of its form, and some line must match the pattern.
expect() {
    name=$1 last=$2 status=$3 pattern=$4
    shift 4
    echo "[ RUN      ] $name"
    said=$(cd "$dir" && sh "$here/../run.sh" "$@" 2>&1)
    got=$?
    if [ "$got" -eq "$status" ] && [ "$(echo "$said" | tail -n 1)" = "$last" ] &&
        [ "$(echo "$said" | grep -c '^[0-9]* passed, [0-9]* failed')" -eq 1 ] &&
        echo "$said" | grep -q -e "$pattern"; then
        verdict "$name" 0
    else
        echo "$said" | sed 's/^/    /'
        echo "    exit status $got, expected $status with '$pattern' and '$last'"
        verdict "$name" 1
    fi
}

cmocka 3 3 0 0 | program good
cmocka 2 1 0 1 | program idle
cmocka 1 0 0 1 | program all_idle
{ echo 'echo "[ RUN      ] idle2"; echo "    cannot run: no moon"'; cmocka 2 0 0 2; } | program excused
{ cmocka 3 2 1 0; echo 'exit 1'; } | program one_bad
cmocka 300 44 256 0 | program all_wrap # 256 failures, and an exit status of 256 is 0
{ cmocka 4 4 0 0; echo 'kill -SEGV $$'; } | program crash_late
{ echo 'echo "registered 4"; echo "[       OK ] first"; kill -ABRT $$'; } | program crash_early
{ echo 'echo "registered 4"; exit 0'; } | program silent_exit
cmocka 0 0 0 0 | program empty
cmocka 5 3 0 0 | program too_few
cmocka 2 3 0 0 | program too_many
cmocka 3 3 0 0 | sed 1d | program unregistered
{ cmocka 3 3 0 0; echo 'exit 23'; } | program leak

expect all_pass '6 passed, 0 failed' 0 '\[  PASSED  \] 3' ./good "$dir/good"
expect one_failure '5 passed, 1 failed' 1 'one_bad: broken1' ./one_bad good
expect skipped_are_named '4 passed, 0 failed, 1 skipped' 0 '^  ./idle: idle1$' ./idle ./good
expect skips_say_why '3 passed, 0 failed, 2 skipped' 0 '^  ./excused: idle2 (no moon)$' ./excused ./good
expect only_skipped '0 passed, 0 failed, 1 skipped' 1 'all_idle: idle1' ./all_idle
expect failures_that_wrap '47 passed, 256 failed' 1 'broken256' ./good ./all_wrap
expect crash_after_summary '7 passed, 1 failed' 1 'late: killed by signal 11' ./crash_late ./good
expect crash_before_summary '3 passed, 4 failed' 1 'early: killed by signal 6' ./crash_early ./good
expect exit_before_summary '0 passed, 4 failed' 1 'silent_exit: printed no summary' ./silent_exit
expect no_tests '3 passed, 1 failed' 1 'empty: has no tests' ./empty ./good
expect too_few_ran '3 passed, 2 failed' 1 'registered 5 tests but ran 3' ./too_few
expect too_many_ran '3 passed, 1 failed' 1 'registered 2 tests but ran 3' ./too_many
expect not_registered '3 passed, 1 failed' 1 'does not say' ./unregistered
expect leak_at_exit '3 passed, 1 failed' 1 'exit status 23 although no test failed' ./leak
expect missing_program '3 passed, 1 failed' 1 'absent: ' ./absent ./good
# Signals that the caller ignores (nohup) reach the tests.
{ echo 'kill -HUP $$'; cmocka 3 3 0 0; } | program hears
if env --default-signal true 2>/dev/null; then
    trap '' HUP
    expect signals_are_heard '0 passed, 1 failed' 1 'hears: killed by signal 1' ./hears
    trap 'exit 1' HUP
fi
expect nothing_to_run '0 passed, 0 failed' 1 '^0 passed'

# What suite.sh makes of a test: the shell commands on standard input.
test_of() {
    {
        echo ". '$here/../lib/suite.sh'"
        echo "it() {"
        cat
        echo "}"
        echo "suite it"
    } | program "$1"
}
test_of holds <<'END'
    [ 1 -eq 1 ]
    ! false
END
test_of fails_midway <<'END'
    false
    true
END
test_of complains_in_a_condition <<'END'
    cares() { [ 1 -eq 2 ] || say "one is not two"; true; }
    cares || return 1
    true
END
test_of cannot_run <<'END'
    needs nonesuch
    true
END
test_of leaves_a_child <<'END'
    (sleep 0.5; echo lives >late) &
    child=$!
    false
END
expect a_test_holds '1 passed, 0 failed' 0 'OK . it' ./holds
expect a_command_fails_midway '0 passed, 1 failed' 1 'midway: it' ./fails_midway
expect a_test_complains '0 passed, 1 failed' 1 'one is not two' ./complains_in_a_condition
expect a_test_cannot_run '0 passed, 0 failed, 1 skipped' 1 'cannot_run: it (no nonesuch)' ./cannot_run
expect a_test_leaves_a_child '0 passed, 1 failed' 1 'child: it' ./leaves_a_child
echo "[ RUN      ] a_child_ends_with_its_test"
sleep 1
[ ! -e "$dir/late" ]
verdict a_child_ends_with_its_test $?

summary
