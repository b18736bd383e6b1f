# coverage.awk - adds up what `gcov -t -b -c` says of all objects: a line or a branch counts as reached if
# it was in any of them. Reads unreached.txt first (lines "FILE: TEXT # REASON": source lines that
# hold TEXT need not be reached), then gcov's text on stdin. Variables: lines, branches: the floors in
# per cent. Prints a row a file and the sums; fails below a floor, and on an entry that is not needed.
function row(name, lines, lines_hit, branches, branches_hit) {
    return sprintf("%-36s %5d lines %5.1f %%   %5d branches %5.1f %%\n", name, lines,
        floor_of(lines_hit, lines), branches, floor_of(branches_hit, branches))
}
function floor_of(part, whole) { return whole ? int(1000 * part / whole) / 10 : 100 }

FILENAME ~ /unreached/ {
    if (/^#/ || /^$/) next
    at = index($0, ": ")
    hash = index($0, " # ")
    if (!at || hash < at) { print "unreached.txt: no reason is given: " $0; bad = 1; next }
    file = substr($0, 1, at - 1)
    excuses++
    excuse_file[excuses] = file
    excuse_text[excuses] = substr($0, at + 2, hash - at - 2)
    next
}

/^ *-: *0:Source:/ {
    source = $0
    sub(/^.*:Source:/, "", source)
    wanted = source ~ /^(tensor|autograd|layers|data|train)\//
    next
}
!wanted { next }

/^ *[^ :]+: *[0-9]+:/ {
    split($0, part, ":")
    count = part[1]
    gsub(/[ *]/, "", count)
    number = part[2] + 0
    key = source ":" number
    branch = 0
    if (number == 0 || count == "-") next
    if (!(key in text)) {
        text[key] = substr($0, index($0, part[2]) + length(part[2]) + 1)
        files[source] = 1
        keys[++n] = key
        file_of[key] = source
    }
    if (count !~ /^[#=]/ && count != "0") hit[key] = 1
    next
}

/^branch / {
    b = key ":" branch++
    if (branch > in_line[key]) in_line[key] = branch
    if ($3 == "taken" && $4 + 0 > 0) taken[b] = 1
}

END {
    for (i = 1; i <= n; i++) {
        key = keys[i]
        file = file_of[key]
        left_out = 0
        for (e = 1; e <= excuses; e++)
            if (excuse_file[e] == file && index(text[key], excuse_text[e])) {
                used[e] = 1
                if (!(key in hit)) needed[e] = 1
                left_out = 1
            }
        if (left_out) continue
        L[file]++
        l[file] += key in hit
        if (!(key in hit) && show) print file ":" substr(key, length(file) + 2) ": " text[key]
        for (b = 0; b < in_line[key]; b++) {
            B[file]++
            r[file] += (key ":" b) in taken
        }
    }
    for (file in files) {
        printf "%s", row(file, L[file], l[file], B[file], r[file]) | "sort"
        lines_all += L[file]
        lines_hit += l[file]
        branches_all += B[file]
        branches_hit += r[file]
    }
    close("sort")
    printf "%s", row("all", lines_all, lines_hit, branches_all, branches_hit)
    for (e = 1; e <= excuses; e++) {
        why = !used[e] ? "there is no such line" : !needed[e] ? "it is reached after all" : ""
        if (why) {
            print "unreached.txt: " excuse_file[e] ": " excuse_text[e] ": " why
            bad = 1
        }
    }
    if (n == 0) { print "nothing was measured"; bad = 1 }
    if (floor_of(lines_hit, lines_all) < lines) { print "below " lines " % of lines"; bad = 1 }
    if (floor_of(branches_hit, branches_all) < branches) { print "below " branches " % of branches"; bad = 1 }
    exit bad
}
