# One measure of a study over an option, a curve for each group of variants: means over seeds, with their
# standard deviations.
DATA = "lines.csv"      # x, then two columns a curve: its mean (headed by its name) and its deviation; title, label

stats DATA using 1 name "X" nooutput
title_of = ""; label_of = ""; x_of = ""
stats DATA matrix every ::::0 name "C" nooutput
columns = int(C_size_x)
stats DATA every ::1 using (title_of = strcol(columns - 1), label_of = strcol(columns), 0) name "T" nooutput
stats DATA every ::0::0 using (x_of = strcol(1), 0) name "H" nooutput
curves = (columns - 3) / 2
eval canvas("lines", 1100, 680)

set style line 16 lc rgb BLACK lw 2.6 dt (2,3) pt 5 ps 0.9
array STYLE[8] = [1, 3, 6, 7, 4, 2, 5, 16]
set title title_of font ",17" noenhanced
set ylabel label_of noenhanced
set xlabel x_of noenhanced
if (X_min > 0 && X_max / X_min > 8) set logscale x 2
set xrange [X_min * (X_min > 0 && X_max / X_min > 8 ? 0.9 : 1):X_max * (X_min > 0 && X_max / X_min > 8 ? 1.1 : 1)]
set yrange [0:*]
plot for [i=0:curves-1] DATA using 1:(column(2 + 2*i)) with linespoints ls STYLE[i % 8 + 1] title columnheader(2 + 2*i), \
     for [i=0:curves-1] DATA using 1:(column(2 + 2*i)):(column(3 + 2*i)) with yerrorbars lc rgb GREY lw 1 pt 0 notitle
