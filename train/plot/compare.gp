# Several runs side by side: their losses and their accuracies, named by their directories.
DATA = "compare.csv"    # one block a run, two empty lines apart: "name",loss,accuracy; then rows

stats DATA using 1 name "S" nooutput
runs = S_blocks
lines = ceil(runs / 2.)
eval canvas("compare", 1500, 640 + 26 * lines)
if (TEXT) eval canvas("compare", 1500, 640 + 29 * runs)

set multiplot
set xlabel "training step"
set xrange [S_min:S_max > S_min ? S_max : S_min + 1]
set tmargin at screen 0.91
set bmargin at screen (26. * lines + 90) / (640 + 26 * lines)
if (TEXT) set bmargin at screen (runs + 5.) / (21 + runs)

# Six ways to draw a line; the seventh run begins anew, thinner.
set style line 16 lc rgb BLACK lw 2.6 dt (2,3) pt 5 ps 0.9
array STYLE[6] = [1, 3, 6, 7, 4, 16]
style(i) = STYLE[i % 6 + 1]

set lmargin at screen 0.06; set rmargin at screen 0.485
set title "Loss" font ",17"
set yrange [0:*]
set key at screen 0.5, screen (26. * lines + 20) / (640 + 26 * lines) top center vertical \
    maxrows lines Left reverse width 0
if (TEXT) set key at screen 0.5, screen (runs + 1.) / (21 + runs) maxrows runs
plot for [i=0:runs-1] DATA index i every ::1 using 1:2 with linespoints ls style(i) \
    lw (i < 6 ? 2.6 : 1.3) pi marks(S_records / runs, i % 6) title columnheader(1)

set lmargin at screen 0.555; set rmargin at screen 0.98
set title "Accuracy" font ",17"
set yrange [0:1.03]
unset key
plot for [i=0:runs-1] DATA index i every ::1 using 1:3 with linespoints ls style(i) \
    lw (i < 6 ? 2.6 : 1.3) pi marks(S_records / runs, i % 6)
unset multiplot
