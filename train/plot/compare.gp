# Several runs side by side: their losses and their accuracies, named by their directories.
DATA = "compare.csv"    # the levels that all runs share: loss,accuracy,label,measure; then one block a run,
                        # two empty lines apart: "name",loss,accuracy; then rows

stats DATA using 1 name "ALL" nooutput
runs = ALL_blocks - 1
first = 1e300; last = -1e300; rows = 0; top = 0
do for [i=1:runs] {
    stats DATA index i every ::1 using 1:(valid(2) ? cell(2) : 0) name "S" nooutput
    rows = S_records > rows ? S_records : rows
    first = S_min_x < first ? S_min_x : first; last = S_max_x > last ? S_max_x : last
    top = S_max_y > top ? S_max_y : top
}
levels = 0
array LOSS[16]; array SHARE[16]; array NAME[16]
stats DATA index 0 every ::1 using (valid(1) ? (levels = levels + 1, LOSS[levels] = cell(1), \
    SHARE[levels] = cell(2), NAME[levels] = strcol(3), 0) : 0) nooutput
do for [i=1:levels] { top = LOSS[i] > top ? LOSS[i] : top }
lines = ceil(runs / 2.)
HEIGHT = 660. + 26 * lines
eval canvas("compare", 1500, HEIGHT)
if (TEXT) eval canvas("compare", 1500, 640 + 29 * runs)

set multiplot
set xlabel "training step"
set xrange [first:last > first ? last : first + 1]
set tmargin at screen 0.91
set bmargin at screen (26. * lines + 90) / HEIGHT
if (TEXT) set bmargin at screen (runs + 5.) / (21 + runs)

set lmargin at screen 0.06; set rmargin at screen 0.485
set title "Loss" font ",17"
set ylabel "loss on held-out examples" offset 1, 0
set yrange [0:top > 0 ? 1.06 * top : 1]
set key at screen 0.5, screen (26. * lines + 20) / HEIGHT top center vertical \
    maxrows lines Left reverse width 0
if (TEXT) set key at screen 0.5, screen (runs + 1.) / (21 + runs) maxrows runs
do for [i=1:levels] {
    set arrow i from graph 0, first LOSS[i] to graph 1, first LOSS[i] nohead ls 8 back
    set label i NAME[i] at graph 0.99, first LOSS[i] right offset 0, 0.6 front noenhanced tc rgb GREY
}
plot for [i=0:runs-1] DATA index i+1 every ::1 using 1:2 with linespoints ls 101+i \
    lw wide(i, runs) ps mark(i, runs) pi marks(rows, i % 8) title columnheader(1)

set lmargin at screen 0.555; set rmargin at screen 0.98
set title "Accuracy" font ",17"
set ylabel "share of right answers"
set yrange [0:1.03]
unset key
do for [i=1:levels] {
    unset arrow i; unset label i
    if (SHARE[i] == SHARE[i]) {
        set arrow i from graph 0, first SHARE[i] to graph 1, first SHARE[i] nohead ls 8 back
        name = NAME[i]; cut = strstrt(name, " (")    # "(ln 32)" is about the loss
        if (cut) { name = name[1:cut-1] }
        set label i name at graph 0.99, first SHARE[i] right \
            offset 0, 0.6 front noenhanced tc rgb GREY
    }
}
plot for [i=0:runs-1] DATA index i+1 every ::1 using 1:3 with linespoints ls 101+i \
    lw wide(i, runs) ps mark(i, runs) pi marks(rows, i % 8)
unset multiplot
