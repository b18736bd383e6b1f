# suites.awk - a shell test fails by any command that fails (suite.sh), but the shell forgives all of `a && b`
# but the last, unless the list ends the function. Says where a test asks something in such a list.
BEGIN {
    judges = "^ +(!|\\[|grep|cmp|diff|test|alone|await|failed|gives|has|lacks|line|prints|python|ran|" \
        "refused|same_[a-z]+|says|svg|whole) "
}
function judge() {
    if (asks ~ judges && asks ~ / && / && asks !~ / \|\| | && (return|continue|exit)/ && !/^}/)
        print asked ": the shell sees only the last command of this list fail"
    asks = ""
}
FNR == 1 { asks = "" }
/^ *#/ { next }
asks != "" && !more { judge() }
{
    asks = more ? asks " " $0 : $0
    if (!more) asked = FILENAME ":" FNR
    more = /(&&|\|\||\||\\)$/
}
