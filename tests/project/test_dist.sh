#!/bin/sh
# test_dist.sh - what `make dist` builds on, as far as it needs neither containers nor a build of everything:
# what the program says of itself, a static one, the commit, the wheel, the site; `make dist-test` names what
# is missing. Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1
build=$(dirname "$QKV")

the_version_says_where_it_is_from() {
    ran 0 --version
    grep -Eqx 'qkv [0-9]+\.[0-9]+\.[0-9]+ \((float|double), (gcc|clang) .+, ARCH=[a-z0-9-]+, commit .*' out &&
        grep -Eq ', commit ([0-9a-f]{12}\+?|unknown)\)$' out || say "$(cat out)"
    version=$(cut -d ' ' -f 2 out)
    sed -n 1p "$root/packaging/debian/changelog" | grep -qF "($version)" ||
        say 'debian/changelog has another version'
    grep -qx "version: $version" "$root/CITATION.cff" || say 'CITATION.cff has another version'
    grep -q "^## $version, 20[0-9-]*\$" "$root/CHANGELOG.md" || say 'CHANGELOG.md has another version'
    grep -qx "Package: libqkv${version%.*}" "$root/packaging/debian/control" ||
        say 'the package of the library has another'
}

# Of git; with a + if files differ; of `git archive`; or unknown.
the_commit_is_found() {
    needs git || return
    mkdir -p tree/packaging && cp "$root/packaging/commit.sh" tree/packaging && cd tree
    [ "$(sh packaging/commit.sh)" = 'unknown 0' ] || say 'without git it knows a commit'
    echo 'packaging/commit.sh export-subst' >.gitattributes
    git init -q . && git add . &&
        GIT_COMMITTER_DATE='1000000000 +0000' git -c user.name=a -c user.email=a@b commit -qm a
    commit=$(git rev-parse HEAD | cut -c 1-12)
    [ "$(sh packaging/commit.sh)" = "$commit 1000000000" ] || say "$(sh packaging/commit.sh)"
    echo >>.gitattributes
    [ "$(sh packaging/commit.sh)" = "$commit+ 1000000000" ] || say "changed: $(sh packaging/commit.sh)"
    mkdir there && git archive HEAD | tar -xf - -C there
    [ "$(sh there/packaging/commit.sh)" = "$commit 1000000000" ] ||
        say "archived: $(sh there/packaging/commit.sh)"
}

# The one file that differs is compiled, and linked with the others. A sanitizer has no static runtime.
a_static_program_says_that_it_loads_no_plugins() {
    case "${CFLAGS:-}" in *-fsanitize* | *--coverage*) cannot 'this build cannot be static'; return ;; esac
    cd "$root"
    flags="-std=gnu11 -I. -O1"
    # shellcheck disable=SC2086
    "${CC:-cc}" $flags -DQKV_STATIC -c -o "$dir/plugin.o" train/cli/plugin.c
    printf 'a page<script type="application/json" id="run">null</script>' >"$dir/page"
    # shellcheck disable=SC2086
    "${CC:-cc}" $flags "-DQKV_PAGE=\"$dir/page\"" -c -o "$dir/cmd_view.o" train/cli/cmd_view.c
    others=$(find "$build/float/train/cli" -name '*.o' ! -name plugin.o ! -name cmd_view.o)
    # shellcheck disable=SC2086
    "${CC:-cc}" -static -pthread -o "$dir/qkv" $others "$dir/plugin.o" "$dir/cmd_view.o" \
        "$build/libqkv.a" -ljansson -lm >"$dir/linked" 2>&1 ||
        { cannot "$(tail -n 1 "$dir/linked")"; return; }
    ! grep . "$dir/linked" || say 'the linker warns'
    cd "$dir" && QKV=$dir/qkv
    echo 'int x;' >x.c
    refused 1 'is static and loads no plugins' train --plugin x.c
    ran 0 train --steps 2 --quiet --out run
    ran 0 view run
    grep -q '^a page<script type="application/json" id="run">{' run/view.html ||
        say 'the page in it was not taken'
    without() { status=0; env PATH=/nonesuch "$QKV" "$@" >out 2>err </dev/null || status=$?; }
    without plot run --attention --format txt
    [ "$status" -eq 0 ] && grep -q '^example-0: layer 0 head 0' out || say "as text: exit $status, $(cat err)"
    without plot run
    [ "$status" -eq 6 ] && grep -q 'with --format txt' err || say "without gnuplot: exit $status, $(cat err)"
}

# The same bytes twice; the program in it can be executed, runs by `python -m qkv`, and RECORD has every
# file's sum.
a_wheel_holds_the_program() {
    needs python3 || return
    python3 -c 'import numpy' 2>/dev/null || { cannot 'no numpy'; return; }
    version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$root/python/qkv/__init__.py")
    printf '#!/bin/sh\n[ "$1" != --version ] || { echo "qkv %s"; exit; }\necho "ran $*"; exit 4\n' \
        "$version" >program
    mkdir one two && echo licences >notices
    for to in one two; do
        touch program
        SOURCE_DATE_EPOCH=1000000000 python3 "$root/packaging/wheel.py" "$root/python/qkv" program 1.2.3 \
            notices $to
    done
    wheel=qkv-1.2.3-py3-none-manylinux_2_17_x86_64.whl
    cmp one/$wheel two/$wheel
    python3 - one/$wheel <<'END'
import base64, csv, hashlib, io, os, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = wheel.namelist()
    record = io.StringIO(wheel.read("qkv-1.2.3.dist-info/RECORD").decode())
    rows = {row[0]: row[1:] for row in csv.reader(record)}
    assert sorted(rows) == sorted(names) and len(set(names)) == len(names), (rows, names)
    for name in names:
        data, (digest, size) = wheel.read(name), rows[name]
        if not name.endswith("RECORD"):
            right = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, size) == ("sha256=" + right, str(len(data))), name
    assert b"\nVersion: 1.2.3\n" in wheel.read("qkv-1.2.3.dist-info/METADATA")
    assert wheel.getinfo("qkv/bin/qkv").external_attr >> 16 == 0o100755
    assert "qkv-1.2.3.dist-info/NOTICES.txt" in names
    wheel.extractall("there")
os.chmod("there/qkv/bin/qkv", 0o755)
END
    status=0
    (cd there && env -u QKV python3 -m qkv eval --json >../said) || status=$?
    [ "$status" -eq 4 ] && grep -qx 'ran eval --json' said || say "exit $status: $(cat said)"
}

the_site_has_every_page() {
    python=/usr/bin/python3
    $python -c 'import markdown' 2>/dev/null || { cannot 'no python3-markdown'; return; }
    $python "$root/packaging/site.py" "$root" site || return 1
    for page in README docs/install docs/findings; do
        grep -q '<h1 id=' site/$page.html || say "no $page.html"
    done
    grep -q 'href="docs/install.html#reproducible"' site/README.html || say 'a link still names the Markdown'
    [ -s site/docs/pictures/attention.png ] || say 'a picture was not copied'
    mkdir -p broken/docs && echo '[to](docs/away.md)' >broken/README.md
    ! $python "$root/packaging/site.py" broken site2 2>err && grep -qx 'README.md: docs/away.md' err
}

what_is_missing_is_named() {
    mkdir bin && for tool in sh sed awk grep dirname find; do ln -s "$(command -v $tool)" bin/$tool; done
    missing() { # TEXT: it fails, and says that
        ! PATH=$dir/bin MIRROR=m DIST=$dir/none sh "$root/packaging/dist_test.sh" >out 2>&1 || say 'it passes'
        grep -q "^dist-test: $1\$" out || say "$(cat out)"
    }
    missing 'not found: debootstrap .* (make deps-dist)'
    printf '#!/bin/sh\necho 0\n' >bin/id && chmod +x bin/id
    for tool in debootstrap chroot unshare mount qemu-aarch64 sha256sum timeout; do cp bin/id bin/$tool; done
    missing 'there is no .*/none/SHA256SUMS (make dist)'
    ! PATH=$dir/bin sh "$root/packaging/dist.sh" >out 2>&1 || say 'dist passes without its tools'
    grep -q '^dist: not found: git .*lintian.* (make deps-dist)$' out || say "$(cat out)"
}

suite the_version_says_where_it_is_from the_commit_is_found a_static_program_says_that_it_loads_no_plugins \
    a_wheel_holds_the_program the_site_has_every_page what_is_missing_is_named
