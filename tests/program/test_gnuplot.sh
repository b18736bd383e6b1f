#!/bin/sh
# test_gnuplot.sh - every picture of every task is drawn by every gnuplot that is found, with the same texts
# in it, and also where columns have no numbers. QKV is the program's path; GNUPLOTS the gnuplots, by default
# all on PATH, one of each version. Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1
unset GNUTERM
LC_ALL=C.UTF-8
still='--format svg'

# The gnuplots, each as VERSION/gnuplot.
versions=
for gnuplot in ${GNUPLOTS:-$(echo "$PATH" | tr : '\n' | while read -r at; do
    for one in "$at"/gnuplot "$at"/gnuplot[-0-9]*; do [ ! -x "$one" ] || echo "$one"; done
done)}; do
    version=$("$gnuplot" --version 2>/dev/null </dev/null | sed -n 's/^gnuplot \([0-9.]*\) .*/\1/p')
    [ -n "$version" ] && [ ! -e "$dir/$version" ] || continue
    mkdir "$dir/$version" && ln -s "$gnuplot" "$dir/$version/gnuplot" && versions="$versions $version"
done
echo "gnuplot:${versions:- none is found}"

# with VERSION COMMAND...: that gnuplot is the first on PATH.
with() {
    version=$1
    shift
    (PATH=$dir/$version:$PATH && export PATH && "$@")
}

# draws ARGS...: every gnuplot draws it, into $where/plots; their texts, sorted, are the same.
draws() {
    first=
    [ -n "$versions" ] || cannot 'no gnuplot' || return
    for version in $versions; do
        rm -rf "${where:?}/plots"
        with "$version" ran 0 plot $still "$@" || { say "by gnuplot $version"; return 1; }
        [ -n "$still" ] || continue
        texts "$where" >"texts-$version" && [ -s "texts-$version" ] || { say 'no text'; return 1; }
        [ -z "$first" ] || diff "texts-$first" "texts-$version" >differ ||
            { say "$where: gnuplot $first and $version draw other texts: $(head -n 5 differ)"; return 1; }
        first=${first:-$version}
    done
}

# texts DIR: of each picture of it, its name and its texts.
texts() {
    for svg in $(find "$1" -name '*.svg' | sort); do
        echo "${svg##*/}"
        grep -o -e '<text>[^<]*' -e '<tspan[^>]*>[^<]*' "$svg" | sed 's/^<[^>]*>//' | sort
    done
}

# trained NAME ARGS...: a short run, made once.
trained() {
    where=$1
    shift
    [ -e "$where/config.json" ] || ran 0 train --out "$where" --steps 20 --batch 16 --eval-examples 64 \
        --threads 1 --quiet "$@"
}

every_task() {
    "$QKV" list tasks | sed 's/ .*//' >tasks
    [ "$(wc -l <tasks)" -ge 14 ] || { say 'not all tasks'; return 1; }
    while read -r task; do
        data=
        case $task in file) data=who_when_why.txt ;; text) data=text.txt ;; esac
        trained "$task" --task "$task" ${data:+--data "$root/examples/$data"} && draws "$task" || return
        [ "$(grep -c '\.svg$' "texts-$first")" -ge 4 ] || { say "$task: fewer than four pictures"; return 1; }
    done <tasks
}

an_example_an_animation_a_comparison() {
    trained attributes --task attributes && draws attributes --attention || return
    trained pairs && draws pairs --attention && trained recall --task recall || return
    where=beside && draws pairs recall attributes --out beside/plots || return
    for task in pairs induction; do
        trained $task --task $task && still='' && draws $task --animate --frames 2 || return
    done
}

# without COLUMN: metrics.csv on stdin, on stdout with empty fields there; all: but for the loss's.
without() {
    awk -F, -v OFS=, -v column="$1" '
        NR == 1 { for (i = 2; i <= NF; i++) drop[i] = $i == column || column == "all" && $i != "loss" }
        NR > 1 { for (i = 2; i <= NF; i++) if (drop[i]) $i = "" }
        { print }'
}

columns_without_numbers() {
    trained pairs || return
    columns=$(head -n 1 pairs/metrics.csv | tr , '\n' | sed 1d)
    where=gaps
    for column in $columns all; do
        rm -rf gaps && cp -r pairs gaps && without "$column" <pairs/metrics.csv >gaps/metrics.csv || return 1
        draws gaps || { say "without $column"; return 1; }
    done
}

no_steps_and_steps_that_diverge() {
    trained none --steps 0 && draws none || return
    trained wild || return
    sed -i '3,$s/^\([0-9]*\),.*/\1/; 3,$s/$/,nan/' wild/metrics.csv
    commas=$(sed -n 's/[^,]//g; 1p' wild/metrics.csv | sed 's/^,//')
    sed -i "3,\$s/\$/$commas/" wild/metrics.csv
    draws wild
}

# The pictures of the pages from the data beside them; then without the numbers of a curve or a bar.
the_pages_pictures() {
    [ -n "$versions" ] || cannot 'no gnuplot' || return
    drawn=0
    while read -r name kind _; do
        case $name in '#'* | '' | *.gif) continue ;; esac # of a moving one a part of the data is kept
        csv=$root/docs/pictures/${name%.png}.csv
        for gap in 0 $(case $kind in lines) echo '5 8' ;; bars) echo 3 ;; esac); do
            rm -rf page && mkdir -p page/plots && { cat "$root/train/plot/common.gp" && echo &&
                cat "$root/train/plot/$kind.gp"; } >page/plots/$kind.gp || return 1
            sed 's/, /‚ /g' "$csv" |
                awk -F, -v OFS=, -v gap=$gap 'gap && NR > 1 && NF >= gap { $gap = "" } { print }' \
                    >page/plots/$kind.csv
            first=
            for version in $versions; do
                with $version gnuplot -c page/plots/$kind.gp svg 2>err ||
                    { say "$name, gap $gap, gnuplot $version: $(cat err)"; return 1; }
                texts page >texts-$version && [ "$(wc -l <texts-$version)" -gt 2 ] || return 1
                [ -z "$first" ] || cmp texts-$first texts-$version || { say "$name: other texts"; return 1; }
                first=${first:-$version}
            done
            drawn=$((drawn + 1))
        done
    done <"$root/docs/pictures/pictures.txt"
    [ $drawn -ge 25 ] || say "only $drawn pictures"
}

suite every_task an_example_an_animation_a_comparison columns_without_numbers \
    no_steps_and_steps_that_diverge the_pages_pictures
