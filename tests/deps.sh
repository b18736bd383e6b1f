#!/bin/sh
# deps.sh PACKAGE... - installs the Debian packages that are missing. Root: directly; else with
# sudo; on other systems it says what is needed.
set -eu
if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    cat <<'TEXT'
This is no Debian-like system. Please install, under whatever names they have here:
  a C and a C++ compiler, make, jansson, cmocka, gnuplot (with pngcairo or png);
and, for some of the tests, the PCG C++ headers, pkg-config, python3 with numpy, man, mandoc, script,
GNU parallel, bash, and localedef with the source of a locale that has a decimal comma
TEXT
    for tool in cc make gnuplot pkg-config python3 man script parallel; do
        command -v $tool >/dev/null 2>&1 || echo "  not found: $tool"
    done
    exit 0
fi
missing=
for package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
        missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || { echo "please install as root: apt-get install$missing"; exit 1; }
    as_root=sudo
fi
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
