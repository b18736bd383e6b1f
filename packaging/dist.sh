#!/bin/sh
# dist.sh - `make dist`: what somebody can have without building it, into dist/. Everything is built of the
# last commit alone, unpacked into build/dist/; one commit gives the same bytes every time, with the same
# packages of Debian. On x86_64; `make deps-dist` installs what it takes. docs/install.md says what file is
# for whom.
set -eu
cd "$(dirname "$0")/.."
root=$PWD work=$PWD/build/dist out=$PWD/dist arm=$PWD/build/arm64 cross=aarch64-linux-gnu
unset MAKEFLAGS MFLAGS MAKELEVEL CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS ARCH PLAIN WERROR B V PAGE_INSIDE
export LC_ALL=C TZ=UTC
umask 022
python=/usr/bin/python3 # Debian's, which has python3-markdown
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

lacking=
for tool in git gcc make clang wasm-ld strip gzip $cross-gcc $cross-strip qemu-aarch64 dpkg-buildpackage dh \
    lintian $python; do
    command -v "$tool" >/dev/null 2>&1 || lacking="$lacking $tool"
done
$python -c 'import markdown' 2>/dev/null || lacking="$lacking python3-markdown"
[ -e "$arm/usr/lib/$cross/libjansson.a" ] || lacking="$lacking libjansson.a-for-aarch64"
[ -z "$lacking" ] || { echo "dist: not found:$lacking (make deps-dist)"; exit 1; }
[ "$(uname -m)" = x86_64 ] || { echo 'dist: is built on x86_64, this is another processor'; exit 1; }
[ -e .git ] || { echo 'dist: needs a checkout of git: the last commit is what is built'; exit 1; }

version=$(git show HEAD:train/config/version.h | sed -n 's/^.define QKV_VERSION "\(.*\)"/\1/p')
name=qkv-$version
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
rm -rf "$out" "$work"
mkdir -p "$out" "$work"
git diff --quiet HEAD || echo 'dist: changes that are not committed are left out'
git -c tar.umask=022 archive --format=tar --prefix="$name/" HEAD | gzip -n9 >"$out/$name.tar.gz"
unpack() { mkdir -p "$1" && tar -xzf "$out/$name.tar.gz" -C "$1"; }
unpack "$work"
cd "$work/$name"

echo 'dist: the page'
make -s -j"$jobs" page >/dev/null
sh packaging/notices.sh >"$out/$name-NOTICES.txt"
{ cat build/qkv.html && echo '<!--' && sh packaging/notices.sh page | sed 's/--*/-/g' && echo '-->'; } \
    >"$out/$name.html"

# static NAME ARCH CFLAGS LDFLAGS VARIABLE=VALUE...: one file that needs no other, with the page in it.
static() {
    to=$out/$name-linux-$1 b=build/$1 arch=$2 cflags=$3 ldflags=$4
    shift 4
    echo "dist: ${to##*/}"
    make -s -j"$jobs" B="$b" ARCH="$arch" CFLAGS="-O3 $cflags" PAGE_INSIDE="$out/$name.html" \
        LDFLAGS="-static -Wl,--build-id=none $ldflags" "$@" "$b/qkv" >/dev/null
    install -m 755 "$b/qkv" "$to"
}
static x86_64 x86-64-v3 '' '' CC=gcc
static x86_64-portable portable '' '' CC=gcc
static aarch64 '' "-isystem $arm/usr/include" "-L$arm/usr/lib/$cross" CC=$cross-gcc
strip -s "$out/$name-linux-x86_64" "$out/$name-linux-x86_64-portable"
$cross-strip -s "$out/$name-linux-aarch64"
qemu-aarch64 "$out/$name-linux-aarch64" train --steps 2 --quiet --out "$work/arm"

echo 'dist: the demonstration'
(cd "$work" && "$out/$name-linux-x86_64-portable" train --quiet --out runs/demo &&
    # The one column that differs each time is how long it took.
    awk 'BEGIN { FS = OFS = "," } NR == 1 && $NF != "seconds" { exit 1 } NR > 1 { $NF = 0 } { print }' \
        runs/demo/metrics.csv >metrics && mv metrics runs/demo/metrics.csv &&
    "$out/$name-linux-x86_64-portable" view runs/demo --out "$out/$name-demo.html" >/dev/null)

echo 'dist: the Debian packages'
unpack "$work/deb"
(cd "$work/deb/$name" && cp -R packaging/debian debian &&
    mkdir build && cp "$out/$name.html" build/qkv.html &&
    DEB_BUILD_OPTIONS="noautodbgsym parallel=$jobs" dpkg-buildpackage -d -nc -b -us -uc) \
    >"$work/deb.log" 2>&1 ||
    { tail -n 30 "$work/deb.log"; exit 1; }
lintian --allow-root --fail-on error "$work"/deb/*.deb >"$work/lintian.log" 2>&1 ||
    { cat "$work/lintian.log"; exit 1; }
cp "$work"/deb/*.deb "$out"

echo 'dist: the wheel'
$python packaging/wheel.py python/qkv "$out/$name-linux-x86_64-portable" "$version" \
    "$out/$name-NOTICES.txt" "$out"

echo 'dist: the site'
mkdir "$out/site"
cp "$out/$name.html" "$out/site/index.html"
cp "$out/$name-demo.html" "$out/site/demo.html"
$python packaging/site.py . "$out/site"

cd "$out"
find . -type f ! -name SHA256SUMS | sed 's,^\./,,' | sort | tr '\n' '\0' | xargs -0 sha256sum >SHA256SUMS
cd "$root"
ls -l dist
