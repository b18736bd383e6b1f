# Measures of a study over an option, the step or whatever changes: a curve's mean over seeds, in a band
# from the least to the greatest seed.
# The data: x, title, label, how many curves; then of each its mean (headed by its name),
# the least and the greatest.
DATA = "lines.csv"

stats DATA every ::1 using 1 name "X" nooutput
title_of = ""; label_of = ""; x_of = ""
stats DATA every ::1 using (title_of = strcol(2), label_of = strcol(3), column(4)) name "N" nooutput
stats DATA every ::0::0 using (x_of = strcol(1), 0) name "H" nooutput
curves = int(N_max)
points = int(X_records)
eval canvas("lines", 1100, 650 + 24 * ((curves + 1) / 2))

set title title_of font ",17" noenhanced
set ylabel label_of noenhanced
set xlabel x_of.(TEXT ? "" : "\nshade: from the least seed to the greatest") noenhanced
doubling = X_min > 0 && X_max / X_min >= 8
if (doubling) set logscale x 2
beside = 0.02 * (X_max - X_min)
set xrange [doubling ? X_min * 0.93 : X_min - beside:doubling ? X_max * 1.07 : X_max + beside]
set yrange [0:*]
highest = 0
do for [i=0:curves-1] {
    stats DATA every ::1 using 5 + 3 * i name "S" nooutput
    highest = got("S_max", 0) > highest ? S_max : highest
}
if (highest > 0.5 && highest <= 1.0001) set yrange [0:1.04]
if (!TEXT) { set key maxcols 2; set bmargin 7.5 + (curves + 1) / 2 * 1.4 }
set style fill transparent solid 0.18 noborder
mean(i) = 5 + 3 * i
if (TEXT) {
    plot for [i=0:curves-1] DATA using 1:(column(mean(i))) with linespoints ls 101+i \
             title columnheader(mean(i))
} else {
    plot for [i=0:curves-1] DATA using 1:(column(mean(i) + 1)):(column(mean(i) + 2)) \
             with filledcurves ls 101+i notitle, \
         for [i=0:curves-1] DATA using 1:(column(mean(i))) with linespoints ls 101+i \
             lw wide(i, curves) ps mark(i, curves) pi marks(points, i) title columnheader(mean(i))
}
