# lines.awk - awk -f lines.awk FILE...: prints every line that is too long, or holds what no line should.

function wrong(why) { printf "%s:%d: %s\n", FILENAME, FNR, why }

# In pieces, so that this file may be checked too.
BEGIN { mark = "(^|[^A-Za-z])(TO" "DO|FIX" "ME|X" "XX)([^A-Za-z]|$)" }

{
    line = $0
    gsub(/[\200-\277]/, "", line) # the later bytes of a UTF-8 character take no column
    if (length(line) > 110 && FILENAME !~ /\.def$/) wrong(length(line) " columns; 110 are allowed")
}
/\t/ { wrong("a tab") }
/[ \t\r]$/ { wrong("blanks at the end of the line") }
$0 ~ mark { wrong("unfinished work") }
