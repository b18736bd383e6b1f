#!/bin/sh
# test_file.sh - sentences of one's own, from the file to the pictures. QKV is the program's path. Reports
# in cmocka's words, for run.sh.
. "$(dirname "$0")/../lib/program.sh" || exit 1
cp "$root/examples/it.txt" "$root/examples/who_when_why.txt" .

# What is said before training, and kept in the run; nothing of it if the run is refused.
facts() {
    rm -rf run
    ran 0 train --data it.txt --steps 3 --out run &&
        line 'Data: 400 examples, 324 to train on, 44 to watch by' &&
        line 'without looking: a blind guess 7.1 %, the most frequent answer' &&
        grep -q '^answers,14$' run/data.csv && grep -q '^2.6390.*chance (ln 14)' run/levels.csv &&
        grep -q 'a word of the line (ln 12)' run/levels.csv &&
        refused 1 'is not empty' train --data it.txt --steps 3 --out run &&
        ran 0 train --data it.txt --steps 3 --out run --force --json &&
        grep -q '"data":{"examples":400,"train":324' out && grep -q '"loss_frequent":2.6' out
}
levels_of_eval() {
    train run --data it.txt && ran 0 eval run && line 'on 32 held-out examples' &&
        line 'some word of the line accuracy 8.33 %, loss 2.4849'
}
# Few lines are learned by heart, and it is said, with the loss above a blind guess's; many are not, nor
# are tasks without end, nor a run that has hardly begun.
awk 'BEGIN { srand(5); split("cat dog bird fox cow hen", n); split("red blue green black white pink", c)
    for (i = 0; i < 4000; i++) {
        a = int(rand() * 6); b = int(rand() * 6); k = int(rand() * 3); line = "the"
        for (j = 0; j < 3; j++) line = line " " n[1 + (a + j) % 6] " is " c[1 + (b + 5 * j) % 6]
        print line " what is " n[1 + (a + k) % 6] " => " c[1 + (b + 5 * k) % 6]
    } }' | sort -u | sort -R --random-source="$root/examples/it.txt" >animals.txt
by_heart() {
    head -n 60 animals.txt >few.txt
    ran 0 train --data few.txt --steps 300 --out few && tr '\n' ' ' <out | tr -s ' ' >flat &&
        grep -q 'training lines are known by heart: 100.0 % of them are answered right' flat &&
        grep -q "above the 1.79 of a blind guess: the model is sure of wrong answers. More lines" flat ||
        { say "$(cat out)"; return 1; }
    ran 0 train --data few.txt --steps 300 --out few --force --json &&
        grep -q '"train_accuracy":1.0,"train_loss":0.[0-9]*,"by_heart":true' out ||
        { say "$(cat out)"; return 1; }
    ran 0 train --data few.txt --steps 2 --out few --force && ! grep -q heart out || return 1
    ran 0 train --data few.txt --steps 2 --out few --force --json &&
        grep -q '"by_heart":false' out || return 1
    ran 0 train --task pairs --steps 150 --out endless && ! grep -q heart out &&
        ran 0 train --task pairs --hold-out --steps 150 --out endless --force && ! grep -q heart out &&
        ran 0 train --task pairs --steps 2 --out endless --force --json && ! grep -q by_heart out || return 1
    head -c 1500 "$root/examples/text.txt" >text.txt
    ran 0 train --task text --data text.txt --data-held-out 0.1 --time 16 --steps 400 --out text &&
        grep -q 'training text is known by heart: a token' out || say "$(cat out)"
}
# An answer that stands nowhere in what is shown is no fault.
checked() {
    awk 'BEGIN { for (i = 0; i < 40; i++) print "good film" i " => positive\nbad film" i " => negative" }' \
        >s.txt
    ran 0 data file --data s.txt --check && line 'right source not checked: the task does not say' &&
        line 'verdict sound' &&
        ran 0 data text --data "$root/examples/text.txt" --check && line 'right source not checked' &&
        line 'verdict sound' && ran 0 data file --data it.txt --check && line 'right source yes (0 rows'
}
# Several answers: their losses add up, as the model's do; others have no data.
several() {
    train www --data who_when_why.txt --layers 1 --heads 4 && grep -q '^5.2983.*,"chance"' www/levels.csv &&
        train pairs --task pairs && [ ! -e pairs/data.csv ] && ran 0 eval pairs && ! grep -q 'blind guess' out
}

# Words with features that are said to be keys and values: circuits, pictures and changes of the one and
# of the other; only words with both are entries, and the one that asks is none.
awk 'BEGIN { split("apple pear plum fig melon", item); split("red green blue black", colour); srand(3)
    for (i = 0; i < 400; i++) {
        a = int(rand() * 5); n = 2 + int(rand() * 2); k = int(rand() * n); line = ""
        for (j = 0; j < n; j++) {
            c = colour[1 + int(rand() * 4)]
            line = line item[1 + (a + j) % 5] "|" c " and "
            if (j == k) { asked = item[1 + (a + j) % 5]; answer = c }
        }
        print line "which " asked "? => " answer
    } }' >shop.txt
roles() {
    [ -e shop ] || ran 0 train --data shop.txt --roles key=word,value=feature1 --layers 1 --heads 1 \
        --d-ff 0 --norm none --steps 300 --out shop || return 1
    ran 0 eval shop --json
    python '
v = o["interventions"]["changed"]
assert o["accuracy"] > 0.95 and o["ov_diag"] == 1 and o["in_context"] > 0.95, o
assert o["qk_diag"] == 1, o  # of the five that are asked for; "and" and "which" are not
keys = [c for c in v if c["name"].startswith("keys")][0]
values = [c for c in v if c["name"].startswith("values")][0]
assert keys["looks_at_j"] > 0.9 and keys["says_j"] > 0.9, keys
assert values["looks_at_t"] > 0.9 and values["says_j"] > 0.9, values
assert 0 < o["interventions"]["examples"] < 80, o' &&
        ran 0 show shop && line 'The keys at' && line 'attention moves with them, the answer changes' &&
        ran 0 plot shop --format txt && [ -e shop/plots/circuits.txt ] && [ ! -s err ]
}
bad_roles() {
    train it --data it.txt || return 1
    for r in key=word value=feature1 key=word,value=word key=word,key=word,value=feature1 word \
        key=word,value=feature8 key=word,value=feature1,query=feature1 key=word,value=feature11; do
        refused 2 "'$r' is not as in key=word,value=feature1" train --data shop.txt --roles $r || return 1
    done
    refused 2 'no word has a feature2' train --data shop.txt --roles key=word,value=feature2 &&
        echo 'a|1 b|2 a? => 1 2' >own.txt &&
        refused 2 'have 2' train --data own.txt --roles key=word,value=feature1 || return 1
    echo 'a|1 b|2 a|1? => 1' >own.txt
    refused 2 'line 1, column 9: the word that asks has a value itself' \
        train --data own.txt --roles key=word,value=feature1 &&
        ran 0 plot it && grep -qF 'its words have no features that could be keys and values (--roles)' err
}
# Without roles: words exchanged, and attention on the answer only where there is one.
words() {
    [ -e long ] || ran 0 train --data it.txt --steps 150 --out long || return 1
    ran 0 eval long --json
    python '
c = {x["name"]: x for x in o["exchanges"]["changed"]}
assert o["exchanges"]["examples"] == 32 and c["clean"]["says_t"] > 0.9 and c["clean"]["moved"] == 0, c
assert c["other_answer"]["says_t"] < 0.1 and c["other_word"]["says_t"] > 0.8, c
assert "interventions" not in o' && ran 0 show long && line 'The words at 1 and 6 swapped' &&
        sed 's/=> .*/=> yes/; 1,40s/yes$/no/' it.txt >yes.txt && train yes --data yes.txt &&
        ran 0 eval yes --json &&
        python 'assert o["answer_attention"] is None and o["exchanges"]["examples"] == 0, o' &&
        ran 0 eval yes && line 'No words are swapped' && ! grep -q 'attention on the answer' out
}

# A change of one's own: two words exchanged, or another one put, in show and as a picture, before and after.
# The cells that are framed in an example's map: its rows and columns.
framed() { sed -n 's/^\([0-9]*\),\([0-9]*\),[^,]*,1,.*/\1 \2/p' "long/probe/example-$1.csv"; }
change() {
    [ -e long ] || ran 0 train --data it.txt --steps 150 --out long || return 1
    ran 0 show long --change 1,6 && line 'Positions 1 and 6 swapped: attention' && cp out given &&
        ran 0 show long && tail -n 3 out >own &&
        while IFS= read -r said; do grep -qxF "$said" given || return 1; done <own &&
        ran 0 plot long --attention --change 1,6 --format txt && [ ! -s err ] || return 1
    set -- $(sed -n '/^sequence/s/|//gp' given)
    first=$3 second=$8
    [ "$(ls long/probe/example-*.csv | wc -l)" -eq 8 ] &&
        grep -q '"layer 1 head 0: before, says [^ ]* [01]' long/probe/example-0.csv &&
        grep -q '"layer 1 head 3: changed, says [^ ]* [01]' long/probe/example-7.csv &&
        grep -q "^1,1,.*,\"$first\",\"$first\"" long/probe/example-6.csv &&
        grep -q "^1,1,.*,\"$second\",\"$second\"" long/probe/example-7.csv &&
        [ "$(framed 6 | sed 's/ 1$/ x/; s/ 6$/ 1/; s/ x$/ 6/')" = "$(framed 7)" ] && [ -n "$(framed 7)" ] &&
        ran 0 show long --change "1=$second" && line 'Another word at 1: attention' &&
        grep -q "^     1 $second  " out || return 1
    cp -r long/probe kept
    for wrong in 1 1,1 1,99 -1,2 1,2,3 x=y 1= "1=nothing"; do
        refused 2 "'" show long --change "$wrong" && refused 1 "'" plot long --attention --change "$wrong" ||
            return 1
    done
    diff -r long/probe kept && refused 2 'belongs to --attention' plot long --change 1,2 &&
        refused 2 '--data belongs to --attention, --animate' plot long --data long.txt && roles &&
        ran 0 show shop --change 0=green && line 'Another word at 0: attention'
}

# A study's file stands beside it; results of another content are not mixed in; a missing file is said.
study() {
    mkdir -p apart && cp it.txt apart && cat >apart/own.json <<END
{"name": "own", "claim": "Few steps are enough.", "seeds": 1,
 "base": {"task": "file", "data": "it.txt", "steps": 5, "layers": 1, "eval_examples": 16},
 "variants": [{"name": "one"}, {"name": "two heads", "set": {"heads": 2}}], "columns": ["accuracy"]}
END
    ran 0 study apart/own.json --out results && ! grep -q error results/results.jsonl &&
        [ "$(wc -l <results/results.jsonl)" -eq 2 ] &&
        ran 0 study "$dir/apart/own.json" --out results &&
        [ "$(wc -l <results/results.jsonl)" -eq 2 ] &&
        echo 'the cat did not like the road because it? was too old => cat' >>apart/it.txt &&
        ran 0 study apart/own.json --out results && ! grep -q error results/results.jsonl &&
        [ "$(wc -l <results/results.jsonl)" -eq 4 ] &&
        rm apart/it.txt && refused 2 "the variant 'one': cannot open 'apart/it.txt'" \
        study apart/own.json --out none
}

# A file that was moved, changed, removed; one that is none, or not yet text. Nothing is made of it.
elsewhere() {
    mkdir -p apart && cp it.txt moving.txt && train went --data moving.txt && mv moving.txt apart &&
        refused 3 'if it was moved, name its new place: --data FILE' show went &&
        refused 3 'if it was moved' train --resume --out went --steps 5 &&
        sed -i 's|moving.txt|apart/moving.txt|' went/config.json && ran 0 show went &&
        ran 0 train --resume --out went --steps 5 --quiet && echo '# more' >>apart/moving.txt &&
        refused 3 'has changed since' show went &&
        refused 3 'has changed since' train --resume --out went --steps 6 &&
        chmod 400 it.txt && ran 0 train --data it.txt --steps 2 --quiet --out read &&
        chmod 600 it.txt || return 1
    gzip -c it.txt >it.gz &&
        refused 2 "'it.gz' is packed by gzip: unpack it first" train --data it.gz --out no &&
        refused 2 'is packed by gzip' train --task text --data it.gz --out no &&
        printf '\377\376a\0' >wide.txt &&
        refused 2 'is UTF-16: save it as UTF-8' train --data wide.txt --out no &&
        mkfifo pipe && refused 2 'is not a regular file' train --data pipe --out no &&
        refused 2 'Is a directory' train --data . --out no &&
        refused 2 'No such file' train --data nofile --out no || return 1
    [ ! -e no ]
}

suite by_heart facts levels_of_eval checked several roles bad_roles words change study elsewhere
