#!/bin/sh
# test_flags.sh - what of the environment and the command line reaches the compiler, and what of it
# config.json keeps. Nothing is built but one file. Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL ARCH CC CFLAGS LDFLAGS V WERROR ONCE

# flags ARGS...: the compiler's command, as make would run it, in `flags`.
flags() {
    rm -rf b && make -C "$root" -s B="$dir/b" "$@" "$dir/b/flags" >said 2>&1 && cp b/flags flags ||
        say "$(cat said)"
}
has() { grep -qF -e "$1" flags || say "'$(cat flags)' has no $1"; }
lacks() { ! grep -qF -e "$1" flags || say "'$(cat flags)' has $1"; }

# A compiler that builds for that processor, and takes -march=native only where it says so.
compiler() {
    cat >cc-$1 <<END
#!/bin/sh
for flag; do
    [ "\$flag" != -dumpmachine ] || { echo $1-linux-gnu; exit 0; }
    [ "\$flag" != -march=native ] || [ '$2' = native ] || { echo 'bad value for -march' >&2; exit 1; }
done
END
    chmod +x cc-$1
}

only_the_command_line_says_for_which_processor() {
    compiler "$(uname -m)" native && cc=$dir/cc-$(uname -m) || return 1
    for other in x86_64 arm arm64 riscv; do
        ARCH=$other && export ARCH && flags CC="$cc" && lacks "=$other" && has -march=native || return 1
        unset ARCH
    done
    flags CC="$cc" ARCH=one && has -march=one && lacks native || return 1
    flags CC="$cc" ARCH= && lacks -march || return 1
    flags CC="$cc" ARCH=portable && has -DQKV_PORTABLE && lacks -march
}

other_processors_get_no_native() {
    compiler nonesuch native && flags CC="$dir/cc-nonesuch" && lacks -march || return 1
    compiler "$(uname -m)" '' && flags CC="$dir/cc-$(uname -m)" && lacks -march || return 1
    flags CC=nonesuch && lacks -march || return 1
    # A compiler of several words, and one whose target is a flag.
    compiler "$(uname -m)" native && flags CC="env $dir/cc-$(uname -m)" && has -march=native || return 1
    needs clang || return
    flags CC='clang --target=nonesuch-linux-gnu' && lacks -march &&
        flags CC=clang CFLAGS='--target=nonesuch-linux-gnu' && lacks -march
}

no_means_no() {
    in_double() { make -C "$root" -n B="$dir/n" "$@" test 2>/dev/null | grep -c 'LD.*tests/double/test_'; }
    [ "$(in_double ONCE=1)" -lt 10 ] || { say 'ONCE=1 tests both precisions'; return 1; }
    say_how() { make -C "$root" -n B="$dir/n" "$@" "$dir/n/libqkv.a" 2>/dev/null; }
    for no in 0 no off false ''; do
        say_how WERROR=$no | grep -q -e ' -Werror ' && { say "WERROR=$no adds -Werror"; return 1; }
        say_how V=$no | grep -q "printf '  %-4s" || { say "V=$no shows whole commands"; return 1; }
        [ "$(in_double ONCE=$no)" -gt 20 ] || { say "ONCE=$no tests one precision"; return 1; }
    done
    say_how WERROR=1 | grep -q -e ' -Werror ' || { say 'WERROR=1 adds nothing'; return 1; }
    ! say_how V=1 | grep -q "printf '  %-4s" || say 'V=1 shows nothing'
}

# gcc warns of a link that has not been told how many jobs it may start.
links_are_told_how_many_jobs() {
    links() { make -C "$root" -n V=1 B="$dir/n" "$@" "$dir/n/qkv" 2>/dev/null | grep -e -rdynamic -A 1; }
    links CFLAGS='-O1 -flto' >how && grep -q -e ' -flto=auto ' how || { say "$(cat how)"; return 1; }
    links CFLAGS=-O1 >how && ! grep -q -e -flto how || say "$(cat how)"
}

# recorded CFLAGS: what config.json would keep of these, in `kept`.
recorded() {
    rm -rf b && make -C "$root" -s B="$dir/b" CFLAGS="$1" "$dir/b/float/train/config/json.o" >said 2>&1 ||
        { say "with $1: $(cat said)"; return 1; }
    tr '\000' '\n' <b/float/train/config/json.o | grep -a -m 1 -e '^-std=gnu11' >kept || say 'no flags'
}
keeps() { grep -qF -e "$1" kept || say "'$(cat kept)' has no $1"; }

flags_are_kept_as_text_without_paths() {
    needs cc || return
    recorded '-O1' && keeps ' -O1' && keeps -fno-math-errno && ! grep -qe -Wall kept || return 1
    for path in "-fdebug-prefix-map='/a b'=." '-fdebug-prefix-map="/a b"=.' "-ffile-prefix-map=$dir=." \
        "-fmacro-prefix-map=$dir=/x" "-I $dir" "-isystem $dir" "-I$dir" '-include /dev/null' --sysroot=/; do
        recorded "-O1 $path -DLAST" && keeps ' -O1 -DLAST' && ! grep -q -e '/' -e prefix kept ||
            { say "with $path: $(cat kept)"; return 1; }
    done
    recorded "-O1 -DSAID='\"a b\"' -DBACK='\"c\\\\d\"'" && keeps '-DSAID="a b"' && keeps '-DBACK="c\\d"'
}

suite only_the_command_line_says_for_which_processor other_processors_get_no_native no_means_no \
    links_are_told_how_many_jobs flags_are_kept_as_text_without_paths
