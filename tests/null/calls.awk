# calls.awk - of the lines of prototypes.awk, C that calls each function with NULL in each place where a
# pointer goes: awk -F '|' -f calls.awk. What is given elsewhere: values.h. Which functions: see test_null.sh.
function type_of(p) {
    if (p ~ /\(\*[a-z]+\)/) { sub(/\(\*[a-z]+\)/, "(*)", p); return p }
    if (p ~ /\]$/) { sub(/[a-z_0-9]*\[.*$/, "*", p); return p }
    sub(/[A-Za-z_0-9]+$/, "", p)
    return p
}
function name_of(p) {
    sub(/\[.*$/, "", p)
    if (p ~ /\(\*/) { sub(/\).*/, "", p) }
    match(p, /[A-Za-z_0-9]+$/)
    return substr(p, RSTART)
}
{
    call = $1 "("; pointers = 0; error = 0
    for (i = 4; i <= NF; i++) {
        type = type_of($i); name = name_of($i)
        call = call (i > 4 ? ", " : "")
        if (type ~ /\*/ || type ~ /_fn $/) {
            call = call "POINTER(" type ", \"" name "\", " i - 4 ")"
            pointers++
            if (name == "error") error = 1
        } else call = call (type ~ /^(tensor_shape|tensor|ag_init|ag_run|ag_mask|gemm_view|qkv_[a-z_]*(settings|parts|anomaly)) $/ ? "(" type "){0}" : "(" type ")number(\"" name "\")")
    }
    call = call ")"
    if (!pointers) next
    printf "static int call_%s(int null) {\n    (void)null;\n", $1
    if ($2 == "void") printf "    %s;\n    return OK;\n", call
    else if (!error) printf "    (void)%s;\n    return OK;\n", call
    else if ($2 ~ /\*/ || $2 == "_Bool") printf "    return %s ? OK : FAILED;\n", call
    else printf "    return (int)%s == 0 ? OK : FAILED;\n", call
    print "}"
    table = table sprintf("    {\"%s\", call_%s, %d, %d},\n", $1, $1, NF - 3, error)
}
END { printf "static const function functions[] = {\n%s};\n", table }
