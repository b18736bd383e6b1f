"""page_sweep.py - tests of the map of a sweep in the page (qkv view S), for page.py. NATIVE, its fourth word, has the page's
arithmetic."""
import csv
import os
import subprocess
import sys

NATIVE = os.path.abspath(sys.argv[3])


def native(b, *words):
    done = subprocess.run([NATIVE, *words], capture_output=True, text=True, cwd=b.dir)
    assert done.returncode == 0, done.stderr


def sweep(b):
    """A sweep of 4 x 3 combinations, those in the middle row of which do not fit, and two seeds; its rows."""
    if not os.path.exists(os.path.join(b.dir, 'S')):
        native(b, 'sweep', '--lr', '0.001,0.01,0.03,0.1', '--d-model', '4,5,8', '--heads', '2', '--seed', '1,2', '--steps', '40',
               '--eval-every', '20', '--eval-examples', '64', '--out', 'S', '--quiet')
    with open(os.path.join(b.dir, 'S', 'cells.csv')) as f:
        return list(csv.DictReader(f))


def view(b, name='S'):
    page = os.path.join(b.dir, name + '.html')
    native(b, 'view', name, '--page', b.page, '--out', page)
    b.open(page=page)


def point(b, col, row, event='click'):
    """The pointer on a place of the map."""
    b.js('''const c = document.getElementById("sweep-map"), box = c.getBoundingClientRect(), [col, row, name] = arguments;
            let found = null;
            for (let y = 2; y < box.height && !found; y += 4)
                for (let x = 2; x < box.width && !found; x += 4) {
                    c.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + x, clientY: box.top + y}));
                    if (document.querySelector("#sweep .note").textContent.startsWith("lr " + col + ", d_model " + row + ":"))
                        found = {clientX: box.left + x, clientY: box.top + y, bubbles: true};
                }
            if (!found) throw new Error("no such place");
            c.dispatchEvent(new PointerEvent(name, found));''', col, row, event)


def result(b):
    """What is shown of a cell that was trained here: its sentence, and {measure: (in the table, here)}."""
    b.until(lambda: b.js('return !!document.querySelector("#sweep-result table")'), 'a result')
    b.still()
    lines = b.js('''return [...document.querySelectorAll("#sweep-result tr")].slice(1)
        .map((r) => [...r.children].map((c) => c.textContent))''')
    return b.text('sweep-result'), {name: (there, here) for name, there, here in lines}


def equals(row, shown):
    assert 'accuracy' in shown and 'loss' in shown, shown
    for name, (there, here) in shown.items():
        assert float(there) == float(row[name]) == float(here), (name, there, here, row[name])


def a_cell_is_trained_to_the_numbers_of_its_row(b):
    rows = {(r['lr'], r['d_model'], r['seed']): r for r in sweep(b)}
    view(b)
    assert '24 cells' in b.text('sweep') and b.js('return document.title') == 'qkv: S'
    point(b, '0.1', '8')
    said, shown = result(b)
    equals(rows['0.1', '8', '1'], shown)
    assert 'digit by digit' in said and b.step() == 40, said
    assert b.js('return [qkv.run.options.lr, qkv.run.options["d-model"], qkv.run.options.seed]') == ['0.1', '8', '1']
    other = '[...document.querySelectorAll("#sweep-result button")]'
    assert b.js('return %s.map((e) => e.textContent)' % other) == ['seed 2']
    b.js(other + '[0].click()')
    said, shown = result(b)
    equals(rows['0.1', '8', '2'], shown)
    b.click('lang')  # all is said again
    for words in ('参数扫描 S', '24 格', '横轴', '只看 seed', '点击一格', '逐位相同', '这个位置有 2 格'):
        assert words in b.text('sweep'), (words, b.text('sweep'))
    assert result(b)[1] == shown and b.step() == 40 and b.js('return document.title') == 'qkv：S'
    b.click('lang')
    b.js('localStorage.clear()')
    assert result(b) == (said, shown)
    point(b, '0.01', '5')  # says why, and trains nothing
    assert '2 heads do not divide the width 5' in b.text('sweep-result')
    b.quiet()


def a_map_is_chosen_and_walked_by_keyboard(b):
    rows = {(r['lr'], r['d_model'], r['seed']): r for r in sweep(b)}
    view(b)
    boxes = 'const s = [...document.querySelectorAll("#sweep select")];'
    assert b.js(boxes + 'return s.map((e) => e.value)') == ['lr', 'd_model', 'accuracy', '']
    point(b, '0.01', '4', 'pointermove')
    note = lambda: b.js('return document.querySelector("#sweep .note").textContent')
    mean = (float(rows['0.01', '4', '1']['accuracy']) + float(rows['0.01', '4', '2']['accuracy'])) / 2
    assert abs(float(note().split('accuracy ')[1].split(',')[0]) - mean) < 1e-3 and 'mean of 2 cells' in note(), note()
    choose = boxes + 's[arguments[0]].value = arguments[1]; s[arguments[0]].dispatchEvent(new Event("change"))'
    b.js(choose, 3, '2')
    assert '12 of 24 cells' in b.text('sweep')
    b.js(choose, 2, 'loss')
    b.js('''const c = document.getElementById("sweep-map");
        for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "Enter"])
            c.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));''')
    assert note().startswith('lr 0.01, d_model 4: loss '), note()
    _, shown = result(b)
    equals(rows['0.01', '4', '2'], shown)
    assert not b.js('return document.querySelector("#sweep-result button")')
    b.js(choose, 1, '')  # d_model is no axis any more, and can be held
    assert b.js(boxes + 'return s.length') == 5
    b.quiet()


def other_digits_and_many_cells(b):
    """Where the table has other last digits that is said; a map may hold 10,000 cells."""
    sweep(b)
    many = os.path.join(b.dir, 'M')
    os.makedirs(many, exist_ok=True)
    with open(os.path.join(b.dir, 'S', 'sweep.json')) as f, open(os.path.join(many, 'sweep.json'), 'w') as to:
        to.write(f.read())
    with open(os.path.join(many, 'cells.csv'), 'w') as f:
        f.write('cell,d_model,lr,steps,seed,accuracy,failed\n')
        for i in range(10000):
            f.write('c%011d,%d,%g,4,%d,%g,\n' % (i, 4 * (i // 100 % 10 + 1), 0.001 * (i % 100 + 1), i // 1000, i / 10000))
    view(b, 'M')
    assert '10000 cells' in b.text('sweep')
    point(b, '0.1', '40')
    said, _ = result(b)
    assert 'last digits differ' in said, said
    assert b.js('return document.querySelectorAll("#sweep-result button").length') == 9
    b.quiet()


TESTS = [a_cell_is_trained_to_the_numbers_of_its_row, a_map_is_chosen_and_walked_by_keyboard, other_digits_and_many_cells]
