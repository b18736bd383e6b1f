#!/bin/sh
# test_python.sh - the Python package on the program that was built; PYTHON is a python3 that has numpy.
# Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1
PYTHON=${PYTHON:-python3}

# one NAME: a test of package.py, which exits with 77 and a reason where it cannot run.
one() {
    needs "$PYTHON" || return
    "$PYTHON" -c 'import numpy' 2>/dev/null || cannot "$PYTHON has no numpy" || return
    PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$root/tests/python/package.py" "$1"
}
for name in $(sed -n 's/^def test_\([a-z_]*\).*/\1/p' "$root/tests/python/package.py"); do
    eval "$name() { one $name; }"
    names="$names $name"
done
small() { [ "$(cat "$root"/python/qkv/*.py | wc -l)" -le 500 ] || say 'the package has more than 500 lines'; }
# shellcheck disable=SC2086
suite small $names
