"""page_course.py - the lessons of the page, done by keys alone, in both languages, with predictions that are right and
wrong. What is right is worked out here once more, from what the page shows. TESTS is a part of page.py's."""
import json
import os
import re
import subprocess
import types

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

CHEAP = '&steps=%d&batch=4&eval-examples=32&eval-every=10'  # what is judged is the model that this makes


def ready(b):
    assert b.driver.execute_async_script('const done = arguments[0]; qkv.course.idle.then(() => done(qkv.course.lesson !== null))')
    b.still()
    assert b.by('trouble').get_attribute('hidden'), b.text('trouble')


def press(b, keys):
    b.driver.switch_to.active_element.send_keys(keys)


# Once all is done: what is looked at and said, what the page shows of the lesson, and each number that is asked for.
SEEN = '''
const [wanted, done] = arguments, id = (name) => document.getElementById(name), all = (css) => [...document.querySelectorAll(css)];
const sum = (x) => Math.sqrt([...x].reduce((whole, v) => whole + v * v, 0)), top = (look) => Math.max(...look.at.map((a) => a.weight || 0));
const measured = (what, f, row) => {
    const [kind, of] = what.split(".");
    if (kind === "run") return (of === "a" ? row : qkv.pair.rows.at(qkv.state.step)).accuracy;
    if (kind === "sharp") return top((of === "a" ? f : f.pair).before.look);
    if (kind === "first") return (qkv.curves.rows.points(of).find(([, y]) => y >= 0.5) || [1e9])[0];
    if (kind === "pushed") return sum(f.extra.inside.list.find((c) => c.key === of).g);
    return sum(Object.keys(row).filter((n) => n.startsWith(kind + ".") && n.endsWith("." + of)).map((n) => row[n]));
};
qkv.course.idle.then(async () => {
    while (document.body.dataset.waits) await new Promise((then) => setTimeout(then, 2));
    const f = qkv.shown, {look} = f.after || f.before, row = qkv.curves.at(qkv.state.step), weights = (look.at || []).map((a) => a.weight || 0);
    const text = (name) => id(name).textContent, value = (css) => (document.querySelector(css) || {value: ""}).value;
    done({
        most: weights.indexOf(Math.max(...weights)), said: look.answers.map((a) => a.top[0][0]), changed: f.after !== null, row,
        measured: wanted.map((what) => measured(what, f, row)), seed: qkv.state.given.seed, lesson: qkv.state.lesson,
        framed: all(".framed").map((e) => e.dataset.panel), focus: document.activeElement.name || document.activeElement.id,
        chips: all("#lesson-choices input").map((e) => e.value), picked: value("#lesson-choices :checked"), marked: value("#lesson-choices .is input"),
        text: text("lesson-text"), result: text("lesson-result"), hit: id("lesson-result").className, careful: id("lesson-end").hidden ? "" : text("lesson-end"),
        score: (text("lesson-score").match(/\\d+/g) || []).map(Number), trouble: id("trouble").hidden ? "" : text("trouble")
    });
}).catch((e) => done({trouble: e.stack}));'''


def seen(b, wanted=()):
    now = types.SimpleNamespace(**b.driver.execute_async_script(SEEN, list(wanted)))
    assert not now.trouble, now.trouble
    for bad in ('____', 'undefined', 'NaN', '{'):
        assert bad not in now.text + now.result + now.careful, now
    return now


def judged(question, was, now):
    """The chip that is marked is the one that came out."""
    kind = question if isinstance(question, str) else list(question)[0]
    if kind in ('which', 'best'):
        offered = question['which'] if kind == 'which' else [str(i) for i in range(len(question['best']))]
        x = now.measured if kind == 'which' else [float(p) for p in re.findall(r'([\d.]+) %', now.result)[:len(offered)]]
        least = offered[0].startswith('first.')
        near = sorted(x, reverse=not least)[:2]
        if now.marked == 'alike':
            assert abs(near[0] - near[1]) <= 0.1001 * max(near), (question, x)
        elif now.marked == 'none':
            assert max(x) <= 50, (question, x)
        else:
            assert x[offered.index(now.marked)] == near[0], (question, now.marked, x)
        return
    if kind == 'looks':
        right = str(now.most)
    elif kind == 'says':
        right = now.said[0]
    elif kind == 'effect':
        right = 'effect.' + {(0, 0): 'none', (0, 1): 'answer', (1, 0): 'looks', (1, 1): 'both'}[was.most != now.most, was.said != now.said]
    else:
        x = now.row[question['share'] if isinstance(question, dict) else 'accuracy']
        right = 'few' if x < 0.25 else 'half' if x < 0.75 else 'most'
    assert now.marked == (right if right in now.chips else now.chips[-1]), (question, right, was, now)


def do_lesson(b, n, seed):
    """By keys alone. Returns which predictions were right."""
    marks, cards = [], b.js('return qkv.course.lesson.cards')
    for i, card in enumerate(cards):
        now, last = seen(b), i == len(cards) - 1
        assert (now.lesson, now.seed) == (str(n) if i == 0 else '%d.%d' % (n, i + 1), seed)
        assert now.framed == ([card['frame']] if 'frame' in card else []), (n, i, now.framed)
        if 'question' in card:
            assert now.focus == 'choice' and not now.changed, (n, i, 'a change is shown before it was guessed')
            press(b, Keys.SPACE + Keys.ARROW_DOWN * ((n + i) % 3) + Keys.ENTER)
            was, now = now, seen(b, card['question'].get('which', ()) if isinstance(card['question'], dict) else ())
            judged(card['question'], was, now)
            assert len(now.result) > 8 and now.picked, now
            assert now.hit == ('hit' if now.picked == now.marked else 'miss'), now
            marks.append(now.picked == now.marked)
        assert now.focus == ('lesson-next' if not last or n < 10 else 'lesson-box'), (n, i, now.focus)
        assert (len(now.careful) > 10) == last and now.score == ([sum(marks), len(marks)] if marks else []), now
        if not last or n < 10:
            press(b, Keys.ENTER)
    return marks


def every_lesson_is_done_by_keys_in_both_languages(b):
    marks = []
    for lang, seed, steps in (('en', 1, 20), ('zh', 5, 60)):
        b.open('lang=%s' % lang)
        assert '10' in b.text('learn')
        b.open('lesson=1&seed=%d&lang=%s%s' % (seed, lang, CHEAP % steps))
        for n in range(1, 11):
            marks += do_lesson(b, n, str(seed))
    assert True in marks and False in marks and len(marks) > 60, marks
    b.quiet()


def a_lesson_is_left_and_found_again(b):
    b.open('step=3')
    b.click('learn')
    ready(b)
    assert b.js('return location.hash') == '#lesson=1' and b.js('return getComputedStyle(document.getElementById("qk-panel")).display') == 'none'
    b.click('lesson-next')
    ready(b)
    assert b.js('return location.hash') == '#lesson=1.2'
    b.set('seed', '7')
    ready(b)
    assert b.js('return [location.hash, qkv.state.given.seed]') == ['#seed=7&lesson=1.2', '7']
    b.click('lang')
    ready(b)
    assert '第 1 课' in b.text('lesson-kicker') and b.js('return qkv.example.asked(qkv.shown.before.look.question)') > '\u4e00'
    b.js('localStorage.clear()')
    b.click('lesson-close')
    assert not b.by('lesson-box').is_displayed() and b.by('qk-panel').is_displayed()
    for address, why in (('lesson=99', 'no such lesson'), ('lesson=1.99', 'no such lesson'), ('lesson=x', 'no such lesson'), ('lesson=2&lr=x', 'lr')):
        b.open(address)
        assert why in b.text('trouble'), (address, b.text('trouble'))
        b.go(2)
    b.quiet()


def a_change_is_guessed_before_it_is_shown(b):
    b.open('step=300&set=0.0.3.6_0.0.7.0&guess=1')
    assert b.js('return qkv.shown.after') is None and b.by('lesson-form').is_displayed()
    b.js('document.querySelector("#lesson-choices [value=\'effect.both\']").click()')
    b.click('lesson-show')
    ready(b)
    assert b.text('lesson-result').startswith('Right. Attention: k0 v10 → k0 v18'), b.text('lesson-result')
    b.click('undo')
    b.click('swap-values')
    ready(b)
    assert b.js('return qkv.shown.after') is None and 'v10 → v18' in b.text('lesson-text')
    b.js('document.querySelector("#lesson-choices [value=\'effect.both\']").click()')
    b.click('lesson-show')
    ready(b)
    assert b.text('lesson-result').startswith('Not this time.') and b.says() == 'v18'
    b.quiet()


def a_lesson_prints_as_a_work_sheet(b):
    b.open('lesson=4')
    ready(b)
    b.js('dispatchEvent(new Event("beforeprint"))')
    b.cdp('Emulation.setEmulatedMedia', media='print')
    assert not b.by('lesson-form').is_displayed() and not b.by('strips').is_displayed() and not b.by('play').is_displayed()
    sheet = b.driver.find_element(By.ID, 'lesson-sheet')
    assert len(sheet.find_elements(By.CSS_SELECTOR, 'ol > li')) == b.js('return qkv.course.lesson.cards.length')
    assert '____' in sheet.text and len(sheet.find_elements(By.CSS_SELECTOR, '.boxes > li')) > 12
    b.cdp('Emulation.setEmulatedMedia', media='')


def a_lesson_of_ones_own_is_put_into_the_page(b):
    """The example of docs/lessons.md."""
    text = open('docs/lessons.md', encoding='utf-8').read()
    lesson = text[text.index('```json\n') + 8:]
    path = os.path.join(b.dir, 'mine.json')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(lesson[:lesson.index('```')])
    out = os.path.join(b.dir, 'mine.html')
    said = subprocess.run([b.qkv, 'view', '--lesson', path, '--page', b.page, '--out', out], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    b.open(page=out)
    ready(b)
    mine = json.load(open(path, encoding='utf-8'))
    assert b.text('lesson-title') == mine['title']['en'] and b.js('return location.hash') == '#lesson=own'
    for i in range(len(mine['cards'])):
        if 'question' in mine['cards'][i]:
            press(b, Keys.SPACE + Keys.ENTER)
            ready(b)
            assert len(b.text('lesson-result')) > 10
        if i < len(mine['cards']) - 1:
            press(b, Keys.ENTER)
            ready(b)
    assert b.text('lesson-score')
    b.quiet()


def the_first_visit_begins_by_itself(b):
    """Once, until it is paused; not where an address says something, and not where motion is unwanted, as in all other tests."""
    b.open()
    b.js('localStorage.clear()')
    b.open()
    assert b.step() == 0
    b.cdp('Emulation.setEmulatedMedia', features=[])
    b.js('localStorage.clear()')
    for address, moves, step in (('step=2', False, 2), ('', True, 0), ('', False, 0)):
        b.driver.get('about:blank')
        b.driver.get('file://' + b.page + ('#' + address if address else ''))
        b.until(lambda: b.js('return document.body.dataset.ready'), 'the page is ready')
        if moves:
            b.until(lambda: b.step() > 0, 'it trains by itself')
            b.js('qkv.player.pause()')
        b.still()
        assert b.step() > 0 if moves else b.step() == step, (address, b.step())
    b.screen(1400, 1000)
    b.quiet()


TESTS = [the_first_visit_begins_by_itself, every_lesson_is_done_by_keys_in_both_languages, a_lesson_is_left_and_found_again, a_change_is_guessed_before_it_is_shown,
         a_lesson_prints_as_a_work_sheet, a_lesson_of_ones_own_is_put_into_the_page]
