"""site.py SOURCE OUT - the pages of SOURCE (README, docs/ and what they link) as HTML in OUT, where they lay. Files that
are not Markdown are copied, if a page links them. Fails, naming it, for a link that leads nowhere."""
import html
import os
import re
import shutil
import sys

import markdown

source, out = sys.argv[1:]
STYLE = """body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif; color: #222; background: #fff }
img { max-width: 100% } pre { overflow: auto; background: #f4f4f4; padding: .6rem } code { font-size: .9em }
table { border-collapse: collapse; display: block; overflow: auto } td, th { border: 1px solid #ccc; padding: .2rem .5rem; text-align: left }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } pre { background: #262626 } a { color: #8bf } }"""
DOORS = [("index.html", "The page"), ("demo.html", "A run in it"), ("README.html", "About"), ("docs/findings.html", "Findings"),
         ("docs/library.html", "C library"), ("docs/install.html", "Download")]


def slug(heading, separator):
    """The anchor that forges give a heading."""
    return re.sub(r"[^\w\- ]", "", html.unescape(heading).strip().lower()).replace(" ", separator)


pages, links, todo, done = {}, [], ["README.md"], set()
todo += sorted("docs/" + name for name in os.listdir(os.path.join(source, "docs")) if name.endswith(".md"))
for name in todo:
    if name in done:
        continue
    done.add(name)
    text = open(os.path.join(source, name), encoding="utf-8").read()
    # A list right under a paragraph is a list, and what stands in <details> is Markdown, as on forges.
    text = re.sub(r"(?m)^(?!\s*[-*\d|>])(.*\S.*)\n(?=- )", r"\1\n\n", text)
    text = re.sub(r"<details>", '<details markdown="1">', text)
    body = markdown.Markdown(extensions=["tables", "fenced_code", "toc", "md_in_html"],
                             extension_configs={"toc": {"slugify": slug}}).convert(text)
    here = os.path.dirname(name)

    def turned(match):
        attribute, address = match.group(1), html.unescape(match.group(2))
        if re.match(r"[a-z]+:", address):
            return match.group(0)
        path, _, anchor = address.partition("#")
        target = os.path.normpath(os.path.join(here, path)) if path else name
        if not path or target.endswith(".md"):
            if path and os.path.exists(os.path.join(source, target)):
                todo.append(target)
            links.append((name, address, target, anchor))
            path = path[:-3] + ".html" if path else ""
        elif os.path.isfile(os.path.join(source, target)):
            os.makedirs(os.path.join(out, os.path.dirname(target)), exist_ok=True)
            shutil.copyfile(os.path.join(source, target), os.path.join(out, target))
        else:
            links.append((name, address, target, None))
        return f'{attribute}="{html.escape(path + ("#" + anchor if anchor else ""))}"'

    body = re.sub(r'\b(href|src)="([^"]*)"', turned, body)
    title = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S)
    title = re.sub(r"<[^>]*>", "", title.group(1)) if title else name
    up = "../" * name.count("/")
    doors = " · ".join(f'<a href="{up}{to}">{words}</a>' for to, words in DOORS)
    pages[name] = (f'<!DOCTYPE html>\n<html lang="{"zh" if "zh" in name else "en"}"><head><meta charset="utf-8">'
                   f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{STYLE}</style></head>\n'
                   f"<body><nav>{doors}</nav>\n{body}\n</body></html>\n")
wrong = [f"{name}: {address}" for name, address, target, anchor in links
         if target not in pages or (anchor and f'id="{anchor}"' not in pages[target])]
for name, page in pages.items():
    path = os.path.join(out, name[:-3] + ".html")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w", encoding="utf-8").write(page)
if wrong:
    sys.exit("links that lead nowhere:\n" + "\n".join(sorted(set(wrong))))
