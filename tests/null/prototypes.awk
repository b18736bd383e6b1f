# prototypes.awk - reads preprocessed C; prints a line NAME|RETURNS|...|PARAMETER|PARAMETER for each
# function of the library that a header declares or defines inline ("..." only if it is variadic).
function trim(s) {
    gsub(/^ +| +$/, "", s)
    gsub(/ +/, " ", s)
    return s
}

# Without what stands in braces, which end a declaration.
function flat(text,   out, depth) {
    while (match(text, /[{}]/)) {
        if (depth == 0) out = out substr(text, 1, RSTART - 1) ";"
        depth += substr(text, RSTART, 1) == "{" ? 1 : -1
        text = substr(text, RSTART + 1)
    }
    return out text
}

# The parameters, each after a bar; sets `variadic`.
function parameters(text,   out, depth, part, c, k) {
    variadic = ""
    for (k = 1; k <= length(text) + 1; k++) {
        c = k > length(text) ? "," : substr(text, k, 1)
        depth += (c == "(") - (c == ")")
        if (c != "," || depth > 0) {
            part = part c
            continue
        }
        part = trim(part)
        if (part == "...") variadic = part
        else if (part != "void") out = out "|" part
        part = ""
    }
    return out
}

{ all = all " " $0 }

END {
    name_of = "(ag|nn|qkv|tensor|rng|gemm|data)_[a-z0-9_]*"
    attribute = "__attribute__ *\\(\\([^()]*(\\([^()]*\\))?[^()]*\\)\\)"
    n = split(flat(all), one, ";")
    for (i = 1; i <= n; i++) {
        s = one[i]
        while (match(s, attribute)) s = substr(s, 1, RSTART - 1) substr(s, RSTART + RLENGTH)
        s = trim(s)
        sub(/^(static|extern) /, "", s)
        sub(/^inline /, "", s)
        if (s ~ /^typedef/ || s !~ "^[A-Za-z_][A-Za-z_0-9 *]* \\**" name_of " ?\\(.*\\)$") continue
        head = trim(substr(s, 1, index(s, "(") - 1))
        tail = substr(s, index(s, "(") + 1)
        match(head, /[a-z0-9_]+$/)
        name = substr(head, RSTART)
        if (name in seen) continue
        seen[name] = 1
        rest = parameters(substr(tail, 1, length(tail) - 1))
        print name "|" trim(substr(head, 1, RSTART - 1)) "|" variadic rest
    }
}
