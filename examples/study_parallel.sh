#!/bin/sh
# study_parallel.sh STUDY [PARTS [OUT]] - a study in parts that run side by side under GNU parallel, then
# merged into OUT (runs/parallel). STUDY is a name (qkv study list) or a file. The parts share nothing
# but the program, so parallel may also send them to other machines:
#
#     parallel --sshloginfile machines --workdir . ...
#
# QKV is the program; without it, qkv of the PATH.
set -eu
study=${1:?usage: study_parallel.sh STUDY [PARTS [OUT]]}
parts=${2:-$(getconf _NPROCESSORS_ONLN)}
out=${3:-runs/parallel}
QKV=${QKV:-qkv}

seq "$parts" | parallel --quote --will-cite --halt soon,fail=1 --jobs "$parts" \
    "$QKV" study "$study" --part "{}/$parts" --jobs 1 --quiet --out "$out/part-{}"
set -- "$study"
for part in $(seq "$parts"); do set -- "$@" "$out/part-$part"; done
"$QKV" study --merge --out "$out" "$@"
