# Who took the held-out loss down: above, each kind of parameter's part of what the loss changes by in a
# step, stacked; below zero it goes down, above zero up. Below, the running sums, and the loss.
# The data: step, the change, a column a kind of parameter; then the same summed up, with the loss.
DATA = "ledger.csv"

stats DATA index 0 every ::1 using 1 name "X" nooutput
last = int(X_columns)
stats DATA index 1 every ::1 using 1:2 name "S" nooutput
array NAME_OF[last]
do for [c=3:last] {
    name = ""
    stats DATA index 0 every ::0::0 using (name = strcol(c), 0) nooutput
    NAME_OF[c] = name
}
# Its colour, as in every picture: Q and K blue, V and O orange.
colour(n) = n eq "W^Q" ? BLUE : n eq "W^K" ? SKY : n eq "W^V" ? RED : n eq "W^O" ? ORANGE : \
    n eq "embeddings" ? GREEN : n eq "unembedding" ? PINK : n eq "feed-forward" ? "#882255" : \
    n eq "other attention parameters" ? "#999933" : n eq "left" ? BLACK : GREY

# What each has done in the end, and who has done most.
array DONE[last]
most = 3
do for [c=3:last] {
    done = 0
    stats DATA index 1 every ::1 using (done = column(c), 0) nooutput
    DONE[c] = done
    if (DONE[c] < DONE[most]) { most = c }
}
TITLE = DONE[most] < 0 ? sprintf("The loss falls by %.2f, most of it by %s: %.2f", \
    S_max_y - S_min_y, NAME_OF[most], -DONE[most]) : "Nothing takes the loss down"

eval canvas("ledger", 1200, TEXT ? 700 : 1000)
set xrange [S_min_x:S_max_x]
if (!TEXT) {
    set multiplot
    set lmargin 12; set rmargin 10
    set bmargin at screen 0.60; set tmargin at screen 0.93
    set title TITLE font ",17" noenhanced
    set ylabel "change of the loss in a step"
    set format x ""
    unset key
    set style fill solid 0.85 noborder
    down(c) = sum [i=3:c] (column(i) < 0 ? column(i) : 0)
    up(c) = sum [i=3:c] (column(i) > 0 ? column(i) : 0)
    plot for [c=last:3:-1] DATA index 0 every ::1 using 1:(down(c)) with filledcurves y1=0 \
             lc rgb colour(NAME_OF[c]), \
         for [c=last:3:-1] DATA index 0 every ::1 using 1:(up(c)) with filledcurves y1=0 \
             lc rgb colour(NAME_OF[c]), \
         DATA index 0 every ::1 using 1:2 with lines lc rgb BLACK lw 1.4
    unset title
    set format x "%g"
    set tmargin at screen 0.55; set bmargin at screen 0.17
    set key outside below center horizontal Left reverse noenhanced samplen 3 maxrows 3
}
if (TEXT) { set title TITLE noenhanced }
set xlabel "training step"
set ylabel TEXT ? "sum" : "sum of each one's parts so far"
# The loss has an axis of its own: it falls by all parts together.
if (!TEXT) { set y2label "loss"; set y2tics out scale 0.5; set y2range [0:*]; set border 11 }
plot for [c=3:last-1] DATA index 1 every ::1 using 1:(column(c)) with linespoints lc rgb colour(NAME_OF[c]) \
         lw 2.6 dt 2 - c % 2 pt MARK[c % 8 + 1] pi marks(S_records, c) title NAME_OF[c], \
     DATA index 1 every ::1 using 1:last with lines ls 8 title NAME_OF[last], \
     DATA index 1 every ::1 using 1:2 axes x1y2 with lines ls 5 title TEXT ? "loss" : "loss (right)"
if (!TEXT) unset multiplot
