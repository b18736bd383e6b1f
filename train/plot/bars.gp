# One measure of each variant of a study: the bar is the mean over seeds, the thin line reaches from the
# least to the greatest seed, and the triangles mark the band that the claim demands.
DATA = "bars.csv"       # y,name,mean,sd,least,most,band_least,band_most,title,label; a group's row has no mean

stats DATA using 1 name "Y" nooutput
stats DATA using 6 name "MOST" nooutput
title_of = ""; label_of = ""
stats DATA using (title_of = strlen(strcol(9)) ? strcol(9) : title_of, label_of = strlen(strcol(10)) ? strcol(10) : label_of, 0) name "T" nooutput
rows = Y_max + 1
eval canvas("bars", 1100, 170 + 27 * rows)
if (TEXT) eval canvas("bars", 1100, 29 * (rows + 8))

set title title_of font ",17" noenhanced
set xlabel label_of noenhanced
set yrange [Y_max + 0.8:Y_min - 0.8]
set xrange [0:MOST_max > 0 ? MOST_max * 1.12 : 1]
set border 1
unset ytics
set ytics scale 0 noenhanced
set grid xtics noytics
set style fill solid 0.85 noborder
set lmargin 34
set bmargin 4
unset key
missing(x) = !strlen(x)
if (TEXT) {
    plot DATA every ::1 using 3:1:ytic(2) with points pt "*"
} else {
    plot DATA every ::1 using 3:1:(0):3:($1 - 0.34):($1 + 0.34):ytic(2) with boxxyerror lc rgb SKY, \
         "" every ::1 using 5:1:(column(6) - column(5)):(0) with vectors nohead lw 2 lc rgb BLACK, \
         "" every ::1 using 7:1 with points pt 9 ps 1.3 lc rgb RED, \
         "" every ::1 using 8:1 with points pt 11 ps 1.3 lc rgb RED, \
         "" every ::1 using 6:1:(missing(strcol(3)) ? "" : sprintf("  %.3g", column(3))) with labels left noenhanced font ",11"
}
