#!/bin/sh
# test_install.sh - installs into a directory of its own and uses what is there as somebody else
# would: from outside the tree, by pkg-config, in C and C++. Reports in cmocka's words, for
# run.sh. Run from the root of the tree.
root=$PWD
build=$(dirname "${QKV:-$root/build/qkv}")
build=${build#"$root/"}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1
stage=$dir/stage prefix=/opt/qkv
at=$stage$prefix
unset PKG_CONFIG_SYSROOT_DIR
# Whoever links a library that was built under a sanitizer needs it, too.
sanitize=$(echo "${CFLAGS:-}" | tr ' ' '\n' | grep -e '^-fsanitize' -e '^-fno-sanitize' | tr '\n' ' ')
export PKG_CONFIG_PATH="$at/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"

echo "registered $(grep -c '^try ' "$0")"

# try NAME: runs the function of that name under `set -e`, as a test. It fails by returning
# anything but 0; 77: skipped.
try() {
    name=$1
    echo "[ RUN      ] $name"
    (set -e; [ "$name" = installs ] || installed; "$name") >"$dir/said" 2>&1
    status=$?
    [ $status -eq 0 ] || sed 's/^/    /' "$dir/said"
    verdict "$name" $status
}

installed() { [ -e "$dir/installed" ] || { echo 'nothing is installed'; return 1; }; }
need() { command -v "$1" >/dev/null || { echo "cannot run: no $1"; exit 77; }; }

run_make() { make -C "$root" -s B="$build" DESTDIR="$stage" PREFIX="$prefix" "$@"; }

installs() {
    run_make install
    for f in bin/qkv bin/qkv-double lib/libqkv.a lib/libqkv-double.a lib/pkgconfig/qkv.pc \
        lib/libqkv.so lib/pkgconfig/qkv-double.pc share/man/man1/qkv.1 include/qkv/train/config/plugin.h \
        include/qkv/qkv.h include/qkv/autograd/ops.def; do
        [ -s "$at/$f" ] || { echo "$f is not there"; return 1; }
    done
    : >"$dir/installed"
}

# What other files of the library include only among themselves stays behind.
only_public_headers() {
    (cd "$at/include/qkv" && find . -type f) >"$dir/files"
    ! grep -E -e '_internal|/cli|/(vec|row|attend|broadcast|reduce|unary|affine|pool)\.h$' "$dir/files"
}

# headers COMPILER...: each header compiles alone, and twice.
headers() {
    (cd "$at/include/qkv" && find . -name '*.h') | sed 's|^\./||' | sort >"$dir/headers"
    [ "$(wc -l <"$dir/headers")" -gt 20 ]
    while read -r h; do
        printf '#include "%s"\n#include "%s"\nextern int nothing;\n' "$h" "$h" |
            "$@" -Wall -Wextra -Werror -fsyntax-only -I"$at/include/qkv" - && continue
        echo "$h: $*"
        return 1
    done <"$dir/headers"
}
headers_in_c() { headers "${CC:-cc}" -x c -std=c11 -Wpedantic -Wstrict-prototypes; }
headers_in_c_double() { headers "${CC:-cc}" -x c -std=c11 -DQKV_DOUBLE; }
headers_in_cxx() { need "${CXX:-c++}"; headers "${CXX:-c++}" -x c++ -std=c++11 -Wpedantic; }

pkg_config_knows_it() {
    need pkg-config
    version=$("$at/bin/qkv" --version | cut -d ' ' -f 2)
    [ "$(pkg-config --modversion qkv)" = "$version" ]
    [ "$(pkg-config --modversion qkv-double)" = "$version" ]
    pkg-config --cflags qkv-double | grep -q -e '-DQKV_DOUBLE'
    ! pkg-config --cflags qkv | grep -q -e '-DQKV_DOUBLE'
}

examples_build() {
    need pkg-config
    need "${CXX:-c++}"
    cp -R "$root/examples" "$dir/examples"
    make -C "$dir/examples" -s clean
    strict="-O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror $sanitize"
    make -C "$dir/examples" -s CFLAGS="$strict -Wstrict-prototypes" CXXFLAGS="-std=c++11 $strict"
    ! grep -q "$root" "$dir/examples/Makefile"
}

# learned FILE: somewhere "accuracy" is 99 % or more.
learned() { grep -Eq 'accuracy +(99|100)\.' "$1"; }

example_trains() {
    need pkg-config
    "$dir/examples/train" >"$dir/out"
    cat "$dir/out"
    learned "$dir/out"
    grep -q '^k[0-9]* is asked; it looks at ' "$dir/out"
}

# Kept in a file that numpy reads by the format's own words, changes, and gives back.
example_keeps_parameters() {
    need pkg-config
    need python3
    python3 -c 'import numpy' 2>/dev/null || { echo 'cannot run: no numpy'; exit 77; }
    cd "$dir"
    "$dir/examples/keep" k >first 2>how && grep -q '^trained' how
    "$dir/examples/keep" k >second 2>how && grep -q '^loaded' how
    cat first
    cmp first second
    [ "$(grep -cE ' = -?(1\.0|0\.99)' first)" -eq 4 ]
    # shellcheck disable=SC2046,SC2086
    "${CC:-cc}" $sanitize "$dir/examples/keep.c" -o keep-double $(pkg-config --cflags --libs qkv-double)
    ./keep-double k >double 2>how && grep -q '^loaded' how
    python3 - <<'END'
import json, struct
import numpy as np
raw = open("k", "rb").read()
n, = struct.unpack("<Q", raw[:8])
head = json.loads(raw[8:8 + n])
notes = head.pop("__metadata__")
at = lambda v: raw[8 + n:][slice(*v["data_offsets"])]
w = {k: np.frombuffer(at(v), "<f4").reshape(v["shape"]) for k, v in head.items()}
assert n % 8 == 0 and sorted(w) == ["hidden.b", "hidden.w", "out.b", "out.w"], w
assert {v["dtype"] for v in head.values()} == {"F32"} and w["hidden.w"].shape == (2, 8), head
assert 8 + n + sum(x.nbytes for x in w.values()) == len(raw)
assert all(isinstance(x, str) for x in notes.values())
x = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], "f4")
y = np.tanh(x @ w["hidden.w"] + w["hidden.b"]) @ w["out.w"] + w["out.b"]
said = [float(line.split()[-1]) for line in open("first")]
double = [float(line.split()[-1]) for line in open("double")]
assert np.abs(y[:, 0] - said).max() < 1e-5 and np.abs(np.array(double) - said).max() < 1e-5, (y, said, double)
w["out.b"] = w["out.b"] + 1
for kind, dtype in ("F64", "<f8"), ("F32", "<f4"):
    data, head = b"", {}
    for k in sorted(w):
        part = w[k].astype(dtype).tobytes()
        offsets = [len(data), len(data) + len(part)]
        head[k] = {"dtype": kind, "shape": list(w[k].shape), "data_offsets": offsets}
        data += part
    text = json.dumps(head).encode()
    open(kind, "wb").write(struct.pack("<Q", len(text)) + text + data)
END
    for kind in F32 F64; do
        "$dir/examples/keep" $kind >third 2>how && grep -q '^loaded' how
        paste first third | awk '{ d = $10 - $5; n += d < 1.0001 && d > .9999 } END { exit n != 4 }'
    done
    head -c 300 k >torn
    ! "$dir/examples/keep" torn >third 2>how
    [ "$(wc -l <how)" -eq 1 ] && grep -q "^'torn' is damaged: " how
}

example_in_cxx_trains() {
    need pkg-config
    need "${CXX:-c++}"
    "$dir/examples/from_cpp" >"$dir/out"
    cat "$dir/out"
    [ "$(wc -l <"$dir/out")" -eq 4 ]
    grep '^after training' "$dir/out" >"$dir/line"
    learned "$dir/line"
    grep '^looking everywhere' "$dir/out" >"$dir/line"
    ! learned "$dir/line"
}

example_checks_gradients() {
    need pkg-config
    "$dir/examples/check" | grep '^square  *ok: 10 samples'
    sed 's/dy\[i\] \* 2 /dy[i] * 3 /' "$root/examples/square.c" >"$dir/wrong.c"
    # shellcheck disable=SC2046,SC2086
    "${CC:-cc}" $sanitize "$dir/examples/check.c" "$dir/wrong.c" -o "$dir/wrong" \
        $(pkg-config --cflags --libs qkv-double)
    status=0
    "$dir/wrong" >"$dir/out" || status=$?
    [ "$status" -eq 5 ]
    grep -q '^square  *WRONG: .*analytic .*, numeric ' "$dir/out"
}

# Programs find it by its soname; it exports no names but those with the prefix of a room.
shared_library_has_a_version() {
    need readelf
    version=$("$at/bin/qkv" --version | cut -d ' ' -f 2)
    readelf -d "$at/lib/libqkv.so" | grep -qF "soname: [libqkv.so.${version%.*}]"
    [ "$(readlink -f "$at/lib/libqkv.so.${version%.*}")" = "$(readlink -f "$at")/lib/libqkv.so.$version" ]
    nm -D --defined-only "$at/lib/libqkv.so" | awk '{ print $3 }' | sort >"$dir/exported"
    [ "$(wc -l <"$dir/exported")" -gt 330 ]
    ! grep -v -E '^(ag|data|gemm|nn|qkv|rng|tensor)_' "$dir/exported"
}

# Every function of the installed headers is there for C++, in the shared library; and a program in C++ that
# was linked with it prints what one prints that was linked with the archive.
shared_library_has_every_function() {
    need "${CXX:-c++}"
    "${CC:-cc}" -E -P -I"$at/include/qkv" -x c -std=gnu11 "$at/include/qkv/qkv.h" |
        awk -f "$root/tests/null/prototypes.awk" | cut -d '|' -f 1 | sort -u >"$dir/functions"
    [ "$(wc -l <"$dir/functions")" -gt 330 ]
    {
        printf '#include "qkv.h"\n#include <cstdio>\ntypedef void (*function)();\n'
        printf 'static const function all[] = {\n'
        sed 's/.*/    reinterpret_cast<function>(\&&),/' "$dir/functions"
        printf '};\nint main() {\n    int n = 0;\n    for (function f : all) n += f != nullptr;\n'
        printf '    std::printf("%%d\\n", n);\n}\n'
    } >"$dir/all.cc"
    for source in "$dir/all.cc" "$root/examples/from_cpp.cc"; do
        # shellcheck disable=SC2086
        "${CXX:-c++}" -std=c++11 -O1 -Wall -Wextra -Wno-address $sanitize -I"$at/include/qkv" \
            -o "$dir/$(basename "$source" .cc)-shared" "$source" -L"$at/lib" -lqkv -lm
    done
    export LD_LIBRARY_PATH="$at/lib"
    [ "$("$dir/all-shared")" -eq "$(wc -l <"$dir/functions")" ]
    mv "$at/lib/libqkv.so" "$dir/away" # it is the soname that is looked for
    "$dir/from_cpp-shared" >"$dir/shared" || { mv "$dir/away" "$at/lib/libqkv.so"; return 1; }
    mv "$dir/away" "$at/lib/libqkv.so"
    "$dir/examples/from_cpp" | cmp - "$dir/shared"
    readelf -d "$dir/all-shared" | grep -q 'NEEDED.*libqkv\.so\.'
    # One that is not in it is missed.
    sed -i 's/&ag_sum)/\&ag_no_such)/; 2s/$/\nextern "C" void ag_no_such();/' "$dir/all.cc"
    # shellcheck disable=SC2086
    ! "${CXX:-c++}" -std=c++11 $sanitize -I"$at/include/qkv" -o "$dir/none" "$dir/all.cc" -L"$at/lib" -lqkv \
        -lm 2>"$dir/why"
    grep -q 'ag_no_such' "$dir/why"
}

program_runs() {
    cd "$dir"
    "$at/bin/qkv" train --steps 2 --out "$dir/run" --quiet
    "$at/bin/qkv" eval "$dir/run" --examples 10 >/dev/null
    "$at/bin/qkv" gradcheck add | grep -q '0 wrong'
    "$at/bin/qkv-double" --version | grep -q '(double'
}

# The installed program finds the installed headers: nothing of the source tree is in reach.
plugin_as_source() {
    cp "$root/examples/square.c" "$root/examples/successor.c" "$dir"
    cd "$dir"
    "$at/bin/qkv" gradcheck --plugin square.c square | grep -q '0 wrong'
    "$at/bin/qkv" train --plugin successor.c --task successor --steps 2 --out "$dir/months" --quiet
}

plugin_as_shared_object() {
    need pkg-config
    cd "$dir"
    "$at/bin/qkv" train --plugin "$dir/examples/successor.so" --task successor --steps 2 \
        --out "$dir/months2" --quiet
}

# All that is installed finds itself wherever it stands.
can_be_moved() {
    mv "$at" "$dir/another place"
    PKG_CONFIG_PATH=$dir/another\ place/lib/pkgconfig
    status=0
    (
        set -e
        cd "$dir/another place/bin"
        ./qkv gradcheck --plugin "$root/examples/square.c" square | grep -q '0 wrong'
        command -v pkg-config >/dev/null || exit 0
        rm -f "$dir/examples/train"
        make -C "$dir/examples" -s train
        "$dir/examples/train" >/dev/null
    ) || status=$?
    mv "$dir/another place" "$at"
    return $status
}

uninstall_leaves_nothing() {
    touch "$at/lib/somebody-elses"
    run_make uninstall
    left=$(cd "$at" && find . ! -type d)
    [ "$left" = ./lib/somebody-elses ] || { echo "left: $left"; return 1; }
    [ ! -e "$at/include/qkv" ]
    run_make uninstall # twice is no error
}

try installs
try only_public_headers
try headers_in_c
try headers_in_c_double
try headers_in_cxx
try pkg_config_knows_it
try examples_build
try example_trains
try example_keeps_parameters
try example_in_cxx_trains
try example_checks_gradients
try shared_library_has_a_version
try shared_library_has_every_function
try program_runs
try plugin_as_source
try plugin_as_shared_object
try can_be_moved
try uninstall_leaves_nothing

summary
