"""page_chinese.py - tests of the page in Chinese, called by page.py with its browser."""

# What is written in Latin letters in Chinese, too: names of options, choices, tasks and files, keys, letters of the field.
LEFT = '''
const {run, table} = qkv, words = new Set(["qkv", "train", "English", "dy", "mix", "out", "tired", "hungry", "wide", "deep", "Softmax", "logit", "logits", "WebAssembly", "ARCH", "portable", "transformer", "recurrent", "positive-sum", "signed-sum", "Home", "End", "Enter",
    "sqrt", "ln", "GQA", "MQA", "MLA", "QK", "OV", "NAME", "RUN", "STEP", "runs", "fan-in", "score", "tanh", "none", "UTF-8", "it", "animal", "street", "eval"]);
for (const o of run.table) [o.name, ...o.choices.split("|"), ...o.needs.split(/[ :=|]/)].forEach((w) => words.add(w));
for (const t of table.tasks) words.add(t.name);
for (const m of run.matrices) words.add(m);
const known = (text) => text.replace(/“[^”]*”|\\.(safetensors|csv|png|svg)|--[a-z-]+|d_k|dL\\/d[A-Za-z]+|[A-Za-z]\\^[A-Za-z]|\\bQ_it\\.K\\w+/g, " ")
    .replace(/[A-Za-z][A-Za-z0-9._-]*/g, (w) => words.has(w) ? " " : w);
const all = [], look = document.createTreeWalker(arguments[0] || document.body, NodeFilter.SHOW_TEXT);
for (let n = look.nextNode(); n; n = look.nextNode())
    if (!n.parentElement.closest("script, style, noscript, textarea")) all.push(n.data);
for (const e of document.querySelectorAll("body *"))
    for (const name of ["title", "aria-label", "aria-valuetext", "aria-roledescription"]) all.push(e.getAttribute(name) || "");
return all.filter((text) => /[A-Za-z]{2,}/.test(known(text))).map((text) => known(text).trim() + " <- " + text);'''


def english(b):
    return b.js(LEFT)


def speaks_chinese(b):
    """Trains, changes an entry and looks at all panels: nothing is left in English. The button switches and keeps the run."""
    b.open('lang=zh&step=20&inside=backward.scores&beside=seed:2')
    b.click('more')
    b.go(60)
    b.click('swap-values')
    assert '你改了值' in b.text('say') and b.text('trouble') == '' and b.js('return document.documentElement.lang') == 'zh-CN'
    assert english(b) == [], english(b)
    b.click('pair-end')
    assert '之前' in b.text('compare') and english(b) == [], english(b)
    stories = b.js('''const all = document.createElement("div");
        for (const l of qkv.course.lessons.filter((one) => !one.number)) all.append(l.title.zh, l.short.zh, ...l.cards.map((c) => c.text.zh));
        document.body.append(all);
        return all''')
    assert len(b.js('return arguments[0].textContent', stories)) > 1000 and b.js(LEFT, stories) == [], b.js(LEFT, stories)
    b.js('arguments[0].remove()', stories)
    b.click('help')
    assert english(b) == [], english(b)
    b.click('dialog-close')
    for phase in ('forward', 'update'):
        b.click('inside-' + phase)
        assert english(b) == [], english(b)
    b.set('option-heads', '5')
    assert b.text('trouble') == '宽度 32 不能被 5 个头整除', b.text('trouble')
    for width in (360, 700, 1400):
        b.screen(width, 900)
        b.still()
        assert b.js('return document.documentElement.scrollWidth') <= width, width
    b.screen(1400, 1000)
    cards, step, address = b.cards(), b.step(), b.js('return location.hash')
    b.click('lang')
    assert len(english(b)) > 100 and b.js('return document.documentElement.lang') == 'en' and 'You changed values' in b.text('say')
    assert b.js('return location.hash') == address.replace('lang=zh', 'lang=en') and b.step() == step
    b.click('lang')
    assert (b.cards(), b.step(), english(b)) == (cards, step, []), (b.cards(), cards, b.step(), step, english(b))
    b.js('localStorage.clear()')
    b.quiet()


def the_language_is_the_one_chosen_or_the_browsers(b):
    agent = b.js('return navigator.userAgent')
    title = lambda: b.js('return document.getElementById("help").textContent')
    try:
        for accept, word in (('zh-TW,en', '帮助'), ('fr,en,zh', 'Help'), ('fr', 'Help')):
            b.cdp('Emulation.setUserAgentOverride', userAgent=agent, acceptLanguage=accept)
            b.open()
            assert title() == word, (accept, title())
        b.click('lang')  # chosen: it stays
        b.open()
        assert title() == '帮助'
        b.open('lang=en')
        assert title() == 'Help'
        b.open('lang=fr')
        assert title() == '帮助' and 'lang=fr' in b.text('trouble')
    finally:
        b.js('localStorage.clear()')
        b.cdp('Emulation.setUserAgentOverride', userAgent=agent, acceptLanguage='en-US')


TESTS = [speaks_chinese, the_language_is_the_one_chosen_or_the_browsers]
