#!/bin/sh
# test_deps.sh - what `make deps` installs, by stand-ins for apt: the first of several names that apt knows,
# runtimes of clang's own version, everything that is not to be had by its name; and what it says where it
# cannot install. Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1

# stand_in NAME LINES: a program of that name, alone on PATH with what a script cannot do without.
stand_in() { printf '#!/bin/sh\n%s\n' "$2" >bin/"$1" && chmod +x bin/"$1"; }

# system NAMES INSTALLED: apt knows these packages, of which some are installed already; uid 0.
system() {
    rm -rf bin && mkdir bin || return 1
    for tool in sh sed grep tr head cat env flock; do
        ! real=$(command -v $tool) || ln -s "$real" bin/$tool
    done
    stand_in id 'echo 0'
    stand_in apt-get 'echo "$@" >>log'
    stand_in apt-cache "case \$1 in
        show) for p in $1; do [ \$p != \"\$2\" ] || { echo \"Package: \$p\"; exit 0; }; done
              echo 'E: No packages found' >&2; exit 100 ;;
        depends) echo clang; echo '  Depends: clang-19' ;; esac"
    stand_in dpkg-query "for name; do :; done
        for p in $2; do [ \$p != \"\$name\" ] || { echo 'install ok installed'; exit 0; }; done; exit 1"
    : >log
}
# deps CODE ENTRY...
deps() {
    code=$1 status=0
    shift
    PATH=$dir/bin CC=nonesuch sh "$root/tests/project/deps.sh" "$@" >out 2>&1 || status=$?
    [ "$status" -eq "$code" ] || say "deps.sh $*: exit $status, not $code: $(cat out)"
}
installs() { tail -n 1 log | grep -qx ".*--no-install-recommends $1" || say "'$(cat log)' is not $1"; }
says() { grep -qF -e "$1" out || say "'$(cat out)' does not say '$1'"; }

the_first_name_that_apt_knows() {
    system 'one two three' '' && deps 0 'none|two|three' one && installs 'two one' || return 1
    head -n 1 log | grep -q update || { say 'asks without an update'; return 1; }
    system 'one two' two && deps 0 'none|one|two' && [ ! -s log ] || { say 'one is there'; return 1; }
    system 'one' '' && deps 0 && [ ! -s log ] || say 'nothing is wanted'
}

runtimes_are_those_of_clang() {
    system 'clang rt-19-dev rt-14-dev rt-dev' '' && deps 0 clang 'rt-CLANG-dev|rt-dev' &&
        installs 'clang rt-19-dev' || return 1
    stand_in clang '[ "$1" = -dumpversion ] && echo 14.0.6' && deps 0 'rt-CLANG-dev|rt-dev' &&
        installs rt-14-dev || return 1
    stand_in clang 'echo 20.1.0' && deps 0 'rt-CLANG-dev|rt-dev' && installs rt-dev || return 1
    system 'clang rt-19-dev' 'clang rt-14-dev' && stand_in clang 'echo 19.0.1' && deps 0 'rt-CLANG-dev' &&
        installs rt-19-dev
}

all_that_apt_does_not_know_is_named() {
    system 'one two' '' && deps 1 'none' one 'nor|neither' || return 1
    says 'apt knows no package for: none nor|neither' && ! grep -q install log ||
        say "installs all the same: $(cat log)"
}

without_root_both_commands_are_printed() {
    system 'one two' '' && stand_in id 'echo 1000' && deps 1 'none|two' one && [ ! -s log ] || return 1
    says '  apt-get update' && says '  apt-get install --no-install-recommends two one' || return 1
    stand_in sudo '"$@"' && deps 0 'none|two' one && installs 'two one'
}

other_systems_are_told() {
    system 'one' '' && rm bin/apt-get && deps 1 one || return 1
    says 'no apt-get' && says 'dnf install' && says 'not found: nonesuch gnuplot jansson.h' || return 1
    stand_in nonesuch 'exit 0' && stand_in gnuplot 'exit 0' && deps 0 one && ! grep -q 'not found' out
}

# The demonstration needs no compiler for C++ and no library of tests.
the_demonstration_installs_what_it_needs() {
    needs make || return
    make -C "$root" -n deps demo 2>/dev/null | grep deps.sh >demo &&
        make -C "$root" -n deps test 2>/dev/null | grep deps.sh >tests || return 1
    for package in g++ cmocka pcg clang python3 chromium; do
        ! grep -qF $package demo || { say "the demonstration installs $package"; return 1; }
        grep -qF $package tests || { say "the tests do without $package"; return 1; }
    done
    grep -q "'gnuplot-nox'" demo && grep -q "'libjansson-dev'" demo && grep -q "'gcc'" demo
}

suite the_first_name_that_apt_knows runtimes_are_those_of_clang all_that_apt_does_not_know_is_named \
    without_root_both_commands_are_printed other_systems_are_told the_demonstration_installs_what_it_needs
