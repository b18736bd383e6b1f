#!/bin/sh
# test_docs.sh - does what the pages in docs/ tell their readers to do.
#
#   ```c      a block that begins with the name of a file ("// file: NAME" or "/* NAME.c - ...") must
#             equal examples/NAME and is written to the reader's directory
#   ```sh     is run there, with qkv on the PATH, and must succeed
#   ```text   each of its lines must be one of the lines that the commands before it printed, in this
#             order; ... stands for anything
#
# And the man page must name exactly the options that `qkv COMMAND --help` lists. Reports in
# cmocka's words, for run.sh. Run from the root of the tree.
root=$PWD
qkv=${QKV:-$root/build/qkv}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1

pages=$(cd "$root/docs" && ls your-own-*.md inside-a-step.md)
commands=$("$qkv" --help | sed -n 's/^  qkv \([a-z]*\) .*/\1/p')
tasks=$("$qkv" list tasks | sed 's/ .*//')
newline='
'
lines() { echo "$1" | wc -l; }
named=$(($(lines "$pages") + 2 * $(lines "$commands") + 2 * $(lines "$tasks")))
echo "registered $((named + $(grep -c '^try ' "$0")))"

# try NAME COMMAND...: a test; the command is run with `set -e` and fails by returning something
# else than 0; 77: skipped.
try() {
    name=$1
    shift
    echo "[ RUN      ] $name"
    (set -e; "$@") >"$dir/said" 2>&1
    status=$?
    [ $status -eq 0 ] || sed 's/^/    /' "$dir/said"
    verdict "$name" $status
}

# ---- pages ---------------------------------------------------------------------------------------

# Cuts a page into $2/01.c, 02.sh, 03.text ...
cut_page() {
    awk -v to="$2" '
        /^```/ && inside { inside = 0; close(file); next }
        /^```(c|cc|sh|text)$/ {
            inside = 1
            file = sprintf("%s/%02d.%s", to, ++n, substr($0, 4))
            printf "" >file
            next
        }
        /^```/ { inside = 2; next }
        inside == 1 { print >file }
        END { if (inside) { print "an open block" >"/dev/stderr"; exit 1 } }
    ' "$1"
}

# The file that a block of C says it is, or nothing.
file_of() {
    sed -n -e '1s,^// file: \([^ ]*\).*,\1,p' -e '1s,^/\* \([^ ]*\.c\) .*,\1,p' \
        -e '1s,^// \([^ ]*\.cc\) .*,\1,p' "$1"
}

# appears EXPECTED PRINTED
appears() {
    exec 3<"$2"
    while IFS= read -r expected; do
        pattern=$(printf '%s\n' "$expected" | sed 's/[][*?\\]/\\&/g; s/\.\.\./*/g')
        found=no
        while IFS= read -r line <&3; do
            # shellcheck disable=SC2254
            case $line in $pattern) found=yes; break ;; esac
        done
        [ $found = yes ] && continue
        printf 'this is not printed (any more):\n%s\nbut this is:\n' "$expected"
        cat "$2"
        return 1
    done <"$1"
}

page() {
    here=$dir/${1%.md}
    mkdir -p "$here/blocks" "$here/reader" "$here/bin"
    ln -sf "$qkv" "$here/bin/qkv"
    cut_page "$root/docs/$1" "$here/blocks"
    [ -n "$(ls "$here/blocks")" ]
    : >"$here/printed"
    cd "$here/reader"
    for block in "$here/blocks"/*; do
        case $block in
            *.c | *.cc)
                file=$(file_of "$block")
                [ -n "$file" ] || continue
                cmp "$block" "$root/examples/$file"
                cp "$block" "$file"
                ;;
            *.sh)
                status=0
                PATH=$here/bin:$PATH sh -e "$block" >"$here/printed" 2>&1 </dev/null || status=$?
                [ $status -eq 0 ] && continue
                cat "$block" "$here/printed"
                echo "exit status $status"
                return 1
                ;;
            *.text) appears "$block" "$here/printed" ;;
        esac
    done
}

# ---- man page ------------------------------------------------------------------------------------

man_page_is_clean() {
    command -v mandoc >/dev/null || { echo "cannot run: no mandoc"; exit 77; }
    mandoc -Tlint -Wstyle "$root/docs/qkv.1" >"$dir/lint" 2>&1 || true
    # What other manuals are installed is no fault of the page.
    ! grep -v -e 'referenced manual not found' -e 'outdated mandoc.db' "$dir/lint"
}

# A help text without the options of the task, or with nothing but them: the sections of other
# tasks are in the page's own section TASKS.
without_task() { awk '/^Task [a-z]/ { skip = 1 } /^$/ { skip = 0 } !skip'; }
task_alone() { awk '/^$/ { inside = 0 } /^Task [a-z]/ { inside = 1 } inside'; }
help_of() {
    case $1 in
        task:*) "$qkv" train --task "${1#task:}" --help | task_alone ;;
        *) "$qkv" "$1" --help | without_task ;;
    esac
}

# The options of a command, one a line with its argument: as `qkv COMMAND --help` has them ("--[no-]x"
# is two), and as the command's own section (.Ss COMMAND) of the man page has them, in lines like
# ".It Fl Fl tie Cm none | qk" and ".It Fl Fl wq , Fl Fl no-wq".
in_help() {
    help_of "$1" | sed -n -e 's/^  --\[no-\]\([a-z0-9-]*\).*/\1\
no-\1/p' -e 's/^  --\([a-z0-9-]*\)\( [^ ][^ ]*\)\{0,1\}.*/\1\2/p' | sort
}
in_man_page() {
    awk -v command="${1#task:}" '
        /^\.S[sh] / { inside = $0 == ".Ss " command }
        inside && /^\.It Fl Fl / {
            sub(/^\.It Fl Fl /, "")
            n = split($0, option, " , Fl Fl ")
            for (i = 1; i <= n; i++) {
                sub(/ (Ar|Cm) /, "=", option[i])
                gsub(/ /, "", option[i])
                sub(/=/, " ", option[i])
                print option[i]
            }
        }
    ' "$root/docs/qkv.1" | sort
}

options() {
    in_help "$1" >"$dir/help"
    in_man_page "$1" >"$dir/man"
    [ "$1" = list ] || [ -s "$dir/help" ]
    diff "$dir/help" "$dir/man" || { echo "< only in qkv $1 --help, > only in docs/qkv.1"; return 1; }
}

# The defaults, for the commands that have some: "Default: VALUE." in an option's item; of two
# opposite flags the first.
defaults() {
    help_of "$1" | awk '
        /^  --/ { name = substr($1, 3); sub(/^\[no-\]/, "", name) }
        /\(default .*\)$/ { sub(/.*\(default /, ""); sub(/\)$/, ""); print name, $0 }
    ' | sort >"$dir/help"
    awk -v command="${1#task:}" '
        /^\.S[sh] / { inside = $0 == ".Ss " command }
        inside && /^\.It Fl Fl / { name = $4 }
        inside && /^\.It Fl Fl .* , Fl Fl / {
            sub(/^no-/, "", name)
            print name, (name == $4 ? "yes" : "no")
        }
        inside && /^Default: / { sub(/^Default: /, ""); sub(/\.$/, ""); print name, $0 }
    ' "$root/docs/qkv.1" | sort >"$dir/man"
    diff "$dir/help" "$dir/man" || { echo "< qkv $1 --help, > docs/qkv.1"; return 1; }
}

man_page_knows_commands() {
    echo "$commands$newline$tasks" | sort >"$dir/help"
    sed -n 's/^\.Ss //p' "$root/docs/qkv.1" | sort >"$dir/man"
    diff "$dir/help" "$dir/man"
}

for page in $pages; do try "${page%.md}" page "$page"; done
try man_page_is_clean man_page_is_clean
try man_page_knows_commands man_page_knows_commands
for command in $commands; do
    try "options_of_$command" options "$command"
    try "defaults_of_$command" defaults "$command"
done
for task in $tasks; do
    try "options_of_task_$task" options "task:$task"
    try "defaults_of_task_$task" defaults "task:$task"
done

summary
