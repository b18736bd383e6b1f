#!/bin/sh
# run.sh PROGRAM... - runs test programs, shows what they print, names what could not run and what was
# wrong, and ends with one line "N passed, N failed" (and ", N skipped", if any). Exits with 1 when
# anything failed or nothing ran. As many run at a time as JOBS says, or the machine has processors;
# each one's report is shown whole when it has ended, after the seconds it took.
#
# The numbers are those of cmocka's summaries. A program is not taken at its word: when it crashes,
# prints no summary, ran another number of tests than it registered, or exits with an error although
# no test failed (a sanitizer's report), then what it does not vouch for counts as failed.
unset CMOCKA_MESSAGE_OUTPUT CMOCKA_XML_FILE # would change the format that is read here
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}
reports=$(mktemp -d) || exit 1
trap 'rm -rf "$reports"' EXIT
trap 'exit 1' HUP INT TERM

# Prints "REGISTERED PASSED FAILED SKIPPED", with "none" for a line that is missing.
counts() {
    awk '
        function count(  i) {
            for (i = 2; i <= NF; i++) if ($i ~ /^test\(s\)/) return $(i - 1)
            return "none"
        }
        BEGIN { registered = passed = "none"; failed = skipped = 0 }
        /^registered [0-9]+$/ { registered = $2 }
        /^\[  PASSED  \] .*test\(s\)\.$/ { passed = count() }
        /^\[  FAILED  \] .*test\(s\), listed below:$/ { failed = count() }
        /^\[  SKIPPED \] .*test\(s\), listed below:$/ { skipped = count() }
        END { print registered, passed, failed, skipped }
    ' "$log"
}

# What is wrong with a program's report as a whole; prints nothing when it can be believed.
# complaint STATUS REGISTERED PASSED FAILED SKIPPED
complaint() {
    if [ "$1" -gt 128 ]; then echo "killed by signal $(($1 - 128))"
    elif [ "$2" = none ]; then echo "does not say how many tests it registered"
    elif [ "$2" -eq 0 ]; then echo "has no tests"
    elif [ "$3" = none ]; then echo "printed no summary"
    elif [ $(($3 + $4 + $5)) -ne "$2" ]; then echo "registered $2 tests but ran $(($3 + $4 + $5))"
    elif [ "$1" -ne 0 ] && [ "$4" -eq 0 ]; then echo "exit status $1 although no test failed"
    fi
}

# The names of the tests which were FAILED or SKIPPED, once each, with the reason that a test has given
# for not running: names MARK PROGRAM
names() {
    awk -v mark="$1" -v program="$2" '
        /^\[ RUN      \] / { running = $4 }
        /^ *cannot run: / { sub(/^ *cannot run: /, ""); why[running] = " (" $0 ")" }
        index($0, mark) == 1 && NF == 4 && !seen[$4]++ { print "  " program ": " $4 why[$4] }
    ' "$log"
}

newline='
'

# Every program by its number: N.program is its name, N.log what it printed, N.status its exit status.
total=0
for program in "$@"; do
    case $program in */*) ;; *) program=./$program ;; esac
    total=$((total + 1))
    printf '%s\n' "$program" >"$reports/$total.program"
done
# A signal that was ignored before (nohup) would be ignored by all that the tests start.
heard=
if env --default-signal true 2>/dev/null; then heard='env --default-signal'; fi
export reports heard

# Runs them all, and prints the number of each when it has ended.
run_all() {
    number=0
    while [ $((number += 1)) -le "$total" ]; do echo "$number"; done |
        xargs -n 1 -P "$jobs" sh -c '
            began=$(date +%s)
            $heard "$(cat "$reports/$1.program")" >"$reports/$1.log" 2>&1
            echo "$? $(($(date +%s) - began))" >"$reports/$1.status"
            echo "$1"' sh
}

# Reads those numbers, shows the reports and sums them up.
judge() {
    seen=0
    total_passed=0 total_failed=0 total_skipped=0
    failures= skips=
    while read -r number; do
        seen=$((seen + 1))
        program=$(cat "$reports/$number.program") log=$reports/$number.log
        read -r status seconds <"$reports/$number.status"
        echo "$program, $seconds s:"
        cat "$log"

        read -r registered passed failed skipped <<END
$(counts)
END
        why=$(complaint "$status" "$registered" "$passed" "$failed" "$skipped")
        [ "$registered" != none ] || registered=0
        [ "$passed" != none ] || passed=0
        if [ -n "$why" ]; then
            failures="$failures  $program: $why$newline"
            lost=$((registered - passed - failed - skipped))
            [ "$lost" -gt 0 ] || lost=1
            failed=$((failed + lost))
        fi
        list=$(names '[  FAILED  ]' "$program")
        failures="$failures${list:+$list$newline}"
        list=$(names '[  SKIPPED ]' "$program")
        skips="$skips${list:+$list$newline}"
        total_passed=$((total_passed + passed))
        total_failed=$((total_failed + failed))
        total_skipped=$((total_skipped + skipped))
    done
    if [ "$seen" -ne "$total" ]; then
        failures="$failures  $((total - seen)) of $total programs were not run to their end$newline"
        total_failed=$((total_failed + total - seen))
    fi

    echo
    [ "$total_skipped" -eq 0 ] || printf 'skipped:\n%s' "$skips"
    [ "$total_failed" -eq 0 ] || printf 'wrong:\n%s' "$failures"
    skipped=
    [ "$total_skipped" -eq 0 ] || skipped=", $total_skipped skipped"
    echo "$total_passed passed, $total_failed failed$skipped"
    [ "$total_failed" -eq 0 ] && [ "$total_passed" -gt 0 ]
}

run_all | judge
