# The graph of one example: each node's value as a map above, its gradient below; lines go from what is
# read to who reads it. Places and sizes are in the table, in pixels; each map is over its own largest number.
DATA = "tape.csv"
KIND = 1; X = 2; Y = 3; W = 4; H = 5; VALUE = 6; LABEL = 7

if (TEXT) exit error "a graph as text is what qkv tape prints"
stats DATA using (column(X) + column(W)) name "A" nooutput
stats DATA using (column(Y) + column(H)) name "B" nooutput
WIDTH = A_max + 90; HEIGHT = B_max + 60
if (WIDTH < 700) { WIDTH = 700 }
eval canvas("tape", WIDTH, HEIGHT)

# White is 0. Of a value above it blue, below it orange; of a gradient green and pink.
byte(white, full, v) = int(white + (full - white) * (abs(v) > 1 ? 1 : abs(v)))
rgb(r, g, b, v) = byte(255, r, v) * 65536 + byte(255, g, v) * 256 + byte(255, b, v)
colour(v, gradient) = gradient ? (v > 0 ? rgb(0, 110, 80, v) : rgb(170, 50, 120, v)) : \
    (v > 0 ? rgb(0, 70, 150, v) : rgb(200, 90, 0, v))
of(kind, x) = int(column(KIND)) == kind ? x : NaN

unset border; unset tics; unset key; unset colorbox; unset grid
set lmargin at screen 0; set rmargin at screen 1; set bmargin at screen 0; set tmargin at screen 1
set xrange [0:WIDTH]
set yrange [HEIGHT:0]
set label 1 "Above the value: blue above 0, orange below. Below the gradient: green above 0, pink below. \
White is 0, each map is over its own largest number." at 20, HEIGHT - 22 font ",10" textcolor rgb GREY
plot DATA using (of(3, column(X))):Y:W:H with vectors head size 6,20 filled lc rgb "#bbbbbb" lw 0.8, \
    for [k=0:1] DATA using (of(k, column(X) + column(W) / 2)):(column(Y) + column(H) / 2): \
        (column(W) / 2 + 0.2):(column(H) / 2 + 0.2):(colour(column(VALUE), k)) \
        with boxxyerror fs solid noborder lc rgb variable, \
    DATA using (of(2, column(X) + column(W) / 2)):(column(Y) + column(H) / 2): \
        (column(W) / 2):(column(H) / 2) with boxxyerror lc rgb GREY lw 0.6 fs empty, \
    DATA using (of(4, column(X))):Y:(strcol(LABEL)) with labels left noenhanced font ",9", \
    DATA using (of(5, column(X))):Y:(strcol(LABEL)) with labels left noenhanced font ",8" \
        textcolor rgb GREY, \
    DATA using (of(6, column(X))):Y:(strcol(LABEL)) with labels left noenhanced font ",11"
