#!/bin/sh
# test_plot.sh - pictures and words: what a picture says is true of the run, can be read, and is drawn
# again from any directory; what is damaged is refused. QKV is the program's path. Reports in cmocka's
# words, for run.sh.
#
# Pictures are looked at as SVG, whose texts stand in the file.
. "$(dirname "$0")/../lib/program.sh" || exit 1
unset NO_COLOR GNUTERM
LC_ALL=C.UTF-8

# trained NAME ARGS...: a short run, made once.
trained() {
    [ -e "$1/config.json" ] && return
    where=$1
    shift
    ran 0 train --out "$where" --steps 20 --batch 16 --eval-examples 64 --threads 1 --quiet "$@"
}

# has FILE TEXT..., lacks FILE TEXT...
has() {
    file=$1
    shift
    for text; do grep -qF -e "$text" "$file" || { say "$file does not say '$text'"; return 1; }; done
}
lacks() { ! grep -qF -e "$2" "$1" || say "$1 says '$2'"; }

svg() { ran 0 plot --format svg "$@"; }
no_line_over() {
    awk -v most="$2" 'length > most { print; bad = 1 } END { exit bad }' "$1" || say "longer than $2"
}

# ---- how pictures are drawn ----

any_terminal_in_the_environment() {
    needs gnuplot || return
    trained pairs || return 1
    for term in qt nonesuch dumb; do
        GNUTERM=$term && export GNUTERM
        ran 0 plot pairs --only loss && [ ! -s err ] || { unset GNUTERM; return 1; }
        rm pairs/plots/loss.png
        gnuplot pairs/plots/loss.gp 2>/dev/null || echo "    gnuplot warns of $term"
        unset GNUTERM
        [ -s pairs/plots/loss.png ] || { say "with GNUTERM=$term the script draws nothing"; return 1; }
    done
}

scripts_draw_from_any_directory() {
    needs gnuplot || return
    trained pairs && ran 0 plot pairs || return 1
    for script in pairs/plots/*.gp; do
        rm "${script%.gp}.png"
        (cd / && gnuplot "$dir/$script") || return 1
        [ -s "${script%.gp}.png" ] || { say "$script draws nothing"; return 1; }
        (cd pairs && gnuplot -c "plots/${script##*/}" svg) && [ -s "${script%.gp}.svg" ] || return 1
    done
}

# Every curve goes through all rows of its table, the first one, too.
# Of the three runs two differ in the seed alone: a thin line each, and their mean, in two panels.
every_row_is_drawn() {
    needs gnuplot python3 || return
    for seed in 1 2 3; do
        [ -e "rows/$seed" ] ||
            ran 0 train --out "rows/$seed" --layers $((seed % 2 + 1)) --seed $seed --steps 40 \
                --eval-every 10 --eval-examples 32 --batch 8 --quiet || return 1
    done
    [ "$(wc -l <rows/1/metrics.csv)" -eq 6 ] && svg rows/1 && svg rows/2 &&
        svg rows/1 rows/2 rows/3 --out rows/all || return 1
    for picture in 'rows/1/plots/loss 2' 'rows/1/plots/norms 8' 'rows/1/plots/gradients 8' \
        'rows/2/plots/learning 5' 'rows/2/plots/norms 4' 'rows/2/plots/gradients 4' 'rows/all/compare 8'; do
        python3 "$root/tests/program/curves.py" "${picture% *}.svg" "${picture#* }" 5 || return 1
    done
}

# A gnuplot that takes its time; the picture is given up, and the next one tidies.
a_killed_drawing_is_swept_up() {
    needs gnuplot flock || return
    trained pairs || return 1
    mkdir -p slow && printf '#!/bin/sh\nexec sleep 5\n' >slow/gnuplot && chmod +x slow/gnuplot
    PATH=$dir/slow:$PATH "$QKV" plot pairs --only loss >/dev/null 2>&1 &
    child=$!
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ -z "$(ls -d pairs/plots/.drawing-* 2>/dev/null)" ] || break
        sleep 0.2
    done
    kill -TERM $child
    ended 143
    [ -n "$(ls -d pairs/plots/.drawing-*)" ] || { say "nothing was being drawn"; return 1; }
    mkdir pairs/plots/.drawing-living
    flock -n pairs/plots/.drawing-living sleep 3 &
    child=$!
    sleep 0.3
    ran 0 plot pairs --only loss || return 1
    left=$(ls -A pairs/plots | grep drawing)
    kill $child
    ended 143
    [ "$left" = .drawing-living ] || say "left: $left"
}

damaged_maps_are_exit_3() {
    trained pairs && cp -r pairs cut && truncate -s -20 cut/probe/attention-after.csv || return 1
    ran 3 plot cut --only attention --format txt && has err 'ends within a row' || return 1
    head -n 20 pairs/probe/attention-after.csv >cut/probe/attention-after.csv
    ran 3 plot cut --only attention --format txt && has err attention-after.csv || return 1
    cp pairs/probe/attention-after.csv cut/probe
    sed -i '4s/,[^,]*//' cut/probe/attention-after.csv
    ran 3 plot cut --only attention --format txt && has err 'row 3' || return 1
    cp pairs/probe/attention-after.csv cut/probe && sed -i '3s/$/,more/' cut/metrics.csv
    ran 3 plot cut --only loss --format svg && has err 'row 2' || return 1
    for change in '3p' '3s/^[0-9]*/x/' '3s/,[^,]*/,x/' '3s/^[0-9]*//'; do
        rm -rf cut && cp -r pairs cut && sed -i "$change" cut/metrics.csv
        ran 3 plot cut --only loss --format svg && has err "'cut/metrics.csv' is damaged" || return 1
    done
    rm -rf cut && cp -r pairs cut && truncate -s -2 cut/levels.csv
    ran 3 plot cut --only loss --format svg && has err "'cut/levels.csv' ends within a row" || return 1
    for change in '$d' '1s/{/[/' '2p'; do
        rm -rf cut && cp -r pairs cut && sed -i "$change" cut/config.json
        ran 3 plot cut --only loss --format svg && has err "'cut/config.json'" || return 1
    done
    rm cut/config.json
    ran 1 plot cut --only loss --format svg && has err config.json
}

# The last row of a run that was killed may be torn, and its number wrong: it is not drawn.
a_torn_row_is_not_drawn() {
    needs gnuplot || return
    trained pairs && rm -rf torn && cp -r pairs torn && printf '30,0.1' >>torn/metrics.csv || return 1
    svg torn --only loss && [ "$(grep -c ^30 torn/plots/loss.csv)" -eq 0 ] || say "the torn row is drawn"
}

# ---- what they say ----

circuits_say_who_is_asked_for() {
    needs gnuplot || return
    trained partner --task partner --keys 10 --values 10 --pairs 4 || return 1
    svg partner --only circuits || return 1
    has partner/plots/circuits.svg 'queries find their key' 'values are answered' 'frame: the key that' &&
        lacks partner/plots/circuits.svg diagonal || return 1
    for said in 'queries find their key' 'values are answered'; do # before and after training
        [ "$(grep -c "[0-9] $said" partner/plots/circuits.svg)" -eq 2 ] || say "not said twice: $said"
    done
    ! grep -l ',$' ./*/plots/*.csv >ends || say "gnuplot misreads an empty last field: $(cat ends)"
    # The partner of key 2 is key 3; a value is its own.
    awk -F, '$1 == 0 && $5 == 1 { if ($4 == "") exit 1; if ($3 != ($2 % 2 ? $2 - 1 : $2 + 1)) bad = 1; n++ }
        $1 == 2 && $5 == 1 && $2 != $3 { bad = 1 }
        END { exit bad || n != 10 }' partner/plots/circuits.csv || say "the wrong cells are framed"
}

# With given embeddings and no W^Q, W^K the match is there before anything is learned.
learning_knows_what_was_there() {
    needs gnuplot || return
    trained given --embed-init unit --freeze 'embed.*' --no-wq --no-wk || return 1
    svg given --only learning && has given/plots/learning.svg 'Q and K match from the start' &&
        lacks given/plots/learning.svg 'step 0)' && has given/plots/learning.svg 'the key it asks for'
}

one_example_is_labelled_whole() {
    needs gnuplot || return
    trained attributes --task attributes || return 1
    svg attributes --attention || return 1
    name=$(sed -n '2s/^[^"]*"\([^"]*\)".*/\1/p' attributes/probe/example-0.csv)
    [ ${#name} -gt 16 ] &&
        has attributes/plots/example.svg ">$name<" 'the position that looks' 'Frame: where the right' \
            '>layer 0 head 0: '
}

an_entry_that_asks_keeps_its_name() {
    trained pointer --task pointer || return 1
    lacks pointer/probe/attention-after.csv '"self"' || return 1
    has pairs/probe/attention-after.csv '"self"' || return 1
    needs gnuplot || return
    svg pointer --only attention || return 1
    sed -n '2s/.*"\([^"]*\)","[^"]*"$/\1/p' pointer/plots/attention.csv | grep -q '^k[0-9]* v[0-9]*$' ||
        say "the first column is '$(sed -n 2p pointer/plots/attention.csv)'"
}

# Every frame is the run as it was: the numbers of a run that ended there.
an_animation_is_of_the_run() {
    needs gnuplot || return
    trained moving || return 1
    ran 0 plot moving --animate --frames 5 && has out plots/animation.gif || return 1
    [ "$(head -c 6 moving/plots/animation.gif)" = GIF89a ] || return 1
    # graphic control extensions: 5 frames, the last of them 12 times more
    [ "$(LC_ALL=C grep -a -o "$(printf '\041\371\004')" moving/plots/animation.gif | wc -l)" -eq 17 ] ||
        { say "not 17 frames"; return 1; }
    [ "$(cut -d, -f1 moving/probe/frames.csv | uniq | xargs)" = 'step 0 5 10 15 20' ] || return 1
    ran 0 train --config moving/config.json --steps 10 --out ended --quiet || return 1
    for map in attention:attention qk:qk_key ov:ov_value; do
        sed 1d "ended/probe/${map#*:}-after.csv" | cut -d, -f1-3 >then
        awk -F, -v kind="${map%:*}" '$1 == 10 && $4 == kind { print $6 "," $7 "," $8 }' \
            moving/probe/frames.csv >now
        [ -s now ] && cmp then now || { say "${map%:*} is another one"; return 1; }
    done
    ran 0 plot moving --animate --at 2 --frames 40 || return 1
    [ "$(cut -d, -f1 moving/probe/frames.csv | uniq | xargs)" = 'step 0 1 2' ] || return 1
    trained steps --task induction --pairs 4 || return 1 # two layers: no circuits, but heads
    ran 0 plot steps --animate --frames 2 && has steps/probe/frames.csv 'layer 1 head 0' || return 1
    ran 2 plot moving --animate --frames 1 && ran 2 plot moving --frames 5 &&
        ran 2 plot moving --animate --format png && ran 2 plot moving --animate --attention &&
        ran 2 plot moving steps --animate && ran 2 plot moving --only animation &&
        ran 2 plot moving --animate --at 21 && has err 'no state at step 21' || return 1
    ran 0 train --out moving --force --steps 1 --quiet && [ ! -e moving/plots/animation.gif ] &&
        [ ! -e moving/probe/frames.csv ] || say "the old animation stays"
}

runs_side_by_side() {
    needs gnuplot || return
    trained pairs && trained other --seed 2 && trained tied --tie qk && trained tied2 --tie qk --seed 2 ||
        return 1
    svg pairs tied --out beside && has beside/compare.svg 'share of right answers' 'loss on held-out' chance \
        '>pairs: tie none<' '>tied: tie qk<' && lacks beside/compare.svg 'each run' || return 1
    # Those that differ in the seed alone are one curve, their mean, beside a thin one for each.
    svg pairs tied other tied2 --out beside && has beside/compare.svg '>tie none: mean of 2 runs' \
        '>tie qk: mean of 2 runs' 'each run, they differ in the seed alone' || return 1
    grep -q '"tie none: mean of 2 runs. seeds 1. 2",mean,0' beside/compare.csv ||
        { say "no seeds"; return 1; }
    for step in 0 10 20; do
        mean=$(awk -F, -v step=$step '/,mean,0$/ { on = 1; next } !NF { on = 0 }
            on && $1 == step { print $2 }' beside/compare.csv)
        cat pairs/metrics.csv other/metrics.csv | awk -F, -v step=$step -v mean="$mean" '
            $1 == "step" { for (i = 1; i <= NF; i++) if ($i == "val_loss") c = i }
            $1 == step { sum += $c; n++ }
            END { d = sum / 2 - mean; exit !(n == 2 && mean != "" && d < 1e-6 && d > -1e-6) }' ||
            { say "the mean at step $step is '$mean'"; return 1; }
    done
    trained partner --task partner --keys 10 --values 10 --pairs 4 && svg pairs partner --out beside &&
        lacks beside/compare.svg 'chance' || return 1
    set -- && for i in 1 2 3 4 5 6 7 8 9 10; do cp -r other many-$i && set -- "$@" many-$i; done
    svg "$@" --out beside || return 1
    # Hue and dash of a curve together are its own.
    ways=$(grep -o "ls 101+[iG]" beside/compare.gp | wc -l)
    [ "$ways" -eq 4 ] || { say "curves are not drawn by the common table"; return 1; }
    rm -rf many-*
}

# How many pixels a PNG has: WIDTH HEIGHT.
pixels() { od -An -tu1 -j16 -N8 "$1" | awk '{ print $3 * 256 + $4, $7 * 256 + $8 }'; }

# How large the letters of the axis are.
letters() {
    grep -B 2 'training step' pairs/plots/loss.svg | sed -n 's/.*font-size="\([0-9.]*\)".*/\1/p' | head -n 1
}

# page FILE: a PDF's page as "x y width height", in points. cairo writes it in the open, or compressed.
page() {
    python3 - "$1" <<'END'
import re, sys, zlib
text = open(sys.argv[1], 'rb').read()
for packed in re.findall(rb'stream\r?\n(.*?)endstream', text, re.S):
    try:
        text += zlib.decompressobj().decompress(packed)
    except zlib.error:
        pass
print(' '.join(b.decode() for b in re.search(rb'/MediaBox *\[([^]]*)\]', text).group(1).split()))
END
}

size_dpi_and_font() {
    needs gnuplot python3 || return
    trained pairs || return 1
    ran 0 plot pairs --only loss && [ "$(pixels pairs/plots/loss.png)" = '1200 700' ] || return 1
    ran 0 plot pairs --only loss --size 600x350 && [ "$(pixels pairs/plots/loss.png)" = '600 350' ] &&
        ran 0 plot pairs --only loss --size 600x350 --dpi 192 &&
        [ "$(pixels pairs/plots/loss.png)" = '1200 700' ] && ran 0 plot pairs --only loss --dpi 48 &&
        [ "$(pixels pairs/plots/loss.png)" = '600 350' ] ||
        { say "$(pixels pairs/plots/loss.png)"; return 1; }
    for picture in loss learning gradients norms attention circuits; do
        svg pairs --only $picture --size 500x400 --font 'Courier New,20' && has pairs/plots/$picture.svg \
            'width="500" height="400"' 'font-family="Courier New"' || return 1
        ran 0 plot pairs --only $picture --format pdf --size 480x384 --font ,9 &&
            [ "$(page pairs/plots/$picture.pdf)" = '0 0 360 288' ] || { say "$picture.pdf"; return 1; }
    done
    large=$(letters)
    svg pairs --only loss --size 500x400
    small=$(letters)
    awk -v a="$large" -v b="$small" 'BEGIN { exit !(b > 0 && a / b > 1.5 && a / b < 1.58) }' ||
        { say "20 points are $large, 13 are $small"; return 1; }
    # the script draws it so by hand, too
    (cd / && gnuplot -c "$dir/pairs/plots/loss.gp" png 300x200 96 Times,9) &&
        [ "$(pixels pairs/plots/loss.png)" = '300 200' ] || return 1
    ran 0 plot pairs --attention --format svg --size 400x300 && has pairs/plots/example.svg 'width="400"' &&
        ran 0 plot pairs pairs --out beside --format svg --size 700x400 &&
        has beside/compare.svg 'width="700"' &&
        ran 0 plot pairs --animate --frames 2 --size 400x200 &&
        [ "$(od -An -tu1 -j6 -N4 pairs/plots/animation.gif | xargs)" = '144 1 200 0' ] || return 1
    rm pairs/plots/animation.* pairs/plots/example.*
    for wrong in '--size 5x5' '--size 800' '--size 800x' '--size x800' '--size 800x500x2' '--size -800x500' \
        '--size 800X500' '--size 99999x100' '--dpi 0' '--dpi x' '--font ,' '--font Times,1' '--font Times,x' \
        "--font x';y" '--format svg --dpi 200' '--format pdf --dpi 200' '--format txt --size 800x500' \
        '--format txt --font Times' '--size 9000x9000 --dpi 1200'; do
        ran 2 plot pairs --only loss $wrong || return 1
    done
    ran 2 plot pairs --only loss --font '' && ran 2 plot pairs --only loss --size ''
}

# Of a run that goes on for long after it can do all, the beginning is drawn, and the axis says so.
a_cut_picture_says_so() {
    needs gnuplot || return
    trained pairs && rm -rf long && cp -r pairs long || return 1
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "accuracy") c = i; print; next }
        NR == 2 { row = $0; next }
        END { n = split(row, f, ",")
            for (s = 0; s <= 600; s += 10) { f[1] = s; f[c] = s < 100 ? 0.1 : 1
                for (i = 1; i <= n; i++) printf "%s%s", f[i], i < n ? "," : "\n" } }' \
        long/metrics.csv >more &&
        cp more long/metrics.csv || return 1
    for picture in learning gradients; do
        svg long --only $picture &&
            has long/plots/$picture.svg 'the first 200 of 600: twice what 99 % right' || return 1
    done
    svg pairs --only learning && lacks pairs/plots/learning.svg 'the first' || return 1
    # norms begin at 0: beside the 0 of the steps there is one of the norms
    svg pairs --only norms && [ "$(grep -c '> *0<' pairs/plots/norms.svg)" -eq 2 ] ||
        say "norms do not begin at 0"
}

# Q and K are blue, V and O orange, what is below 0 grey; both sides are as dark.
circuits_have_their_colours() {
    needs gnuplot || return
    trained pairs && svg pairs --only circuits || return 1
    awk 'match($0, /rgb\( *[0-9]+, *[0-9]+, *[0-9]+/) { split(substr($0, RSTART + 4, RLENGTH - 4), c, ",")
            d = c[1] - c[3]; d > 8 ? orange++ : d < -8 ? blue++ : c[1] > 30 && c[1] < 225 ? grey++ : 0 }
        END { exit !(orange > 200 && blue > 200 && grey > 200) }' pairs/plots/circuits.svg ||
        say "other colours"
}

# A line on stderr for what takes more than two seconds, on a terminal only.
a_progress_line() {
    needs gnuplot script || return
    trained pairs && mkdir -p late && rm -rf seen && cp -r pairs seen || return 1
    real=$(command -v gnuplot)
    printf '#!/bin/sh\nsleep 3\nexec %s "$@"\n' "$real" >late/gnuplot && chmod +x late/gnuplot
    with() { # LOG COMMAND: on a terminal
        PATH=$dir/late:$PATH TERM=xterm script -qec "$2" "$1" </dev/null >/dev/null
    }
    with log "'$QKV' plot seen --only loss" && has log 'qkv plot: drawing, 2 s' || return 1
    with log "'$QKV' plot seen seen --out beside" && has log 'qkv plot: drawing, 2 s' || return 1
    with log "'$QKV' plot seen --animate --frames 2" && has log 'qkv plot: drawing, 2 s' || return 1
    with log "'$QKV' plot seen --attention" && has log 'qkv plot: ' || return 1
    with log "'$QKV' bench --seconds 3 --preset pairs" && has log 'qkv bench: 2 s' || return 1
    with log "'$QKV' bench --seconds 3 --preset pairs --json" && lacks log 'qkv bench' || return 1
    with log "'$QKV' eval seen --examples 300 >found" && lacks log 'qkv eval: ' && [ -s found ] || return 1
    cat >slow.json <<'END'
{"name": "slow", "seeds": 3, "base": {"steps": 100000, "batch": 256}, "variants": [{"name": "v"}]}
END
    TERM=xterm timeout 5 script -qec "'$QKV' study slow.json --jobs 1 --out slowly" log </dev/null \
        >/dev/null 2>&1 || true
    has log 'qkv study slow: ' && rm -rf slowly || return 1
    TERM=xterm timeout 4 script -qec "'$QKV' study slow.json --jobs 1 --out slowly --quiet" log </dev/null \
        >/dev/null 2>&1 || true
    lacks log 'qkv study slow: 2 s' || return 1
    PATH=$dir/late:$PATH "$QKV" plot seen --only loss >out 2>err </dev/null && [ ! -s err ] ||
        say "$(cat err)"
}

no_steps_no_negative_axis() {
    needs gnuplot || return
    ran 0 train --out none --steps 0 --threads 1 --quiet && svg none || return 1
    for picture in none/plots/loss.svg none/plots/learning.svg none/plots/norms.svg; do
        lacks $picture '>-1<' && lacks $picture '>-0.5<' || return 1
    done
}

a_loss_that_is_no_number_is_shown() {
    needs gnuplot || return
    trained pairs && rm -rf nan && cp -r pairs nan || return 1
    sed -i '3,4s/^\([^,]*,[^,]*\),[^,]*/\1,nan/' nan/metrics.csv
    svg nan --only loss && has nan/plots/loss.svg 'not a number in 2 evaluations, first at step 10'
}

why_there_is_no_map() {
    trained two --task two && trained deep --layers 2 && trained pairs || return 1
    ran 0 plot two --only attention --format txt && has err 'the task has no keys and values' || return 1
    ran 0 plot deep --only circuits --format txt && has err 'more than one layer' || return 1
    rm -rf never && cp -r pairs never && rm -r never/probe || return 1
    ran 0 plot never --only circuits --format txt && has err 'has written no such maps'
}

only_says_where_a_picture_comes_from() {
    trained pairs || return 1
    ran 2 plot pairs --only example && has err '--attention' || return 1
    ran 2 plot pairs --only compare && has err 'several' || return 1
    ran 2 plot pairs --only bars && has err 'qkv study' || return 1
    ran 2 plot pairs pairs --only loss && has err compare || return 1
    ran 0 plot pairs --only loss --out elsewhere && [ -s elsewhere/loss.csv ] || return 1
    ran 2 plot pairs --example 3 && has err --attention
}

maps_fit_a_terminal() {
    trained wide --keys 64 --values 64 || return 1
    ran 0 plot wide --only circuits --format txt && no_line_over out 80 && [ "$(wc -l <out)" -le 130 ] &&
        has out 'the strongest of 3 x 3' 'queries find their key'
}

words_fit_a_terminal() {
    for task in pairs partner; do
        ran 0 train --task $task --out words --force --steps 2 --threads 1 && no_line_over out 80 || return 1
    done
    cat >narrow.json <<'END'
{"name": "narrow", "seeds": 1, "base": {"steps": 2},
 "claim": "A claim that is so long that it takes more than one line of a terminal to be said at all.",
 "columns": ["accuracy", "loss", "answer_attention", "in_context", "all_right", "qk_diag", "ov_diag"],
 "bands": [{"variant": "a variant with a long name", "measure": "answer_attention", "least": 0.25,
            "most": 0.87654321}],
 "variants": [{"name": "a variant with a long name"}, {"name": "another variant, longer still"}]}
END
    # its band fails, which is exit 1
    ran 1 study narrow.json --out narrow --jobs 1 && LC_ALL=C.UTF-8 no_line_over out 80
}

# ---- processors, other programs ----

# What the process with that number has as threads, at most, while it runs.
threads_of() {
    most=0
    while ! grep -q '^State:.Z' "/proc/$1/status"; do
        now=$(sed -n 's/^Threads:[^0-9]*//p' "/proc/$1/status")
        [ "${now:-0}" -le $most ] || most=$now
    done 2>/dev/null
    echo $most
}

one_processor_one_thread() {
    needs taskset || return
    first=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
    echo '{"name": "s", "seeds": 4, "base": {"steps": 100}, "variants": [{"name": "v"}]}' >s.json
    for what in 'train --steps 400' 'study s.json'; do
        taskset -c "$first" "$QKV" $what --out alone --quiet &
        child=$!
        most=$(threads_of $child)
        wait $child || return 1
        child=
        rm -rf alone
        [ "$most" -eq 1 ] || { say "qkv $what: $most threads on one processor"; return 1; }
    done
}

missing_programs_are_named() {
    [ -e "$root/examples/Makefile" ] || cannot "no examples/" || return
    make -s -C "$root/examples" PKG_CONFIG=nonesuch >out 2>err && { say "make succeeds"; return 1; }
    has err 'there is no nonesuch' && lacks err 'does not find qkv' || return 1
    needs python3 || return
    python3 -c 'import torch' 2>/dev/null && return
    python3 "$root/tests/bench/models.py" "$QKV" >out 2>err && { say "models.py needs no torch"; return 1; }
    [ "$(wc -l <err)" -eq 1 ] && has err 'has no torch'
}

suite a_progress_line size_dpi_and_font a_cut_picture_says_so circuits_have_their_colours \
    any_terminal_in_the_environment scripts_draw_from_any_directory every_row_is_drawn \
    a_killed_drawing_is_swept_up \
    damaged_maps_are_exit_3 a_torn_row_is_not_drawn circuits_say_who_is_asked_for \
    learning_knows_what_was_there one_example_is_labelled_whole an_entry_that_asks_keeps_its_name \
    an_animation_is_of_the_run runs_side_by_side no_steps_no_negative_axis \
    a_loss_that_is_no_number_is_shown why_there_is_no_map \
    only_says_where_a_picture_comes_from maps_fit_a_terminal words_fit_a_terminal \
    one_processor_one_thread missing_programs_are_named
