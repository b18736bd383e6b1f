#!/bin/sh
# test_file.sh - sentences of one's own, from the file to the pictures, as a user goes. QKV is the program's path.
# Reports in cmocka's words, for run.sh.
. "$(dirname "$0")/program.sh" || exit 1
cp "$root/examples/it.txt" "$root/examples/who_when_why.txt" .

# What is said before training, and kept in the run; nothing of it if the run is refused.
facts() {
    rm -rf run
    ran 0 train --data it.txt --steps 3 --out run && line 'Data: 400 examples, 324 to train on, 44 to watch by' &&
        line 'without looking: a blind guess 7.1 %, the most frequent answer' && grep -q '^answers,14$' run/data.csv &&
        grep -q '^2.6390.*chance (ln 14)' run/levels.csv && grep -q 'a word of the line (ln 12)' run/levels.csv &&
        refused 1 'is not empty' train --data it.txt --steps 3 --out run &&
        ran 0 train --data it.txt --steps 3 --out run --force --json &&
        grep -q '"data":{"examples":400,"train":324' out && grep -q '"loss_frequent":2.6' out
}
levels_of_eval() {
    train run --data it.txt && ran 0 eval run && line 'on 32 held-out examples' &&
        line 'some word of the line accuracy 8.33 %, loss 2.4849'
}
# Several answers: their losses add up, as the model's do; others have no data.
several() {
    train www --data who_when_why.txt --layers 1 --heads 4 && grep -q '^5.2983.*,"chance"' www/levels.csv &&
        train pairs --task pairs && [ ! -e pairs/data.csv ] && ran 0 eval pairs && ! grep -q 'blind guess' out
}

suite facts levels_of_eval several
