#!/bin/sh
# test_page.sh - the page in a real browser (page.py), where there are one and what builds the page.
# Reports in cmocka's words, for run.sh. Run from the root of the tree.
qkv=${QKV:-$PWD/build/qkv}
build=$(dirname "$qkv")
here=$(dirname "$0")
python=/usr/bin/python3 # for which Debian has selenium
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$here/../lib/suite.sh" || exit 1

missing() {
    for tool in clang wasm-ld chromium chromedriver $python; do
        command -v "$tool" >/dev/null 2>&1 || { echo "$tool is missing"; return; }
    done
    [ -e /usr/include/wasm32-wasi/stdio.h ] || { echo 'wasi-libc is missing'; return; }
    $python -c 'import selenium' 2>/dev/null || { echo 'python3-selenium is missing'; return; }
    getent hosts localhost >/dev/null || echo 'the name localhost, by which chromedriver is asked, is missing'
}

# The page, and a native program with its arithmetic.
builds() {
    (unset CFLAGS LDFLAGS ARCH MAKEFLAGS MFLAGS MAKELEVEL
    make -s -j2 B="$build" page &&
        make -s -j2 B="$build/portable" ARCH=portable "$build/portable/qkv") >"$dir/said" 2>&1 && return
    tail -5 "$dir/said"
    return 1
}

in_a_browser() {
    lacks=$(missing)
    [ -z "$lacks" ] || { echo "    cannot run: $lacks"; return $SKIP; }
    builds
}

if [ -n "$(missing)" ] || ! builds; then
    suite in_a_browser
    exit
fi
mkdir "$dir/work"
$python "$here/page.py" "$build/qkv.html" "$qkv" "$build/portable/qkv" "$dir/work" "$@"
