# The loss on the training batches and on held-out examples. Levels (the second block of
# loss.csv) are the losses of models that know a certain part of the answer and nothing else.
DATA = "loss.csv"    # step,loss,val_loss; then, after two empty lines, loss,accuracy,label,measure

eval canvas("loss", 1200, 700)
set title "Loss: what the model still does not know" font ",17"
set xlabel "training step"

set datafile columnheaders
stats DATA using 1 name "ALL" nooutput
stats DATA index 0 using "step":(valid(2) ? cell(2) : cell(3)) name "S" nooutput
rows = S_records; top = S_max_y; bottom = S_min_y
stats DATA index 0 using "step":(valid(3) ? cell(3) : cell(2)) name "S" nooutput
top = S_max_y > top ? S_max_y : top
bottom = S_min_y < bottom ? S_min_y : bottom
bottom = bottom < 0 ? bottom : 0

# The levels, lowest first; their names stand right of the axis, where no curve comes, and keep
# a line's distance from each other.
levels = 0; widest = 0; MEASURE = "loss"
array LEVEL[16]; array NAME[16]
if (ALL_blocks > 1) {
    stats DATA index 1 using (levels = levels < 16 ? levels + 1 : 16, LEVEL[levels] = column(1), \
        NAME[levels] = strcol(3), MEASURE = strcol(4), column(1)) nooutput
}
set ylabel MEASURE
do for [i=1:levels] {
    widest = strlen(NAME[i]) > widest ? strlen(NAME[i]) : widest
    top = LEVEL[i] > top ? LEVEL[i] : top
}
top = top > bottom ? bottom + 1.06 * (top - bottom) : bottom + 1
set yrange [bottom:top]
set xrange [S_min_x:S_max_x > S_min_x ? S_max_x : S_min_x + 1]
set rmargin (levels ? 0.9 * widest + 3 : 4)
y = bottom - 1
do for [i=1:levels] {
    y = LEVEL[i] > y + 0.05 * (top - bottom) ? LEVEL[i] : y + 0.05 * (top - bottom)
    set label i NAME[i] at graph 1.01, first y left noenhanced textcolor rgb GREY
    set arrow i from graph 0, first LEVEL[i] to graph 1, first LEVEL[i] nohead ls 8 back
}

# A held-out loss that is no number leaves a gap in the curve; the picture says so.
lost = 0; lost_at = 0
stats DATA index 0 using (strcol("val_loss") eq "nan" ? (lost = lost + 1, \
    lost_at = lost > 1 ? lost_at : column("step"), 0) : 0) nooutput
if (lost) { set label 100 sprintf("held-out loss not a number in %d evaluations, first at step %g", \
    lost, lost_at) at graph 0.02, graph 0.04 left textcolor rgb RED front }

plot DATA index 0 using "step":"loss" with lines lc rgb GREY lw 1.2 dt 1 title "training batch", \
     '' index 0 using "step":"val_loss" with linespoints ls 5 pi marks(rows, 0) title "held out"
