# Measures of a study over an option, the step or whatever changes: a curve's mean over seeds, in a band
# from the least to the greatest seed, or a small mark for each.
# The data: x, title, label, how many curves; then of each its mean (headed by its name), the least and the
# greatest; then perhaps each curve's seeds.
DATA = "lines.csv"

stats DATA every ::1 using 1 name "X" nooutput
title_of = ""; label_of = ""; x_of = ""
stats DATA every ::1 using (title_of = strcol(2), label_of = strcol(3), column(4)) name "N" nooutput
stats DATA every ::0::0 using (x_of = strcol(1), 0) name "H" nooutput
curves = int(N_max)
points = int(X_records)
seeds = curves > 0 ? (X_columns - 4 - 3 * curves) / curves : 0    # of each curve
SHADE = seeds ? "mark: a seed;  line: their mean" : "shade: from the least seed to the greatest"
# Long names stand one below the other.
long = 0
do for [i=0:curves-1] {
    stats DATA every ::0::0 using (long = strlen(strcol(5 + 3 * i)) > 30 ? 1 : long, 0) nooutput
}
rows = long && curves > 6 ? curves : (curves + 1) / 2
eval canvas("lines", 1100, 650 + 24 * rows)

set title title_of font ",17" noenhanced
set ylabel label_of noenhanced
set xlabel x_of.(TEXT ? "" : "\n".SHADE) noenhanced
doubling = X_min > 0 && X_max / X_min >= 8
if (doubling) { if (X_max < 1) { set logscale x 10 } else { set logscale x 2 } }
beside = 0.02 * (X_max - X_min)
set xrange [doubling ? X_min * 0.93 : X_min - beside:doubling ? X_max * 1.07 : X_max + beside]
set yrange [0:*]
highest = 0
array NAME_OF[curves > 0 ? curves : 1]
do for [i=0:curves-1] {
    name = ""
    stats DATA every ::0::0 using (name = strcol(5 + 3 * i), 0) nooutput
    NAME_OF[i+1] = name
    stats DATA every ::1 using 5 + 3 * i name "S" nooutput
    highest = got("S_max", 0) > highest ? S_max : highest
}
if (highest > 0.5 && highest <= 1.0001) set yrange [0:1.04]
if (!TEXT) { set key maxcols 2; set bmargin 7.5 + rows * 1.4 }
set style fill transparent solid 0.18 noborder
mean(i) = 5 + 3 * i
if (TEXT) {
    plot for [i=0:curves-1] DATA using 1:(column(mean(i))) with linespoints ls 101+i \
             title columnheader(mean(i))
}
if (!TEXT && seeds) {
    # The seeds of a curve stand a little beside those of the others.
    aside(x, i) = doubling ? x * 1.025 ** (i - (curves - 1) / 2.) : x + beside / 3 * (i - (curves - 1) / 2.)
    plot for [i=0:curves-1] DATA using 1:(column(mean(i))) with lines ls 101+i lw 1.6 notitle, \
         for [i=0:curves-1] for [k=0:seeds-1] DATA using (aside(column(1), i)): \
             (column(5 + 3 * curves + seeds * i + k)) with points ls 101+i ps 1.1 notitle, \
         for [i=0:curves-1] NaN with linespoints ls 101+i lw 1.6 ps 1.1 title NAME_OF[i+1]
}
if (!TEXT && !seeds) {
    plot for [i=0:curves-1] DATA using 1:(column(mean(i) + 1)):(column(mean(i) + 2)) \
             with filledcurves ls 101+i notitle, \
         for [i=0:curves-1] DATA using 1:(column(mean(i))) with linespoints ls 101+i \
             lw wide(i, curves) ps mark(i, curves) pi marks(points, i) title columnheader(mean(i))
}
