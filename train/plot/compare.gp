# Several runs side by side: their losses and their accuracies. Runs that differ in nothing but their seed
# have one colour: a thin line each, and a wide one with marks for their mean.
DATA = "compare.csv"    # the levels that all runs share: loss,accuracy,label,measure; then blocks, two empty
                        # lines apart, of "name",mean|run,group; then rows of step,loss,accuracy

# Every block's name and group; the groups' means come first.
stats DATA using 1 name "ALL" nooutput
blocks = ALL_blocks - 1
array TITLE[blocks]; array GROUP[blocks]; array SIZE_OF[blocks]
groups = 0
do for [i=1:blocks] {
    name = ""; kind = ""; of = 0
    stats DATA index i every ::0::0 using (name = strcol(1), kind = strcol(2), of = int(column(3)), 0) \
        nooutput
    TITLE[i] = name; GROUP[i] = of
    if (kind eq "mean") { groups = groups + 1; SIZE_OF[i] = 0 }
    if (kind eq "run") { SIZE_OF[of + 1] = SIZE_OF[of + 1] + 1 }
}

first = 1e300; last = -1e300; rows = 0; top = -1e300; low = 1e300; least = 1e300
lesser(a, x) = x < a ? x : a
greater(a, x) = x > a ? x : a
note(x, y) = (first = lesser(first, x), last = greater(last, x), y == y ? \
    (top = greater(top, y), low = lesser(low, y), least = y > 0 ? lesser(least, y) : least, 0) : 0)
do for [i=1:blocks] {
    seen = 0
    stats DATA index i every ::1 using (seen = seen + 1, note(column(1), cell(2)), 0) \
        nooutput
    rows = greater(rows, seen)
}
if (top < low) { top = 1; low = 0 }
levels = 0
array LOSS[16]; array SHARE[16]; array NAME[16]
stats DATA index 0 every ::1 using (valid(1) ? (levels = levels + 1, LOSS[levels] = cell(1), \
    SHARE[levels] = cell(2), NAME[levels] = strcol(3), 0) : 0) nooutput
do for [i=1:levels] { top = greater(top, LOSS[i]) }
# A loss that falls far, and stays above 0, has a logarithmic axis, on which the end can be told apart, too.
LOG = low > 0 && top >= 10 * low
longest = 0
do for [i=1:groups] { longest = greater(longest, strlen(TITLE[i])) }
across = longest > 70 ? 1 : 2
lines = ceil(groups / (across * 1.0))
HEIGHT = 660. + 26 * lines
eval canvas("compare", 1500, HEIGHT)
if (TEXT) eval canvas("compare", 1500, 640 + 29 * groups)
thin(i) = SIZE_OF[GROUP[i] + 1] > 1    # one alone is its mean

set multiplot
set xlabel "training step".(blocks > 2 * groups ? \
    "\nthin: each run, they differ in the seed alone;  wide: their mean" : "")
set xrange [first:last > first ? last : first + 1]
set tmargin at screen 0.91
set bmargin at screen (26. * lines + 110) / HEIGHT
if (TEXT) set bmargin at screen (groups + 6.) / (21 + groups)

set lmargin at screen 0.07; set rmargin at screen 0.485
set title "Loss" font ",17"
set ylabel "loss on held-out examples"
set yrange [(LOG ? least / 1.3 : low < 0 ? low : 0):(LOG ? 1.3 * top : top > 0 ? 1.06 * top : 1)]
if (LOG) { set logscale y 10 }
set key at screen 0.5, screen (26. * lines + 20) / HEIGHT top center vertical \
    maxrows lines Left reverse width 0
if (TEXT) set key at screen 0.5, screen (groups + 1.) / (21 + groups) maxrows groups
do for [i=1:levels] {
    set arrow i from graph 0, first LOSS[i] to graph 1, first LOSS[i] nohead ls 8 back
    set label i NAME[i] at graph 0.99, first LOSS[i] right offset 0, 0.6 front noenhanced tc rgb GREY
}
plot for [i=groups+1:blocks] DATA index i every ::1 using 1:(thin(i) ? column(2) : NaN) with lines \
         ls 101+GROUP[i] lw 0.8 notitle, \
     for [i=1:groups] DATA index i every ::1 using 1:2 with linespoints ls 101+i-1 \
         lw wide(i - 1, groups) ps mark(i - 1, groups) pi marks(rows, i % 8) title TITLE[i]

set lmargin at screen 0.555; set rmargin at screen 0.98
set title "Accuracy" font ",17"
set ylabel "share of right answers"
unset logscale y
set yrange [0:1.03]
unset key
do for [i=1:levels] {
    unset arrow i; unset label i
    if (SHARE[i] == SHARE[i]) {
        set arrow i from graph 0, first SHARE[i] to graph 1, first SHARE[i] nohead ls 8 back
        name = NAME[i]; cut = strstrt(name, " (")    # "(ln 32)" is about the loss
        if (cut) { name = name[1:cut-1] }
        set label i name at graph 0.99, first SHARE[i] right \
            offset 0, 0.6 front noenhanced tc rgb GREY
    }
}
plot for [i=groups+1:blocks] DATA index i every ::1 using 1:(thin(i) ? column(3) : NaN) with lines \
         ls 101+GROUP[i] lw 0.8, \
     for [i=1:groups] DATA index i every ::1 using 1:3 with linespoints ls 101+i-1 \
         lw wide(i - 1, groups) ps mark(i - 1, groups) pi marks(rows, i % 8)
unset multiplot
