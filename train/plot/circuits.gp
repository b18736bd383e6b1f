# What the weights say without any example: the QK circuit scores symbol against symbol (whom
# does a query look for?), the OV circuit leads from a stored symbol to the answer (what does it
# carry?). Above as they begin, below as trained. In each row of panels the two QK maps share
# one range of colour, and so do the two OV maps: a pale map is one that does not matter. The rows have
# ranges of their own, which the bars show: a beginning is many times as weak. What the matrices make of
# it stands above each map, counted.
DATA = "circuits.csv"     # one block a panel, two empty lines apart:
PANEL = 1; ROW = 2; COL = 3; VALUE = 4    # panels 0-3 before, 4-7 after, left to right
TARGET = 5                # 1: the right answer of this row stands in this column
ROWNAME = 8; COLNAME = 9; TITLE = 10      # TITLE: what was found in the whole map

if (TEXT) exit error "a map as text is drawn by qkv plot --format txt"
array HEADS[4] = ["QK over keys: who is found?", "QK over values: do they steer?", \
    "OV over values: what is said?", "OV over keys: are they carried?"]
array ACROSS[4] = ["stored key", "stored value", "answer", "answer"]
array DOWN[4] = ["asked key", "asked key", "stored value", "stored key"]

WIDTH = 1640.; HEIGHT = 960.
eval canvas("circuits", WIDTH, HEIGHT)

set border 15
unset grid
unset key
set tics scale 0

name(every, c, n) = int(column(n)) % every ? "" : strcol(c)
each(n) = ceil(n / 7.)

stats DATA using PANEL name "S" nooutput
FOOT = "frame: the key that is asked for, the value that is stored;   white: 0, grey: below it;   \
each bar is the scale of the two maps before it"

set multiplot
do for [p=0:7] {
    # Its block (-1: there is none) and its size; is there one above it; how far it and its
    # partner reach.
    block = -1; reach = 0; found = ""
    set autoscale xy    # stats leaves out what lies outside the last panel's ranges
    do for [i=0:S_blocks-1] {
        stats DATA index i using (q = column(PANEL), r = column(ROW), c = column(COL), \
            abs(cell(VALUE))) name "P" nooutput
        if (int(q) / 2 == p / 2 && got("P_max", 0) > reach) { reach = P_max }
        if (q == p) { block = i; rows = r + 1; cols = c + 1 }
    }
    if (block < 0) { continue }
    if (reach == 0) { reach = 1 }
    stats DATA index block using (found = strlen(strcol(TITLE)) ? strcol(TITLE) : found, 0) nooutput
    k = p % 4
    left = (105 + 365 * k + 75 * (k / 2)) / WIDTH
    top = (p < 4 ? 880. : 405.) / HEIGHT
    set lmargin at screen left; set rmargin at screen left + 285 / WIDTH
    set tmargin at screen top;  set bmargin at screen top - 285 / HEIGHT
    set xrange [-0.5:cols - 0.5]
    set yrange [rows - 0.5:-0.5]
    set cbrange [-reach:reach]
    eval (k < 2 ? QK_PALETTE : OV_PALETTE)
    set title HEADS[k + 1].(strlen(found) ? "\n".found : "") font ",13" offset 0, 0.1 noenhanced
    if (k == 0) { set label 1 (p < 4 ? "before training" : "after training") \
        at screen 18 / WIDTH, screen top - 142 / HEIGHT rotate center \
        font ",16" } else { unset label 1 }
    set xlabel ACROSS[k + 1] offset 0, 0.6
    set ylabel DOWN[k + 1] offset 1, 0
    set xtics noenhanced font ",11" offset 0, 0.4
    set ytics noenhanced font ",11" offset 0.5, 0
    if (p % 4 == 0) { set label 2 (p < 4 && S_max > 3 ? "" : FOOT) at screen 0.5, \
        screen 18 / HEIGHT center } else { unset label 2 }
    if (k % 2) { set colorbox user origin left + 297 / WIDTH, top - 285 / HEIGHT \
        size 14 / WIDTH, 285 / HEIGHT; set cbtics font ",11" offset -0.6, 0
    } else { unset colorbox }
    plot DATA index block using COL:ROW:(0.5):(0.5):VALUE with boxxyerror fs solid noborder \
            fc palette, \
         '' index block using (column(TARGET) == 1 ? column(COL) : NaN):ROW:(0.46):(0.46) \
            with boxxyerror lc rgb BLACK lw (cols > 20 ? 0.5 : 1.5) fs empty, \
         '' index block using (NaN):ROW:ytic(name(each(rows), ROWNAME, ROW)) with points, \
         '' index block using COL:(NaN):xtic(name(each(cols), COLNAME, COL)) with points
}
unset multiplot
