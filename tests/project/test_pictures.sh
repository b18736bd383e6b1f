#!/bin/sh
# test_pictures.sh - the pictures of README and docs are those that the program draws (quick form: the
# studies are not trained again, see pictures.sh), and pictures.sh would see if they were not. QKV is the
# program's path. Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1

the_pictures_are_those_that_are_drawn() {
    needs gnuplot || return
    OUT=$dir/out sh "$root/tests/project/pictures.sh" check
}

# copied WHICH: a copy of the pages, the scripts and the pictures, to be spoilt; of the list only some lines,
# as those of studies, which are not trained again.
copied() {
    rm -rf "$dir/copy" && mkdir -p "$dir/copy/train/plot" "$dir/copy/tests/project" &&
        cp -r "$root/docs" "$root/README.md" "$dir/copy" &&
        cp "$root"/train/plot/*.gp "$dir/copy/train/plot" &&
        cp "$root/tests/project/pictures.sh" "$dir/copy/tests/project" &&
        grep -e '^#' -e "$1" "$root/docs/pictures/pictures.txt" >"$dir/copy/docs/pictures/pictures.txt"
}

# seen TEXT: pictures.sh fails on the copy and says so.
seen() {
    OUT=$dir/out sh "$dir/copy/tests/project/pictures.sh" check >"$dir/said" 2>&1 &&
        { say "'$1' passes"; return 1; }
    grep -qF -e "$1" "$dir/said" || say "'$(cat "$dir/said")' does not say '$1'"
}

what_is_stale_is_seen() {
    needs gnuplot || return
    at=$dir/copy/docs/pictures
    copied ' study ' && cp "$at/study-roles.png" "$at/study-depth.png" || return 1
    seen 'not the picture that was drawn' || return 1
    copied ' study ' && sed -i 's/0.9/0.8/' "$at/study-depth.csv" && seen 'data have been changed' || return 1
    copied ' study ' && echo '# more' >>"$dir/copy/train/plot/bars.gp" || return 1
    seen 'drawn by another train/plot/bars.gp' || return 1
    copied ' study ' && cp "$at/learning.png" "$at/another.png" && seen 'another.png: is not in' || return 1
    copied ' study ' && rm "$at/study-cross.png" && seen 'which is not there' || return 1
    # A curve that the training does not give, with a checksum that is right.
    copied '^learning.png' && sed -i '30s/,[^,]*/,0.123/' "$at/learning.csv" &&
        sum=$(cksum <"$at/learning.csv" | cut -d ' ' -f 1) &&
        awk -v sum="$sum" '$1 == "learning.png" { $4 = sum } { print }' "$at/pictures.txt" >"$dir/list" &&
        cp "$dir/list" "$at/pictures.txt" && seen 'qkv train gives other data: line 30, field 2'
}

suite the_pictures_are_those_that_are_drawn what_is_stale_is_seen
