# facts.awk - what a page and its translation must have alike: blocks of code without their comments, links,
# code within a line, numbers. A fact a line, to be sorted; those of a table with their row.
function fact(kind, text) { print (row ? sprintf("row %03d ", row) : "") kind " " text }
function each(kind, pattern, from, less,   text) {
    while (match(rest, pattern)) {
        text = substr(rest, RSTART + from, RLENGTH - from - less)
        gsub(/\.zh-CN/, "", text)
        fact(kind, text)
        rest = substr(rest, 1, RSTART - 1) " " substr(rest, RSTART + RLENGTH)
    }
}

/^```/ { block = !block; fact("block", $0); next }
block {
    line = $0
    sub(/ +# .*/, "", line)
    printf "code %03d %s\n", ++code, line
    next
}
{
    row = /^\|/ ? ++rows : 0
    rest = $0
    each("link", "\\]\\([^)]*\\)", 2, 1)
    each("inline", "`[^`]*`", 1, 1)
    each("number", "[0-9]+(\\.[0-9]+)?", 0, 0)
    row = 0
}
