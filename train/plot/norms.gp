# How far each of the four matrices has grown: its norm over training.
DATA = "norms.csv"    # step, then wq,wk,wv,wo of each attention layer: one panel a layer

set datafile columnheaders
missing(x) = !(x == x)
stats DATA using "step" name "S" nooutput
panels = (S_columns - 1) / 4
across = ceil(sqrt(panels))
down = ceil(panels / (across * 1.))

eval canvas("norms", panels > 1 ? 1500 : 1200, down > 1 ? 500 * down + 100 : 700)
set xrange [S_min:S_max > S_min ? S_max : S_min + 1]
set xlabel "training step"
set ylabel "Frobenius norm"
set yrange [0:*]
unset datafile columnheaders
if (panels > 1) set multiplot layout down, across \
    title "Weight norms, layer by layer" font ",17"
do for [p=1:panels] {
    # The layer's name, and by how much each matrix has grown since the first row.
    c = 4 * p - 2; layer = ""
    array BEGIN[4]; array END[4]
    stats DATA every ::0::0 using (layer = strcol(c), 1) nooutput
    do for [i=1:4] { BEGIN[i] = NaN; END[i] = NaN }
    stats DATA every ::1 using (sum [i=1:4] (x = cell(c + i - 1), valid(c + i - 1) ? \
        (END[i] = x, BEGIN[i] = missing(BEGIN[i]) ? x : BEGIN[i], 1) : 1)) nooutput
    grown(i) = BEGIN[i] > 0 && END[i] >= 0 ? sprintf("%.2f", END[i] / BEGIN[i]) : "?"
    TITLE = sprintf("Weight norms: W^Q ends at %s times its first,%sW^K at %s, W^V at %s, \
W^O at %s", grown(1), NEXT, grown(2), grown(3), grown(4))
    if (panels == 1) { set title TITLE font ",17" }
    if (panels > 1) { set title layer[1:strlen(layer)-3] font ",15" noenhanced }
    n = S_records
    plot DATA every ::1 using 1:c with linespoints ls 1 pi marks(n, 0) title "W^Q" enhanced, \
         '' every ::1 using 1:c+1 with linespoints ls 2 pi marks(n, 1) title "W^K" enhanced, \
         '' every ::1 using 1:c+2 with linespoints ls 3 pi marks(n, 2) title "W^V" enhanced, \
         '' every ::1 using 1:c+3 with linespoints ls 4 pi marks(n, 3) title "W^O" enhanced
}
if (panels > 1) unset multiplot
