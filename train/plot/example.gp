# One example's attention, a panel for each head of each layer: the positions that look down, those
# that are looked at across; the framed cell is where the right answer stands.
DATA = "example.csv"      # one block a panel, two empty lines apart
ROW = 2; COL = 3; WEIGHT = 4; TARGET = 5; ROWNAME = 8; COLNAME = 9; TITLE = 10

if (TEXT) exit error "a map as text is drawn by qkv plot --format txt"
greater(a, b) = a > b ? a : b
longest = 0; lowest = 0; framed = 0; headed = 0; heads = 0; changed = 0
stats DATA using 1 name "S" nooutput
panels = S_blocks
across = panels < 2 ? 1 : panels <= 4 ? 2 : 4
down = ceil(panels / (across + 0.0))
stats DATA using (column(COL)) name "C" nooutput
stats DATA using (longest = greater(longest, strlen(strcol(ROWNAME))), \
    lowest = greater(lowest, strlen(strcol(COLNAME))), framed = framed + column(TARGET), \
    headed = greater(headed, strlen(strcol(TITLE))), heads = heads + strstrt(strcol(TITLE), " head "), \
    changed = changed + strstrt(strcol(TITLE), ": changed"), \
    column(ROW)) name "R" nooutput

# A character is some 8 pixels wide; names across hang at 60 degrees.
CELL = C_max < 9 ? 46. : C_max < 16 ? 34. : C_max < 30 ? 22. : 12.
MAPW = CELL * (C_max + 1); MAPH = CELL * (R_max + 1)
LEFT = greater(30. + 8 * longest, 5.5 * headed - MAPW / 2); TOP = 60.; BELOW = 45. + 7 * lowest; FOOT = 50.
PANELW = greater(LEFT + MAPW, 11. * headed) + 20; PANELH = TOP + MAPH + BELOW
WIDTH = greater(across * PANELW + 100, 660.); HEIGHT = greater(down * PANELH, 220.) + FOOT
eval canvas("example", WIDTH, HEIGHT)

set palette defined (0 "#ffffff", 0.08 "#e8f1f8", 0.5 "#6aaed6", 1 "#08306b")
set cbrange [0:1]
set border 15
unset grid
unset key
set tics scale 0
each(n) = ceil(n / 40.)
named(at, name, n) = int(column(at)) % each(n) ? "" : strcol(name)
only(yes, x) = yes != 0 ? x : NaN

set multiplot
do for [i=0:panels-1] {
    title_of = ""
    set autoscale xy
    stats DATA index i using \
        (title_of = strlen(strcol(TITLE)) ? strcol(TITLE) : title_of, rows = column(ROW) + 1, \
        cols = column(COL) + 1, 1) nooutput
    left = (LEFT + (i % across) * PANELW) / WIDTH
    top = 1 - (TOP + int(i / across) * PANELH) / HEIGHT
    set lmargin at screen left; set rmargin at screen left + CELL * cols / WIDTH
    set tmargin at screen top;  set bmargin at screen top - CELL * rows / HEIGHT
    set xrange [-0.5:cols - 0.5]
    set yrange [rows - 0.5:-0.5]
    set title title_of font ",15" noenhanced
    set xtics rotate by 60 right noenhanced font ",11" offset 0, -0.2
    set ytics noenhanced font ",11"
    bar = greater(CELL * rows, 110.)
    if (i == panels - 1) { set colorbox user origin 1 - 85 / WIDTH, top - bar / HEIGHT \
        size 16 / WIDTH, bar / HEIGHT; set cbtics 0.25
        set label 1 (heads > 0 ? "Down: the position that looks. Across: the position it looks at." : \
            "Down: the part that is taken over. Across: the position at which it is.") \
            at screen 0.5, screen 34 / HEIGHT center
        set label 2 (framed > 0 ? "Frame: where the right answer stands".\
            (changed > 0 ? "; after the change, where that entry stands now." : ".") : "") \
            at screen 0.5, screen 14 / HEIGHT center } else { unset colorbox }
    plot DATA index i using COL:ROW:(0.5):(0.5):WEIGHT with boxxyerror \
            fs solid noborder fc palette, \
         '' index i using (only(column(TARGET), column(COL))):ROW:(0.47):(0.47) \
            with boxxyerror lc rgb RED lw (cols > 20 ? 1 : 3) fs empty, \
         '' index i using (NaN):ROW:ytic(named(ROW, ROWNAME, rows)) with points, \
         '' index i using COL:(NaN):xtic(named(COL, COLNAME, cols)) with points
}
unset multiplot
