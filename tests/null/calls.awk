# calls.awk - awk -F '|' -f calls.awk: of the lines of prototypes.awk makes C that calls each function
# with NULL in one of the places where a pointer goes. What is given elsewhere: walk.c.
function type_of(p) {
    if (sub(/\(\*[a-z]+\)/, "(*)", p)) return p
    if (!sub(/[a-z_0-9]*\[.*$/, "*", p)) sub(/[A-Za-z_0-9]+$/, "", p)
    return p
}
function name_of(p) {
    sub(/\[.*$/, "", p)
    if (p ~ /\(\*/) sub(/\).*/, "", p)
    match(p, /[A-Za-z_0-9]+$/)
    return substr(p, RSTART)
}

BEGIN {
    struct = "^(tensor_shape|tensor|ag_(init|run|mask|places)|gemm_view" \
             "|qkv_[a-z_]*(settings|parts|anomaly)) $"
}

{
    call = ""
    pointers = error = 0
    for (i = 4; i <= NF; i++) {
        type = type_of($i)
        name = name_of($i)
        if (type ~ /\*/ || type ~ /_fn $/) {
            given = sprintf("POINTER(%s, \"%s\", %d)", type, name, i - 4)
            pointers++
            error += name == "error"
        } else {
            given = sprintf(type ~ struct ? "(%s){0}" : "(%s)number(\"%s\")", type, name)
        }
        call = call (i > 4 ? ", " : "") given
    }
    if (!pointers) next
    call = $1 "(" call ")"
    printf "static int call_%s(int null) {\n    (void)null;\n", $1
    if (!error) printf "    (void)%s;\n    return OK;\n}\n", call
    else if ($2 == "void") printf "    %s;\n    return OK;\n}\n", call
    else printf "    return %s%s ? OK : FAILED;\n}\n", call, $2 ~ /\*/ || $2 == "_Bool" ? "" : " == 0"
    table = table sprintf("    {\"%s\", call_%s, %d, %d},\n", $1, $1, NF - 3, error)
}

END { printf "static const function functions[] = {\n%s};\n", table }
