#!/bin/sh
# check.sh [NAME...] - what is checked without running the tests: `make check`. With names, only those.
#
# One line a check: "ok", "FAILED" with the findings under it, or "skipped" when its tool is missing
# (make deps-check installs them). Exits with 1 if any failed, or none ran. Environment: CC, CXX.
cd "$(dirname "$0")/../.." || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL # the make that calls this one has its own flags
LC_ALL=C
export LC_ALL
CC=${CC:-cc} CXX=${CXX:-c++}
OUT=build/check MOST=40 SKIP=77
wanted=" $* "
ok=0 failed=0 skipped=0

# check NAME WHAT: runs check_NAME. Success is silence and status 0; a missing tool is status $SKIP.
check() {
    case $wanted in '  ' | *" $1 "*) ;; *) return ;; esac
    found=$("check_$1" 2>&1)
    status=$?
    if [ $status -eq $SKIP ]; then
        skipped=$((skipped + 1))
        printf 'skipped  %-12s %s\n' "$1" "$found"
    elif [ $status -eq 0 ] && [ -z "$found" ]; then
        ok=$((ok + 1))
        printf 'ok       %-12s %s\n' "$1" "$2"
    else
        failed=$((failed + 1))
        printf 'FAILED   %-12s %s\n' "$1" "$2"
        printf '%s\n' "${found:-exit status $status}" | awk -v most=$MOST '
            NR <= most { print "         " $0 }
            END { if (NR > most) printf "         ... and %d lines more\n", NR - most }'
    fi
}

need() {
    command -v "$1" >/dev/null 2>&1 && return 0
    echo "$1 is not installed"
    return $SKIP
}

# Each version of clang's tools lays out some lines otherwise, and has other rules: one of them decides.
TOOLS=14
of_version() {
    "$1" --version | grep -q "version $TOOLS\." && return 0
    echo "version $TOOLS of $1 decides, this is another"
    return $SKIP
}

# Passes lines on; where there are none, one that no check takes for right.
some() { awk '{ print } END { if (NR == 0) print "/there/is/nothing/to/check" }'; }

# each FUNCTION: calls it with every line of stdin, for two of them at a time.
each() {
    count=0
    while read -r line; do
        "$1" "$line" &
        count=$((count + 1))
        [ $((count % 2)) -ne 0 ] || wait
    done
    wait
}

# sources PATTERN...: the files of all rooms whose names match one of the patterns.
sources() {
    for pattern; do
        find tensor autograd layers data train tests examples -name "$pattern" -type f 2>/dev/null | some
    done | sort
}

scripts() {
    sources '*.sh'
    ls packaging/*.sh
    [ ! -f .ci/run ] || echo .ci/run
}

# ---- the text ----------------------------------------------------------------------------------------

check_format() {
    need clang-format && of_version clang-format || return
    sources '*.c' '*.h' '*.js' | each formatted
}
formatted() { clang-format --dry-run -Werror -ferror-limit=1 "$1" >/dev/null 2>&1 || echo "$1"; }

# A catalogue keeps one line an entry, however long.
check_lines() {
    { sources '*.c' '*.h' '*.cc' '*.sh' '*.awk' '*.gp' '*.def'; scripts; } | sort -u |
        xargs awk -f tests/checks/lines.awk
}

check_scripts() {
    scripts | while read -r file; do
        case $(head -n 1 "$file") in *bash*) bash -n "$file" ;; *) sh -n "$file" ;; esac
    done
    awk -f tests/checks/suites.awk tests/*/test_*.sh
}

# The page's scripts parse, and say so of themselves that they are strict.
check_javascript() {
    need node || return
    sources '*.js' | while read -r file; do
        node --check "$file" || continue
        sed -n 1,8p "$file" | grep -qx '"use strict";' || echo "$file does not begin strictly"
    done
}

# Its words stand in the tables, of which each has the same keys and places. What is planted is found.
check_strings() {
    need node || return
    node tests/checks/strings.js train/page
}

check_shellcheck() {
    need shellcheck || return
    scripts | xargs shellcheck
}

# ---- the house ---------------------------------------------------------------------------------------

check_includes() { sources '*.c' '*.h' '*.cc' '*.def' | xargs awk -f tests/checks/includes.awk; }

# A number on its way to a person or to JSON takes the one way that knows what 0/0 is called.
check_numbers() {
    sources '*.c' | grep '^train/' | grep -vx -e train/io/words.c -e train/io/number.c -e train/cli/json.c \
        -e train/study/results.c -e train/study/grid.c -e train/study/rows_read.c |
        xargs awk -f tests/checks/numbers.awk
}

# compiles LANGUAGE COMPILER...: does what stands on stdin compile?
compiles() {
    language=$1
    shift
    "$@" -x "$language" -I. -Wall -Wextra -Wpedantic -Werror -fsyntax-only -
}

# A source that includes the header twice, and nothing before it.
twice() { printf '#include "%s"\n#include "%s"\nint nothing_else;\n' "$1" "$1"; }

check_headers_c() { sources '*.h' | each header_c; }
header_c() {
    # shellcheck disable=SC2086 # CC may be several words, as in "ccache gcc"
    twice "$1" | compiles c $CC -std=gnu11 || echo "$1 does not compile alone"
}

public_headers() { make -s headers | grep '\.h$'; }

check_headers_cxx() {
    need "${CXX%% *}" || return
    public_headers | each header_cxx
}
header_cxx() {
    # shellcheck disable=SC2086
    twice "$1" | compiles c++ $CXX -std=c++17 || echo "$1 is not usable from C++"
}

# The library, for nm to look at. Without position-independent code a constant table of pointers is
# constant to nm, too; without optimisation every call is there to be seen.
library() {
    mkdir -p $OUT
    quietly make -s -j2 CC="$CC" B=$OUT CFLAGS='-O0 -fno-pic -fno-pie' WERROR=1 $OUT/libqkv.a
}
# quietly MAKE...: what it says, but for names of files, if it fails.
quietly() {
    "$@" >$OUT/log 2>&1 && return
    grep -v '^  [A-Z]* *build/' $OUT/log
    return 1
}

# What other levels and the linker see: no warning there, as there is none at -O0 (library) and at -O3 (make).
check_optimise() {
    mkdir -p $OUT
    rm -f $OUT/optimise/qkv # the linker's warnings, every time
    quietly make -s -j2 CC="$CC" B=$OUT/optimise CFLAGS='-Os -flto' LDFLAGS= $OUT/optimise/qkv || return
    ! grep 'warning:' $OUT/log
}

check_symbols() {
    need nm || return
    library || return
    find $OUT/float -name '*.o' ! -path '*/cli/*' ! -path '*/tests/*' -print0 | sort -z | xargs -0 nm |
        awk -f tests/checks/symbols.awk
}

check_fast_math() {
    real='#include "tensor/real.h"'
    # shellcheck disable=SC2086
    echo "$real" | $CC -x c -I. -fsyntax-only - || return
    # shellcheck disable=SC2086
    if echo "$real" | $CC -x c -I. -ffast-math -fsyntax-only - 2>/dev/null; then
        echo "tensor/real.h compiles under -ffast-math"
    fi
}

# What people read. A long sentence and a phrase to avoid must be found, too.
check_words() {
    mkdir -p $OUT && printf 'One can see %s.\n' "$(seq -s ' ' 30)" >$OUT/wordy
    [ "$(awk -f tests/checks/words.awk $OUT/wordy | wc -l)" -eq 2 ] || echo "words.awk finds nothing"
    find README.md CONTRIBUTING.md docs -name '*.md' | sort | xargs awk -f tests/checks/words.awk
}

# alike ENGLISH CHINESE: both have the same commands, links and numbers.
alike() {
    for file; do awk -f tests/checks/facts.awk "$file" | sort >"$OUT/$(basename "$file").facts"; done
    diff "$OUT/$(basename "$1").facts" "$OUT/$(basename "$2").facts"
}
# Of the findings, the table of questions is translated. One number that differs must be found.
check_translations() {
    mkdir -p $OUT
    sed 's/3\.1/3.2/' README.md >$OUT/planted.md
    [ "$(alike README.md $OUT/planted.md | grep -c '^[<>]')" -eq 2 ] || echo "facts.awk finds nothing"
    alike README.md README.zh-CN.md
    sed -n '/^| question | answer/,/^$/p' docs/findings.md >$OUT/table.md
    sed -n '/^| 问题/,/^$/p' docs/findings.zh-CN.md | sed 's/](findings\.md#/](#/g' >$OUT/table.zh.md
    [ "$(wc -l <$OUT/table.zh.md)" -gt 20 ] || echo "docs/findings.zh-CN.md has no table"
    alike $OUT/table.md $OUT/table.zh.md
}

# Each C block of docs/library.md compiles, and prints the next text block. The first is examples/minimal.c.
check_readme() {
    library && make -s B=$OUT $OUT/qkv.h >/dev/null || return
    rm -f $OUT/readme*
    awk -v dir=$OUT '
        /^```/ && inside { inside = 0; next }
        /^```/ {
            inside = 1
            to = ""
            if ($0 == "```c") to = dir "/readme" ++n ".c"
            if ($0 == "```text" && n > told) to = dir "/readme" ++told ".expected"
            next
        }
        inside && to != "" { print > to }' docs/library.md || return
    cmp examples/minimal.c $OUT/readme1.c || return
    for source in "$OUT"/readme*.c; do
        program=${source%.c}
        # shellcheck disable=SC2086
        $CC -std=gnu11 -Wall -Wextra -Wpedantic -Werror -no-pie -I. -I$OUT -o "$program" "$source" \
            $OUT/libqkv.a -lm -lpthread || return
        "$program" >"$program.printed" && diff "$program.expected" "$program.printed" || return
    done
}

# ---- static analysis, of what ships: tests break rules on purpose, and run under sanitizers ----------

# within SECONDS COMMAND...: a tool that takes longer has failed.
within() {
    timeout "$@"
    status=$?
    [ $status -ne 124 ] || echo "was not done after $1 s"
    return $status
}

# Off: what version 2.10 sees where it is not (gcc, clang-tidy and the sanitizers look for the same), and what
# later ones note of how far they look.
CPPCHECK='--enable=warning,performance,portability'
for off in arrayIndexOutOfBounds arrayIndexOutOfBoundsCond legacyUninitvar uninitvar \
    wrongPrintfScanfArgNum normalCheckLevelMaxBranches; do
    CPPCHECK="$CPPCHECK --suppress=$off"
done

check_cppcheck() {
    need cppcheck || return
    mkdir -p $OUT # jansson's loops, which it does not know:
    cat >$OUT/loop.h <<'END'
#define json_object_foreach(o, k, v) for (k = (char *)(o); (v = (void *)(o)); k = 0)
#define json_array_foreach(a, i, v) for (i = 0; (v = (void *)(a)); i++)
END
    # shellcheck disable=SC2086
    within 600 cppcheck -q -j2 --std=c11 --language=c -I. --error-exitcode=1 $CPPCHECK \
        --include=$OUT/loop.h \
        --template='{file}:{line}: {message} [{id}]' tensor autograd layers data train
}

# Off: what gcc's -Wconversion covers, what is a matter of taste, what C11 has no better function for. The
# analyser looks at a third of the states it would: that takes a third of the time, and every finding which
# once was mended here is still found.
TIDY='-*,bugprone-*,clang-analyzer-*'
for off in bugprone-easily-swappable-parameters bugprone-implicit-widening-of-multiplication-result \
    bugprone-misplaced-widening-cast bugprone-narrowing-conversions bugprone-not-null-terminated-result \
    bugprone-reserved-identifier bugprone-sizeof-expression bugprone-suspicious-string-compare \
    clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling \
    clang-analyzer-security.insecureAPI.strcpy; do
    TIDY=$TIDY,-$off
done
export TIDY

# One file a process: several in one make its va_list check see what is not there.
check_clang_tidy() {
    need clang-tidy && of_version clang-tidy || return
    # shellcheck disable=SC2016
    sources '*.c' | grep -v -e '^tests/' -e '^examples/' | within 1200 xargs -P2 -n1 sh -c '
        set -- "$1" -quiet --checks="$TIDY" --warnings-as-errors="*" -- -std=gnu11 -I. \
            -Xclang -analyzer-config -Xclang max-nodes=75000
        found=$(clang-tidy "$@" 2>/dev/null) ||
            echo "${found:-$1: error: clang-tidy failed}"' sh |
        grep -e 'error:' -e 'warning:' -e 'was not done' | sed "s,^$PWD/,,"
    return 0
}

# ------------------------------------------------------------------------------------------------------

check format 'as clang-format would lay it out (clang-format -i FILE)'
check lines 'at most 110 columns, no tabs, no blanks at the end, no marks of unfinished work'
check scripts 'shell scripts parse'
check javascript 'the page'\''s scripts parse'
check strings 'the page'\''s words stand in its tables, in each language'
check shellcheck 'shell scripts have no known pitfalls'
check numbers 'a real number becomes words, or JSON, where 0/0 has a name'
check includes 'nobody includes up the list of rooms, or what is internal to another'
check headers_c 'every header compiles alone, as C'
check headers_cxx 'public headers compile alone, as C++'
check symbols 'the library never prints or exits, has no writable globals, keeps to its prefixes'
check optimise 'no warning at -Os with link-time optimisation'
check fast_math 'building with -ffast-math is refused'
check words 'sentences of the pages are short, and plain'
check translations 'README and the findings have the same commands, links and numbers in Chinese'
check readme 'the programs in docs/library.md compile and print what it says'
check cppcheck 'static analysis'
check clang_tidy 'static analysis'

echo
echo "$ok ok, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $((ok + skipped)) -gt 0 ]
