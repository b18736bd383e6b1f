# prototypes.awk - reads preprocessed C, prints a line NAME|RETURNS|VARIADIC|PARAMETER|PARAMETER.. for each function
# that a header declares or defines inline, whose name begins with one of the library's prefixes.
function trim(s) { gsub(/^ +| +$/, "", s); gsub(/ +/, " ", s); return s }
function flat(text,   out, depth, at, c) { # without what stands in braces, which end a declaration
    while (match(text, /[{}]/)) {
        c = substr(text, RSTART, 1)
        if (depth == 0) out = out substr(text, 1, RSTART - 1) ";"
        depth += c == "{" ? 1 : -1
        text = substr(text, RSTART + 1)
    }
    return out text
}
{ all = all " " $0 }
END {
    n = split(flat(all), one, ";")
    for (i = 1; i <= n; i++) {
        s = one[i]
        while (match(s, /__attribute__ *\(\([^()]*(\([^()]*\))?[^()]*\)\)/)) s = substr(s, 1, RSTART - 1) substr(s, RSTART + RLENGTH)
        s = trim(s)
        sub(/^(static|extern) /, "", s); sub(/^inline /, "", s)
        if (s ~ /^typedef/ || s !~ /^[A-Za-z_][A-Za-z_0-9 *]* \**(ag|nn|qkv|tensor|rng|gemm|data)_[a-z0-9_]* ?\(.*\)$/) continue
        match(s, /\(/)
        head = trim(substr(s, 1, RSTART - 1)); args = substr(s, RSTART + 1); sub(/\)$/, "", args)
        match(head, /[a-z0-9_]+$/); name = substr(head, RSTART); ret = trim(substr(head, 1, RSTART - 1))
        if (name in seen) continue
        seen[name] = 1
        line = ""; depth = 0; part = ""; variadic = ""
        for (k = 1; k <= length(args) + 1; k++) {
            c = k > length(args) ? "," : substr(args, k, 1)
            if (c == "(") depth++
            if (c == ")") depth--
            if (c == "," && depth == 0) {
                part = trim(part)
                if (part == "...") variadic = "..."
                else if (part != "void") line = line "|" part
                part = ""
            } else part = part c
        }
        print name "|" ret "|" variadic line
    }
}
