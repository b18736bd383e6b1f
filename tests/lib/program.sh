# program.sh - what the shell tests of the program's commands share beside suite.sh: a directory of
# their own, the program run in it, and what it says. Sourced, not run; QKV is the program's path.
QKV=${QKV:-build/qkv}
case $QKV in /*) ;; *) QKV=$(pwd)/$QKV ;; esac
export QKV
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$root/tests/lib/suite.sh" || exit 1
cd "$dir" || exit 1
export LC_ALL=C

# Runs the program; leaves `out`, `err` and $status: run ARGS...
run() {
    status=0
    "$QKV" "$@" >out 2>err </dev/null || status=$?
}

# The same, ending with CODE: ran CODE ARGS...
ran() {
    code=$1
    shift
    run "$@"
    [ "$status" -eq "$code" ] || say "qkv $*: exit $status, expected $code; $(cat err)"
}

# Exit CODE, nothing on stdout, one line on stderr with TEXT in it: refused CODE TEXT ARGS...
refused() {
    code=$1 text=$2
    shift 2
    ran "$code" "$@" || return 1
    [ ! -s out ] || { say "qkv $*: writes to stdout"; return 1; }
    [ "$(wc -l <err)" -eq 1 ] || { say "qkv $*: not one line on stderr"; return 1; }
    grep -qF -e "$text" err || { say "qkv $*: '$(cat err)' does not say '$text'"; return 1; }
    ! grep -q '[[:cntrl:]]' err || say "qkv $*: control characters"
}

# train DIR ARGS...: a run of three steps, once.
train() {
    where=$1
    shift
    [ -e "$where" ] || ran 0 train --out "$where" --steps 3 --eval-examples 32 --quiet "$@"
}

# A line of `out` that has these words: line WORD...
line() {
    text=$*
    sed 's/  */ /g' out | grep -qF -e "$text" || say "no '$text' in the output"
}

# python CODE: with `text`, the output, `rows`, its lines of JSON, and `o`, the first of them; skipped
# without python3.
python() {
    needs python3 || return
    python3 -c "
import json, os
text = open('out').read()
rows = [json.loads(line) for line in text.splitlines() if line.startswith('{')]
o = rows[0] if rows else None
$1"
}
