# A picture of a qkv run. This file and the data beside it are all that is needed to draw it again:
#
#     gnuplot NAME.gp      or, in another format, gnuplot -c NAME.gp svg|pdf|txt (an animation is a gif)
#     gnuplot -c NAME.gp png 800x500 300 "Times,15"      with a size, pixels an inch, a font
#
# from any directory: the picture goes beside this file.
# Edit it freely. `qkv plot` writes it anew, but keeps an edited one as NAME.gp~ .
# Names from the data (runs, tokens, matrices) are only ever read from the data file and drawn
# as they are; no command is built from them.

reset    # what an unknown terminal in GNUTERM leaves half-made
HERE = exists("ARG0") ? ARG0 : ""
while (strlen(HERE) && HERE[strlen(HERE):strlen(HERE)] ne "/") { HERE = HERE[1:strlen(HERE)-1] }
if (strlen(HERE)) cd HERE

set encoding utf8
set datafile separator ","

# gnuplot 6 drops a row from `stats` once column() has met an empty field in it: cell() reads NaN there.
cell(c) = valid(c) ? column(c) : NaN
# What `stats` has left in the variable of that name: where no row had a number, it leaves none.
got(variable, otherwise) = exists(variable) ? value(variable) : otherwise

# --- where: one of four formats; without a PNG terminal, SVG takes its place -------------------
FORMAT = exists("ARG1") && strlen(ARG1) ? ARG1 : "png"
has(terminal) = strstrt(GPVAL_TERMINALS, " ".terminal." ") > 0
if (FORMAT eq "png" && !has("pngcairo") && !has("png")) FORMAT = "svg"

# How large, in pixels of which 96 are an inch, say "800x500"; how many an inch of a PNG or GIF has; and
# the font: "name", "name,points" or ",points". Whatever is not said is as the script lays it out.
SIZE = exists("ARG2") ? ARG2 : ""
DPI = exists("ARG3") && strlen(ARG3) ? real(ARG3) : 96.
FONT = exists("ARG4") ? ARG4 : ""
comma = strstrt(FONT, ",")
FACE = !strlen(FONT) || comma == 1 ? "sans-serif" : comma ? FONT[1:comma-1] : FONT
POINTS = comma ? real(FONT[comma+1:*]) : 13.
cross = strstrt(SIZE, "x")

# eval canvas(name, width, height) opens NAME.FORMAT. At another SIZE than the one it is laid out for, the
# drawing is smaller or larger as a whole, with its letters and lines.
png(w, h) = sprintf("set terminal %s size %d,%d enhanced font '%s,13' fontscale %g linewidth %g %s", \
    has("pngcairo") ? "pngcairo" : "png", w * DPI / 96, h * DPI / 96, FACE, ZOOM * DPI / 96 * POINTS / 13, \
    (has("pngcairo") ? 1.2 : 1) * ZOOM * DPI / 96, \
    has("pngcairo") ? sprintf("pointscale %g", ZOOM * DPI / 96) : "truecolor")
svg(w, h) = sprintf("set terminal svg size %d,%d dynamic enhanced font '%s,13' fontscale %g linewidth %g \
background '#ffffff'", w, h, FACE, 1.3333 * ZOOM * POINTS / 13, ZOOM)
pdf(w, h) = sprintf("set terminal pdfcairo size %gin,%gin enhanced font '%s,13' fontscale %g linewidth %g \
pointscale %g", w / 96., h / 96., FACE, 0.75 * ZOOM * POINTS / 13, 1.6 * ZOOM, ZOOM)
txt(w, h) = sprintf("set terminal dumb nofeed mono noenhanced size 79,%d", h / 29)
gif(w, h) = sprintf("set terminal gif animate delay 12 loop 0 enhanced font '%s,12' \
fontscale %g linewidth %g size %d,%d", FACE, ZOOM * DPI / 96 * POINTS / 13, ZOOM * DPI / 96, \
    w * DPI / 96, h * DPI / 96)
terminal(w, h) = FORMAT eq "gif" ? gif(w, h) : FORMAT eq "png" ? png(w, h) : FORMAT eq "svg" ? svg(w, h) : \
    FORMAT eq "pdf" ? pdf(w, h) : FORMAT eq "txt" ? txt(w, h) : \
    "exit error 'the format must be png, svg, pdf, txt or gif'"
canvas(name, w, h) = (wide_as = cross ? real(SIZE[1:cross-1]) : w, \
    high_as = cross ? real(SIZE[cross+1:*]) : h, \
    ZOOM = wide_as / w < high_as / (h * 1.0) ? wide_as / (w * 1.0) : high_as / (h * 1.0), \
    terminal(wide_as, high_as))."; set output '".name.".".FORMAT."'"
TEXT = FORMAT eq "txt"
NEXT = TEXT ? "\n" : " "     # where a long title may be broken

# --- how: hue says which path, and dash, width and mark say it again in grey -------------------
# What belongs to Q and K (where to look) is blue, what belongs to V and O (what to carry) is
# orange, the result is black. Colours: Okabe and Ito, safe for colour-blind eyes. A circuit's numbers,
# too: white is 0, above it they are blue or orange, below it grey, and as dark on either side (Brewer's
# Blues, Oranges and Greys).
BLACK = "#000000"; BLUE = "#0072B2"; SKY = "#56B4E9"; RED = "#D55E00"; ORANGE = "#E69F00"
GREEN = "#009E73"; PINK = "#CC79A7"; GREY = "#555555"
set style line 1 lc rgb BLUE   lw 2.6 dt 1       pt 7  ps 0.9    # W^Q, QK
set style line 2 lc rgb SKY    lw 2.6 dt (12,4)  pt 6  ps 1.1    # W^K, attention
set style line 3 lc rgb RED    lw 2.6 dt 1       pt 9  ps 1.1    # W^V, OV
set style line 4 lc rgb ORANGE lw 2.6 dt (4,3)   pt 8  ps 1.3    # W^O, in-context
set style line 5 lc rgb BLACK  lw 3.6 dt 1       pt 5  ps 0.9    # loss, accuracy
set style line 6 lc rgb GREEN  lw 2.6 dt (12,4,3,4) pt 4  ps 1.1
set style line 7 lc rgb PINK   lw 2.6 dt (7,3)   pt 11 ps 1.1
set style line 8 lc rgb GREY   lw 1.4 dt (3,5)                   # levels
below = "-1 '#252525', -0.65 '#737373', -0.35 '#bdbdbd', 0 '#ffffff', "
QK_PALETTE = "set palette defined (".below."0.35 '#9ecae1', 0.65 '#3182bd', 1 '#08306b')"
OV_PALETTE = "set palette defined (".below."0.35 '#fdae6b', 0.65 '#e6550d', 1 '#7f2704')"

# Curves of one kind, many of them: eight hues, each with its mark, and from the ninth on dashes. The
# last hue is Tol's. Where curves coincide the earlier one is wider and peeps out.
array HUE[8] = [BLUE, RED, GREEN, BLACK, PINK, ORANGE, SKY, "#882255"]
array MARK[8] = [7, 9, 4, 5, 11, 8, 6, 13]
do for [i=0:31] { set style line 101+i lc rgb HUE[i % 8 + 1] dt 1 + i / 8 \
    pt MARK[(i + i / 8) % 8 + 1] }
wide(i, n) = n > 16 ? 1.6 : 2.2 + (n > 5 ? 3.6 / (n - 1) : 1.3) * (n - 1 - i)
mark(i, n) = 0.8 + (n > 5 ? 1.1 / (n - 1) : 0.3) * (n - 1 - i)

set border 3 lc rgb GREY lw 0.8
set tics nomirror out scale 0.5 textcolor rgb BLACK
set grid lc rgb "#cccccc" lw 0.8 dt 1
set format "%g"
set key outside below center horizontal Left reverse noenhanced samplen 4 spacing 1.2 width 2
if (TEXT) { unset grid } else { set bmargin 6 }

# What the axis of a picture says that ends before the run does.
cut(end, last) = end < last ? sprintf(" (the first %.0f of %.0f: twice what 99 %% right took)", \
    end, last) : ""

# A mark at about every tenth of `rows` points, the series shifted against each other.
marks(rows, series) = rows < 24 ? 1 : -int(rows / 10 + series)
