# Measures of a study's variants: the bar is the mean over seeds, the thin line reaches from the least
# to the greatest seed, an arrow starts at a limit that the claim sets and points to where every seed
# has to be. On the right the mean and its standard deviation. An axis that is logarithmic has no bars,
# which would begin nowhere, but points.
DATA = "bars.csv"       # y,name,mean,sd,least,most,band_least,band_most,title,label; a heading: y,name only
                        # an eleventh column, "axis": it is logarithmic

heading(row) = !strlen(strcol(9))
title_of = ""; label_of = ""; headings = 0; longest = 0; far = 0; low = 0; limits = 0; near = 1e300
greater(a, b) = a > b ? a : b
lesser(a, b) = a < b ? a : b
stats DATA using 1 name "Y" nooutput
LOG = Y_columns > 10
rows = greater(int(Y_records), 1)
array HEAD[rows]; array HEAD_Y[rows]; array SAY[rows]; array SAY_Y[rows]; said = 0
known(x) = strlen(x) > 0
number(c) = known(strcol(c)) ? column(c) : 0
nearer(a, x) = x > 0 && x < a ? x : a
shown(row) = !known(strcol(3)) ? "not reached" : LOG ? \
    sprintf(column(3) >= 10 ? "%.0f" : "%#.2g", column(3)).\
        (number(4) > 0 ? sprintf(" ± %.1g", number(4)) : "") : \
    known(strcol(4)) && column(4) > 0 ? \
    sprintf(column(3) >= 20 ? "%.0f ± %.0f" : "%.3f ± %.3f", column(3), column(4)) : \
    sprintf(column(3) >= 20 ? "%.0f" : "%.3f", column(3))
note(row) = heading(0) ? \
    (headings = headings + 1, HEAD[headings] = strcol(2), HEAD_Y[headings] = column(1)) : \
    (title_of = strcol(9), label_of = strcol(10), longest = greater(longest, strlen(strcol(2))), \
     far = greater(far, greater(number(6), greater(number(7), number(8)))), \
     low = lesser(low, number(5)), \
     near = nearer(nearer(nearer(nearer(near, number(3)), number(5)), number(7)), number(8)), \
     limits = limits + known(strcol(7)) + known(strcol(8)), \
     said = said + 1, SAY[said] = shown(0), SAY_Y[said] = column(1))
stats DATA every ::1 using (note(0), 0) name "T" nooutput
top = far > 0.5 && far <= 1 ? 1 : far > 0 ? far * 1.04 : 1
if (near > top) { LOG = 0 }    # nothing above 0
bottom = LOG ? 10 ** floor(log10(near)) : low < 0 ? low * 1.04 : 0
if (LOG) { top = far > 0.5 && far <= 1 ? 1 : far * 1.3 }
inside(x) = x > bottom ? x : bottom

span = Y_max - Y_min + 1.6
tall = (span < 4 ? 4 : span) * 25
eval canvas("bars", 1100, 160 + tall)
if (TEXT) eval canvas("bars", 1100, 29 * greater(Y_max + 9, 22))

set title title_of font ",17" noenhanced
set xlabel label_of noenhanced
set yrange [Y_max + 0.8:Y_min - 0.8]
set xrange [bottom:top]
if (LOG) { set logscale x 10 }
if (bottom < 0) { set arrow from 0, graph 0 to 0, graph 1 nohead lw 1 lc rgb GREY }
set border 1
unset ytics
set ytics scale 0 noenhanced
set grid xtics noytics
set lmargin TEXT ? 30 : greater(longest, 12) + 3
set rmargin TEXT ? 2 : 18
set tmargin TEXT ? 2 : 3
if (!TEXT) set bmargin 5.2
if (!TEXT) set label 1000 (LOG ? "point" : "bar").\
    ": the mean over seeds;  thin line: from the least seed to the greatest".\
    (limits > 0 ? ";  |▸ the claim's limit, and where every seed has to be" : "") \
    at screen 0.5, screen 16. / (160 + tall) center font ",11"
unset key
half = 0.36
if (TEXT) {
    plot DATA every ::1 using 3:1:ytic(2) with points pt "*"
} else {
    do for [i=1:headings] {
        set label i HEAD[i] at screen 0.012, first HEAD_Y[i] left font "sans-serif:Bold,13" \
            noenhanced
    }
    do for [i=1:said] {
        set label headings + i SAY[i] at graph 1.015, first SAY_Y[i] left font ",11" noenhanced
    }
    # An arrow's way from x, as long anywhere on the axis.
    reach = LOG ? (real(top) / bottom) ** 0.014 : top * 0.014
    up(x) = LOG ? (x * reach > top ? top : x * reach) - x : x + reach > top ? top - x : reach
    down(x) = LOG ? x / reach - x : -reach
    set style fill solid 0.55 noborder
    plot DATA every ::1 using (heading(0) ? NaN : 0):1:ytic(heading(0) ? "" : strcol(2)) \
             with points pt 0 lc rgb BLACK, \
         "" every ::1 using (LOG ? NaN : column(3)):1:(0):3:($1 - half):($1 + half) \
             with boxxyerror lc rgb BLUE, \
         "" every ::1 using (inside(column(5))):1:(column(6) - inside(column(5))):(0) \
             with vectors nohead lw 1.6 lc rgb BLACK, \
         "" every ::1 using (LOG && !heading(0) && known(strcol(3)) ? inside(column(3)) : NaN):1 \
             with points pt 7 ps 1.3 lc rgb BLUE, \
         "" every ::1 using 7:($1 - half):(0):(2 * half) with vectors nohead lw 2 lc rgb RED, \
         "" every ::1 using 7:1:(up(column(7))):(0) \
             with vectors head filled size screen 0.006,30 lw 2 lc rgb RED, \
         "" every ::1 using 8:($1 - half):(0):(2 * half) with vectors nohead lw 2 lc rgb RED, \
         "" every ::1 using 8:1:(down(column(8))):(0) \
             with vectors head filled size screen 0.006,30 lw 2 lc rgb RED
}
