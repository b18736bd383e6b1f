#!/bin/sh
# pictures.sh [check|all|draw|renew] - are the pictures of README and docs what the program draws now?
#
#   check   nobody has changed a picture or its data by hand, the scripts that draw are those it was drawn
#           with, and training the quick ones again gives the same data (a part of the tests)
#   all     the same, and every study is trained again: some minutes
#   draw    draws the pictures anew from the data beside them, after a change of a script
#   renew   trains everything, keeps the new data, and draws
#
# docs/pictures/pictures.txt has a line for each: its name, which of qkv's pictures it is, checksums of the
# PNG, the data and the script, and the command. Data are compared, not pixels: texts must be the same;
# numbers may differ by what another processor's last digits make of a training: 2 hundredths and 5 %, and,
# of a mean over seeds, by the distance between the seeds. QKV is the program's path, OUT where it trains.
cd "$(dirname "$0")/../.." || exit 1
QKV=${QKV:-build/qkv} OUT=${OUT:-build/pictures} mode=${1:-check}
at=docs/pictures list=docs/pictures/pictures.txt
case $mode in check | all | draw | renew) ;; *) sed -n '2,9p' "$0"; exit 2 ;; esac

sum() { cat "$@" | cksum | cut -d ' ' -f 1; }
script() { cat train/plot/common.gp && echo && cat "train/plot/$1.gp"; }

# page PAGE FILE OPTIONS...: trains on a file that a block of shell in docs/PAGE.md writes.
from_page() {
    page=$2 file=$3
    shift 3
    awk -v file=">$file" '/^```/ { block = ""; on = $0 == "```sh"; next }
        on { block = block $0 "\n"; if ($NF == file) { printf "%s", block; exit } }' "docs/$page.md" |
        (cd "$OUT" && sh) && "$QKV" train --data "$OUT/$file" "$@" --out "$run" --force --quiet
}

# train NAME KIND COMMAND...: leaves the data in $OUT/NAME/plots/KIND.csv.
train() {
    run=$OUT/$1 plot=$2
    rm -rf "$run" # what it found before counts for nothing
    shift 2
    case $1 in
        train) "$QKV" "$@" --out "$run" --force --quiet && "$QKV" plot "$run" --only "$plot" ;;
        ledger) "$QKV" train --out "$run" --force --quiet && "$QKV" ledger "$run" &&
            "$QKV" plot "$run" --ledger ;;
        study) "$QKV" "$@" --out "$run" --quiet || [ -s "$run/plots/$plot.csv" ] ;; # its bands may fail
        page) from_page "$@" && "$QKV" plot "$run" --only "$plot" ;;
    esac >/dev/null
}

# draw NAME KIND: the picture from the data beside it.
draw() {
    mkdir -p "$OUT/draw" && script "$2" >"$OUT/draw/$2.gp" && cp "$at/$1.csv" "$OUT/draw/$2.csv" &&
        gnuplot "$OUT/draw/$2.gp" 2>/dev/null && mv "$OUT/draw/$2.png" "$at/$1.png"
}

# differs KIND OLD NEW: prints what differs more than it may.
differs() {
    cmp -s "$2" "$3" && return 1
    awk -F, -v kind="$1" '
        function number(x) { return x ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ }
        function abs(x) { return x < 0 ? -x : x }
        # How far apart are the seeds whose mean stands in field i, or about it?
        function spread(f, i,  k, seeds) {
            if (kind == "bars") return i >= 3 && i <= 6 ? abs(f[6] - f[5]) : 0
            k = i - (i - 5) % 3
            seeds = f[4] > 0 ? (NF - 4 - 3 * f[4]) / f[4] : 0 # of each curve, behind the curves
            if (seeds && i >= 5 + 3 * f[4]) k = 5 + 3 * int((i - 5 - 3 * f[4]) / seeds)
            return kind == "lines" && i >= 5 ? abs(f[k + 2] - f[k + 1]) : 0
        }
        NR == FNR { old[FNR] = $0; lines = FNR; next }
        {
            n = split(old[FNR], was, ",")
            if (n != NF) { print "line " FNR ": " $0 " was " old[FNR]; bad = 1; next }
            for (i = 1; i <= NF; i++) {
                if ($i == was[i]) continue
                may = 0.02 + 0.05 * abs(was[i]) + spread(was, i)
                if (number($i) && number(was[i]) && abs($i - was[i]) <= may) continue
                print "line " FNR ", field " i ": " $i " was " was[i]; bad = 1
            }
        }
        END { if (FNR != lines) { print FNR " lines were " lines; bad = 1 }; exit !bad }' "$2" "$3"
}

mkdir -p "$OUT" || exit 1
wrong=0 seen=0
complain() { echo "$at/$name: $*"; wrong=$((wrong + 1)); }
if [ $mode = draw ] || [ $mode = renew ]; then grep '^#' $list >"$OUT/list"; fi

# shellcheck disable=SC2086 # a command is words
while read -r name kind png data drawn command; do
    case $name in '#'* | '') continue ;; esac
    seen=$((seen + 1))
    stem=${name%.png} now="$OUT/${name%.png}/plots/$kind.csv"
    if [ $mode = renew ] || [ $mode = all ] || { [ $mode = check ] && [ "${command%% *}" != study ]; }; then
        train "$stem" "$kind" $command </dev/null || { complain "qkv $command fails"; continue; }
    fi
    if [ $mode = draw ] || [ $mode = renew ]; then
        [ $mode = draw ] || cp "$now" "$at/$stem.csv" || exit 1
        draw "$stem" "$kind" </dev/null || exit 1
        drawn=$(script "$kind" | cksum | cut -d ' ' -f 1)
        echo "$name $kind $(sum "$at/$name") $(sum "$at/$stem.csv") $drawn $command" >>"$OUT/list"
        continue
    fi
    [ "$(sum "$at/$name")" = "$png" ] || complain "is not the picture that was drawn"
    [ "$(sum "$at/$stem.csv")" = "$data" ] || complain "its data have been changed"
    [ "$(script "$kind" | cksum | cut -d ' ' -f 1)" = "$drawn" ] ||
        complain "was drawn by another train/plot/$kind.gp or common.gp (sh tests/project/pictures.sh draw)"
    if [ $mode = all ] || [ "${command%% *}" != study ]; then
        ! found=$(differs "$kind" "$at/$stem.csv" "$now") ||
            complain "qkv $command gives other data: $(echo "$found" | head -n 3)"
    fi
done <$list
for picture in "$at"/*.png; do
    case $picture in */page*) continue ;; esac # of the page in a browser, which is not qkv's to draw
    grep -q "^${picture##*/} " $list || { echo "$picture: is not in $list"; wrong=$((wrong + 1)); }
done
for page in README.md docs/*.md; do
    grep -o 'pictures/[a-z-]*\.png' "$page" | while read -r picture; do
        [ -e "docs/$picture" ] || echo "$page: shows $picture, which is not there"
    done
done >"$OUT/absent"
cat "$OUT/absent"
if [ $mode = draw ] || [ $mode = renew ]; then mv "$OUT/list" $list; fi
echo "$seen pictures, $wrong wrong"
[ $wrong -eq 0 ] && [ $seen -gt 0 ] && [ ! -s "$OUT/absent" ]
