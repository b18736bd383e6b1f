#!/bin/sh
# test_page_inside.sh - "Inside one step" without a browser (page_inside.js): the engine that the page has,
# run by node, where there are node and what builds it. Reports in cmocka's words, for run.sh.
qkv=${QKV:-$PWD/build/qkv}
build=$(dirname "$qkv")
here=$(dirname "$0")
. "$here/../lib/suite.sh" || exit 1

missing() {
    for tool in node clang wasm-ld; do
        command -v "$tool" >/dev/null 2>&1 || { echo "$tool is missing"; return; }
    done
    [ -e /usr/include/wasm32-wasi/stdio.h ] || echo 'wasi-libc is missing'
}

builds() {
    (unset CFLAGS LDFLAGS ARCH MAKEFLAGS MFLAGS MAKELEVEL
    make -s -j2 B="$build" "$build/wasm/engine.wasm") >/dev/null 2>&1
}

the_engine_is_built() {
    lacks=$(missing)
    [ -z "$lacks" ] || { echo "    cannot run: $lacks"; return $SKIP; }
    builds
}

if [ -n "$(missing)" ] || ! builds; then
    suite the_engine_is_built
    exit
fi
exec node "$here/page_inside.js" "$here/../../train/page" "$build/wasm/engine.wasm"
