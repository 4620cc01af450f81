"""Shows that each check can fail: a sound page passes them all, and of pages that are broken in one
way each, the check that is meant to notice does."""

import os

import axe
import checks
import model_page
import pictures
from model_page import ANSWER, DRAWING, SCRIPT, STYLE, TABLE, WARNINGS

OPEN_POLICY = "default-src 'unsafe-inline' data: http: file:"


def swap(old, new, count=-1):
    def edit(text):
        assert old in text, old
        return text.replace(old, new, count)
    return edit


EMPTY = DRAWING[:DRAWING.index("<g")] + "</svg>"

# Check, what is wrong with the page, and how to make it so.
CANARIES = [
    ("silent", "an error on the console", {"script": SCRIPT + "console.error('no');"}),
    ("silent", "an exception", {"script": SCRIPT + "missing.call();"}),
    ("silent", "a request that the policy allows",
     {"policy": OPEN_POLICY, "tail": "<img alt='' src='http://192.0.2.1/x.png'>"}),
    ("silent", "a request that the policy refuses", {"tail": "<img alt='' src='x.png'>"}),
    ("silent", "a script without its hash", {"tail": "<script>1</script>"}),
    ("silent", "a dialog", {"script": SCRIPT + "setTimeout(() => alert(1), 0);"}),
    ("page", "scripts allowed without hashes", {"policy": OPEN_POLICY}),
    ("page", "not ready",
     {"script": SCRIPT.replace("dataset.ready = 'true'", "dataset.error = 'x'")}),
    ("page", "too large", {"head": "<!--" + "x" * checks.LARGEST + "-->"}),
    ("page", "an id twice", {"edit": swap('id="chart-1"', 'id="chart-0"')}),
    ("page", "a link to nowhere", {"edit": swap('href="#page-1"', 'href="#page-9"')}),
    ("page", "a table without a name", {"table": TABLE.replace(
        "<caption>{name}</caption>", "").replace('aria-label="{name}"', "")}),
    ("page", "a page without heading", {"edit": swap("<h2 id", "<p id", 1)}),
    ("charts", "a plot stays empty", {"script": SCRIPT.replace("plot.append(svg, tip)",
                                      "plot.append(plot.dataset.chart === '1' ? '' : svg, tip)")}),
    ("charts", "a drawing without content",
     {"script": SCRIPT.replace("plot.append", "svg.replaceChildren(); plot.append")}),
    ("charts", "a bitmap", {"script": SCRIPT.replace(
        "plot.append(svg, tip)", "plot.append(document.createElement('canvas'), tip)")}),
    ("charts", "drawn twice",
     {"style": STYLE.replace("[data-ready] .drawing { display: none; }", "", 1)}),
    ("charts", "no static drawing", {"drawing": ""}),
    ("charts", "no table", {"edit": swap('class="data"', 'class="other"', 1)}),
    ("charts", "out of the keyboard's reach", {"script": SCRIPT.replace("plot.tabIndex = 0;", "")}),
    ("still", "no drawing without scripts",
     {"style": STYLE.replace("[data-ready] .drawing", ".drawing")}),
    ("still", "an empty static drawing", {"drawing": EMPTY}),
    ("still", "an empty plot takes room",
     {"style": STYLE.replace(".plot:empty { display: none; }", ".plot { min-height: 300px; }")}),
    ("still", "a table only with scripts", {"style": STYLE.replace(
        ".scroll {", "html:not([data-ready]) table { display: none; } .scroll {")}),
    ("mouse", "no tooltip", {"script": SCRIPT.replace("'mousemove'", "'click'")}),
    ("mouse", "the tooltip stays", {"script": SCRIPT.replace("'mouseleave'", "'click'")}),
    ("keys", "no arrow keys", {"script": SCRIPT.replace("'keydown'", "'click'")}),
    ("keys", "arrow keys stay", {"script": SCRIPT.replace("show(at + 1)", "show(0)")}),
    ("keys", "no Escape", {"script": SCRIPT.replace("'Escape'", "'Never'")}),
    ("tabs", "no mark on the focus",
     {"style": STYLE + ":focus-visible { outline: none !important; }"}),
    ("tabs", "a table out of reach", {"table": TABLE.replace('tabindex="0"', "")}),
    ("tabs", "a trap", {"script": SCRIPT + "addEventListener('keydown', (e) => { "
                        "if (e.key === 'Tab') { e.preventDefault(); "
                        "document.querySelector('a').focus(); } });"}),
    ("words", "labels hard to read",
     {"drawing": DRAWING.replace('fill="var(--ink)" font', 'fill="#bbbbbb" font')}),
    ("words", "a label hard to read on a bar", {"drawing": DRAWING.replace(
        "</svg>", '<rect x="200" y="100" width="90" height="40" fill="#1b2733"/>'
        '<text x="210" y="125" fill="#1f6fb2">bar</text></svg>')}),
    ("words", "labels under their own outline",
     {"drawing": DRAWING.replace('"var(--ink)" font', '"var(--ink)" stroke="#fff" font')}),
    ("dark", "stays light",
     {"style": STYLE.replace("(prefers-color-scheme: dark)", "(min-width: 9999px)")}),
    ("dark", "labels stay dark", {"drawing": DRAWING.replace("var(--ink)", "#1b2733")}),
    ("phone", "wider than the screen", {"tail": "<p style='width: 500px'>wide</p>"}),
    ("phone", "a table that does not scroll",
     {"edit": swap("91.75", "91.75" + "0" * 60), "style": STYLE.replace("overflow-x: auto", "")}),
    ("phone", "no viewport", {"edit": swap('name="viewport"', 'name="other"')}),
    ("phone", "a table of sentences that is cut off",
     {"warnings": WARNINGS.replace("so many minutes", "so" + "_many" * 20 + "_minutes")}),
    ("answer", "no answer", {"answer": ANSWER[ANSWER.index("</dl>") + 5:]}),
    ("answer", "an answer without a sign", {"style": STYLE.replace(", .value::before", "")}),
    ("answer", "no confidence", {"answer": ANSWER.replace("Confidence", "Mood")}),
    ("answer", "no margin", {"answer": ANSWER.replace("Margin", "Mood")}),
    ("answer", "an answer below the first screen",
     {"style": STYLE + ".answer { padding-top: 900px; }"}),
    ("answer", "its chart below the first screen",
     {"style": STYLE + "figure { padding-top: 600px; }"}),
    ("answer", "a chart that judges nothing", {"drawing": DRAWING.replace("\u2714 ", "")}),
    ("answer", "too high", {"tail": "<p style='height: 12000px'>long</p>"}),
    ("colours", "red and green", {"style": STYLE.replace("#00756a", "#3f7d00")}),
    ("colours", "red and amber", {"style": STYLE.replace("#ffd166", "#ff8a5c")}),
    ("colours", "hard to read", {"style": STYLE.replace("#9a6700", "#d99a1f")}),
    ("colours", "one sign for two", {"style": STYLE.replace('"?"', '"\\2716"')}),
    ("injected", "an element from a name", {"name": "<img alt='' src=data:,>"}),
    ("injected", "a handler from a name", {"name": "<b onmouseover=1>x</b>"}),
    ("injected", "a link that is a script", {"name": "<a href='javascript:1'>x</a>"}),
    ("injected", "a script from a name",
     {"name": "<script>owned = 1</script>", "policy": OPEN_POLICY}),
    ("print", "a bitmap on paper", {"policy": OPEN_POLICY, "script": SCRIPT + """
const canvas = document.createElement('canvas');
canvas.getContext('2d').fillRect(5, 5, 50, 50);
document.querySelector('h1').append(canvas);"""}),
    ("print", "no drawing on paper",
     {"style": STYLE.replace("[data-ready] .drawing { display: block; }", "")}),
    ("print", "a table cut off", {"edit": swap("91.75", "91.75" + "0" * 140)}),
    ("print", "wider than the paper", {"tail": "<p style='width: 900px'>wide</p>"}),
    ("print", "too few pages", {"charts": 1}),
    ("heads", "a head on the first sheet only",
     {"style": STYLE + "thead { display: table-row-group; }"}),
    ("print", "not A4", {"style": STYLE.replace("size: A4", "size: letter")}),
    ("axe", "text hard to read", {"tail": "<p style='color: #bbb; background: #fff'>faint</p>"}),
    ("axe", "a button without a name", {"tail": "<button></button>"}),
]


def run_check(name, page, path, folder, script):
    """What one check says of the page at `path`, opened for it."""
    if name == "still":
        page.scripts(False)
        checks.open_report(page, path, wait=0)
        out = checks.check_without_scripts(page)
        page.scripts(True)
        return out
    checks.open_report(page, path, wait=1)
    if name == "axe":
        return axe.check(page, script) if script else None
    return {
        "silent": lambda: checks.check_silent(page),
        "page": lambda: checks.check_page(page, os.path.getsize(path)),
        "charts": lambda: checks.check_charts(page),
        "mouse": lambda: checks.check_mouse(page),
        "keys": lambda: checks.check_keys(page),
        "tabs": lambda: checks.check_tab_order(page),
        "words": lambda: checks.check_words_in_drawings(page),
        "dark": lambda: checks.check_dark(page),
        "phone": lambda: checks.check_phone(page),
        "answer": lambda: checks.check_answer(page),
        "colours": lambda: checks.check_colours(page),
        "injected": lambda: checks.check_injected(page),
        "heads": lambda: checks.check_heads(page, folder),
        "print": lambda: checks.check_print(page, folder, 2),
    }[name]()


def check_pictures(page, studio, folder):
    """A picture is like itself after reduction, and unlike one with a chart missing."""
    path = os.path.join(folder, "picture.html")
    golden = os.path.join(folder, "picture.png")
    out = []
    shots = []
    page.size(720, 450)
    for parts in ({}, {"script": SCRIPT.replace("plot.append(svg, tip)",
                       "plot.append(plot.dataset.chart === '0' ? '' : svg, tip)")
                       + "document.querySelector('.plot').style.height = '290px';"}):
        with open(path, "w", encoding="utf-8") as file:
            file.write(model_page.page(**parts))
        checks.open_report(page, path)
        shots.append(pictures.take(page))
    page.size(*checks.DESKTOP)
    pictures.check(studio, shots[0], golden, update=True)
    said = pictures.check(studio, shots[0], golden)
    if said:
        out.append(f"self-test: a picture differs from itself: {said}")
    if not pictures.check(studio, shots[1], golden):
        out.append(f"self-test: a picture without its chart passes "
                   f"({pictures.compare(studio, shots[0], shots[1])})")
    return out


def run(browser, folder, script):
    """Sentences about checks that do not do what they are for."""
    out = []
    page = browser.page(*checks.DESKTOP)
    page.media()
    path = os.path.join(folder, "model.html")

    def write(**parts):
        with open(path, "w", encoding="utf-8") as file:
            file.write(model_page.page(**parts))

    write()
    for name in dict.fromkeys(canary[0] for canary in CANARIES):
        said = run_check(name, page, path, folder, script)
        if said:
            out.append(f"self-test: a sound page fails {name}: {said}")
    for name, what, parts in CANARIES:
        write(**({"charts": 1} if name in ("mouse", "keys") else {}), **parts)
        said = run_check(name, page, path, folder, script)
        if said == []:
            out.append(f"self-test: {name} does not notice: {what}")
    studio = browser.page()
    out += check_pictures(page, studio, folder)
    studio.close()
    page.close()
    return out
