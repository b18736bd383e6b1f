# Where one example's queries look: before and after training, and after a swap of the keys, or
# of the values, of two of its entries. Queries down, positions across; the framed cell is where
# the right answer stands.
DATA = "attention.csv"    # one block a panel, two empty lines apart:
PANEL = 1; ROW = 2; COL = 3; WEIGHT = 4   # numbered from 0: panels as in TITLES below
TARGET = 5                # 1: the right answer of this row's query stands in this column
SWAPPED = 6               # 1: this column's entry was changed by the swap
CHANGED = 7               # 1: this row's answer was changed by the swap
ROWNAME = 8; COLNAME = 9  # what is asked > what is answered; what stands at the position

if (TEXT) exit error "a map as text is drawn by qkv plot --format txt"
array TITLES[4] = ["Before training", "After training", "Keys of two entries swapped", \
    "Values of the same two entries swapped"]
# The second line of a title says what is seen: m is the mean weight in the framed cells.
finding(panel, m, changes) = \
    panel < 2 ? sprintf("%.0f %% of the attention is on the right entry", 100 * m) : \
    panel == 2 ? sprintf("attention %s the keys", m > 0.5 ? "follows" : "does not follow") : \
    sprintf("attention %s, the answers %s", m > 0.5 ? "stays" : "is not on the entry", \
    changes > 0 ? "change" : "stay")

stats DATA using PANEL name "S" nooutput
panels = S_blocks
down = ceil(panels / 2.)
# A character of a row's name is some 9 pixels wide, the dot before it two of them.
longest = 0
stats DATA using (n = strlen(strcol(ROWNAME)), longest = n > longest ? n : longest, 1) \
    name "R" nooutput
LEFT = longest < 9 ? 125. : 26. + 9 * (longest + 2); PITCH = LEFT + 515
WIDTH = 2 * PITCH + 80; HEIGHT = 80 + 560. * down
eval canvas("attention", WIDTH, HEIGHT)

set palette defined (0 "#ffffff", 0.08 "#e8f1f8", 0.5 "#6aaed6", 1 "#08306b")
set cbrange [0:1]
set border 15
unset grid
unset key
set tics scale 0
FOOT1 = "queries down (asked key > answer), positions across;  frame: where the right \
answer stands"
FOOT2 = S_max > 1 ? "▼ swapped entry      ● answer changed by the swap" : ""

# Names stand at every `each`-th row or column, so that they fit; "q8 k6 v12" takes three lines.
each(n) = ceil(n / 16.)
fit(s) = strlen(s) > room ? s[1:room-1]."…" : s
inlines(s) = (space = strstrt(s, " ")) ? fit(s[1:space-1])."\n".inlines(s[space+1:*]) : fit(s)
rowname(every) = int(column(ROW)) % every ? "" : \
    (column(CHANGED) == 1 ? "● " : "").strcol(ROWNAME)
colname(every) = int(column(COL)) % every ? "" : inlines(strcol(COLNAME))
only(yes, x) = yes != 0 ? x : NaN
# Labels that are not wanted are empty: gnuplot 5.4 crashes if all points of labels are NaN.
figure(weight) = numbers && weight >= 0.045 ? sprintf("%.2f", weight) : ""

set multiplot
do for [i=0:panels-1] {
    n = 0; m = 0; changes = 0
    set autoscale xy    # stats leaves out what lies outside the last panel's ranges
    stats DATA index i using (panel = column(PANEL), rows = column(ROW) + 1, \
        cols = column(COL) + 1, n = n + (column(TARGET) == 1), \
        m = m + (column(TARGET) == 1) * column(WEIGHT), \
        changes = changes + column(CHANGED), 1) nooutput
    left = (LEFT + PITCH * (i % 2)) / WIDTH
    top = 1 - (85. + 560 * (i / 2)) / HEIGHT
    set lmargin at screen left; set rmargin at screen left + 470 / WIDTH
    set tmargin at screen top;  set bmargin at screen top - 410 / HEIGHT
    set xrange [-0.5:cols - 0.5]
    set yrange [rows - 0.5:-0.5]
    set title TITLES[panel + 1]."\n".finding(panel, n ? m / n : 0, changes) font ",15" \
        offset 0, panel < 2 ? -0.3 : 0.3
    set xtics noenhanced font ",12" offset 0, 0.3
    set ytics noenhanced font ",12"
    if (i == panels - 1) { set colorbox user origin left + 488 / WIDTH, top - 410 / HEIGHT \
        size 16 / WIDTH, 410 / HEIGHT; set cbtics 0.25; set cblabel "attention"
        set label 1 FOOT1 at screen 0.5, screen 22 / HEIGHT center
        set label 2 FOOT2 at screen 0.5, screen 48 / HEIGHT center } else { unset colorbox }
    numbers = rows <= 12 && cols <= 12
    room = int(470 * each(cols) / (10 * cols))    # characters of a column's name
    # The cells; the frames; the weights in figures; the marks of what was swapped; the names.
    plot DATA index i using COL:ROW:(0.5):(0.5):WEIGHT with boxxyerror fs solid noborder \
            fc palette, \
         '' index i using (only(column(TARGET), column(COL))):ROW:(0.47):(0.47) \
            with boxxyerror lc rgb RED lw (cols > 20 ? 1 : 3) fs empty, \
         '' index i using COL:ROW:(figure(column(WEIGHT))): \
            (column(WEIGHT) > 0.55 ? 0xffffff : 0x000000) with labels font ",11" tc rgb variable, \
         '' index i using COL:(-0.5):(column(ROW) == 0 && column(SWAPPED) == 1 ? "▼" : "") \
            with labels offset 0, 0.4 tc rgb BLACK, \
         '' index i using (NaN):ROW:ytic(rowname(each(rows))) with points, \
         '' index i using COL:(NaN):xtic(colname(each(cols))) with points
}
unset multiplot
