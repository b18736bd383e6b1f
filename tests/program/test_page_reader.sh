#!/bin/sh
# test_page_reader.sh - the page refuses the checkpoints that the program refuses, in the same words: those of
# test_page_reader.c, given to the engine compiled to WebAssembly (page_reader.js). Reports in cmocka's words,
# for run.sh. Run from the root of the tree.
qkv=${QKV:-$PWD/build/qkv}
build=$(dirname "$qkv")
here=$(dirname "$0")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$here/../lib/suite.sh" || exit 1

page_and_program_say_the_same() {
    needs node clang wasm-ld || return
    [ -e /usr/include/wasm32-wasi/stdio.h ] || cannot "no wasi-libc" || return
    program=$build/tests/float/test_page_reader
    (unset CFLAGS LDFLAGS ARCH MAKEFLAGS MFLAGS MAKELEVEL
    make -s -j2 B="$build" "$build/wasm/engine.wasm" &&
        { [ -x "$program" ] || make -s -j2 B="$build" "$program"; }) >"$dir/made" 2>&1 ||
        { tail -5 "$dir/made"; return 1; }
    READER_OUT=$dir "$program" >"$dir/out" 2>&1 || { tail -5 "$dir/out"; return 1; }
    node "$here/page_reader.js" train/page/engine.js "$build/wasm/engine.wasm" "$dir"
}

suite page_and_program_say_the_same
