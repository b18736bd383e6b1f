# What is learned, and when: the answer (black), the V path (orange: is what is carried a stored
# value?), the Q/K path (blue: is the right entry found?).
DATA = "learning.csv"    # step,accuracy,in_context,answer_attention,qk_diag,ov_diag

eval canvas("learning", 1200, 700)
set datafile columnheaders

# Steps at which accuracy reaches 99 %, and the two circuits are half-way; NaN: never.
missing(x) = !(x == x)
first(t, c, bound) = missing(t) && cell(c) >= bound ? column(1) : t
solved = NaN; qk = NaN; ov = NaN
stats DATA using (solved = first(solved, 2, 0.99), qk = first(qk, 5, 0.5), \
    ov = first(ov, 6, 0.5), column(1)) name "S" nooutput
at(t) = t <= S_min ? " from the start" : sprintf(" (half-way at step %.0f)", t)
carry(t) = (t <= S_min ? "V carries" : "V learns to carry")
match(t) = (t <= S_min ? "Q and K match" : "Q and K learn to match")
TITLE = missing(qk) && missing(ov) ? "What is learned, and when" : \
    missing(qk) ? carry(ov).at(ov).";".NEXT."Q and K do not learn to match" : \
    missing(ov) ? match(qk).at(qk).";".NEXT."V does not learn to carry" : \
    ov < qk ? carry(ov).(ov <= S_min ? "" : " first").at(ov).",".NEXT."then ".match(qk).at(qk) : \
    qk < ov ? match(qk).(qk <= S_min ? "" : " first").at(qk).",".NEXT."then ".carry(ov).at(ov) : \
    carry(ov)." as ".match(qk).at(ov)
set title TITLE font ",17"

# Up to twice the time it took; all of it if it was not solved.
end = missing(solved) || 2 * solved > S_max || solved <= 0 ? S_max : 2 * solved
set xrange [S_min:end > S_min ? end : S_min + 1]
set yrange [0:1.03]
set ytics 0.2
set xlabel "training step".cut(end, S_max)
set ylabel "share"
set key maxrows 3
if (!TEXT) set bmargin 7.5
shown = S_records * (end - S_min) / (S_max > S_min ? S_max - S_min : 1.)

plot DATA using "step":"accuracy" with linespoints ls 5 pi marks(shown, 0) \
        title "accuracy", \
     '' using "step":"ov_diag" with linespoints ls 3 pi marks(shown, 1) \
        title "OV: V carries each value", \
     '' using "step":"in_context" with linespoints ls 4 pi marks(shown, 2) \
        title "answer is one of the stored values", \
     '' using "step":"qk_diag" with linespoints ls 1 pi marks(shown, 0) \
        title "QK: each query finds the key it asks for", \
     '' using "step":"answer_attention" with linespoints ls 2 pi marks(shown, 1) \
        title "attention on the right entry"
