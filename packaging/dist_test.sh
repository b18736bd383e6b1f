#!/bin/sh
# dist_test.sh - `make dist-test`: does what lies in dist/ work where nothing else is? In a container of each
# of RELEASES, without a compiler and without a network, each form of the program trains, draws and views,
# each within LIMIT seconds of a processor: the static files in no more than `debootstrap --variant=minbase`
# puts there; the Debian packages and the wheel (in an environment of its own) beside what they need. The file
# for aarch64 runs in qemu. All that were built portable must have trained the same numbers.
#
# As root. Variables: RELEASES (bookworm trixie), LIMIT (10), MIRROR, AT (build/bare), KEEP=1 (takes
# containers that are there), DIST (dist), FORMS (x86_64 x86_64-portable wheel deb aarch64).
set -u
cd "$(dirname "$0")/.." || exit 1
RELEASES=${RELEASES:-bookworm trixie} LIMIT=${LIMIT:-10} AT=${AT:-build/bare} KEEP=${KEEP:-0}
DIST=${DIST:-dist} FORMS=${FORMS:-x86_64 x86_64-portable wheel deb aarch64}
. tests/lib/container.sh
able dist-test deps-dist qemu-aarch64 sha256sum timeout
for file in SHA256SUMS qkv-*-linux-x86_64 qkv-*-linux-x86_64-portable qkv-*-linux-aarch64 qkv_*.deb \
    libqkv-dev_*.deb qkv-*.whl qkv-*-demo.html; do
    # shellcheck disable=SC2086 # a pattern
    [ -n "$(find "$DIST" -maxdepth 1 -name "$file" 2>/dev/null)" ] ||
        { echo "dist-test: there is no $DIST/$file (make dist)"; exit 1; }
done
(cd "$DIST" && sha256sum -c --quiet SHA256SUMS) ||
    { echo "dist-test: $DIST is not what SHA256SUMS says"; exit 1; }
DIST=$(cd "$DIST" && pwd) AT=$(mkdir -p "$AT" && cd "$AT" && pwd) || exit 1

# What each trial runs in /root/try: $q is the program. It trains the default run, draws, and views it.
used="set -e; steps=
within() { (ulimit -t $LIMIT; exec timeout $((LIMIT * 30)) \"\$@\"); }
use() {
    within \$q train --quiet \$steps --out run
    within \$q plot run --attention --format txt >drawn
    grep -q '^example-0: layer 0 head 0' drawn
    within \$q view run
    grep -q '<script type=\"application/json\" id=\"run\">{' run/view.html
    awk -F, 'NR > 1 && \$4 > 0.99 { found = 1 } END { exit !found }' run/metrics.csv
    sed 's/,[^,]*\$//' run/metrics.csv | sha256sum
}
not() { if \"\$@\"; then echo \"it does: \$*\"; exit 1; fi; }
alone() {
    for compiler in cc gcc clang; do not command -v \$compiler; done
    not grep -v -e '|' -e ' *lo:' /proc/net/dev
}"
trial() {
    echo "$used"
    case $1 in
        x86_64 | x86_64-portable | aarch64)
            echo "q=./qkv && cp dist/qkv-*-linux-$1 qkv"
            [ "$1" = aarch64 ] || echo 'alone; not command -v gnuplot'
            echo "not \$q train --plugin x.c 2>said; grep -q 'is static and loads no plugins' said"
            ;;
        deb)
            echo 'trap "dpkg -P qkv libqkv-dev libqkv0.1 >/dev/null" EXIT'
            echo 'alone; not command -v qkv; dpkg -i dist/*.deb; q=qkv; [ -e /usr/share/man/man1/qkv.1.gz ]'
            echo '[ -e /usr/share/bash-completion/completions/qkv ] && [ -d /usr/share/doc/qkv/examples ]'
            echo 'python3 -c "import ctypes; ctypes.CDLL(\"libqkv.so.0.1\").tensor_arena_new"'
            echo "qkv-double gradcheck add | grep -q '0 wrong'"
            ;;
        wheel)
            echo 'alone; python3 -m venv --system-site-packages v; v/bin/pip install -q --no-index dist/*.whl'
            echo 'v/bin/qkv --version; q="v/bin/python -m qkv"'
            ;;
    esac
    # How fast the emulator is says nothing: it has more time, and fewer steps.
    [ "$1" != aarch64 ] || echo "steps='--steps 200'; within() { \"\$@\"; }"
    echo use
    # gnuplot is in the container of the packages.
    [ "$1" != deb ] || echo 'qkv plot run --only loss && [ -s run/plots/loss.png ]'
}

# try FORM ROOT: in /root/try, which is gone afterwards, as are the packages.
try() {
    trial "$1" >"$AT/trial.sh"
    if [ "$1" = aarch64 ]; then # a program without libraries needs no container
        rm -rf "$AT/here" && mkdir "$AT/here" && ln -s "$DIST" "$AT/here/dist" &&
            sed 's/^q=.*&&/q="qemu-aarch64 .\/qkv" \&\&/' "$AT/trial.sh" >"$AT/here/trial.sh" &&
            (cd "$AT/here" && unshare --net env -i PATH="$PATH" sh trial.sh)
        return
    fi
    rm -rf "$2/root/try" && mkdir -p "$2/root/try/dist" && cp "$AT/trial.sh" "$2/root/try" &&
        find "$DIST" -maxdepth 1 -type f -exec cp -p {} "$2/root/try/dist" \; &&
        inside "$2" 'cd /root/try && sh trial.sh' --net
    status=$?
    rm -rf "$2/root/try"
    return $status
}

wrong=0 tried=0 portable=''
# one RELEASE FORM ROOT
one() {
    log=$AT/dist-$1-$2.log began=$(date +%s) verdict=ok
    try "$2" "$3" >"$log" 2>&1 || verdict=FAILED
    sum=$(sed -n 's/^\([0-9a-f]\{64\}\) .*/\1/p' "$log" | tail -n 1)
    case $2 in
        x86_64 | aarch64) ;; # each has rounding of its own
        *)
            portable=${portable:-$sum}
            [ $verdict = FAILED ] || [ "$sum" = "$portable" ] || {
                echo 'trained other numbers than the portable program before' >>"$log"
                verdict=FAILED
            }
            ;;
    esac
    [ $verdict = ok ] || { wrong=$((wrong + 1)); tail -n 20 "$log"; }
    tried=$((tried + 1))
    printf '%-7s %5d s  %s: %s (%s)\n' $verdict $(($(date +%s) - began)) "$1" "$2" "$log"
}

for release in $RELEASES; do
    bare=$AT/dist-$release with=$AT/dist-$release-with
    needs='--no-install-recommends libjansson-dev gnuplot-nox python3 python3-venv python3-numpy'
    if ! { container "$bare" "$release" '' && container "$with" "$release" "$needs"; } >"$bare.log" 2>&1; then
        tail -n 3 "$bare.log"
        echo "FAILED  $release: the container did not start ($bare.log)"
        wrong=$((wrong + 1))
        continue
    fi
    for form in $FORMS; do
        case $form in
            x86_64*) one "$release" $form "$bare" ;;
            deb | wheel) one "$release" $form "$with" ;;
        esac
    done
done
case " $FORMS " in *' aarch64 '*) one here aarch64 '' ;; esac
echo "$tried forms tried, $wrong wrong"
[ $wrong -eq 0 ] && [ $tried -gt 0 ]
