# How strongly the loss pulls at each of the four matrices: the norm of its gradient. Q and K are
# taught through differences between values, so they wait until V carries something.
DATA = "gradients.csv"    # step,accuracy, then wq,wk,wv,wo of each attention layer

# The layers (one panel each), and the step at which accuracy reaches 99 %; NaN: never.
set datafile columnheaders
missing(x) = !(x == x)
first(t, c, bound) = missing(t) && cell(c) >= bound ? column(1) : t
solved = NaN
stats DATA using (solved = first(solved, 2, 0.99), column(1)) name "S" nooutput
end = missing(solved) || 2 * solved > S_max || solved <= 0 ? S_max : 2 * solved
shown = S_records * (end - S_min) / (S_max > S_min ? S_max - S_min : 1.)
panels = (S_columns - 2) / 4
across = ceil(sqrt(panels))
down = ceil(panels / (across * 1.))

eval canvas("gradients", panels > 1 ? 1500 : 1200, down > 1 ? 500 * down + 100 : 700)
set xrange [S_min:end > S_min ? end : S_min + 1]
set yrange [0:*]
set xlabel "training step".cut(end, S_max)
set ylabel "gradient norm"
unset datafile columnheaders
if (panels > 1) set multiplot layout down, across \
    title "Gradient norms, layer by layer" font ",17"
do for [p=1:panels] {
    # The layer's name, and the first gradients there are.
    c = 4 * p - 1; q = NaN; k = NaN; v = NaN; o = NaN; layer = ""
    begin(x, col) = missing(x) && valid(col) ? column(col) : x
    stats DATA every ::0::0 using (layer = strcol(c), 1) nooutput
    stats DATA every ::1 using (q = begin(q, c), k = begin(k, c + 1), v = begin(v, c + 2), \
        o = begin(o, c + 3), 1) nooutput
    matching = sqrt(q**2 + k**2); carrying = sqrt(v**2 + o**2)
    TITLE = !(matching > 0 && carrying >= 0) ? "Gradient norms of the four matrices" : \
        sprintf("Gradient norms: at the start W^V and W^O%sare pulled %.1f times as hard as \
W^Q and W^K", NEXT, carrying / matching)
    if (panels == 1) { set title TITLE font ",17" }
    if (panels > 1) { set title layer[1:strlen(layer)-3] font ",15" noenhanced }
    plot DATA every ::1 using 1:c with linespoints ls 1 pi marks(shown, 0) title "W^Q" enhanced, \
         '' every ::1 using 1:c+1 with linespoints ls 2 pi marks(shown, 1) title "W^K" enhanced, \
         '' every ::1 using 1:c+2 with linespoints ls 3 pi marks(shown, 2) title "W^V" enhanced, \
         '' every ::1 using 1:c+3 with linespoints ls 4 pi marks(shown, 3) title "W^O" enhanced
}
if (panels > 1) unset multiplot
