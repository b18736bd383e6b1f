# Trainings of a sweep: a map of cells, curves over an option, or a point each; a panel for each value of
# one option more.
# The data: block 0 has the kind (m, c, s), how many panels and series, whether x and y are logarithmic, how
# many values they have, whether colours are a scale, and the names of x, y and colour. Then a block for each
# panel's each series: its number, x, y, low, high, value; names at x and y, of panel and series.
DATA = "sweep.csv"

kind = ""; x_of = ""; y_of = ""; colour_of = ""
stats DATA index 0 using (kind = strcol(2), x_of = strcol(10), y_of = strcol(11), colour_of = strcol(12), \
    panels = int(column(3)), series = int(column(4)), wide_x = int(column(5)), wide_y = int(column(6)), \
    columns = int(column(7)), rows = int(column(8)), scale = int(column(9)), 0) nooutput
if (TEXT && kind eq "m") exit error "a map is no text; qkv table shows its numbers"

across = panels < 4 ? panels : panels < 7 ? (panels + 1) / 2 : 4
down = (panels + across - 1) / across
if (TEXT) { across = 1; down = panels }
each_wide = panels == 1 ? 900 : 460; each_high = panels == 1 ? 560 : 360
foot = 50 + (series > 1 ? 24 * ((series + 3) / 4) : 0)
WIDTH = across * each_wide + 60.; HEIGHT = down * each_high + foot + 40.
eval canvas("sweep", WIDTH, HEIGHT)

# One scale for all panels: what they show can be compared.
set autoscale xy
low = 0.; high = 1.
stats DATA index 1:panels * series using 6 name "V" nooutput
if (scale && exists("V_max")) {
    low = V_min; high = V_max
    if (low >= 0 && high <= 1.0001) { low = 0; high = 1 }
    if (high <= low) { high = low + 1 }
}
stats DATA index 1:panels * series using 2 name "X" nooutput
stats DATA index 1:panels * series using 3 name "Y" nooutput
top = kind eq "c" ? 5 : 3
stats DATA index 1:panels * series using top name "T" nooutput
least = kind eq "c" ? 4 : 3
stats DATA index 1:panels * series using least name "L" nooutput
SCALE = "set palette defined (0 '#f7fbff', 0.25 '#c6dbef', 0.5 '#6baed6', 0.75 '#2171b5', 1 '#08306b')"
eval SCALE
# Points stand on white.
if (kind eq "s") { set palette defined (0 '#9ecae1', 0.5 '#3182bd', 1 '#08306b') }
set cbrange [low:high]
set cblabel colour_of noenhanced offset 1.2, 0
set cbtics scale 0.3
if (!scale) { unset colorbox }

if (kind eq "m") {
    set border 0
    unset grid
    set tics scale 0
    set xrange [-0.5:columns - 0.5]
    set yrange [-0.5:rows - 0.5]
} else {
    x_low = got("X_min", 0); x_high = got("X_max", 1)
    y_low = got("L_min", 0); y_high = got("T_max", 1)
    if (y_low >= 0 && y_high <= 1.0001) { y_low = 0; y_high = 1.04 }
    if (x_high <= x_low) { x_high = x_low + 1 }
    if (y_high <= y_low) { y_high = y_low + 1 }
    if (wide_x) { set logscale x; set xrange [x_low / 1.1:x_high * 1.1] }
    if (!wide_x) { set xrange [x_low - 0.03 * (x_high - x_low):x_high + 0.03 * (x_high - x_low)] }
    above = 0.02 * (y_high - y_low)
    set yrange [y_low > 0 || y_low < 0 ? y_low - above : y_low:y_high + above]
}
unset key
if (kind eq "c") { set style fill transparent solid 0.18 noborder } else { set style fill solid 1 noborder }
shown(v) = v >= 9.995 ? sprintf("%.0f", v) : sprintf("%.2f", v)
mark_of(v) = columns * rows > 160 || columns > 14 ? "" : v != v ? "x" : shown(v)
on(v) = v > low + 0.55 * (high - low) ? 0xffffff : 0x000000
said(name) = strlen(name) ? name : " "
every_x = int(ceil(columns / 14.)); every_y = int(ceil(rows / 20.))
tic_of(i, every, c) = int(i) % every ? "" : strcol(c)

set multiplot
do for [p=0:panels-1] {
    first = 1 + p * series
    name = ""
    stats DATA index first using (name = strcol(9), 0) nooutput
    left = (p % across) * (WIDTH - 30) / across + 85; upper = HEIGHT - 45 - p / across * each_high
    if (!TEXT) {
        set lmargin at screen left / WIDTH
        set rmargin at screen (left + (WIDTH - 30) / across - (scale ? 190 : 110)) / WIDTH
        set bmargin at screen (upper - each_high + 100) / HEIGHT
        set tmargin at screen upper / HEIGHT
    }
    if (TEXT) { set size 1, 1. / down; set origin 0, 1 - (p + 1.) / down }
    set title said(name) noenhanced font ",14"
    set xlabel x_of noenhanced
    set ylabel y_of noenhanced
    if (kind eq "m") {
        set xtics noenhanced font ",11"; set ytics noenhanced font ",11"
        plot DATA index first using 2:3:(0.485):(0.485):6 with boxxyerror fs solid 1 noborder fc palette, \
             '' index first using (valid(6) ? NaN : column(2)):3:(0.485):(0.485) with boxxyerror \
                 fs pattern 4 noborder fc rgb "#bbbbbb", \
             '' index first using 2:3:(mark_of(cell(6))):(on(cell(6))) with labels font ",11" \
                 tc rgb variable, \
             '' index first using (NaN):3:ytic(tic_of(column(3), every_y, 8)) with points, \
             '' index first using 2:(NaN):xtic(tic_of(column(2), every_x, 7)) with points
    }
    if (kind eq "c" && TEXT) {
        plot for [i=0:series-1] DATA index first + i using 2:3 with linespoints ls 101+i
    }
    if (kind eq "c" && !TEXT) {
        plot for [i=0:series-1] DATA index first + i using 2:4:5 with filledcurves ls 101+i, \
             for [i=0:series-1] DATA index first + i using 2:3 with linespoints ls 101+i lw 2
    }
    if (kind eq "s" && scale) {
        plot DATA index first using 2:3:6 with points pt 7 ps 0.8 lc palette
    }
    if (kind eq "s" && !scale) {
        plot for [i=0:series-1] DATA index first + i using 2:3 with points ls 101+i ps 0.9
    }
}
if (!TEXT) {
    # What the colours are, once for all panels.
    set lmargin at screen 0.02; set rmargin at screen 0.98
    set bmargin at screen 0.004; set tmargin at screen (foot - 6.) / HEIGHT
    unset title; unset xlabel; unset ylabel; unset tics; unset border
    unset colorbox; unset logscale; unset grid
    set xrange [0:1]; set yrange [0:1]
    set key at screen 0.5, screen (foot - 10.) / HEIGHT center top horizontal maxcols 4 noenhanced
    if (kind eq "c") { set label 9 "line: mean;  shade: from the least training to the greatest" at \
        screen 0.5, screen 14. / HEIGHT center tc rgb GREY }
    if (kind eq "m") { set label 9 "each cell: the mean over its trainings;  hatched: none has it" at \
        screen 0.5, screen 14. / HEIGHT center tc rgb GREY }
    array NAME_OF[series]
    do for [i=0:series-1] {
        name = ""
        stats DATA index 1 + i using (name = strcol(10), 0) nooutput
        NAME_OF[i+1] = name
    }
    if (series > 1) {
        plot for [i=0:series-1] NaN with linespoints ls 101+i lw 2 title NAME_OF[i+1]
    } else {
        plot NaN notitle
    }
}
unset multiplot
