# suite.sh - what the shell tests share: they report like cmocka, for run.sh to read. Sourced, not run.
#
# A script prints "registered N", calls verdict for each of its tests, and ends with summary; or it
# leaves all three to suite.
SKIP=77 # what a test returns that cannot run here, once it has said why

# cannot WHY: what a test returns with then.
cannot() {
    echo "    cannot run: $*"
    return $SKIP
}

# needs TOOL...: are these programs there?
needs() {
    for tool; do
        command -v "$tool" >/dev/null 2>&1 || { cannot "no $tool"; return; }
    done
}

# say WHY: the test has failed, whatever it does next.
say() {
    printf '    %s\n' "$*" >&2
    complained=yes
    false
}
child= # what a test has started and not waited for

# ended CODE: that has ended so.
ended() {
    status=0
    wait $child || status=$?
    child=
    [ "$status" -eq "$1" ] || say "exit status $status, not $1"
}
passed=0 failed='' skipped=''

# verdict NAME STATUS: counts a test that has ended.
verdict() {
    case $2 in
        0) echo "[       OK ] $1"; passed=$((passed + 1)) ;;
        "$SKIP") echo "[  SKIPPED ] $1"; skipped="$skipped $1" ;;
        *) echo "[  FAILED  ] $1"; failed="$failed $1" ;;
    esac
}

# listed MARK NAMES...: those of one kind
listed() {
    mark=$1
    shift
    [ $# -gt 0 ] || return 0
    echo "[  $mark ] $# test(s), listed below:"
    for test; do echo "[  $mark ] $test"; done
}

# Prints what came of all; fails if a test failed.
summary() {
    echo "[==========] $((passed + $(echo $failed $skipped | wc -w))) test(s) run."
    echo "[  PASSED  ] $passed test(s)."
    listed SKIPPED $skipped
    listed 'FAILED ' $failed
    [ -z "$failed" ]
}

# suite NAME...: runs the functions of these names, each a test, under `set -e` in a shell of its own. It
# fails by any command that fails, by returning something else than 0, or by having said why.
suite() {
    echo "registered $#"
    for test; do
        echo "[ RUN      ] $test"
        (
            trap '[ -z "$child" ] || kill -KILL $child 2>/dev/null' EXIT
            complained=
            set -e
            $test
            [ -z "$complained" ]
        )
        verdict "$test" $?
    done
    summary
}
