#!/bin/sh
# portable.sh DIR SOURCE... - the same runs (tests/portable/runs.c) built portable (ARCH=portable) from these
# sources by several compilers, for several processors and C libraries, must end in the same bits. Says what
# could not be built for want of a tool; fails if two differ, or if fewer than two could be compared. The
# page's own build, wasm32, is compared by test_page.sh. Then a cross build at the default flags.
out=$1
shift
flags='-std=gnu11 -DQKV_PORTABLE -ffp-contract=off -fno-math-errno -fno-trapping-math -ffunction-sections -I.'
unset MAKEFLAGS MFLAGS MAKELEVEL # the make that calls this one has its own flags
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
mkdir -p "$out" && rm -f "$out"/*.txt || exit 1
export flags out

# The builds: a name, the optimisation, the compiler's command, and what runs the program. Optimised
# differently, since bits that depend on it would not be the same everywhere.
builds() {
    echo 'gcc-x86_64-glibc|-O3|gcc|'
    echo 'clang-x86_64-glibc|-O1|clang|'
    echo 'gcc-x86_64-musl|-O2|musl-gcc -static|'
    echo 'clang-aarch64-glibc|-O2|clang --target=aarch64-linux-gnu -static|qemu-aarch64'
    echo 'gcc-aarch64-glibc|-O1|aarch64-linux-gnu-gcc -static|qemu-aarch64'
}

# build NAME LEVEL COMMAND SOURCE...
build() {
    name=$1 level=$2 compiler=$3
    shift 3
    mkdir -p "$out/$name" && export name level compiler || return 1
    printf '%s\n' "$@" tests/portable/runs.c | xargs -n 8 -P "$jobs" sh -c '
        for source; do
            $compiler $flags $level -c -o "$out/$name/$(echo "$source" | tr / _).o" "$source" || exit 255
        done' sh || return 1
    # shellcheck disable=SC2086 # a command is words
    $compiler -Wl,--gc-sections -o "$out/$name/runs" "$out/$name"/*.o -lm
}

first='' compared=0 wrong=0
builds >"$out/builds"
while IFS='|' read -r name level compiler runner <&3; do
    for tool in "${compiler%% *}" $runner; do
        command -v "$tool" >/dev/null || { echo "skipped  $name: there is no $tool"; continue 2; }
    done
    rm -rf "${out:?}/$name"
    if ! build "$name" "$level" "$compiler" "$@" || ! $runner "$out/$name/runs" >"$out/$name.txt"; then
        echo "FAILED   $name: could not be built, or run"
        wrong=$((wrong + 1))
    elif [ -z "$first" ]; then
        first=$name
        sed 's/^/         /' "$out/$name.txt"
        echo "first    $name"
    elif cmp -s "$out/$first.txt" "$out/$name.txt"; then
        compared=$((compared + 1))
        echo "the same $name"
    else
        wrong=$((wrong + 1))
        echo "FAILED   $name has other bits than $first:"
        diff "$out/$first.txt" "$out/$name.txt"
    fi
done 3<"$out/builds"

# At the default flags, for another processor: the library and the program compile, in both precisions, and
# the engine runs there, to bits of its own.
name=aarch64-defaults cross=aarch64-linux-gnu-gcc
objects=$(for source; do echo "$out/$name/float/${source%.c}.o"; done)
defaults() {
    # shellcheck disable=SC2086 # names of files
    make -j"$jobs" CC=$cross CFLAGS='-O3 -g -ffunction-sections -idirafter /usr/include' WERROR=1 \
        B="$out/$name" objects $objects &&
        $cross -std=gnu11 -I. -static -Wl,--gc-sections -o "$out/$name/runs" tests/portable/runs.c \
            $objects -lm &&
        qemu-aarch64 "$out/$name/runs"
}
for tool in $cross qemu-aarch64; do
    command -v $tool >/dev/null || { echo "skipped  $name: there is no $tool"; name=; break; }
done
if [ -n "$name" ] && defaults >"$out/$name.log" 2>&1; then
    echo "runs     $name"
elif [ -n "$name" ]; then
    wrong=$((wrong + 1))
    echo "FAILED   $name could not be built, or run:"
    tail -n 20 "$out/$name.log"
fi
[ "$wrong" -eq 0 ] && [ "$compared" -gt 0 ]
