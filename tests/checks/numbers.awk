# numbers.awk - a real number becomes words by qkv_io_words() (train/io/words.h), or by what is built on it:
# cli_print(), cli_error(), qkv_io_text_add(), qkv_io_fail(); in JSON by cli_json_number(). Says where one
# goes to printf(), snprintf() ... or json_real() itself, where it would be "nan" one day, or nothing at all.

# The text of the call that begins at `at`, up to the parenthesis that ends it.
function call(text, at,    i, c, depth, within) {
    for (i = at; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (within && c == "\\") i++
        else if (c == "\"") within = !within
        else if (!within && c == "(") depth++
        else if (!within && c == ")" && --depth == 0) return substr(text, at, i - at + 1)
    }
    return substr(text, at)
}
function look(    at, rest, name, of, before) {
    rest = file
    at = 0
    while (match(rest, /(^|[^A-Za-z0-9_])(v?s?n?f?printf|json_real|json_pack)\(/)) {
        name = substr(rest, RSTART, RLENGTH)
        at += RSTART + RLENGTH - 1 # the parenthesis
        rest = substr(rest, RSTART + RLENGTH)
        of = call(file, at)
        gsub(/%%/, "", of)
        if (name ~ /json_real/ || (name ~ /json_pack/ && of ~ /^\([^"]*"[^"]*f/) ||
            (name ~ /printf/ && of ~ /%[-+ #0-9.*]*[aefgAEFG]/)) {
            before = substr(file, 1, at)
            print path ":" gsub(/\n/, "", before) + 1 ": a real number goes past qkv_io_words()"
        }
        calls++
    }
}
FNR == 1 { look(); file = ""; path = FILENAME }
{ file = file $0 "\n" }
END {
    look()
    if (!calls) print "there is no call of printf() to look at"
}
