"""page.py PAGE QKV NATIVE DIR - tests of the page in a real browser, headless Chromium driven by chromedriver.

PAGE: build/qkv.html; QKV: the program; NATIVE: the program built with the page's arithmetic; DIR: an empty
directory. Reports in cmocka's words, for run.sh. Called by test_page.sh, which skips it where a part is missing."""
import csv
import json
import os
import re
import struct
import subprocess
import sys
import time
import traceback
import types
import urllib.parse

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import page_chinese
import page_course
import page_layout
import page_sweep

PAGE, QKV, NATIVE, DIR = (os.path.abspath(a) for a in sys.argv[1:5])
SHOTS = os.environ.get('SHOTS')  # a directory for pictures of the page, if wanted
DEFAULT = 600


class Browser:
    """The page, and what the tests do with it."""
    page, qkv, dir = PAGE, QKV, DIR

    def __init__(self):
        options = webdriver.ChromeOptions()
        for word in ('--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--hide-scrollbars'):
            options.add_argument(word)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
        self.driver = webdriver.Chrome(service=webdriver.chrome.service.Service('/usr/bin/chromedriver'), options=options)
        self.driver.set_script_timeout(150)
        self.cdp('Browser.setDownloadBehavior', behavior='allow', downloadPath=DIR)
        self.screen(1400, 1000)

    def cdp(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def screen(self, width, height, dark=False):
        self.cdp('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}
        self.cdp('Emulation.setEmulatedMedia', features=[scheme, {'name': 'prefers-reduced-motion', 'value': 'reduce'}])

    def js(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def open(self, address='', page=PAGE):
        """Loads the page anew, and waits until it is still."""
        self.driver.get('about:blank')
        self.driver.get('file://' + page + ('#' + address if address else ''))
        self.until(lambda: self.js('return document.body.dataset.ready'), 'the page is ready')
        self.still()

    def until(self, true, what, seconds=120):
        end = time.time() + seconds
        while not true():
            if time.time() > end:
                raise AssertionError('not within %d s: %s' % (seconds, what))
            time.sleep(0.05)

    def still(self):
        """Until nothing is asked of the engine any more, four frames in a row. The page counts them itself: on a busy
        machine its frames take longer, too."""
        calm = self.driver.execute_async_script('''
            const done = arguments[0], until = performance.now() + 120000;
            let calm = 0;
            const look = () => {
                calm = document.body.dataset.waits ? 0 : calm + 1;
                if (calm >= 4 || performance.now() > until) done(calm);
                else requestAnimationFrame(look);
            };
            look();''')
        assert calm >= 4, 'the page does not come to rest'

    def by(self, name):
        return self.driver.find_element(By.ID, name)

    def text(self, name):
        return self.js('return document.getElementById(arguments[0]).textContent', name)

    def click(self, name):
        self.js('document.getElementById(arguments[0]).click()', name)
        self.still()

    def set(self, name, value):
        """A value as a person types or chooses it."""
        self.js('''const e = document.getElementById(arguments[0]);
                   if (e.type === "checkbox") e.checked = arguments[1]; else e.value = arguments[1];
                   e.dispatchEvent(new Event(e.type === "range" ? "input" : "change", {bubbles: true}));''', name, value)
        self.still()

    def go(self, step):
        self.set('slider', step)
        self.until(lambda: self.step() == step, 'step %d' % step)
        self.still()

    def step(self):
        return int(re.search(r'\d+', self.text('where')).group())

    def cards(self):
        return [c.text for c in self.driver.find_elements(By.CSS_SELECTOR, '.card')]

    def chip(self, position, row):
        return self.driver.find_elements(By.CSS_SELECTOR, '.card')[position].find_elements(By.CSS_SELECTOR, '.chip')[row]

    def says(self):
        return re.search(r'says (\S+)', self.text('answer')).group(1)

    def share(self, name):
        """The number that stands in the legend behind a name."""
        return float(re.search(re.escape(name) + r' ([\d.]+)', self.js('return document.getElementById("shares").getAttribute("aria-label")')).group(1))

    def download(self, button):
        before = set(os.listdir(DIR))
        self.js('document.getElementById(arguments[0]).click()', button)
        new = lambda: [f for f in set(os.listdir(DIR)) - before if not f.endswith('.crdownload')]
        self.until(new, 'a file of ' + button, 30)
        self.files = getattr(self, 'files', 0) + 1
        to = os.path.join(DIR, 'download-%d' % self.files)
        os.rename(os.path.join(DIR, new()[0]), to)  # the next of the same name is another file
        return to

    def quiet(self):
        """Nothing was said on the console."""
        said = [entry['message'] for entry in self.driver.get_log('browser')]
        assert said == [], said


def tensors(path):
    raw = open(path, 'rb').read()
    n = struct.unpack('<Q', raw[:8])[0]
    head = json.loads(raw[8:8 + n])
    notes = head.pop('__metadata__')
    data = {name: raw[8 + n + t['data_offsets'][0]:8 + n + t['data_offsets'][1]] for name, t in head.items()}
    return data, notes


def qkv(*words, program=QKV):
    return subprocess.run([program, *words], capture_output=True, text=True, cwd=DIR)


def native_run(program, name, *words):
    out = os.path.join(DIR, name)
    if not os.path.exists(out):
        done = qkv('train', '--quiet', '--out', out, *words, program=program)
        assert done.returncode == 0, done.stderr
    return out


def rows(text):
    """metrics.csv without its last column, the seconds."""
    return [line.rsplit(',', 1)[0] for line in text.strip().split('\n')]


# ---- the tests: each gets the browser ----

def loads_without_error_or_request(b):
    b.driver.get_log('performance')
    b.open()
    assert b.step() == 0 and b.text('play') == '▶ Play'
    assert 'learned nothing yet' in b.text('say')
    b.quiet()
    urls = [json.loads(e['message'])['message'] for e in b.driver.get_log('performance')]
    urls = [m['params']['request']['url'] for m in urls if m['method'] == 'Network.requestWillBeSent']
    assert urls and all(u.startswith(('file://' + PAGE, 'blob:', 'data:', 'about:')) for u in urls), urls


def is_small(b):
    assert os.path.getsize(PAGE) < 900000


def trains_the_default_task(b):
    b.open()
    b.set('speed', '0')
    b.js('document.getElementById("play").click()')
    b.until(lambda: b.step() == DEFAULT, 'the last step')
    b.still()
    assert b.share('answers that are right') >= 0.99 and b.share('attention on the answer') > 0.9
    assert 'Swap two keys' in b.text('say')
    assert b.text('play') == '▶ Again'


def trains_the_bits_of_a_native_build(b):
    run = native_run(NATIVE, 'native', '--seed', '1')
    b.open('step=%d' % DEFAULT)
    mine, notes = tensors(b.download('save-checkpoint'))
    theirs, _ = tensors(os.path.join(run, 'step-%08d.safetensors' % DEFAULT))
    differ = [n for n in theirs if not n.startswith('state.best') and mine.get(n) != theirs[n]]
    assert set(mine) == set(theirs) and differ == [], differ
    assert rows(open(b.download('save-metrics')).read()) == rows(open(os.path.join(run, 'metrics.csv')).read())


def exchanging_keys_moves_attention(b):
    b.open('step=300')
    said = b.says()
    b.click('swap-keys')
    assert 'Attention moved, the answer changed.' in b.text('compare'), b.text('compare')
    assert b.says() != said
    b.click('undo')
    assert b.by('compare').get_attribute('hidden') and b.says() == said


def exchanging_values_does_not(b):
    b.open('step=300')
    said = b.says()
    b.click('swap-values')
    assert 'Attention stayed, the answer changed.' in b.text('compare'), b.text('compare')
    assert b.says() != said and 'not where to look' in b.text('say')


def keys_exchange_by_keyboard_and_mouse(b):
    b.open('step=300')
    first, second = b.chip(1, 0), b.chip(5, 0)
    names = first.text, second.text
    first.send_keys('x')
    second.send_keys('x')
    b.still()
    assert (b.chip(1, 0).text, b.chip(5, 0).text) == names[::-1]
    ActionChains(b.driver).drag_and_drop(b.chip(1, 0), b.chip(5, 0)).perform()
    b.still()
    assert (b.chip(1, 0).text, b.chip(5, 0).text) == names
    assert b.by('undo').get_attribute('disabled')  # all is as it was drawn


def a_click_asks_for_a_key(b):
    b.open('step=300')
    b.chip(2, 0).click()
    b.still()
    assert b.chip(8, 0).text == b.chip(2, 0).text
    assert b.says() == b.chip(2, 1).text and 'source' in b.driver.find_elements(By.CSS_SELECTOR, '.card')[2].get_attribute('class')


def a_word_can_be_changed(b):
    b.open('step=300')
    source = [i for i, c in enumerate(b.driver.find_elements(By.CSS_SELECTOR, '.card')) if 'source' in c.get_attribute('class')][0]
    chip = b.chip(source, 1)
    before = int(chip.text[1:])
    chip.send_keys(Keys.ARROW_UP)
    b.still()
    assert b.chip(source, 1).text == 'v%d' % ((before + 1) % 32) and b.says() == b.chip(source, 1).text
    b.js('document.querySelector("input[value=word]").click()')
    b.chip(source, 1).click()
    b.js('const p = document.querySelector(".picker"); p.value = arguments[0]; p.dispatchEvent(new Event("change"))', str((before + 7) % 32))
    b.still()
    assert b.says() == 'v%d' % ((before + 7) % 32)


def heads_matrices_and_parts_can_be_taken_away(b):
    b.open('step=300')
    share = lambda: float(re.search(r'answers: ([\d.]+) % before, ([\d.]+) % now', b.text('say')).group(2))
    b.set('silent', '0')
    assert share() < 20
    b.click('undo')
    b.set('random', 'layer0.attn.wq')
    assert share() < 50
    b.set('random', '')
    b.set('hide-keys', True)
    b.set('hide-values', True)
    assert share() > 98 and b.js('return location.hash').endswith('hide=3')


def the_slider_shows_an_earlier_step(b):
    b.open('step=170')
    cards, answer, first = b.cards(), b.text('answer'), tensors(b.download('save-checkpoint'))[0]
    b.click('end')
    b.until(lambda: b.step() == DEFAULT, 'the end')
    assert b.cards() != cards
    b.go(170)
    assert (b.cards(), b.text('answer')) == (cards, answer)
    assert tensors(b.download('save-checkpoint'))[0] == first
    b.click('one')
    assert b.step() == 171
    b.click('back-one')
    assert b.step() == 170 and b.cards() == cards
    b.click('restart')
    assert b.step() == 0


def a_link_restores_a_state(b):
    b.open('task=partner&seed=3&steps=200&step=150')
    b.click('next-example')
    b.click('swap-keys')
    b.set('random', 'layer0.attn.wv')
    seen = b.cards(), b.text('compare'), b.text('say')
    address = b.js('return location.hash')[1:]
    b.open(address)
    assert (b.cards(), b.text('compare'), b.text('say')) == seen
    assert b.by('task').get_attribute('value') == 'partner' and b.by('seed').get_attribute('value') == '3'
    assert b.js('return qkv.state.command()') == 'qkv train --task partner --seed 3 --steps 200'


def the_command_does_the_same(b):
    b.open('task=pairs&d-model=16&wo=false&steps=40&freeze=embed.*&step=40')
    command = b.js('return qkv.state.command()')
    out = os.path.join(DIR, 'command')
    done = subprocess.run(command.replace('qkv', NATIVE, 1) + ' --quiet --out ' + out, shell=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    mine, _ = tensors(b.download('save-checkpoint'))
    theirs, _ = tensors(os.path.join(out, 'step-00000040.safetensors'))
    assert all(mine[n] == theirs[n] for n in theirs if not n.startswith('state.best'))


def bad_input_is_answered_in_words(b):
    b.open()
    for name, value in (('lr', 'abc'), ('heads', '3'), ('steps', '-5'), ('d-model', '10x')):
        b.set('option-' + name, value)
        said = qkv('train', '--' + name, value).stderr.strip()
        assert said == 'qkv train: ' + b.text('trouble'), (said, b.text('trouble'))
        assert b.by('option-' + name).get_attribute('aria-invalid') == 'true'
        assert b.by('option-' + name).get_attribute('value') == value
        b.set('option-' + name, {'lr': '0.003', 'heads': '1', 'steps': '600', 'd-model': '32'}[name])
        assert b.by('trouble').get_attribute('hidden'), b.text('trouble')
    for address in ('heads=3', 'colour=red', 'step=x', 'set=9.9.9.9', 'random=nothing', 'task=pear'):
        b.open(address)
        assert not b.by('trouble').get_attribute('hidden') and b.text('trouble'), address
        assert b.text('answer'), address  # and a run is shown all the same
    b.quiet()


def a_native_checkpoint_opens(b):
    run = native_run(QKV, 'other', '--task', 'cross', '--steps', '150', '--seed', '5')
    b.open()
    path = os.path.join(run, 'step-00000150.safetensors')
    b.by('open-checkpoint').send_keys(path)
    b.until(lambda: b.by('task').get_attribute('value') == 'cross', 'the run')
    b.still()
    assert b.step() == 150 and b.by('seed').get_attribute('value') == '5'
    mine, theirs = tensors(b.download('save-checkpoint'))[0], tensors(path)[0]
    assert all(mine[n] == theirs[n] for n in theirs if not n.startswith('state.best'))
    damaged = os.path.join(DIR, 'damaged.safetensors')
    raw = bytearray(open(path, 'rb').read())
    raw[-5] ^= 1
    open(damaged, 'wb').write(raw)
    b.by('open-checkpoint').send_keys(damaged)
    b.until(lambda: 'damaged' in b.text('trouble'), 'a sentence')


def a_saved_checkpoint_loads_in_qkv(b):
    b.open('step=300&seed=4')
    path = b.download('save-checkpoint')
    run = os.path.join(DIR, 'saved')
    os.mkdir(run)
    os.rename(path, os.path.join(run, 'step-00000300.safetensors'))
    _, notes = tensors(os.path.join(run, 'step-00000300.safetensors'))
    open(os.path.join(run, 'config.json'), 'w').write(notes['config'])
    done = qkv('eval', run)
    assert done.returncode == 0 and re.search(r'(99|100)\.\d %', done.stdout), done.stdout + done.stderr
    more = qkv('train', '--from', run, '--out', run + '-on', '--steps', '310', '--quiet')
    assert more.returncode == 0, more.stderr


def a_run_is_viewed(b):
    run = native_run(QKV, 'viewed', '--save-every', '200', '--keep', '9')
    done = qkv('view', run, '--page', PAGE)
    assert done.returncode == 0, done.stderr
    b.open(page=os.path.join(run, 'view.html'))
    assert b.step() == DEFAULT and '3 of its states' in b.text('foot')
    assert rows(open(b.download('save-metrics')).read()) == rows(open(os.path.join(run, 'metrics.csv')).read())
    for step in (400, 600):
        b.go(step)
        mine = tensors(b.download('save-checkpoint'))[0]
        theirs = tensors(os.path.join(run, 'step-%08d.safetensors' % step))[0]
        differ = [n for n in theirs if not n.startswith("state.best") and mine[n] != theirs[n]]
        assert differ == [], (step, differ)
    at = qkv('view', run, '--page', PAGE, '--at', '250', '--out', os.path.join(run, 'at.html'))
    assert at.returncode == 0, at.stderr
    b.open(page=os.path.join(run, 'at.html'))
    assert b.step() == 250
    b.quiet()
    late = qkv('view', run, '--page', PAGE, '--at', '601')
    assert late.returncode == 2 and 'no state at step 601' in late.stderr
    missing = qkv('view', run, '--page', os.path.join(run, 'config.json'))
    assert missing.returncode == 3 and 'is not the page' in missing.stderr
    assert qkv('view', DIR + '/none').returncode == 1


OWN = """# colours
%s
"""


def own_sentences_are_trained_on(b):
    names, things = ('Ann', 'Bob', 'Cid', 'Dan'), ('box', 'cup', 'hat', 'pen')
    lines = ['%s has %s and %s has %s who has %s => %s' % (n, t, m, u, w, n if w == t else m)
             for n in names for m in names for t in things for u in things if n != m and t != u for w in (t, u)]
    b.open()
    b.set('task', 'file')
    assert b.by('trouble').get_attribute('hidden') and 'Emma' in b.js('return document.getElementById("own-text").value')
    b.js('document.getElementById("own-text").value = arguments[0]', 'who => ? => what')
    b.click('own-train')
    assert b.text('trouble').startswith('sentences.txt, line 1'), b.text('trouble')
    b.js('document.getElementById("own-text").value = arguments[0]', OWN % '\n'.join(lines))
    b.click('own-train')
    assert b.by('trouble').get_attribute('hidden'), b.text('trouble')
    assert ' has ' in ' '.join(b.cards()).replace('\n', ' ')
    b.set('option-steps', '150')
    b.go(150)
    path = b.download('own-save')
    os.rename(path, os.path.join(DIR, 'sentences.txt'))
    command = b.js('return qkv.state.command()')
    assert command == 'qkv train --task file --data sentences.txt --steps 150', command
    done = subprocess.run(command.replace('qkv', NATIVE, 1) + ' --quiet --out own', shell=True, cwd=DIR, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    mine = rows(open(b.download('save-metrics')).read())
    assert mine == rows(open(os.path.join(DIR, 'own', 'metrics.csv')).read())
    assert qkv('view', 'own', '--page', PAGE).returncode == 0
    b.open(page=os.path.join(DIR, 'own', 'view.html'))
    assert b.step() == 150 and b.by('trouble').get_attribute('hidden'), b.text('trouble')
    b.open('task=file&data=sentences.txt&text=' + ''.join('w%d%%20b%%20w%d%%20%%3D%%3E%%20b%%0A' % (i % 8, i // 8) for i in range(64)) + '&step=3')
    assert b.step() == 3 and b.by('trouble').get_attribute('hidden'), b.text('trouble')


def words_of_a_line_are_exchanged(b):
    """On a run on a file, as it is viewed: the answer follows, by a button, by mouse, by another word; before and
    after are of one head. On one that answers with no word of the line there is nothing to exchange."""
    names, things = ('Ann', 'Bob', 'Cid', 'Dan'), ('box', 'cup', 'hat', 'pen')
    lines = ['%s has %s and %s has %s who has %s => %s' % (n, t, m, u, w, n if w == t else m)
             for n in names for m in names for t in things for u in things if n != m and t != u for w in (t, u)]
    open(os.path.join(DIR, 'who.txt'), 'w').write(OWN % '\n'.join(lines) + '\n')
    run = native_run(QKV, 'who', '--data', 'who.txt', '--steps', '300')
    assert qkv('view', run, '--page', PAGE).returncode == 0
    b.open(page=os.path.join(run, 'view.html'))
    said = b.says()
    source = b.js('return [...document.querySelectorAll(".card")].findIndex((c) => c.classList.contains("source"))')
    first = b.chip(source, 0).text
    assert first == said and not b.by('swap-words').get_attribute('hidden') and b.by('swap-keys').get_attribute('hidden')
    assert b.js('return document.getElementById("own-sample").selectedOptions[0].textContent') == 'your own'
    b.click('swap-words')
    other = b.chip(source, 0).text
    assert other != first and b.says() == other, (first, other, b.says())
    assert ', the answer changed.' in b.text('compare') and b.text('say').startswith('You changed words: attention ')
    assert len(b.driver.find_elements(By.CSS_SELECTOR, '.chip.changed')) == 2
    shown = qkv('show', run).stdout  # the same exchange, by the program
    assert 'answer %s, with probability' % other in shown, shown
    address = b.js('return location.hash')[1:]
    b.click('swap-words')
    assert b.by('undo').get_attribute('disabled') and b.says() == first
    b.click('put-word')
    assert b.says() == b.chip(source, 0).text not in (first, other), b.says()
    b.click('undo')
    ActionChains(b.driver).drag_and_drop(b.chip(source, 0), b.chip(4 if source < 3 else 0, 0)).perform()
    b.still()
    assert b.chip(source, 0).text == other and b.says() == other
    b.open(address, page=os.path.join(run, 'view.html'))
    assert b.says() == other
    b.open('task=file&data=sentences.txt&text=' + ''.join('w%d%%20b%%20w%d%%20%%3D%%3E%%20no%%0A' % (i % 8, i // 8) for i in range(64)) + '&step=3', page=PAGE)
    assert b.by('swap-words').get_attribute('hidden') and b.by('put-word').get_attribute('hidden')
    b.quiet()


def a_text_shows_what_does_not_print(b):
    """Its last place is explained, which sees the most; blanks, ends of lines and the like can be told apart."""
    text = 'a%20b%3F%0Ac%C2%A0d%09%E2%80%8Fe%CC%81%20' * 30
    b.open('task=text&data=sentences.txt&time=16&text=' + text + '&step=2')
    cards = [c.split('\n')[0] for c in b.cards() if c]
    assert len(cards) == 16 and 'question' in b.driver.find_elements(By.CSS_SELECTOR, '.card')[15].get_attribute('class')
    whole = ''.join(cards)
    for shown in ('␣', '?', '\\n', '\\u{a0}', '\\t', '\\u{200f}'):
        assert shown in whole or shown in b.text('answer') or shown in ''.join(b.js('return qkv.example.words && [...document.querySelectorAll(".says")].map((e) => e.textContent)')), (shown, whole)
    b.quiet()


def pictures_can_be_saved(b):
    b.open('step=100')
    svg = open(b.download('save-svg')).read()
    assert svg.startswith('<svg') and svg.count('<rect') > 2000 and 'Q and K' in svg and 'step 100' in svg
    import xml.dom.minidom
    xml.dom.minidom.parseString(svg)
    png = open(b.download('save-png'), 'rb').read()
    assert png[:4] == b'\x89PNG' and len(png) > 20000


def every_story_can_be_told(b):
    """To its last card, with a few cheap steps; a second run is there where it says so."""
    b.open('steps=5')
    stories = b.js('return qkv.course.lessons.filter((l) => !l.number).map((l) => [l.name, l.cards.map((c) => !!c.beside)])')
    assert len(stories) >= 13
    for name, beside in stories:
        b.open('lesson=%s&steps=20&batch=4&eval-examples=32' % name)
        for i, second in enumerate(beside):
            page_course.ready(b)
            assert b.js('return qkv.pair.on') == second or i, name
            assert len(b.text('lesson-text')) > 12 and '{' not in b.text('lesson-text'), name
            if i < len(beside) - 1:
                b.click('lesson-next')
        assert b.text('lesson-title') != name and len(b.text('lesson-end')) > 12, name
    b.open('story=roles&steps=20')  # an old link
    page_course.ready(b)
    assert b.js('return location.hash') == '#steps=20&lesson=roles'
    b.click('lesson-study')
    assert 'Is Q_it' in b.text('dialog-body')
    b.quiet()


def every_task_is_shown(b):
    b.open()
    for task in b.js('return [...document.getElementById("task").options].map(o => o.value)'):
        b.set('task', task)
        b.click('ten')
        assert b.step() == 10 and b.by('trouble').get_attribute('hidden'), (task, b.text('trouble'))
    b.quiet()


def every_control_has_a_name(b):
    b.open('step=20')
    b.click('more')
    b.js('document.getElementById("files").open = true')
    roles = {'button', 'combobox', 'textbox', 'checkbox', 'slider', 'radio', 'spinbutton', 'listbox', 'image', 'DisclosureTriangle'}
    tree = b.cdp('Accessibility.getFullAXTree')['nodes']
    nodes = [n for n in tree if not n.get('ignored') and n['role']['value'] in roles]
    assert len(nodes) > 90
    nameless = [n['role']['value'] for n in nodes if not n.get('name', {}).get('value', '').strip()]
    assert nameless == [], nameless


def every_control_is_reached_by_tab(b):
    b.open('step=20')
    controls = '''[...document.querySelectorAll("button, select, input, summary")].filter((e) => e.checkVisibility() && !e.disabled
        && !(e.type === "radio" && !e.checked) && getComputedStyle(e).visibility === "visible")'''
    b.js('document.activeElement.blur(); window.met = new Set(); document.addEventListener("focusin", (e) => met.add(e.target))')
    count = b.js('return %s.length' % controls)
    for _ in range(count + 10):
        ActionChains(b.driver).send_keys(Keys.TAB).perform()
    left = b.js('return %s.filter((e) => !met.has(e)).map((e) => e.id || e.outerHTML)' % controls)
    assert count > 40 and left == [], left
    b.by('where').click()
    ActionChains(b.driver).send_keys('.').perform()
    b.still()
    assert b.step() == 21


CONTRAST = '''
const lum = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const rgba = (s) => { const n = s.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
const under = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 0.9) return c.slice(0, 3); } return [255, 255, 255]; };
const bad = [];
for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || !e.childNodes || e.closest(":disabled, svg, script")) continue;
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const a = lum(rgba(getComputedStyle(e).color).slice(0, 3)), b = lum(under(e)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(e.tagName + "." + e.className + " " + e.textContent.slice(0, 20) + " " + ratio.toFixed(2));
}
return bad;'''


def readable_at_any_width_light_and_dark(b):
    for width in (390, 1400):
        for dark in (False, True):
            b.screen(width, 900, dark)
            b.open('step=150&set=0.0.3.6_0.0.7.0')
            assert b.js('return document.documentElement.scrollWidth') <= width
            bad = b.js(CONTRAST)
            assert bad == [], (width, dark, bad[:5])
            small = b.js('''return [...document.querySelectorAll("canvas")].filter((c) => c.checkVisibility()).filter((c) => {
                const x = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
                for (let i = 0; i < x.length; i += 4) seen.add(x[i] << 16 | x[i + 1] << 8 | x[i + 2]);
                return seen.size < 8 || c.clientWidth < 0.3 * Math.min(innerWidth, 700); }).map((c) => c.id)''')
            assert small == [], small
            if SHOTS:
                high = b.js('return document.documentElement.scrollHeight')
                b.screen(width, high, dark)
                time.sleep(0.3)
                b.driver.save_screenshot(os.path.join(SHOTS, 'page-%d-%s.png' % (width, 'dark' if dark else 'light')))
    b.screen(1400, 1000)


def is_quick_enough(b):
    """Time of the page's own thread, so that a busy machine does not count: for a frame, and to the first drawing."""
    b.cdp('Performance.enable', timeDomain='threadTicks')
    b.open()
    spent = lambda: {m['name']: m['value'] for m in b.cdp('Performance.getMetrics')['metrics']}['TaskDuration']
    drawn = spent()
    b.js('''window.frames_seen = 0; new MutationObserver(() => window.frames_seen++)
        .observe(document.getElementById("where"), {childList: true, characterData: true, subtree: true});
        document.getElementById("play").click()''')
    b.until(lambda: b.step() == DEFAULT, 'the end')
    frame = (spent() - drawn) / b.js('return window.frames_seen')
    b.cdp('Performance.disable')
    print('    drawn after %.0f ms, a frame takes %.1f ms of the page\'s thread' % (1000 * drawn, 1000 * frame))
    assert drawn < 1 and frame < 1 / 30


def says_so_without_vectors(b):
    script = b.cdp('Page.addScriptToEvaluateOnNewDocument', source='WebAssembly.validate = () => false')
    b.driver.get('about:blank')
    b.driver.get('file://' + PAGE)
    b.until(lambda: 'WebAssembly with SIMD' in b.text('trouble'), 'a sentence')
    b.cdp('Page.removeScriptToEvaluateOnNewDocument', identifier=script['identifier'])


def altered(name, *changes):
    """A copy of the page with some of its text replaced, each piece being there once."""
    text = open(PAGE, encoding='utf-8').read()
    for old, new in changes:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    path = os.path.join(DIR, name + '.html')
    open(path, 'w', encoding='utf-8').write(text)
    return path


def faulty(name, what):
    """A copy whose engine does something else when it is asked for step 33 the first time that a page is open."""
    return altered(name, ('onmessage = async', 'const real = calls.frame;\n    calls.frame = (m) => { if (m.to === 33) { %s } return real(m); };\n\n    onmessage = async' % what))


def press(b, name):
    """A button of the sentence at the top."""
    b.js('[...document.querySelectorAll("#trouble button")].find((e) => e.textContent.startsWith(arguments[0])).click()', name)


def alive(b):
    """The page still does what it is for."""
    b.go(12)
    assert b.by('trouble').get_attribute('hidden') or 'worked' in b.text('trouble'), b.text('trouble')
    b.click('swap-keys')
    assert 'Now:' in b.text('compare')
    b.click('undo')
    b.click('one')
    assert b.step() == 13


def a_fault_of_the_engine_is_said_and_mended(b):
    for name, what in (('throws', 'throw new RangeError("planted");'), ('recurses', 'const f = () => 1 + f(); f();')):
        b.open('seed=3&step=20', page=faulty(name, what))
        b.set('slider', 33)
        b.until(lambda: 'The engine stopped: ' in b.text('trouble') and 'Go back to step 20' in b.text('trouble'), name)
        b.still()
        assert b.by('seed').get_attribute('value') == '3' and b.step() == 0 and not b.js('return document.body.dataset.waits')
        press(b, 'Go back')
        b.until(lambda: b.step() == 20, 'the step before the fault')
        b.still()
        alive(b)
    b.driver.get_log('browser')


def what_hangs_or_ends_is_stopped_by_a_button(b):
    for name, what in (('hangs', 'for (;;);'), ('ends', 'close(); return new Promise(() => 0);')):
        b.open('seed=3&step=20', page=faulty(name, what))
        assert b.by('wait').get_attribute('hidden')
        b.js('const s = document.getElementById("slider"); s.value = 33; s.dispatchEvent(new Event("input"))')
        b.until(lambda: not b.by('wait').get_attribute('hidden'), 'a sign')
        assert 'Training: step 20 of 33' in b.text('wait'), b.text('wait')
        b.click('stop')
        assert b.text('trouble').startswith('Stopped. ') and b.by('wait').get_attribute('hidden')
        assert b.by('seed').get_attribute('value') == '3'
        alive(b)
    b.driver.get_log('browser')


def memory_beyond_2_gb_is_used_and_its_end_is_said(b):
    """The low memory of the engine is taken, so that its addresses are large; then all but 40 MB."""
    b.open('seed=3&step=20')
    card = b.cards(), b.says(), rows(b.js('return qkv.curves.csv()'))
    grown = 'if (exported._initialize) exported._initialize();'
    b.open('seed=3&step=20', page=altered('high', (grown, grown + ' if (!exported.malloc(12e8) || !exported.malloc(12e8)) throw new Error("no room");')))
    assert (b.cards(), b.says(), rows(b.js('return qkv.curves.csv()'))) == card
    b.set('random', 'layer0.attn.wq')
    b.click('undo')
    mine, _ = tensors(b.download('save-checkpoint'))
    b.open('seed=3&step=20')
    theirs, _ = tensors(b.download('save-checkpoint'))
    assert mine == theirs
    b.open('seed=3&step=20', page=altered('full', (grown, grown + ' const spare = exported.malloc(4e7); for (const n of [1e9, 1e8, 1e7, 1e6]) while (exported.malloc(n)); exported.free(spare);')))
    b.set('option-d-model', '1000')
    assert 'out of memory' in b.text('trouble'), b.text('trouble')
    assert b.step() == 20 and b.by('seed').get_attribute('value') == '3'
    b.click('one')
    assert b.step() == 21 and b.cards() != card
    b.driver.get_log('browser')


def what_refuses_a_worker_or_the_engine_is_named(b):
    for name, policy in (('worker', "worker-src 'none'"), ('engine', "script-src 'unsafe-inline' blob:")):
        page = altered(name, ('<meta charset="utf-8">', '<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="%s">' % policy))
        b.driver.get('file://' + page)
        b.until(lambda: 'The engine cannot be started: ' in b.text('trouble') and 'Try again' in b.text('trouble'), name)
    b.driver.get_log('browser')


def an_error_while_drawing_is_no_end(b):
    b.open('step=20')
    b.js('window.kept = qkv.panels[1].show; qkv.panels[1].show = () => { throw new Error("planted"); }')
    b.set('slider', 30)
    assert 'This step cannot be shown: planted.' in b.text('trouble'), b.text('trouble')
    b.js('qkv.panels[1].show = window.kept')
    press(b, 'Start again')
    b.still()
    alive(b)
    b.quiet()


def large_models_are_begun_only_on_purpose(b):
    b.open('step=20')
    b.set('option-d-model', '2048')
    assert 'about 17 million numbers and needs about 470 MB' in b.text('trouble'), b.text('trouble')
    assert b.step() == 20
    press(b, 'Keep')
    alive(b)
    b.open('d-model=4096&steps=3')
    assert '67 million' in b.text('trouble') and b.text('answer')
    b.open('d-model=256&d-ff=512&layers=2&heads=4&kv-heads=2&steps=1')
    told, learn = b.js('return [qkvSize.numbers(qkv.state.given, {}), qkv.run.learned]')
    assert 0.9 < told / learn <= 1, (told, learn)  # what it says beforehand is about what there is
    b.open('seed=2&step=20')
    b.js('qkv.session.start({"d-model": "2048", steps: "2"}, {agreed: true})')
    b.until(lambda: not b.by('wait').get_attribute('hidden') and '17 million' in b.text('wait'), 'a sign')
    b.click('stop')
    b.until(lambda: b.text('trouble').startswith('Stopped. '), 'the end')
    assert b.by('seed').get_attribute('value') == '2'
    alive(b)


def addresses_that_are_wrong_are_answered(b):
    b.open('step=20')
    for address, said in (('head=99', 'one head'), ('step=9999', 'last step of this run is 600'), ('seed=%00', 'control character'),
                          ('__proto__=1', 'no part'), ('constructor=1', 'constructor'), ('map=nothing', 'no such map'),
                          ('story=nothing', 'no such lesson'), ('silent=7', 'no head 7'), ('task=file&data=none.txt', 'none.txt')):
        b.js('location.hash = arguments[0]', address)
        b.until(lambda: said in b.text('trouble'), address)
        b.still()
        assert b.text('answer'), address
        b.click('one')
        b.js('location.hash = ""')
        b.until(lambda: not b.text('trouble'), 'the default run after ' + address)
        b.still()
    b.js('location.hash = "task=file"')
    b.until(lambda: 'Emma' in b.js('return document.getElementById("own-text").value'), 'the sample')
    b.still()
    assert b.by('trouble').get_attribute('hidden')
    b.quiet()


def text_that_was_not_trained_on_is_kept(b):
    b.open('task=file')
    box = lambda: b.js('return document.getElementById("own-text").value')
    b.js('const t = document.getElementById("own-text"); t.value = "a b => c"; t.dispatchEvent(new Event("input"))')
    b.set('seed', '2')
    assert box() == 'a b => c' and 'not trained on yet' in b.text('own-how')
    b.set('task', 'text')
    assert box() != 'a b => c'
    b.set('task', 'file')
    assert box() != 'a b => c' and 'not trained' not in b.text('own-how')
    b.set('own-sample', 'sentences.txt')
    assert box() == 'a b => c' and b.text('trouble').startswith('sentences.txt'), b.text('trouble')
    lines = '\n'.join('w%d b w%d => %s' % (i % 4, i // 4, 'b' if i % 2 else 'w0') for i in range(16))
    b.js('document.getElementById("own-text").value = arguments[0]', lines)
    b.click('own-train')
    assert 'of 16 examples' in b.text('trouble'), b.text('trouble')
    press(b, 'Validate on')
    b.still()
    assert b.by('trouble').get_attribute('hidden'), b.text('trouble')
    b.click('ten')
    assert b.step() == 10 and b.js('return qkv.state.command()').endswith('--data-valid sentences.txt --data-test sentences.txt')
    b.js('document.getElementById("own-text").value = arguments[0]', '# ' + 'x' * 4000 + '\n' + lines)
    b.click('own-train')
    press(b, 'Validate on')
    b.still()
    b.click('copy-link')
    assert '4,000 characters' in b.text('trouble') and 'Save the text' in b.text('trouble'), b.text('trouble')


def two_runs_stand_side_by_side(b):
    """The second one has the bits of a run of its own, the same words, and its own numbers at each place."""
    run = native_run(NATIVE, 'beside', '--task', 'partner', '--tie', 'qk', '--steps', '200')
    b.open('task=partner&steps=200&beside=tie:qk&step=200')
    assert b.text('say').startswith('A: ') and 'B (tie qk): ' in b.text('say'), b.text('say')
    theirs = rows(open(os.path.join(run, 'metrics.csv')).read())
    assert rows(b.js('return qkv.pair.rows.csv()')) == theirs
    assert rows(b.js('return qkv.curves.csv()')) != theirs
    card = [c for c in b.cards() if 'A 0.' in c and 'B 0.' in c]
    assert len(card) >= 8, b.cards()
    assert re.search(r'answers that are right [\d.]+ \| [\d.]+', b.js('return document.getElementById("shares").getAttribute("aria-label")'))
    assert re.search(r'A: \d+ of 32; B \(tie qk\): \d+ of 32', b.text('qk-note')), b.text('qk-note')
    b.go(100)
    assert b.js('return [qkv.shown.step, qkv.shown.pair.step]') == [100, 100]
    b.click('swap-keys')
    assert 'You changed keys' in b.text('say') and b.text('say').startswith('A: ')
    b.click('undo')
    b.click('pair-end')
    assert b.by('pair').get_attribute('hidden') and 'beside' not in b.js('return location.hash') and not [c for c in b.cards() if 'B 0.' in c]
    b.quiet()


def a_branch_is_a_run_from_that_step(b):
    run = native_run(NATIVE, 'trunk', '--steps', '150', '--save-every', '100', '--keep', '9')
    branch = native_run(NATIVE, 'branch', '--from', run + '@100', '--lr', '0.03', '--steps', '150')
    b.open('steps=150&step=100')
    b.js('document.getElementById("beside").open = true')
    b.until(lambda: b.js('return document.getElementById("beside-option").options.length') > 40, 'the options')
    b.set('beside-option', 'lr')
    b.set('beside-value', '0.03')
    b.set('beside-start', '1')
    b.click('beside-go')
    assert b.by('pair').get_attribute('hidden') is None and b.text('pair-name') == 'B (from step 100, lr 0.03)'
    b.go(150)
    assert b.js('return location.hash').endswith('beside=from:100,lr:0.03'), b.js('return location.hash')
    assert rows(b.js('return qkv.pair.rows.csv()')) == rows(open(os.path.join(branch, 'metrics.csv')).read())
    first, second = b.js('return qkv.pair.commands()').split('\n')
    for command in (first, second + ' --out B'):  # as they stand, they do the same
        done = subprocess.run(command.replace('qkv', NATIVE, 1) + ' --quiet', shell=True, cwd=DIR, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
    assert rows(open(os.path.join(DIR, 'B', 'metrics.csv')).read()) == rows(open(os.path.join(branch, 'metrics.csv')).read())
    b.go(50)  # before they part
    assert b.js('return qkv.shown.pair.step') == 50 and b.step() == 50
    b.quiet()


def a_second_run_of_any_kind(b):
    """Of other examples it is asked the same; what reads other words has its own; what cannot be is said."""
    b.open('beside=seed:2&step=200')
    assert b.js('return qkv.shown.pair.shared') and b.js('return qkv.shown.pair.after || qkv.shown.pair.before').get('look')['at']
    keys = b.js('return qkv.shown.pair.subject.words.drawn[0][0]')
    assert keys == b.js('return qkv.example.words.drawn[0][0]')
    right = b.js('return [qkv.shown.before.look, qkv.shown.pair.before.look].map((l) => [l.source, l.answers[0].target])')
    assert right[0] == right[1], right
    for address in ('beside=pairs:5&step=20', 'beside=layers:2,heads:4&step=20', 'beside=steps:20&step=40', 'beside=block:linear&step=10',
                    'task=file&beside=seed:2&step=10', 'task=two&beside=heads:1&step=10&set=0.0.3.6', 'steps=20&beside=steps:40&step=40'):
        b.open(address)
        assert b.text('say').startswith('A: ') and not b.text('trouble'), (address, b.text('say'), b.text('trouble'))
        assert b.step() == int(re.search(r'&step=(\d+)', address).group(1)), address
    for address, said in (('beside=heads:3&step=5', 'There is no run beside this one: 3 heads'), ('beside=from:20,d-model:16&step=30', 'There is no run beside this one: '),
                          ('beside=from:2000', 'last step of this run is 600')):
        b.open(address)
        assert said in b.text('trouble'), (address, b.text('trouble'))
        assert b.by('pair').get_attribute('hidden') and b.text('answer')
    b.quiet()


def in_frame(b, frame, what, ready=True):
    """What is true inside a frame, once it is ready."""
    b.driver.switch_to.frame(frame)
    try:
        b.until(lambda: b.js('return document.body && document.body.dataset.ready && !document.body.dataset.waits'), 'a frame')
        return what()
    finally:
        b.driver.switch_to.default_content()


def panels(b):
    return b.js('return [...document.querySelectorAll("[data-panel]")].filter((e) => e.checkVisibility()).map((e) => e.dataset.panel)')


def only_what_is_asked_for_is_shown(b):
    b.open('show=cards,qk&bar=play&step=80')
    assert panels(b) == ['cards', 'qk'] and b.step() == 80
    assert not b.by('learn').is_displayed() and b.by('play').is_displayed() and not b.by('ten').is_displayed()
    assert b.js('return document.documentElement.scrollHeight <= innerHeight')
    high = b.js('return document.querySelector(".player").getBoundingClientRect().top')
    b.click('swap-keys')
    assert b.js('return document.querySelector(".player").getBoundingClientRect().top') == high
    assert 'show=cards,qk&bar=play' in b.js('return location.hash') and b.by('whole').get_attribute('href').split('#')[1].startswith('step=80')
    b.js('location.hash = "show=loss&bar=none&step=5"')
    b.until(lambda: panels(b) == ['loss'], 'another panel')
    b.still()
    assert not b.by('play').is_displayed()
    b.js('location.hash = "show=loss&bar=none&step=5x"')
    b.until(lambda: 'step is a whole number' in b.text('trouble'), 'a sentence')
    b.still()
    assert panels(b) == ['loss']
    b.js('location.hash = ""')
    b.until(lambda: len(panels(b)) == 9, 'the whole page')
    b.still()
    b.quiet()


def documented_frames_work(b):
    """The examples of docs/page.md: each block is put into a file beside the page, and what its frames show is asked for."""
    doc = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'docs', 'page.md'), encoding='utf-8').read()
    here = os.path.join(DIR, 'frames')
    os.makedirs(here, exist_ok=True)
    open(os.path.join(here, 'qkv.html'), 'w', encoding='utf-8').write(open(PAGE, encoding='utf-8').read())
    blocks = re.findall(r'^```(html|\{=html\}|python)\n(.*?)^```$', doc, re.S | re.M)
    assert [kind for kind, _ in blocks] == ['html', '{=html}', 'html', 'python', 'python'], blocks
    b.driver.get_log('performance')
    seen = []
    for i, (kind, text) in enumerate(blocks):
        if kind == 'python':  # what the notebook would show
            display = types.ModuleType('IPython.display')
            display.HTML = lambda html: html
            display.IFrame = lambda src, width, height: '<iframe src="%s" width="%s" height="%s"></iframe>' % (src.replace('&', '&amp;'), width, height)
            sys.modules['IPython'], sys.modules['IPython.display'] = types.ModuleType('IPython'), display
            cell = text.strip().rsplit('\n', 1)
            names = {}
            before = os.getcwd()
            os.chdir(here)
            try:
                exec(cell[0], names)
                text = eval(cell[1], names)
            finally:
                os.chdir(before)
        path = os.path.join(here, '%d.html' % i)
        open(path, 'w', encoding='utf-8').write('<!doctype html><meta charset="utf-8"><title>x</title>' + text.replace('data-src=', 'src='))
        b.driver.get('file://' + path)
        frames = b.driver.find_elements(By.TAG_NAME, 'iframe')
        assert len(frames) == text.count('<iframe '), kind
        for frame in frames:
            seen.append(in_frame(b, frame, lambda: (panels(b), b.step(), b.text('trouble'), b.js('return qkv.pair.on'), b.by('play').is_displayed())))
    assert seen == [(['cards', 'qk'], 80, '', False, True), (['say', 'shares'], 60, '', True, True), (['attention'], 40, '', False, True),
                    (['cards'], 300, '', False, False), (['cards', 'ov'], 60, '', False, True), (['qk', 'ov'], 60, '', False, True)], seen
    urls = [json.loads(e['message'])['message'] for e in b.driver.get_log('performance')]
    urls = [m['params']['request']['url'] for m in urls if m['method'] == 'Network.requestWillBeSent']
    assert urls and all(u.startswith(('file://' + here, 'blob:', 'data:', 'about:')) for u in urls), urls
    b.quiet()


# ---- inside one step ----

def inside(b, **wants):
    """What the engine gives the panel: the cards by key, with all their numbers."""
    return b.driver.execute_async_script('''
        const [wants, done] = arguments;
        const of = {prefix: "layer0.attn", head: 0, phase: "backward", card: "", cell: -1, changed: false, ...wants};
        qkv.call("frame", {to: qkv.state.step, budget: 200, rows: 0, view: {head: -1, map: ""}, changed: false, wants: {inside: of}})
            .then(({extra: {inside}}) => {
                for (const c of inside.list) [c.x, c.g] = [[...c.x], [...c.g]];
                done(JSON.stringify(inside));
            }, (e) => done(JSON.stringify({error: e.message})));''', wants)


def taped(run, *words, program=NATIVE):
    done = qkv('tape', run, '--at', '120', '--json', *words, program=program)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SLACK = float(os.environ.get('SLACK', '2e-7'))  # the same bits, printed with 9 digits


def equal(a, b):
    return a == b or abs(a - b) <= SLACK * max(abs(a), abs(b)) + SLACK * 1e-2


def inside_shows_the_numbers_of_the_terminal(b):
    """Every number of every card, what two of them are made of, and the update: as qkv tape has them."""
    run = native_run(NATIVE, 'inside', '--seed', '1', '--steps', '120')
    b.open('steps=120&step=120')
    got = json.loads(inside(b))
    where = {'scores': lambda r, c: [0, 8, r], 'weights': lambda r, c: [0, 8, r], 'x': lambda r, c: [r, c], 'k': lambda r, c: [r, c],
             'v': lambda r, c: [r, c], 'logits': lambda r, c: [c], 'loss': lambda r, c: []}
    compared = 0
    for card in got['list']:
        numbers = taped(run, '--node', card['node'])['numbers']
        terminal = {tuple(n['at'][-2:] if card['key'] not in ('scores', 'weights', 'logits') else n['at'][-3:]): n for n in numbers}
        for i, (x, g) in enumerate(zip(card['x'], card['g'])):
            at = where.get(card['key'], lambda r, c: [8, c])(i // card['cols'], i % card['cols'])
            n = terminal.get(tuple(at)) or terminal[tuple([0] + at)]
            assert equal(n['value'], x) and equal(n['gradient'], g), (card['key'], at, n, x, g)
            compared += 1
    assert compared > 1000, compared
    for card, cell, node in (('weights', 3, 'layer0.attn.weights[0,8,3]'), ('v', 3 * 32 + 5, 'layer0.attn.v[3,5]')):
        mine = json.loads(inside(b, card=card, cell=cell))['why']
        theirs = taped(run, '--why-grad', node)
        assert equal(theirs['gradient'], mine['value']) and len(theirs['terms']) == len(mine['terms']) > 0
        parts = lambda list: sorted(list)
        for a, c in zip(parts(t['part'] for t in theirs['terms']), parts(t[3] for t in mine['terms'])):
            assert equal(a, c), (card, a, c)
    mine, theirs = json.loads(inside(b, phase='update'))['update'], taped(run, '--update')
    for i, name in enumerate(('score', 'weight', 'logit', 'loss')):
        assert equal(mine['before'][i], theirs['before'][name]) and equal(mine['after'][i], theirs['after'][name])
        for p, t in zip(mine['parts'], theirs['parts']):
            assert p['name'] == t['parameter'] and abs(p['part'][i] - t['part_' + name]) <= 4 * SLACK * abs(mine['before'][i])
    b.open('steps=120&step=119&inside=update')
    assert b.text('inside-say').startswith('This step '), b.text('inside-say')
    assert 'and the loss of this example' in b.text('inside-say')


def ledger(run, *words):
    """Rows of qkv ledger, each {column: number}."""
    out = os.path.join(DIR, 'ledger.csv')
    done = qkv('ledger', run, '--out', out, *words, program=NATIVE)
    assert done.returncode == 0, done.stderr
    with open(out) as f:
        return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(f)]


def inside_shows_the_ledger_of_the_terminal(b):
    """The parts of one step and of the running sum are those of qkv ledger; they are shown, and a sum can be stopped."""
    run = native_run(NATIVE, 'inside', '--seed', '1', '--steps', '120')

    def same(mine, theirs):
        assert (mine['first'], mine['next']) == (theirs['step'], theirs['next'])
        parts = {p['name']: p['part'] for p in mine['parts']}
        assert len(parts) == 7 and set(parts) == set(theirs) - {'step', 'next', 'loss', 'change', 'left'}
        for name, x in [*parts.items(), ('loss', mine['before']), ('left', mine['left'])]:
            assert equal(x, theirs[name]), (name, x, theirs[name])
        assert abs(mine['after'] - mine['before'] - theirs['change']) < 1e-7

    b.open('steps=120&step=119&inside=update')
    one, = ledger(run, '--from', '119', '--to', '120')
    same(json.loads(inside(b, phase='update'))['update']['ledger'], one)
    cells = lambda row: [c.text for c in b.driver.find_elements(By.CSS_SELECTOR, '#ledger-table tbody tr')[row].find_elements(By.CSS_SELECTOR, 'th, td')]
    number = lambda text: float(text.replace('\u2212', '-'))
    assert cells(0)[0] == 'W^Q' and abs(number(cells(0)[2]) - one['layer0.attn.wq']) < 0.06 * abs(one['layer0.attn.wq']), (cells(0), one)
    assert cells(7)[0] == 'change' and abs(number(cells(7)[2]) - one['change']) < 0.06 * abs(one['change']), (cells(7), one)
    assert 'the loss of 128 held-out examples falls from %.5g' % one['loss'] in b.text('ledger-say'), b.text('ledger-say')
    b.go(120)
    b.js('document.getElementById("ledger-compute").focus()')
    ActionChains(b.driver).send_keys(Keys.ENTER).perform()
    b.until(lambda: b.text('ledger-compute') == 'Summed up to step 120', 'the running sum')
    rows = b.driver.execute_async_script('''qkv.call("look", {wants: {ledger: {from: 0, budget: 60000}}})
        .then(({ledger}) => arguments[0](JSON.stringify(ledger)))''')
    rows, theirs = json.loads(rows), ledger(run, '--every', '10')
    assert rows['done'] and len(rows['rows']) == len(theirs) == 12
    for mine, native in zip(rows['rows'], theirs):
        same(mine, native)
    total = sum(row['layer0.attn.wv'] for row in theirs)
    assert cells(2)[0] == 'W^V' and abs(number(cells(2)[3]) - total) < 0.06 * abs(total), (cells(2), total)
    assert '--every 10' in b.text('ledger-caption') and 'step 120: W^Q' in b.by('ledger-curve').get_attribute('aria-label')
    b.js('document.getElementById("ledger-points").open = true')
    b.until(lambda: len(b.driver.find_elements(By.CSS_SELECTOR, '#ledger-points tr')) == 14, 'the table of the running sum')
    b.go(60)  # the sums follow the slider
    half = sum(row['layer0.attn.wv'] for row in theirs[:6])
    assert abs(number(cells(2)[3]) - half) < 0.06 * abs(half), (cells(2), half)
    b.open('step=600&inside=update')
    b.js('const e = document.getElementById("ledger-compute"); e.click(); setTimeout(() => e.click(), 100)')
    b.until(lambda: b.text('ledger-compute') == 'Go on to step 600', 'it is stopped')
    b.click('ledger-compute')
    b.until(lambda: b.text('ledger-compute') == 'Summed up to step 600', 'it goes on')
    b.open('inside=update')
    assert b.text('ledger-compute') == 'Nothing to sum up at step 0' and b.by('ledger-compute').get_attribute('aria-disabled') == 'true'
    b.quiet()


def tile(b, key):
    return b.driver.find_element(By.CSS_SELECTOR, '.tile[data-key=%s] canvas' % key)


def inside_three_clicks_say_why_q_gets_no_gradient(b):
    b.open('gains=*wv%3D0')
    b.by('inside-toggle').click()
    b.still()
    b.by('inside-backward').click()
    b.still()
    tile(b, 'q').click()
    b.still()
    assert b.text('inside-formula') == 'dL/dq = 0', b.text('inside-formula')
    assert re.search('none reaches w: .*every number of v is 0', b.text('inside-say')), b.text('inside-say')
    assert re.search(r'inside=backward\.q\.\d+$', b.js('return location.hash'))
    b.open()  # and without that it gets one
    b.click('inside-toggle')
    b.click('inside-backward')
    tile(b, 'q').click()
    b.still()
    assert re.match(r'dL/dq = .+ = .*[1-9]', b.text('inside-formula')) and 'No gradient' not in b.text('inside-say')


def inside_is_walked_by_keyboard_alone(b):
    """Opened, walked through all phases, a number chosen and explained, and back; the address has each place."""
    b.open('step=120')
    press = lambda *keys: (ActionChains(b.driver).send_keys(*keys).perform(), b.still())
    place = lambda: (re.search('inside=([a-z0-9.]+)', b.js('return location.hash')) or [None, ''])[1]
    b.js('document.getElementById("inside-toggle").focus()')
    press(Keys.ENTER)
    assert place() == 'forward.x'
    seen = [place()]
    for _ in range(22):
        press(Keys.ARROW_RIGHT)
        seen.append(place())
        assert b.text('inside-say') and b.by('trouble').get_attribute('hidden')
        assert b.text('inside-formula') or place() == 'update', place()
    assert seen[10] == 'forward.loss' and seen[11] == 'backward.loss' and seen[21] == 'backward.x' and seen[22] == 'update', seen
    assert b.text('inside-say').startswith('This step raised the score of the right entry by '), b.text('inside-say')
    press(Keys.ARROW_LEFT)
    assert place() == 'backward.x' and b.step() == 120
    b.js('document.getElementById("inside-map-scores").focus()')
    press(Keys.ARROW_DOWN)
    assert 'dL/ds' in b.text('inside-cell'), b.text('inside-cell')
    press(Keys.ENTER)
    at = place()
    assert re.fullmatch(r'backward\.scores\.\d', at) and b.text('inside-formula').startswith('dL/ds = w (dL/dw')
    press(' ')  # the next card, and no training
    assert place() == 'backward.v' and b.step() == 120
    assert b.js('return document.activeElement.id') == 'inside-map-v'
    formula = b.js('return location.hash')[1:].replace('backward.v', at)
    b.open(formula)
    assert b.text('inside-formula').startswith('dL/ds = w (dL/dw')
    b.js('document.querySelector("#inside-table").open = true')
    b.until(lambda: len(b.driver.find_elements(By.CSS_SELECTOR, '#inside-table tr')) == 9, 'the table')
    for address in ('inside=sideways', 'inside=forward.x.y'):
        b.open(address)
        assert 'inside=' in b.text('trouble'), address
    b.open('inside=forward.nothing')
    assert b.js('return location.hash').endswith('inside=forward.x')
    b.open('inside=forward.q&of=layer7.attn.0')
    assert "no head 'layer7.attn.0'" in b.text('inside-say')
    b.quiet()


def inside_goes_with_every_task(b):
    """And with training: the bits are those of a page that nobody looks into."""
    b.open()
    for task in b.js('return [...document.getElementById("task").options].map(o => o.value)'):
        b.set('task', task)
        b.go(10)
        for phase in ('forward', 'backward', 'update'):
            if not b.js('return qkv.state.inside'):
                b.click('inside-toggle')
            b.click('inside-' + phase)
            for _ in range(3):
                b.click('inside-next')
            assert b.by('trouble').get_attribute('hidden'), (task, phase, b.text('trouble'))
            assert b.text('inside-say') and 'cannot be shown' not in b.text('inside-say'), (task, phase, b.text('inside-say'))
    b.quiet()
    b.open('step=60')
    first = tensors(b.download('save-checkpoint'))[0]
    b.open('inside=backward.scores.3')
    for step in (7, 30, 60):
        b.go(step)
        b.click('inside-update')
        b.click('ledger-compute')
    assert tensors(b.download('save-checkpoint'))[0] == first


def inside_fits_any_width(b):
    for place in ('update', 'backward.scores'):
        b.screen(390, 900)
        b.open('step=120&inside=' + place)
        if place == 'update':
            b.click('ledger-compute')
            b.until(lambda: b.by('ledger-curve').is_displayed(), 'the running sum')
        for width in (390, 1120, 1400):
            for dark in (False, True):
                b.screen(width, 900, dark)
                b.still()
                assert b.js('return document.documentElement.scrollWidth') <= width, (width, place)
                bad = b.js(CONTRAST)
                assert bad == [], (width, dark, place, bad)
                if place == 'update':
                    continue
                tops = b.js('return [...document.querySelectorAll(".column")].map((e) => e.getBoundingClientRect().left)')
                assert len(set(tops)) == (1 if width == 390 else 6), tops
    b.screen(1400, 1000)


def no_word_ends_or_swallows_the_page(b):
    """Words and a run's name that HTML, a script or a template would read, through all that the page shows or writes."""
    bad = ['<!--<script>', '</script>', ']]>', '"\'&amp;${1}', '\\u003c', '<b>x</b>']
    lines = ['%s is %s and %s is %s %s => %s' % (x, u, y, v, w, x if w == u else y)
             for x in bad for y in bad for u in ('big', 'old') for v in ('big', 'old') for w in (u, v) if x != y and u != v]
    open(os.path.join(DIR, 'bad.txt'), 'w').write('\n'.join(lines) + '\n')
    run = native_run(QKV, '<!--<script>', '--data', 'bad.txt', '--steps', '20')
    assert qkv('view', run, '--page', PAGE, '--out', os.path.join(DIR, 'bad.html')).returncode == 0
    b.open(page=os.path.join(DIR, 'bad.html'))
    assert b.step() == 20 and '<!--<script>' in b.text('foot') and any(b.chip(0, 0).text == x for x in bad)
    b.open('task=file&data=sentences.txt&step=3&text=' + urllib.parse.quote('\n'.join(lines[:40])))
    assert b.step() == 3 and not b.text('trouble'), b.text('trouble')
    import xml.dom.minidom
    xml.dom.minidom.parse(b.download('save-svg'))
    b.set('option-steps', '5')
    assert b.js('return document.querySelectorAll("b").length') == b.js('return [...document.querySelectorAll("b")].filter((e) => e.textContent !== "x").length')
    b.quiet()


def nothing_piles_up(b):
    """Second runs come and go, faults are mended: the workers end, and memory comes back."""
    b.open('step=20')
    b.js('window.alive = 0; const W = Worker; window.Worker = class extends W { constructor(...a) { super(...a); alive++; } terminate() { super.terminate(); alive--; } }')

    def heap():
        b.cdp('HeapProfiler.collectGarbage')
        return b.js('return performance.memory.usedJSHeapSize')
    before = None
    for i in range(8):
        b.js('location.hash = arguments[0]', 'step=20&beside=seed:%d' % (2 + i))
        b.until(lambda: b.text('pair-name') == 'B (seed %d)' % (2 + i) and b.js('return qkv.pair.on'), 'the second run')
        b.still()
        b.click('pair-end')
        before = before or heap()
    assert b.js('return alive') == 0, b.js('return alive')
    assert heap() < before + 3e6, (before, heap())


def a_second_run_may_end(b):
    """A fault of the second run is said, and the first one goes on; then it is begun again, or left."""
    b.open('step=20&beside=seed:2', page=faulty('second', 'if (run.options.seed === "2") throw new RangeError("planted");'))
    b.set('slider', 33)
    assert b.text('trouble').startswith('The run beside this one stopped: planted.'), b.text('trouble')
    assert b.by('pair').get_attribute('hidden') and b.step() == 33
    b.set('slider', 40)
    press(b, 'Start it again')
    b.until(lambda: b.js('return qkv.pair.on'), 'the second run')
    b.still()
    assert b.text('say').startswith('A: ') and b.step() == 40
    b.set('slider', 33)
    press(b, 'One run only')
    b.still()
    assert not b.js('return qkv.pair.on') and 'beside' not in b.js('return location.hash')
    alive(b)
    b.driver.get_log('browser')


TESTS = [a_second_run_may_end, no_word_ends_or_swallows_the_page, nothing_piles_up, only_what_is_asked_for_is_shown, documented_frames_work, two_runs_stand_side_by_side, a_branch_is_a_run_from_that_step, a_second_run_of_any_kind, a_fault_of_the_engine_is_said_and_mended, what_hangs_or_ends_is_stopped_by_a_button,
         memory_beyond_2_gb_is_used_and_its_end_is_said, what_refuses_a_worker_or_the_engine_is_named, an_error_while_drawing_is_no_end, large_models_are_begun_only_on_purpose,
         addresses_that_are_wrong_are_answered, text_that_was_not_trained_on_is_kept, loads_without_error_or_request, is_small, trains_the_default_task, trains_the_bits_of_a_native_build,
         exchanging_keys_moves_attention, exchanging_values_does_not, keys_exchange_by_keyboard_and_mouse,
         a_click_asks_for_a_key, a_word_can_be_changed, heads_matrices_and_parts_can_be_taken_away,
         the_slider_shows_an_earlier_step, a_link_restores_a_state, the_command_does_the_same,
         bad_input_is_answered_in_words, a_native_checkpoint_opens, a_saved_checkpoint_loads_in_qkv, a_run_is_viewed,
         own_sentences_are_trained_on, words_of_a_line_are_exchanged, a_text_shows_what_does_not_print, pictures_can_be_saved, every_story_can_be_told, every_task_is_shown, every_control_has_a_name,
         every_control_is_reached_by_tab, readable_at_any_width_light_and_dark, is_quick_enough, says_so_without_vectors,
         inside_shows_the_numbers_of_the_terminal, inside_shows_the_ledger_of_the_terminal, inside_three_clicks_say_why_q_gets_no_gradient, inside_is_walked_by_keyboard_alone,
         inside_goes_with_every_task, inside_fits_any_width]


def main():
    wanted = sys.argv[5:]
    tests = [t for t in TESTS + page_course.TESTS + page_layout.TESTS + page_sweep.TESTS + page_chinese.TESTS
             if not wanted or t.__name__ in wanted]
    print('registered %d' % len(tests), flush=True)
    failed = []
    browser = Browser()
    for test in tests:
        print('[ RUN      ] ' + test.__name__, flush=True)
        try:
            test(browser)
            print('[       OK ] ' + test.__name__, flush=True)
        except Exception as e:  # whatever went wrong, the others are run
            failed.append(test.__name__)
            print('    line %d: %s: %s' % (traceback.extract_tb(e.__traceback__)[1].lineno, type(e).__name__, str(e)[:1500]))
            print('[  FAILED  ] ' + test.__name__, flush=True)
            browser.screen(1400, 1000)
    browser.driver.quit()
    print('[==========] %d test(s) run.\n[  PASSED  ] %d test(s).' % (len(tests), len(tests) - len(failed)))
    if failed:
        print('[  FAILED  ] %d test(s), listed below:' % len(failed))
    for name in failed:
        print('[  FAILED  ] ' + name)
    sys.exit(bool(failed))


main()
