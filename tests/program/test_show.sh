#!/bin/sh
# test_show.sh - qkv show: every number that it prints is computed anew from the exported weights.
. "$(dirname "$0")/../lib/program.sh" || exit 1

# What `out` says of the run whose weights stand in `weights`, against the formulas: shown HEADS KV_HEADS.
shown() {
    cat >model.py <<'PY'
import csv, math, re, sys
H, G = int(sys.argv[1]), int(sys.argv[2])

def table(name):
    rows = list(csv.reader(open('weights/weights/%s.csv' % name)))
    return rows[0][1:], [r[0] for r in rows[1:]], [[float(x) for x in r[1:]] for r in rows[1:]]

def times(x, w):
    return [sum(a * row[j] for a, row in zip(x, w)) for j in range(len(w[0]))]

def dot(a, b): return sum(x * y for x, y in zip(a, b))
def softmax(x):
    e = [math.exp(a - max(x)) for a in x]
    return [a / sum(e) for a in e]

def embedding(name):
    _, labels, rows = table('embed.' + name)
    return dict(zip(labels, rows))

keys, values = embedding('key'), embedding('value')
wq, wk, wv, wo = (table('layer0.attn.w' + m)[2] for m in 'qkvo')
classes, _, unembed = table('unembed.value')
E, group = len(wq[0]) // H, H // G

def run(tokens, head):
    """As layer 0 has it: what the last token makes of all of them."""
    x = [[a + b for a, b in zip(keys[k], values[v])] for k, v in tokens]
    q, mixed, mine = times(x[-1], wq), [], None
    for h in range(H):
        at = slice(h // group * E, (h // group + 1) * E)
        ks, vs = [times(y, wk)[at] for y in x], [times(y, wv)[at] for y in x]
        product = [dot(q[h * E:(h + 1) * E], k) for k in ks]
        score = [p / math.sqrt(E) for p in product]
        weight = softmax(score)
        mixed += [sum(w * v[e] for w, v in zip(weight, vs)) for e in range(E)]
        if h == head:
            rows = wo[h * E:(h + 1) * E]
            says = [times(times(v, rows), unembed) for v in vs]
            mine = [(product[p], score[p], weight[p], classes[s.index(max(s))],
                     weight[p] * math.sqrt(dot(vs[p], vs[p]))) for p, s in enumerate(says)]
    logits = times([a + b for a, b in zip(x[-1], times(mixed, wo))], unembed)
    best = logits.index(max(logits))
    return mine, classes[best], softmax(logits)[best]

def near(shown, expected, what):
    assert abs(float(shown) - expected) < 6e-4 * max(1, abs(expected)), (what, shown, expected)

text = open('out').read()
head = int(re.search(r'Layer 0, head (\d+)', text).group(1))
row = r'^ ?([> ])  *(\d+) (\S+) (\S+)' + 5 * r' +(\S+)' + r'(?: +\((.*)\))?$'
found = re.findall(row, text, re.M)
assert len(found) > 4, text
tokens = [(f[2], f[3]) for f in found]
mine, answer, probability = run(tokens, head)
for p, f in enumerate(found):
    for i in (0, 1, 2, 4):
        near(f[(4, 5, 6, 7, 8)[i]], mine[p][i], (p, i))
    assert f[7] == mine[p][3] and int(f[1]) == p, (f, mine[p])
asked = tokens[-1][0]
right = [p for p, t in enumerate(tokens[:-1]) if t[0] == asked][0]
assert [p for p, f in enumerate(found) if f[0] == '>'] == [right] and found[-1][9] == 'the question itself'
if len(sys.argv) > 3:
    best = max(range(H), key=lambda h: run(tokens, h)[0][right][2])
    assert head == best, (head, best)
said = re.search(r'^Answer: (\S+), with probability ([0-9.]+)\. (.*)$', text, re.M)
assert said.group(1) == answer, (said.group(1), answer)
near(said.group(2), probability, 'probability')
value = tokens[right][1]
assert said.group(3) == ('That is right.' if answer == value else 'Right would be %s.' % value)
changes = re.findall(r'^The (keys|values) at (\d+) and (\d+) swapped: attention (moves with them|stays), '
                     r'the answer (changes|stays)\n(.*)\n(.*)\n'
                     r' +answer (\S+), with probability ([0-9.]+)$', text, re.M)
assert [c[0] for c in changes] == ['keys', 'values'], text
for what, i, j, moves, changed, line_i, line_j, now, p in changes:
    i, j = int(i), int(j)
    other, s = [list(t) for t in tokens], what == 'values'
    other[i][s], other[j][s] = other[j][s], other[i][s]
    mine, after, probability = run([tuple(t) for t in other], head)
    for at, line in (i, line_i), (j, line_j):
        shown = re.search(r'score +(\S+) +weight (\S+)$', line)
        near(shown.group(1), mine[at][1], what)
        near(shown.group(2), mine[at][2], what)
    assert i == right and now == after, (now, after)
    near(p, probability, what)
    assert (moves == 'moves with them') == (mine[j][2] > mine[i][2])
    assert (changed == 'changes') == (after != answer)
PY
    needs python3 || return
    python3 model.py "$@"
}

# weights_of RUN: exported, into `weights`
weights_of() { rm -rf weights && "$QKV" export "$1" --csv weights >/dev/null; }

every_number_is_right() {
    train plain && weights_of plain || return 1
    for example in 0 1 7; do
        ran 0 show plain --example $example && line "Held-out example $example of pairs" || return 1
        shown 1 1 || return
    done
}

the_head_that_looks_most() {
    train heads --heads 4 --kv-heads 2 && weights_of heads && ran 0 show heads || return 1
    shown 4 2 best || return
    for head in 0 3; do
        ran 0 show heads --head $head --example 2 && line "Layer 0, head $head:" || return 1
        shown 4 2 || return
    done
}

# A trained model: it finds, and what is exchanged moves.
a_trained_one_is_right() {
    ran 0 train --out good --steps 400 --pairs 4 --keys 8 --values 8 --lr 0.01 --quiet --eval-every 400 \
        --eval-examples 64 && weights_of good && ran 0 show good --example 3 || return 1
    line 'That is right.' && line 'swapped: attention moves with them, the answer changes' &&
        line 'swapped: attention stays, the answer changes' || return 1
    shown 1 1
}

# ---- other tasks ---------------------------------------------------------------------------------

each_task_has_its_words() {
    train cross --task cross && ran 0 show cross && grep -q '^memory  *k' out &&
        grep -q '^sequence ' out && line 'The keys at' || return 1
    if grep -q 'the question itself' out; then
        say "a memory has no question in it"
        return 1
    fi
    train coref --task coref && ran 0 show coref && line 'the distractor' || return 1
    train pointer --task pointer && ran 0 show pointer && line 'Held-out example 0 of pointer' || return 1
    train induction --task induction && ran 0 show induction && line 'Layer 1, head' && line 'hidden' ||
        return 1
    awk '/hidden/ { hidden++; if ($NF != 0) exit 1 } END { exit !hidden }' out ||
        say "what is hidden has no weight"
}

without_output_matrix() {
    train bare --no-wo --no-wq --no-wk && ran 0 show bare && line 'Answer:' && line '> '
}

# In a text every place asks: the last one is explained, which sees the most, and a line's end breaks none.
a_text_is_explained_at_its_end() {
    cp "$root/examples/text.txt" . && train text --task text --data text.txt --time 24 && ran 0 show text &&
        line 'The question stands at 23:' && line '(the question itself)' &&
        [ "$(grep -c '^ \{4,5\}[0-9]' out)" -ge 24 ] || say 'not each place has its line'
}

no_colour_into_a_file() {
    train plain && ran 0 show plain || return 1
    ! grep -q "$(printf '\033')" out || say "escapes in a file"
}

mistakes_are_said() {
    train plain && refused 2 'one run directory is needed, 0' show &&
        refused 2 'one run directory is needed, 2' show plain plain &&
        refused 2 "--example: -1 is not" show plain --example -1 &&
        refused 2 "--head: 'x'" show plain --head x &&
        refused 2 "--head: -2 is not" show plain --head -2 && refused 1 'nowhere' show nowhere &&
        refused 2 "did you mean '--head'" show plain --hed 0 || return 1
    ran 1 show plain --head 1 && grep -q 'no head 1' err || say 'there is no head 1'
}

suite every_number_is_right the_head_that_looks_most a_trained_one_is_right each_task_has_its_words \
    without_output_matrix a_text_is_explained_at_its_end no_colour_into_a_file mistakes_are_said
