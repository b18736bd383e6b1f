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

# suite NAME...: runs the functions of these names, each a test that fails by returning something else than 0.
suite() {
    echo "registered $#"
    for test; do
        echo "[ RUN      ] $test"
        $test
        verdict "$test" $?
    done
    summary
}
