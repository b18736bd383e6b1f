# Attention and circuits over the steps of a run, a frame a step: attention of one example, queries down and
# positions across, and what the matrices say without any example (QK: whom does a key's query look for;
# OV: what is said once a value is fetched). The framed cells are where the right answers stand.
DATA = "animation.csv"    # one block for each panel of each step, two empty lines apart
STEP = 1; LAST = 2; ACCURACY = 3; KIND = 4; PANEL = 5; ROW = 6; COL = 7; VALUE = 8
TARGET = 9; ROWNAME = 10; COLNAME = 11; TITLE = 12

FORMAT = "gif"
TEXT = 0
if (!has("gif")) exit error "this gnuplot has no gif terminal"

stats DATA using PANEL name "S" nooutput
panels = int(S_max) + 1
frames = S_blocks / panels
HOLD = 12                 # the last frame stands so many times as long
WIDTH = 40. + 400 * panels; HEIGHT = 480.
eval canvas("animation", WIDTH, HEIGHT)

# A gif has one palette for all panels, so colours are computed, in 1/20ths, as common.gp says: white is 0, a
# weight and QK run to dark blue, OV to dark orange, and what is below 0 to as dark a grey.
mix(a, b, t) = (int(((a >> 16) & 255) * (1 - t) + ((b >> 16) & 255) * t) << 16) | \
    (int(((a >> 8) & 255) * (1 - t) + ((b >> 8) & 255) * t) << 8) | \
    int((a & 255) * (1 - t) + (b & 255) * t)
step20(x) = floor(20 * x + 0.5) / 20.
weight(x) = x < 0.5 ? mix(0xffffff, 0x6aaed6, 2 * x) : mix(0x6aaed6, 0x08306b, 2 * x - 1)
shaded(x, a, b, c) = x < 0.35 ? mix(0xffffff, a, x / 0.35) : x < 0.65 ? mix(a, b, (x - 0.35) / 0.3) : \
    mix(b, c, (x - 0.65) / 0.35)
signed(kind, x) = x < 0 ? shaded(-x, 0xbdbdbd, 0x737373, 0x252525) : \
    kind eq "qk" ? shaded(x, 0x9ecae1, 0x3182bd, 0x08306b) : shaded(x, 0xfdae6b, 0xe6550d, 0x7f2704)
colour(kind, x, reach) = kind eq "attention" ? weight(step20(x)) : signed(kind, step20(x / reach))
head(kind, title) = kind eq "qk" ? "Q and K: who matches whom" : \
    kind eq "ov" ? "V and O: what is said once fetched" : \
    strlen(title) ? "attention, ".title : "attention, one example asked for each entry"
under(kind, title) = kind eq "attention" ? " " : title
name(c, n, each) = int(column(n)) % each ? "" : strcol(c)

set border 15
unset grid
unset key
set tics scale 0

# The greatest number of each circuit in any frame: a colour means the same in all of them.
array REACH[panels]
do for [p=1:panels] { REACH[p] = 1e-9 }
do for [b=0:S_blocks-1] {
    set autoscale xy
    stats DATA index b using (abs(cell(VALUE))) name "R" nooutput
    if (got("R_max", 0) > REACH[b % panels + 1]) { REACH[b % panels + 1] = R_max }
}

do for [shown=0:frames-1+HOLD] {
    frame = shown < frames ? shown : frames - 1
    set multiplot
    do for [p=0:panels-1] {
        b = frame * panels + p
        kind = ""; title = ""
        set autoscale xy
        stats DATA index b using (step = column(STEP), last = column(LAST), \
            accuracy = cell(ACCURACY), rows = column(ROW) + 1, cols = column(COL) + 1, \
            kind = strcol(KIND), title = strlen(strcol(TITLE)) ? strcol(TITLE) : title, 0) nooutput
        left = (85. + 400 * p) / WIDTH
        set lmargin at screen left; set rmargin at screen left + 300 / WIDTH
        set tmargin at screen 375 / HEIGHT; set bmargin at screen 75 / HEIGHT
        set xrange [-0.5:cols - 0.5]
        set yrange [rows - 0.5:-0.5]
        set title head(kind, title)."\n".under(kind, title) noenhanced offset 0, -0.4
        if (p == 0) {
            set label 1 sprintf("step %d of %d", step, last) at screen 20 / WIDTH, \
                screen 452 / HEIGHT font ",16"
            set label 2 (accuracy == accuracy ? \
                sprintf("%.0f %% of held-out answers are right", 100 * accuracy) : "") \
                at screen 1 - 20 / WIDTH, screen 452 / HEIGHT right font ",16"
            set object 1 rectangle from screen 0, screen 0 to screen \
                (last > 0 ? step / real(last) : 1), screen 8 / HEIGHT fs solid noborder fc rgb BLUE
        } else { unset label 1; unset label 2; unset object 1 }
        set xtics noenhanced font ",10" rotate by 90 right offset 0, 0.2
        set ytics noenhanced font ",10"
        plot DATA index b using COL:ROW:(0.5):(0.5):(colour(kind, column(VALUE), REACH[p+1])) \
                with boxxyerror fs solid noborder fc rgb variable, \
             '' index b using (column(TARGET) == 1 ? column(COL) : NaN):ROW:(0.46):(0.46) \
                with boxxyerror lc rgb (kind eq "attention" ? RED : BLACK) \
                lw (cols > 20 ? 0.5 : 2) fs empty, \
             '' index b using (NaN):ROW:ytic(name(ROWNAME, ROW, ceil(rows / 16.))) with points, \
             '' index b using COL:(NaN):xtic(name(COLNAME, COL, ceil(cols / 16.))) with points
    }
    unset multiplot
}
