#!/bin/sh
# coverage.sh BUILD LINES BRANCHES - how much of the source was reached by what has run of the objects in
# BUILD, a row a file; fails below so many per cent of lines, or of branches. SHOW=1 prints the lines that
# were not reached, too.
build=$1
command -v gcov >/dev/null || { echo "gcov is not installed: it comes with gcc" >&2; exit 1; }
find "$build" -name '*.gcno' ! -path '*/tests/*' | sort | while read -r notes; do
    gcov -t -b -c "$notes" 2>/dev/null
done | awk -v lines="$2" -v branches="$3" -v show="$SHOW" \
    -f tests/checks/coverage.awk tests/checks/unreached.txt -
