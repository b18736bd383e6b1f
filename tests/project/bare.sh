#!/bin/sh
# bare.sh - does a bare system do what README says? For each of RELEASES a container with no more in it than
# `debootstrap --variant=minbase` puts there; then `apt-get install make git`, a clone of this repository as
# it is committed, and, each from there on in a copy of its own, the commands below: each has to end with 0
# and to leave what it says. What could not be tried has failed.
#
# As root. Variables: RELEASES (trixie bookworm), COMMANDS (demo page check test), MIRROR (the one that apt
# uses here), AT (build/bare; it takes some 5 GB), KEEP=1 (takes containers that are there).
set -u
cd "$(dirname "$0")/../.." || exit 1
RELEASES=${RELEASES:-trixie bookworm} AT=${AT:-build/bare} KEEP=${KEEP:-0}
COMMANDS=${COMMANDS:-demo page check test}
. tests/lib/container.sh
able bare deps-bare git

# What is run, and what must have come of it.
command_of() {
    case $1 in
        demo) echo 'make deps demo' ;;
        page) echo 'make deps-page page' ;;
        check) echo 'make deps-check check' ;;
        test) echo 'make deps test' ;;
    esac
}
came() { # NAME TREE LOG
    case $1 in
        demo) for picture in loss learning gradients norms attention circuits; do
            [ -s "$2/runs/demo/plots/$picture.png" ] || { echo "no $picture.png"; return 1; }
        done ;;
        page) [ -s "$2/build/qkv.html" ] || { echo "no build/qkv.html"; return 1; } ;;
        check) # Nobody has to have shellcheck, and clang's tools decide in one version only.
            tail -n 1 "$3" | grep -q '^[1-9][0-9]* ok, 0 failed' &&
                ! grep '^skipped ' "$3" | grep -v -e shellcheck -e 'decides, this is another' ;;
        test) tail -n 1 "$3" | grep -q '^[1-9][0-9]* passed, 0 failed' ;;
    esac
}

# try ROOT NAME LOG: in a copy of the container, which is gone afterwards.
try() {
    rm -rf --one-file-system "$1-now" && cp -a "$1" "$1-now" || return 1
    rm -rf "$1-now/root/qkv" && git -c safe.directory='*' clone -q . "$1-now/root/qkv" &&
        inside "$1-now" "cd /root/qkv && $(command_of "$2")" && came "$2" "$1-now/root/qkv" "$3"
    status=$?
    rm -rf --one-file-system "$1-now"
    return $status
}

for name in $COMMANDS; do
    [ -n "$(command_of "$name")" ] && continue
    echo "bare: COMMANDS: '$name' is not demo, page, check or test"
    exit 1
done
AT=$(mkdir -p "$AT" && cd "$AT" && pwd) || exit 1
wrong=0 tried=0
for release in $RELEASES; do
    if ! container "$AT/$release" "$release" 'make git' >"$AT/$release.log" 2>&1; then
        tail -n 3 "$AT/$release.log"
        echo "FAILED  $release: the container did not start ($AT/$release.log)"
        wrong=$((wrong + 1))
        continue
    fi
    for name in $COMMANDS; do
        log=$AT/$release-$name.log began=$(date +%s) verdict=ok
        try "$AT/$release" "$name" "$log" >"$log" 2>&1 || verdict=FAILED wrong=$((wrong + 1))
        [ $verdict = ok ] || tail -n 20 "$log"
        tried=$((tried + 1))
        printf '%-7s %5d s  %s: %s (%s)\n' $verdict $(($(date +%s) - began)) \
            "$release" "$(command_of "$name")" "$log"
    done
done
echo "$tried commands tried, $wrong wrong"
[ $wrong -eq 0 ] && [ $tried -gt 0 ]
