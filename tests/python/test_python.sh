#!/bin/sh
# test_python.sh - the Python package on the program that was built; PYTHON is a python3 that has numpy.
# Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1
PYTHON=${PYTHON:-python3}

no_numpy() { cannot "$PYTHON has no numpy"; }
"$PYTHON" -c 'import numpy' 2>/dev/null || { suite no_numpy; exit; }
PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$root/tests/python/package.py"
