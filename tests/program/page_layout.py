"""page_layout.py - the page at widths from 320 to 1600 pixels, enlarged, on paper, by keys alone, by a finger, and for
who does not see it. TESTS is a part of page.py's."""
import os
import shutil
import subprocess
import time

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

WIDTHS = (320, 360, 390, 700, 900, 1120, 1400, 1600)
CHANGED = 'step=150&set=0.0.3.6_0.0.7.0'

# What can be pressed and shows; those behind the player, which a page scrolls to, count too.
PRESSED = '''[...document.querySelectorAll("button, select, input:not([type=file]), summary, a[href]")]
    .filter((e) => e.checkVisibility() && getComputedStyle(e).visibility === "visible" && !e.closest("p a"))'''
# Of a box or a radio button its label is pressed, too.
SMALL = '''return %s.map((e) => [e, (e.closest("label.check, .modes label") || e).getBoundingClientRect()])
    .filter(([e, r]) => r.width < 24 || r.height < 24).map(([e, r]) => (e.id || e.className || e.outerHTML) + " " + r.width + "x" + r.height)''' % PRESSED
OUTSIDE = '''return %s.map((e) => [e, e.getBoundingClientRect()])
    .filter(([e, r]) => r.left < -1 || r.right > innerWidth + 1).map(([e, r]) => (e.id || e.outerHTML) + " " + r.left + ".." + r.right)''' % PRESSED
OVERPRINT = '''
const texts = [...document.querySelectorAll(".card span, .chip, .answer *, .note, .legend li, h2, .field, .check, #where, #say, #compare")]
    .filter((e) => e.checkVisibility() && getComputedStyle(e).visibility === "visible" && e.textContent.trim() && !e.querySelector("*"));
const lines = (e) => { const r = document.createRange(), b = e.getBoundingClientRect(); r.selectNodeContents(e);
    const cut = getComputedStyle(e).overflowX === "hidden";  // an ellipsis is no overprint
    return [...r.getClientRects()].map((a) => cut ? {left: Math.max(a.left, b.left), right: Math.min(a.right, b.right), top: a.top, bottom: a.bottom} : a); };
const all = texts.flatMap((e) => lines(e).map((l) => [e, l])), bad = [];
for (let i = 0; i < all.length; i++) for (let k = 0; k < i; k++) {
    const [e, a] = all[i], [f, b] = all[k];
    if (e === f || e.closest(".player") || f.closest(".player")) continue;
    if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
        bad.push(e.textContent + " upon " + f.textContent);
}
return [texts.length, bad];'''


def fits_at_every_width(b):
    for address in (CHANGED, 'task=coref&step=20', 'task=cross&step=5', 'task=mqar&step=5'):
        b.screen(WIDTHS[0], 900)
        b.open(address)
        for width in WIDTHS:
            b.screen(width, 900)
            b.still()
            assert b.js('return document.documentElement.scrollWidth') <= width, (address, width)
            for script in (SMALL, OUTSIDE):
                assert b.js(script) == [], (address, width, b.js(script))
            n, upon = b.js(OVERPRINT)
            assert n > 20 and upon == [], (address, width, upon[:4])
            slider, player = b.js('''const r = document.getElementById("slider").getBoundingClientRect(), p = document.querySelector(".player").getBoundingClientRect();
                return [r.width, p.height]''')
            assert slider >= 120 and player <= 100, (address, width, slider, player)
    b.screen(1400, 1000)


def menus_and_lists_stay_on_the_page(b):
    for width in (320, 360, 390, 700, 1400):
        b.screen(width, 900)
        b.open('step=20')
        for menu in ('files', 'beside'):
            b.js('document.getElementById(arguments[0]).open = true', menu)
            b.still()
            box = b.js('const r = document.querySelector("details[open] .drop").getBoundingClientRect(); return [r.left, r.right]')
            assert box[0] >= 0 and box[1] <= width, (width, menu, box)
            b.js('document.getElementById(arguments[0]).open = false', menu)
        b.js('document.querySelector("input[value=word]").click()')
        for place in (0, 5, 8):
            list, chip = b.js('''const chip = document.querySelectorAll(".card")[arguments[0]].querySelector(".chip"); chip.click();
                const box = (e) => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
                const p = document.querySelector(".picker"), out = [box(p), box(chip)]; p.blur(); return out;''', place)
            assert 0 <= list[0] and list[2] <= width, (width, place, list)
            assert 0 <= list[1] - chip[3] < 12 and list[0] <= chip[2] and list[2] >= chip[0], (width, place, list, chip)
    b.screen(1400, 1000)


def what_is_pressed_does_not_jump(b):
    """And the focus stays on it."""
    for width in (320, 700, 1400):
        for pressed in ('#swap-keys', '#swap-values', '#say-actions button'):
            b.screen(width, 900)
            b.open('step=600')
            at = b.js('''const e = document.querySelector(arguments[0]); e.scrollIntoView({block: "center"}); e.focus(); e.dataset.label = e.textContent;
                window.label = e.textContent; const r = e.getBoundingClientRect(); e.click(); return [r.left, r.top]''', pressed)
            b.still()
            now = b.js('''const e = document.activeElement, r = e.getBoundingClientRect(); return [e.textContent === window.label, r.left, r.top]''')
            assert now[0], (width, pressed, b.js('return document.activeElement.outerHTML')[:200])
            assert abs(now[1] - at[0]) < 2 and abs(now[2] - at[1]) < 2, (width, pressed, at, now)
    b.screen(1400, 1000)


def an_enlarged_page_can_be_used(b):
    """1280 x 800 at 200 %, and at 400 %."""
    for width, height in ((640, 400), (320, 200)):
        b.screen(width, height)
        b.open(CHANGED)
        assert b.js('return document.documentElement.scrollWidth') <= width
        assert b.js(OUTSIDE) == [] and b.js(SMALL) == [], (b.js(OUTSIDE), b.js(SMALL))
        fixed = b.js('const p = document.querySelector(".player"); return getComputedStyle(p).position === "fixed" ? p.offsetHeight : 0')
        assert fixed < 0.2 * height, fixed
    b.screen(1400, 1000)


def the_focus_is_never_under_the_player(b):
    for width, height in ((390, 700), (800, 600), (1400, 700)):
        b.screen(width, height)
        b.open('step=20')
        b.js('document.activeElement.blur(); scrollTo(0, 0)')
        seen = 0
        for _ in range(70):
            ActionChains(b.driver).send_keys(Keys.TAB).perform()
            under = b.js('''const e = document.activeElement; if (e === document.body || e.closest(".player")) return 0;
                const r = e.getBoundingClientRect(), p = document.querySelector(".player").getBoundingClientRect();
                return r.height < p.top && Math.min(r.bottom, r.top + 24) > p.top ? (e.id || e.outerHTML) : 1''')
            assert under in (0, 1), (width, under)
            seen += under
        assert seen > 30, seen
    b.screen(1400, 1000)


def is_told_when_something_ends(b):
    """Live regions: one text for a training of 600 steps, one for an exchange; none while it runs."""
    b.open()
    b.js('''window.told = []; const live = [...document.querySelectorAll("[aria-live]:not([aria-live=off]), [role=status], [role=alert], output:not([aria-live=off])")];
        window.regions = live.map((e) => e.id);
        for (const e of live) new MutationObserver(() => told.push(e.id + ": " + e.textContent)).observe(e, {childList: true, characterData: true, subtree: true});
        document.getElementById("speed").value = "600"; document.getElementById("play").click()''')
    b.until(lambda: b.step() == 600, 'the end')
    b.still()
    b.until(lambda: b.js('return told.length'), 'a text', 10)
    time.sleep(1)
    told = b.js('return told')
    assert b.js('return regions') == ['trouble', 'lesson-result', '', 'inside-cell', 'spoken'], b.js('return regions')
    assert len(told) <= 2 and told[-1].startswith('spoken: step 600 of 600. '), told
    b.click('swap-keys')
    b.until(lambda: 'Attention moved' in b.text('spoken'), 'a text', 10)
    assert len(b.js('return told')) == len(told) + 1, b.js('return told')


def arrow_keys_walk_a_maps_cells(b):
    b.open('step=150')
    b.js('document.getElementById("ov-keys").focus()')
    ActionChains(b.driver).send_keys(Keys.SHIFT + Keys.TAB + Keys.NULL).perform()  # then on, as by hand
    b.js('document.getElementById("qk").focus()')
    tip = lambda: b.js('return document.querySelector(".tip:not(.of-step)").hidden ? "" : document.querySelector(".tip:not(.of-step)").textContent')
    for keys, cell in (((Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_RIGHT), ('k1', 'k2')), ((Keys.END,), ('k1', 'k31')),
                       ((Keys.ARROW_RIGHT, Keys.ARROW_DOWN), ('k2', 'k31')), ((Keys.HOME,), ('k2', 'k0'))):
        for key in keys:
            ActionChains(b.driver).send_keys(key).perform()
        assert tip().startswith('%s  at  %s:' % cell), (cell, tip())
    assert b.step() == 150  # Home and End are the map's here
    b.until(lambda: b.text('spoken').startswith('k2  at  k0'), 'the cell is said', 5)
    shown, cell = b.js('''const f = document.querySelector(".cell").getBoundingClientRect(), c = document.getElementById("qk").getBoundingClientRect();
        return [[f.left - c.left, f.top - c.top], [f.width, f.height]]''')
    assert cell[0] > 4 and shown[1] > 1.5 * cell[1], (shown, cell)
    value = tip().split(':')[1].strip()
    b.js('document.querySelector(".table[data-of=qk]").open = true')
    b.until(lambda: b.js('return document.querySelectorAll(".table[data-of=qk] tbody tr").length') == 32, 'the table', 5)
    row = b.js('return [...document.querySelectorAll(".table[data-of=qk] tbody tr")[2].children].map((c) => c.textContent)')
    assert row[0] == 'k2' and len(row) == 33 and abs(float(row[1]) - float(value)) <= 0.0051, (row[:2], value)
    b.js('document.querySelector(".table[data-of=attention]").open = true')
    b.click('swap-keys')
    b.until(lambda: b.js('return document.querySelectorAll(".table[data-of=attention] table").length') == 2, 'before and now', 5)
    sums = b.js('return [...document.querySelectorAll(".table[data-of=attention] tbody tr")].map((r) => [...r.querySelectorAll("td")].reduce((s, c) => s + Number(c.textContent), 0))')
    assert len(sums) == 16 and all(0.9 < s < 1.1 for s in sums), sums
    assert b.js('return document.querySelector(".table th[scope=row]").textContent') != ''
    b.quiet()


def a_tap_shows_a_number(b):
    b.open('step=150')
    b.js('document.getElementById("attention").scrollIntoView({block: "center"})')
    x, y = b.js('const r = document.getElementById("attention").getBoundingClientRect(); return [r.left + 110, r.top + 30]')
    b.cdp('Emulation.setTouchEmulationEnabled', enabled=True)
    point = [{'x': x, 'y': y}]
    b.cdp('Input.dispatchTouchEvent', type='touchStart', touchPoints=point)
    b.cdp('Input.dispatchTouchEvent', type='touchEnd', touchPoints=[])
    time.sleep(0.3)
    shown = b.js('const t = document.querySelector(".tip:not(.of-step)"); return t.hidden ? "" : t.textContent')
    assert '  at  ' in shown and ':  0.' in shown, shown
    b.cdp('Input.dispatchTouchEvent', type='touchStart', touchPoints=[{'x': 20, 'y': y}])
    b.cdp('Input.dispatchTouchEvent', type='touchEnd', touchPoints=[])
    time.sleep(0.3)
    assert b.js('return document.querySelector(".tip:not(.of-step)").hidden')
    b.cdp('Emulation.setTouchEmulationEnabled', enabled=False)


def long_words_are_cut_and_told(b):
    """In the example, by an ellipsis and a tip; in a map, within the room of its names."""
    word = 'Donaudampfschifffahrtsgesellschaft'
    line = '%s%%20b%%20%s%%20%%3D%%3E%%20b%%0A'
    text = ''.join(line % (word + 'abcdefgh'[i % 8], word + 'abcdefgh'[i // 8]) for i in range(64))
    for width in (320, 1400):
        b.screen(width, 900)
        b.open('task=file&data=sentences.txt&text=' + text + '&step=3')
        assert b.by('trouble').get_attribute('hidden'), b.text('trouble')
        assert b.js('return document.documentElement.scrollWidth') <= width
        chip = b.driver.find_elements(By.CSS_SELECTOR, '.chip')[0]
        assert chip.get_attribute('title') == chip.get_attribute('textContent') and word in chip.get_attribute('title')
        n, upon = b.js(OVERPRINT)
        assert n > 10 and upon == [], (width, upon[:3])
        wide = b.js('''const seen = []; const g = CanvasRenderingContext2D.prototype, real = g.fillText;
            g.fillText = function (s, x, y) { seen.push([s, this.measureText(s).width]); return real.call(this, s, x, y); };
            dispatchEvent(new Event("resize")); g.fillText = real; return seen''')
        names = [s for s in wide if 'Do' in s[0]]
        assert names and all(w <= 100 and s.endswith('…') for s, w in names), names[:4]
    b.screen(1400, 1000)


def another_screen_is_drawn_as_sharp(b):
    b.open('step=20')
    before = b.js('return document.getElementById("qk").width')
    b.cdp('Emulation.setDeviceMetricsOverride', width=1400, height=1000, deviceScaleFactor=2, mobile=False)
    ActionChains(b.driver).move_by_offset(5, 5).perform()  # an emulated screen sends no event of its own
    b.until(lambda: b.js('return document.getElementById("qk").width') == 2 * before, 'twice the pixels', 10)
    b.screen(1400, 1000)


def prints(b):
    """Light, without what can be pressed, each panel whole, pictures in their proportions."""
    b.screen(1400, 1000, dark=True)
    b.open(CHANGED)
    dark = b.js('return qkvDraw.colours().panel')
    b.js('dispatchEvent(new Event("beforeprint"))')
    b.cdp('Emulation.setEmulatedMedia', media='print', features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
    b.cdp('Emulation.setDeviceMetricsOverride', width=720, height=1000, deviceScaleFactor=1, mobile=False)
    assert b.js('return qkvDraw.colours().panel') == '#ffffff' != dark
    assert b.js('''return getComputedStyle(document.querySelector(".panel")).backgroundColor''') == 'rgb(255, 255, 255)'
    left = b.js('return [...document.querySelectorAll("button:not(.chip), select, input, .player")].filter((e) => e.checkVisibility()).map((e) => e.id)')
    assert left == [], left
    flat = b.js('''return [...document.querySelectorAll("canvas")].filter((c) => Math.abs(c.clientWidth / c.clientHeight / (c.width / c.height) - 1) > 0.03).map((c) => c.id)''')
    assert flat == [], flat
    assert b.js('return document.documentElement.scrollWidth') <= 720
    b.cdp('Emulation.setEmulatedMedia', media='', features=[])
    b.js('dispatchEvent(new Event("afterprint"))')
    b.screen(1400, 1000)
    assert not b.js('return document.documentElement.classList.contains("print")')


def lines_differ_without_colour(b):
    """By width or dashes: no two lines of a chart are alike in grey."""
    b.open('step=100')
    for chart in ('shares', 'loss', 'norms'):
        styles = b.js('''return [...document.querySelectorAll("#" + arguments[0] + "-legend path")].map((p) => p.getAttribute("stroke-width") + " " + p.getAttribute("stroke-dasharray"))''', chart)
        assert len(styles) > 1 and len(set(styles)) == len(styles), (chart, styles)


def says_so_where_nothing_unpacks(b):
    script = b.cdp('Page.addScriptToEvaluateOnNewDocument', source='delete window.DecompressionStream')
    b.driver.get('about:blank')
    b.driver.get('file://' + b.page)
    b.until(lambda: 'DecompressionStream' in b.text('trouble'), 'a sentence')
    b.cdp('Page.removeScriptToEvaluateOnNewDocument', identifier=script['identifier'])


def refused_checkpoints_leave_the_run(b):
    """In the words of the program, and a run from a file that the page has opens."""
    run = os.path.join(b.dir, 'it')
    example = os.path.join(os.getcwd(), 'examples', 'it.txt')
    os.makedirs(os.path.join(b.dir, 'examples'), exist_ok=True)
    with open(example) as whole, open(os.path.join(b.dir, 'examples', 'it.txt'), 'w') as copy:
        copy.write(whole.read())
    done = subprocess.run([b.qkv, 'train', '--quiet', '--data', 'examples/it.txt', '--steps', '20', '--out', run], cwd=b.dir, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    path = os.path.join(run, 'step-00000020.safetensors')
    shutil.copytree(run, run + '-bad')
    b.open('step=50')
    seen = b.cards(), b.text('where'), b.text('answer')
    raw = open(path, 'rb').read()
    for name, spoilt in (('short', raw[:-7]), ('long', raw + b'x'), ('flipped', raw[:900] + bytes([raw[900] ^ 4]) + raw[901:]), ('none', b'')):
        bad = os.path.join(b.dir, name + '.safetensors')
        open(bad, 'wb').write(spoilt)
        b.by('open-checkpoint').send_keys(bad)
        b.until(lambda: "'%s.safetensors'" % name in b.text('trouble'), 'a sentence')
        b.still()
        open(os.path.join(run + '-bad', os.path.basename(path)), 'wb').write(spoilt)
        said = subprocess.run([b.qkv, 'eval', run + '-bad'], cwd=b.dir, capture_output=True, text=True).stderr
        words = b.text('trouble').split("'", 2)[2]
        assert words.strip() and words in said, (words, said)
        assert (b.cards(), b.text('where'), b.text('answer')) == seen
    b.by('open-checkpoint').send_keys(path)
    b.until(lambda: b.by('task').get_attribute('value') == 'file', 'the run')
    b.still()
    assert b.step() == 20 and 'Emma' not in b.text('trouble') and b.by('trouble').get_attribute('hidden'), b.text('trouble')
    b.quiet()


TESTS = [fits_at_every_width, menus_and_lists_stay_on_the_page, what_is_pressed_does_not_jump, an_enlarged_page_can_be_used,
         the_focus_is_never_under_the_player, is_told_when_something_ends, arrow_keys_walk_a_maps_cells, a_tap_shows_a_number,
         long_words_are_cut_and_told, another_screen_is_drawn_as_sharp, prints, lines_differ_without_colour,
         says_so_where_nothing_unpacks, refused_checkpoints_leave_the_run]
