# words.awk - awk -f words.awk PAGE...: prints every sentence of a page that is too long, and every phrase
# that plain English does without. Code, tables, headings and addresses are left out. A list's item ends a
# sentence.
BEGIN {
    most = 25
    banned["[Oo]ne (can|may|must|sees|gets|has|needs|looks|wants|reads)"] = "say: you"
    banned["(^|[^a-zA-Z])[Ww]ho (looks|wants|shows|reads|gets)"] = "say who: you, a student, the program"
    banned["is (had|got) again|can be had"] = "say what the program does: recomputes, gives"
    banned["of then"] = "say: of that time, or bit-identical"
    banned["of one's own|one's own"] = "say: your own"
    banned["[Ee]xchang(e|es|ed|ing) "] = "the field says: swap"
    banned["(^|[^a-zA-Z])(simply|obviously|of course)"] = "leave it out"
}
function ended(  i, n, words, said) {
    gsub(/\[|\]\([^)]*\)|`[^`]*`|\*|_/, " x ", text)
    n = split(text, said, /[.!?;:]["”)]*([[:space:]]+|$)/)
    for (i = 1; i <= n; i++) {
        gsub(/[^a-zA-Z0-9' ]+/, " ", said[i])
        words = gsub(/[a-zA-Z0-9']+/, "&", said[i])
        if (words <= most) continue
        printf "%s:%d: %d words; %d are allowed: %s...\n", name, began, words, most, substr(said[i], 1, 60)
        bad = 1
    }
    text = ""
}
FNR == 1 { if (NR > 1) ended(); code = 0; name = FILENAME; pages++ }
/^```/ { ended(); code = !code; next }
code || /^    / { next }
/^[|#]/ || /^!\[/ || /^$/ { ended(); next }
/^[-*] / || /^[0-9]+\. / { ended() }
{
    if (text == "") began = FNR
    text = text " " $0
    for (phrase in banned)
        if (match($0, phrase)) {
            printf "%s:%d: \"%s\": %s\n", FILENAME, FNR, substr($0, RSTART, RLENGTH), banned[phrase]
            bad = 1
        }
}
END { ended(); if (!pages) { print "no page was read"; bad = 1 } exit !!bad }
