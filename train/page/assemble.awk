# assemble.awk - awk -v engine=FILE -v lessons=FILES -f assemble.awk page.html: the page as one file. A
# line "@include FILE" stands for that file, "@engine" for the engine, compressed, in base64, "@lessons"
# for the lessons, an element each.

function put(file,   line, status) {
    while ((status = (getline line < file)) > 0) {
        if (line ~ /<\/script|<!--/ && file !~ /\.md$/) {
            wrong(file ": holds what would end its element")
            return
        }
        gsub(/<\/script/, "<\\/script", line)
        print line
    }
    if (status < 0) wrong(file ": cannot be read")
    close(file)
}
function wrong(why) { print why > "/dev/stderr"; failed = 1 }

$1 == "@include" { put($2); next }
$1 == "@engine" {
    # Without name and time: the same bytes each time. Of a pipe only the last status is known.
    command = "gzip -n -9 -c '" engine "' | base64"
    lines = 0
    while ((command | getline line) > 0) { print line; lines++ }
    if (close(command) || lines < 100) wrong(engine ": cannot be read")
    next
}
$1 == "@lessons" {
    n = split(lessons, all, " ")
    for (i = 1; i <= n; i++) {
        print "<script type=\"application/json\" class=\"course\">"
        put(all[i])
        print "</script>"
    }
    next
}
{ print }
END { exit failed }
