#!/bin/sh
# test_view.sh - qkv view: a run put into the page. The page itself is tested by test_page.sh; here a few
# lines stand for it. Reports in cmocka's words, for run.sh.
qkv=${QKV:-$PWD/build/qkv}
case $qkv in /*) ;; *) qkv=$PWD/$qkv ;; esac
lessons=$PWD/train/page/lessons
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. "$(dirname "$0")/../lib/suite.sh" || exit 1
cd "$dir" || exit 1

printf '<p>before</p>\n<script type="application/json" id="run">null</script>\n<p>after</p>\n' >page.html
"$qkv" train --quiet --steps 20 --save-every 10 --keep 5 --eval-examples 8 --out run || exit 1

# refused CODE TEXT ARGUMENTS...: exit CODE, TEXT in what is said, no file.
refused() {
    code=$1 text=$2
    shift 2
    status=0
    "$qkv" view "$@" >out 2>said || status=$?
    [ $status -eq "$code" ] || { say "exit $status, not $code: $(cat said)"; return; }
    grep -qF -e "$text" said || { say "says $(cat said)"; return; }
    [ ! -e run/view.html ] || say 'wrote a file'
}

says_where_the_page_should_be() {
    cp "$qkv" alone # no page lies beside this one
    ./alone view run 2>said && return 1
    # shellcheck disable=SC2016 # the quotes are meant
    grep -qF '`make page` builds it' said
}

refuses_what_is_no_page() {
    refused 1 none.html run --page none.html && refused 3 'is not the page' run --page run/config.json
}

refuses_what_is_no_run() {
    refused 1 nowhere nowhere --page page.html && refused 2 'one run directory' --page page.html
}

puts_the_run_in() {
    "$qkv" view run --page page.html >out || return 1
    grep -qF run/view.html out || return 1
    sed -n 1p run/view.html | grep -qx '<p>before</p>' && sed -n 3p run/view.html |
        grep -qx '<p>after</p>' || return 1
    sed -n 2p run/view.html | sed 's/^[^{]*//; s/<\/script>$//' >inside
    python3 - <<'END'
import base64, json
run = json.load(open("inside"))
assert run["metrics"] == open("run/metrics.csv").read()
config = json.load(open("run/config.json"))
assert all(run["config"][k] == config[k] for k in config if k not in ("save_every", "keep"))
assert [base64.b64decode(c) for c in run["checkpoints"]] == [
    open("run/step-%08d.safetensors" % s, "rb").read() for s in (10, 20)]
END
}

leaves_out_what_is_damaged() {
    cp -R run broken
    printf x >>broken/step-00000010.safetensors
    "$qkv" view broken --page page.html --out seen.html >out || return 1
    sed -n 2p seen.html | sed 's/^[^{]*//; s/<\/script>$//' >inside
    python3 -c 'import json; assert len(json.load(open("inside"))["checkpoints"]) == 1'
}

# A name cannot end the element it stands in.
keeps_names_harmless() {
    mkdir -p 'a<' && cp -R run 'a</script><b>'
    "$qkv" view 'a</script><b>' --page page.html --out odd.html >out || return 1
    [ "$(grep -c '</script>' odd.html)" -eq 1 ] && [ "$(wc -l <odd.html)" -eq 3 ] || return 1
    cp -R run 'a<!--<script>' # what begins so would not end where the script does
    "$qkv" view 'a<!--<script>' --page page.html --out odd.html >out || return 1
    grep -qF 'a\u003c!--\u003cscript>' odd.html && ! grep -qF '<!--' odd.html
}

brings_the_files_of_a_task() {
    yes 'red cup blue box cup? => red' | head -n 8 >lines.txt
    i=0
    while [ $i -lt 40 ]; do echo "w$((i % 7)) cup w$((i % 5)) box cup? => w$((i % 7))"; i=$((i + 1)); \
        done >lines.txt
    "$qkv" train --quiet --task file --data lines.txt --steps 2 --out own || return 1
    "$qkv" view own --page page.html >out && grep -qF 'w3 cup' own/view.html || return 1
    # What cannot be brought is said: the page could not begin without it.
    LC_ALL=C awk 'BEGIN { for (i = 0; i < 4000; i++) printf "%c\351", 97 + i % 5 }' >latin.txt
    "$qkv" train --quiet --task text --data latin.txt --unit bytes --time 8 --steps 2 --out latin || return 1
    rm -f run/view.html
    refused 1 'as text: they are no UTF-8' latin --page page.html
}

# A sweep's cells and the files that they read; a page of one that has no cells yet is none.
puts_a_sweep_in() {
    i=0
    while [ $i -lt 40 ]; do echo "w$((i % 7)) cup w$((i % 5)) box cup? => w$((i % 7))"; i=$((i + 1)); \
        done >one.txt
    sed 's/cup/jug/g' one.txt >two.txt
    "$qkv" sweep --quiet --task file --data one.txt --data two.txt --lr 0.1,0.2 --steps 2 --out S || return 1
    "$qkv" view S --page page.html >out && grep -qF S/view.html out || return 1
    sed -n 2p S/view.html | sed 's/^[^{]*//; s/<\/script>$//' >inside
    python3 - <<'END' || return 1
import json
sweep = json.load(open("inside"))["sweep"]
assert sweep["name"] == "S" and sweep["cells"] == open("S/cells.csv").read()
assert sweep["files"] == {name: open(name).read() for name in ("one.txt", "two.txt")}
END
    rm -f run/view.html
    refused 2 '--at is for a run' S --at 1 --page page.html &&
        refused 2 '--data is for a run' S --data one.txt --page page.html || return 1
    mkdir -p none && cp S/sweep.json none && refused 1 'has no cells.csv yet' none --page page.html &&
        mv two.txt away && refused 1 two.txt S --page page.html
}

# The shipped ones, and each kind of what is none, with the place.
lessons_are_read_strictly() {
    for lesson in "$lessons"/*.json; do
        "$qkv" view --lesson "$lesson" --page page.html --out lesson.html >out || return 1
        sed -n 2p lesson.html | sed 's/^[^{]*//; s/<\/script>$//' |
            python3 -c 'import json, sys
assert json.load(sys.stdin)["lesson"] == json.load(open(sys.argv[1]))' "$lesson" || return 1
    done
    "$qkv" view run --lesson "$lesson" --page page.html --out both.html >out &&
        grep -qF '"lesson"' both.html && grep -qF '"metrics"' both.html || return 1
    card='"text": {"en": "x"}'
    wrong() { # wrong TEXT LESSON: refused, for this reason
        printf '%s\n' "$2" >bad.json
        refused 1 "$1" --lesson bad.json --page page.html
    }
    of_cards() { wrong "$1" "{\"title\": {\"en\": \"x\"}, \"cards\": [$2]}"; }
    wrong 'bad.json: line 2: ' '{
"title" 3}' && wrong "there is no key 'titel'" '{"titel": {"en": "x"}}' &&
        wrong "the key 'cards' is missing" '{"title": {"en": "x"}}' &&
        wrong 'title: texts by language' '{"title": "x", "cards": []}' &&
        of_cards 'a list of cards' '' && of_cards "card 2: the key 'text' is missing" "{$card}, {}" &&
        of_cards "card 1, change: there is no key 'stpe'" "{$card, \"change\": {\"stpe\": 3}}" &&
        of_cards "card 1, set: this task has no option 'lrr'" "{$card, \"set\": {\"lrr\": 3}}" &&
        of_cards 'card 1, set: ' "{$card, \"set\": {\"lr\": \"fast\"}}" &&
        of_cards 'there is no such task' "{$card, \"set\": {\"task\": \"none\"}}" &&
        of_cards "'says!' is not one of: looks" "{$card, \"question\": \"says!\"}" &&
        of_cards 'two tries' "{$card, \"question\": {\"best\": []}}" &&
        of_cards "frame: 'wall'" "{$card, \"frame\": \"wall\"}" &&
        of_cards 'whole number' "{$card, \"step\": -1}"
    refused 1 none.json --lesson none.json --page page.html && [ ! -e lesson.html ] || rm lesson.html
}

suite lessons_are_read_strictly \
    says_where_the_page_should_be refuses_what_is_no_page refuses_what_is_no_run puts_the_run_in \
    leaves_out_what_is_damaged keeps_names_harmless brings_the_files_of_a_task puts_a_sweep_in
