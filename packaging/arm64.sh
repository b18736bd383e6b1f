#!/bin/sh
# arm64.sh DIR - puts Debian's jansson for aarch64 into DIR, for a cross build: fetched and verified by apt,
# with lists of its own. What is installed here, and what apt knows of it, stays as it is.
set -eu
[ ! -e "$1/usr/lib/aarch64-linux-gnu/libjansson.a" ] || exit 0
mkdir -p "$1/apt/lists/partial" "$1/apt/archives/partial"
cd "$1"
mirror=$(apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(SITE)' |
    awk '$1 == "Debian" && $2 !~ /-/ { print $2, $3; exit }')
[ -n "$mirror" ] || { echo "apt has no mirror of Debian"; exit 1; }
echo "deb ${mirror#* } ${mirror% *} main" >apt/sources.list
set -- -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
    -o Dir::State="$PWD/apt" -o Dir::State::status=/dev/null -o Dir::Cache="$PWD/apt" \
    -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::SourceList="$PWD/apt/sources.list"
apt-get "$@" update
apt-get "$@" download libjansson-dev
dpkg-deb -x libjansson-dev_*_arm64.deb .
rm -rf apt ./*.deb
