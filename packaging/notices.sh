#!/bin/sh
# notices.sh [page] - prints the licences of all that is in the files of `make dist` beside qkv, or in the
# page alone, as Debian keeps them with the packages that they were built of. Fails, if one is missing.
set -eu
cd "$(dirname "$0")/.."
docs=/usr/share/doc
wasm=$(dpkg-query -S '*/libclang_rt.builtins-wasm32.a' | sed -n '1s/:.*//p')
gcc=$(dpkg-query -S "$(gcc -print-libgcc-file-name)" | sed -n '1s/:.*//p')
part() { # WHAT FILE
    [ -s "$2" ] || { echo "notices: there is no $2" >&2; exit 1; }
    printf '\n======== %s\n\n' "$1"
    cat "$2"
}
if [ "${1:-}" != page ]; then
    cat <<'END'
qkv, and what its ready-made files hold of others.

The page: wasi-libc and compiler-rt. The static programs, also the one in the Python wheel: jansson, the GNU C
library and libgcc, and the page. The Debian packages hold the page, and use the libraries of the system. The
GNU C library is under the LGPL: to use another one with a static program, build it from the source,
qkv-VERSION.tar.gz, by `make LDFLAGS=-static build/qkv`.
END
    part jansson $docs/libjansson-dev/copyright
    part 'the GNU C library' $docs/libc6-dev/copyright
    part 'GNU Lesser General Public License, version 2.1' /usr/share/common-licenses/LGPL-2.1
    part 'libgcc (its runtime library exception allows this use)' "$docs/$gcc/copyright"
fi
part qkv LICENSE
part wasi-libc $docs/wasi-libc/copyright
part compiler-rt "$docs/$wasm/copyright"
