#!/bin/sh
# deps.sh PACKAGE... - installs the Debian packages that are missing: as root, or with sudo; without either it
# prints the commands; on other systems it says what is needed.
#
# a|b|c is whichever of them apt knows first. CLANG in a name is the major version of clang: of the one that
# is installed, or else of the one that apt would install. Packages that apt does not know are all named.
set -eu
export LC_ALL=C # what apt says is read here

elsewhere() {
    cat <<'TEXT'
This system has no apt-get. Please install, with your own package manager:
  to build, train and draw:  gcc or clang, GNU make, jansson with its headers, gnuplot
  for the tests:             g++ or clang++, cmocka; and, for tests that are skipped without it: pkg-config,
                             python3 with numpy and mpmath, man, mandoc, script, GNU parallel, bash
  for the page:              clang, lld, wasi-libc, and clang's runtime for wasm32
Fedora:  dnf install gcc make jansson-devel gnuplot         for the tests: gcc-c++ libcmocka-devel
Arch:    pacman -S gcc make jansson gnuplot                 for the tests: cmocka
These names have not been tried: only Debian is tested.
TEXT
    lacking=
    for tool in "${CC:-cc}" gnuplot; do
        command -v "${tool%% *}" >/dev/null 2>&1 || lacking="$lacking $tool"
    done
    echo '#include <jansson.h>' | ${CC:-cc} -E - >/dev/null 2>&1 || lacking="$lacking jansson.h"
    [ -z "$lacking" ] || { echo "not found:$lacking"; exit 1; }
    exit 0
}
for tool in dpkg-query apt-get apt-cache; do command -v $tool >/dev/null 2>&1 || elsewhere; done

# Two at a time (make -j deps deps-page) would be in each other's way.
if command -v flock >/dev/null 2>&1; then exec 9<"$0" && flock 9; fi

clang_version() {
    if command -v clang >/dev/null 2>&1; then
        clang -dumpversion | sed 's/\..*//'
    else
        apt-cache depends clang 2>/dev/null | sed -n 's/^ *Depends: clang-\([0-9][0-9]*\)$/\1/p' | head -n 1
    fi
}
# names ENTRY: its alternatives, one a line.
names() {
    case $1 in *CLANG*) version=$(clang_version) ;; *) version= ;; esac
    echo "$1" | tr '|' '\n' | sed "s/CLANG/${version:-CLANG}/"
}
installed() { dpkg-query -W -f '${Status}\n' "$1" 2>/dev/null | grep -q ' ok installed'; }
known() { apt-cache show "$1" 2>/dev/null | grep -q '^Package:'; }

# Of each entry that is not installed: those entries, then the packages by which they can be had.
missing=
for entry; do
    found=
    for name in $(names "$entry"); do ! installed "$name" || found=yes; done
    [ -n "$found" ] || missing="$missing $entry"
done
[ -n "$missing" ] || exit 0
choose() {
    packages= unknown=
    for entry in $missing; do
        found=
        for name in $(names "$entry"); do
            if known "$name"; then found=$name && break; fi
        done
        packages="$packages ${found:-$(names "$entry" | head -n 1)}"
        [ -n "$found" ] || unknown="$unknown $entry"
    done
}
as_root=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        choose
        printf 'You are not root, and there is no sudo. As root, please run:\n  %s\n  %s\n' \
            'apt-get update' "apt-get install --no-install-recommends$packages"
        exit 1
    fi
    as_root=sudo
fi
$as_root apt-get update -qq
choose
if [ -n "$unknown" ]; then
    echo "apt knows no package for:$unknown"
    echo "Install what they hold by hand, or add the archive that has them to apt's sources."
    exit 1
fi
echo "installing:$packages"
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $packages >/dev/null 9>&-
