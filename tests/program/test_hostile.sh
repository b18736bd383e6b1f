#!/bin/sh
# test_hostile.sh - names made to do harm, at every place where the program takes one: nothing in them is
# executed, nothing is written where nobody asked for it, nothing of them steers a terminal, and no name ends
# the program by a signal.
#
# Everything runs under a pseudo terminal (script, of util-linux) in a directory of its own. Pictures, studies
# and plugins take longer: they meet every name when HOSTILE=all, else every ninth and what climbs. QKV is the
# program's path. Reports in cmocka's words, for run.sh.
QKV=${QKV:-build/qkv}
case $QKV in /*) ;; *) QKV=$(pwd)/$QKV ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1
here=$dir/one/two/here crashed=$dir/crashed
mkdir -p "$dir/tmp" "$dir/home" "$here" && : >"$crashed" || exit 1
unset NO_COLOR QKV_PLUGINS
export QKV TMPDIR="$dir/tmp" HOME="$dir/home" TERM=xterm LC_ALL=C crashed
# The compiler's own colours are not what is looked for.
printf '#!/bin/sh\nexec %s -fdiagnostics-color=never "$@"\n' "${CC:-cc}" >"$dir/compiler"
chmod +x "$dir/compiler" && export CC="$dir/compiler" || exit 1

# One name a line, as printf's format; "canary" is the file that appears when a part of a name is executed.
names() {
    cat <<'END'
plain
a"b
a'b
a\nb
`touch canary`
$(touch canary)
%%n%%n%%s%%s
%%99999999s
<canary
< touch canary
|touch canary
;touch canary;
&& touch canary
>canary
a\033[2Jb
\033]0;title\007
\033P1$r\033\\
\377\376\200
\300\257
\355\240\200
\303
\302\233\302\205
\342\200\256abc
\360\237\230\200
a\rb
a\tb
\007\010\013\014
a\177b
LONG
..
../../escape
.
/dev/null/x
/dev/full
-
-rf
--help
--
~
$HOME
*
?
[a-z]
 a b\040
#a
!a
a,b;c
a\\b\\n
\\
' ; system('touch canary') ; '
" ; system("touch canary") ; "
"`touch canary`"
set output "|touch canary"
@canary
{/Symbol a}^2_3
$0 ${QKV}
"
'
END
}

# Text as the inside of a JSON string.
as_json() {
    od -An -v -tu1 | awk '{ for (i = 1; i <= NF; i++)
        if ($i < 32 || $i == 34 || $i == 92 || $i == 127) printf "\\u%04x", $i
        else printf "%c", $i + 0 }'
}

# A checkpoint's beginning with a header's text: header TEXT DATABYTES
header() {
    n=${#1}
    printf "\\$(printf %03o $((n % 256)))\\$(printf %03o $((n / 256)))\\000\\000\\000\\000\\000\\000"
    printf '%s' "$1"
    head -c "$2" /dev/zero
}

# ---- what meets each name: $N is the name, $J the same for JSON; in $here ----

# Writes the files that are made of a name.
prepare() {
    cp -r "$dir/good" good && cp -r good tensors && cp -r good notes && mkdir -p deep/er study || return 1
    rm tensors/*.safetensors notes/*.safetensors
    for key in task block freeze; do printf '{"%s": "%s"}' "$key" "$J" >"$key.json"; done
    printf '{"%s": 1, "%s": 2}' "$J" "$J" >twice.json
    printf '{"%s": 1}' "$J" >key.json
    printf '%s' "$N" >raw.json
    meta='"__metadata__":{"format":"qkv-checkpoint-1","crc32":"00000000"}'
    header "{$meta,\"$J\":{\"dtype\":\"X\"}}" 0 >tensors/step-00000001.safetensors
    header "{\"__metadata__\":{\"format\":\"$J\"}}" 0 >notes/step-00000001.safetensors
    printf '{"name": "%s", "claim": "%s", "seen": "%s", "holds": "%s", "fails": "%s", "seeds": 1,
      "base": {"steps": 1, "d_model": 4, "batch": 2, "eval_examples": 4},
      "groups": [{"name": "%s", "set": {}}],
      "variants": [{"name": "%s", "set": {}}, {"name": "b", "set": {}}], "columns": ["accuracy"],
      "picture": {"kind": "bars", "measures": [{"measure": "accuracy", "as": "%s"}],
                  "title": "%s", "label": "%s"},
      "bands": [{"variant": "%s", "measure": "accuracy", "least": 0, "most": 0.1}]}' \
        "$J" "$J" "$J" "$J" "$J" "$J" "$J" "$J" "$J" "$J" "$J" >study/s.json
    (cd deep/er && printf '#error\n' >"$N.c") 2>/dev/null || return 0
}

# Runs the program; what ends by a signal is noted. A form feed is gnuplot's, before a picture of letters.
cat >"$dir/meet" <<'END'
q() {
    "$QKV" "$@" </dev/null
    status=$?
    [ $status -lt 126 ] || printf 'exit %d: qkv %s %s %.60s\n' $status "$1" "$2" "$N" >>"$crashed"
}
small="--steps 1 --d-model 4 --batch 2 --eval-examples 4 --threads 1"
(cd deep/er && q train --out "$N" $small && q eval "$N" --examples 4 --json)
for command in eval info export show probe data list gradcheck study; do q $command "$N"; done
q "$N"
for option in out task block freeze config plugin lr steps tie threads "$N"; do
    mkdir -p deep/er/new && (cd deep/er/new && q train "--$option" "$N" $small)
    rm -rf deep/er/new
done
for key in task block freeze twice key raw; do
    q train --config $key.json --out from-$key $small
done
q eval from-freeze --examples 4
q eval tensors
q eval notes
q train --resume --out tensors
q eval good --examples "$N"
q plot --only "$N" good
q plot --format "$N" good
q study --part "$N" roles
(cd deep/er && q plot "$N/none" ../../good --out "$N")
if [ "$SLOW" ]; then
    (cd study && q study s.json --jobs 1)
    cd deep/er && q train --plugin "./$N.c" --out plugged $small
    q plot "$N" --only loss --format svg
    q plot "$N" ../../good --format txt --out pictures
fi
END

# All files but those in $here, and what is written about the test itself.
outside() { find "$dir" -path "$here" -prune -o -path "$crashed" -o -print | sort | cksum; }

# The lines of $1 which steer a terminal: control bytes, but for the bar's own "\r" and ESC [ K; C1 controls;
# bad UTF-8.
controls() {
    sed 's/\x1b\[K//g' "$1" | tr -d '\r' >"$1.plain"
    grep -a -e "$(printf '[\001-\011\013-\037\177]')" -e "$(printf '\302[\200-\237]')" "$1.plain" |
        cut -c 1-160 | cat -v | head -n 4
    iconv -f UTF-8 -t UTF-8 <"$1.plain" >/dev/null 2>&1 || echo '(bad UTF-8)'
    rm "$1.plain"
}

# ---- meeting them ----

wrote='' steered='' strayed='' executed='' studied='' count=0
"$QKV" train --out "$dir/good" --steps 2 --d-model 4 --batch 2 --eval-examples 4 --quiet || exit 1

# meet NAME: its file names and sentences end up in the lists above.
meet() {
    N=$1 J=$(printf '%s' "$1" | as_json) SLOW=
    case $HOSTILE$1 in all* | *..*) SLOW=yes ;; *) [ $((count % 9)) -ne 0 ] || SLOW=yes ;; esac
    count=$((count + 1))
    export N SLOW
    shown=$(printf '%.40s' "$N" | tr -c '[:print:]' '?')
    before=$(outside)
    rm -rf "$here" && mkdir "$here" && cd "$here" && prepare || exit 1
    script -qec "sh '$dir/meet'" "$dir/log" </dev/null >/dev/null
    sed '1d;$d' "$dir/log" >"$dir/screen" # without what script says itself
    rm "$dir/log"
    bad=$(controls "$dir/screen")
    [ -z "$bad" ] || steered="$steered
    $shown: $bad"
    rm "$dir/screen"
    [ -z "$(find "$dir" -name canary)" ] || executed="$executed
    $shown"
    [ "$(outside)" = "$before" ] || wrote="$wrote
    $shown"
    stray=$(ls -A study | grep -v -x -e s.json -e runs; ls -A study/runs 2>/dev/null | grep -v -x study)
    [ -z "$stray" ] || strayed="$strayed
    $shown: $stray"
    [ ! -e study/runs/study/plain/table.csv ] || studied=yes # then the others could have been, too
    cd "$dir" || exit 1
}

# A shell's "$(...)" eats a newline at the end; none is there.
meet_all() {
    names >"$dir/names"
    exec 3<"$dir/names"
    rm "$dir/names"
    while IFS= read -r format <&3; do
        if [ "$format" = LONG ]; then
            name=$(head -c 5000 /dev/zero | tr '\000' x)
        else
            name=$(printf -- "$format")
        fi
        meet "$name"
    done
    meet ''
}

# ---- what is asked ----

say() { printf '%s\n' "$*" >&2; false; }

names_are_many() { [ $count -ge 40 ] || say "only $count names"; }
none_ends_the_program() { [ ! -s "$crashed" ] || say "$(cat "$crashed")"; }
nothing_is_executed() { [ -z "$executed" ] || say "executed a part of:$executed"; }
nothing_is_written_outside() { [ -z "$wrote" ] || say "something is written outside by:$wrote"; }
studies_stay_in_their_directory() {
    [ "$studied" ] || { say "not even a harmless study was made"; return 1; }
    [ -z "$strayed" ] || say "written beside runs/study:$strayed"
}
no_control_byte_reaches_a_terminal() { [ -z "$steered" ] || say "on the terminal:$steered"; }

# The same eyes on something that does do harm.
harm_would_be_seen() {
    for text in 'a\033[2J' '\302\233' '\377' 'a\177'; do
        printf "$text\n" >"$dir/harm"
        [ -n "$(controls "$dir/harm")" ] || { say "$text goes unseen"; return 1; }
    done
    printf 'plain \303\251\r\033[K\n' >"$dir/harm"
    [ -z "$(controls "$dir/harm")" ] || { say "what is harmless is blamed"; return 1; }
    rm "$dir/harm"
    before=$(outside)
    (cd "$here" && sh -c ': `touch ../canary`')
    [ "$(outside)" != "$before" ] && [ -n "$(find "$dir" -name canary)" ] ||
        { say "a canary goes unseen"; return 1; }
    rm "$here/../canary"
    before=$(wc -c <"$crashed")
    printf '#!/bin/sh\nkill -SEGV $$\n' >"$dir/dies" && chmod +x "$dir/dies"
    (QKV=$dir/dies && eval "$(sed -n '1,/^}/p' "$dir/meet")" && q a b) 2>/dev/null || true
    [ "$(wc -c <"$crashed")" -gt "$before" ] || say "a death goes unseen"
}

tests="names_are_many none_ends_the_program nothing_is_executed nothing_is_written_outside
studies_stay_in_their_directory no_control_byte_reaches_a_terminal harm_would_be_seen"
if why=$(needs script iconv && { script -qec true /dev/null </dev/null >/dev/null 2>&1 ||
    cannot 'no terminal can be opened (/dev/pts)'; }); then
    meet_all
    echo "    $count names"
    suite $tests
else
    echo "registered $(echo $tests | wc -w)"
    for name in $tests; do printf '[ RUN      ] %s\n%s\n' "$name" "$why"; verdict $name $SKIP; done
    summary
fi
