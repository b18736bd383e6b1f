#!/bin/sh
# test_accuracy.sh - every op against mpmath, with fewer numbers than `make accuracy`; and with some made
# wrong, which must be found. The programs stand beside QKV. Reports in cmocka's words, for run.sh.
QKV=${QKV:-build/qkv}
programs="$(dirname "$QKV")/accuracy/float $(dirname "$QKV")/accuracy/double"
PYTHON=${PYTHON:-python3}
. "$(dirname "$0")/../lib/suite.sh" || exit 1

have_mpmath() {
    "$PYTHON" -c 'import mpmath' 2>/dev/null && return
    echo "    $PYTHON has no mpmath"
    return $SKIP
}

every_op_is_within_its_bound() {
    have_mpmath || return
    # shellcheck disable=SC2086 # two programs
    "$PYTHON" tests/accuracy/accuracy.py $programs --elements 1200
}

# The plain loops that fast forms stand in for keep the same bound.
every_plain_op_is_too() {
    have_mpmath || return
    # shellcheck disable=SC2086
    "$PYTHON" tests/accuracy/accuracy.py $programs --elements 1200 --plain
}

what_is_wrong_is_found() {
    have_mpmath || return
    # shellcheck disable=SC2086
    "$PYTHON" tests/accuracy/accuracy.py $programs --elements 300 --control
}

suite every_op_is_within_its_bound every_plain_op_is_too what_is_wrong_is_found
