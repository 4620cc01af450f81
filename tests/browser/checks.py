"""What every report must do in a browser. Each check takes an open page and returns what is wrong
with it, one sentence each; an empty list passes. `self_test.py` shows that each can fail."""

import base64
import os
import re
import subprocess

import colours
from cdp import BrowserError

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "probe.js"), encoding="utf-8") as f:
    PROBE = f.read()

LARGEST = 2 * 1024 * 1024  # bytes of a report
DESKTOP = (1280, 900)
SCREEN = (1440, 900)  # what an answer has to fit into
PHONE = (360, 740)
HIGHEST = 12_000  # pixels of a plan's report at that width, folds closed
APART = {("good", "bad"): 30, ("good", "unsure"): 30, ("unsure", "bad"): 15}
PAPER = 688  # CSS pixels of A4 between margins of 14 mm


def open_report(page, path, wait=10):
    """Opens a file and waits, at most so many seconds, until its script has drawn every chart."""
    page.open("file://" + path)
    page.evaluate(PROBE)
    if wait:
        try:
            page.wait(lambda: page.evaluate(
                "'ready' in document.documentElement.dataset ||"
                " 'error' in document.documentElement.dataset"), wait, "data-ready")
        except BrowserError:
            pass  # said by check_page
    page.settle(0.05)


def check_silent(page):
    """Nothing on the console, no exception, nothing refused, no dialog, and no request but the file
    itself."""
    out = []
    for event in page.events:
        method, params = event["method"], event["params"]
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            out.append("exception: " + details.get("exception", {}).get(
                "description", details["text"]).splitlines()[0])
        elif method == "Runtime.consoleAPICalled":
            words = [str(a.get("value", a.get("description"))) for a in params["args"]]
            if params["type"] in ("error", "warning", "assert"):
                out.append(f"console {params['type']}: {' '.join(words)}")
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            out.append(f"log: {params['entry']['text']}")
        elif method == "Audits.issueAdded":
            issue = params["issue"]
            if issue["code"] == "ContentSecurityPolicyIssue":
                details = issue["details"].get("contentSecurityPolicyIssueDetails", {})
                out.append(f"refused by the content policy: {details.get('violatedDirective')}")
        elif method in ("Network.requestWillBeSent", "Network.webSocketCreated"):
            url = params.get("url") or params["request"]["url"]
            if url.split("#")[0] != page.url.split("#")[0]:
                out.append(f"a request went to {url[:100]}")
        elif method == "Page.javascriptDialogOpening":
            out.append(f"a dialog opened: {params['message']}")
    return out


def check_page(page, size):
    """The frame: policy, language, headings, links inside the page, ids, labelled tables."""
    state = page.evaluate("probe.page()")
    out = []

    def need(holds, message):
        if not holds:
            out.append(message)

    need(size <= LARGEST, f"{size:,} bytes, more than {LARGEST:,}")
    need(state["ready"] == "true", "data-ready is not set")
    need(not state["error"], f"the script says: {state['error']}")
    need(state["lang"] == "en", "html has no lang")
    need(state["title"], "no title")
    need(state["h1"] == 1, f"{state['h1']} h1 headings")
    need(state["main"] == 1, f"{state['main']} main elements")
    need(not state["outside"], f"elements that load something: {state['outside']}")
    need(not state["twice"], f"ids that occur twice: {state['twice'][:5]}")
    need(not state["broken_links"], f"links to nowhere: {state['broken_links'][:5]}")
    need(not state["unlabelled"], f"pages without a heading or label: {state['unlabelled'][:5]}")
    need(not state["bare_tables"], "tables without a caption or header scope: "
         f"{state['bare_tables'][:5]}")
    directives = {}
    for part in state["policy"].split(";"):
        words = part.split()
        if words:
            directives[words[0]] = words[1:]
    need(directives.get("default-src") == ["'none'"], "content policy: default-src is not 'none'")
    scripts = directives.get("script-src", [])
    need(all(word.startswith("'sha256-") for word in scripts),
         f"content policy: script-src has more than hashes: {scripts}")
    need(state["listed"] >= 0, "chart-data is no JSON")
    need(state["listed"] == page.evaluate("probe.charts().length"),
         f"chart-data has {state['listed']} charts, the page another number")
    return out


def drawn(drawing, what, out):
    if drawing["width"] < 100 or drawing["height"] < 60:
        out.append(f"{what}: {drawing['width']:.0f} x {drawing['height']:.0f} px")
    elif drawing["shapes"] < 4 or drawing["covered"] < 0.2:
        out.append(f"{what}: nothing in it ({drawing['shapes']} shapes over "
                   f"{100 * drawing['covered']:.0f}% of it)")
    if len(drawing["words"]) < 2:
        out.append(f"{what}: no labels")


def check_charts(page):
    """With scripts: one live drawing in each plot, the static one hidden, a table for each."""
    out = []
    for chart in page.evaluate("probe.charts()"):
        plot, still, table = chart["plot"], chart["still"], chart["table"]
        where = chart["id"] or "a chart without id"
        if not chart["caption"]:
            out.append(f"{where}: no caption")
        if not plot or not plot["shown"]:
            out.append(f"{where}: no plot to see")
        elif plot["svgs"] != 1 or plot["canvases"]:
            out.append(f"{where}: {plot['svgs']} SVG and {plot['canvases']} bitmap drawings in its "
                       "plot")
        else:
            drawn(plot["drawing"], f"{where}'s plot", out)
            if not plot["focusable"]:
                out.append(f"{where}: the keyboard cannot reach its plot")
            if not plot["label"]:
                out.append(f"{where}: its plot has no aria-label")
        if not still:
            out.append(f"{where}: no static drawing")
        else:
            if still["shown"]:
                out.append(f"{where}: drawn twice, live and static")
            if still["role"] != "img" or not still["label"]:
                out.append(f"{where}: its static drawing is not labelled as an image")
        if not table or table["cells"] < 1:
            out.append(f"{where}: no table")
    return out


def check_without_scripts(page):
    """Scripts forbidden: the static drawings and all tables are there, the plots are not."""
    out = []
    for chart in page.evaluate("probe.charts()"):
        where = chart["id"] or "a chart without id"
        if chart["plot"] and chart["plot"]["shown"]:
            out.append(f"{where}: an empty plot takes room")
        if not chart["still"] or not chart["still"]["shown"]:
            out.append(f"{where}: no static drawing to see")
        else:
            drawn(chart["still"]["drawing"], f"{where}'s drawing", out)
    page.evaluate("probe.open(true)")
    shown, tables = page.evaluate("[probe.shown_tables(), probe.tables()]")
    if shown != tables or not tables:
        out.append(f"{shown} of {tables} tables can be seen")
    page.evaluate("probe.open(false)")
    return out


def soon(page, expression, holds, wait=1.0):
    """The value of an expression once it holds, or after a while whatever it is."""
    value = None
    for _ in range(max(1, round(wait / 0.04))):
        value = page.evaluate(expression)
        if holds(value):
            break
        page.settle(0.04)
    return value


def hover(page, number):
    """The tooltip that some place of a plot shows; its middle is tried first."""
    for turn, (x, y) in enumerate(page.ask("probe.places", number)):
        page.move_mouse(x - 1, y)
        page.move_mouse(x, y)
        text = soon(page, f"probe.tooltip({number})", bool, 0.4 if turn == 0 else 0.08)
        if text:
            return text
    return ""


def check_mouse(page):
    """Pointing at a plot shows a tooltip with a figure in it; leaving the plot hides it."""
    out = []
    for number in range(page.evaluate("probe.plots()")):
        text = hover(page, number)
        if not re.search(r"\d", text):
            out.append(f"plot {number}: no tooltip with a figure under the mouse (\"{text}\")")
        for step in range(3):  # a mouse that leaves moves on; one jump may be lost in a redraw
            page.move_mouse(2, 2 + step)
            if not soon(page, f"probe.tooltip({number})", lambda text: not text):
                break
        else:
            out.append(f"plot {number}: its tooltip stays when the mouse has left")
    return out


def check_keys(page):
    """On a plot, arrow keys show one point after the other and Escape hides the tooltip."""
    out = []
    for number in range(page.evaluate("probe.plots()")):
        page.ask("probe.places", number)
        page.ask("probe.focus", number)
        texts = []
        for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown"):
            page.press(key)
            before = texts[-1] if texts else ""
            texts.append(soon(page, f"probe.tooltip({number})",
                              lambda text: text and text != before, 0.3))
        if not any(re.search(r"\d", text) for text in texts):
            out.append(f"plot {number}: arrow keys show no tooltip")
        elif len(set(texts)) < 2 and page.ask("(n) => probe.charts()[n].table.rows", number) > 2:
            out.append(f"plot {number}: arrow keys stay at one point")
        page.press("Escape")
        if soon(page, f"probe.tooltip({number})", lambda text: not text):
            out.append(f"plot {number}: Escape leaves the tooltip")
        page.evaluate("probe.blur()")
    return out


def check_tab_order(page):
    """The tab key reaches every link, plot, table and button, each marked, and leaves the page."""
    page.evaluate("probe.rewind()")
    out = []
    seen = set()
    for _ in range(800):
        page.press("Tab")
        stop = page.evaluate("probe.focused()")
        if stop is None or stop["number"] in seen:
            break
        seen.add(stop["number"])
        if not stop["marked"]:
            out.append(f"no mark on {stop['name']} when the tab key is there")
    else:
        out.append("the tab key does not leave the page")
    missed = page.evaluate("probe.missed()")
    if missed:
        out.append(f"the tab key never reaches {', '.join(missed[:5])}"
                   + (f" and {len(missed) - 5} more" if len(missed) > 5 else ""))
    page.evaluate("probe.blur(); scrollTo(0, 0)")
    return out


def check_words_in_drawings(page):
    """Labels of drawings stand out from what is behind them, 4.5 to 1."""
    faint = page.evaluate("probe.faint()")
    return [f"hard to read: {text}" for text in faint[:5]] + (
        [f"and {len(faint) - 5} more"] if len(faint) > 5 else [])


def check_dark(page):
    """Dark where the reader prefers it, and still readable."""
    page.media(scheme="dark")
    page.settle(0.1)
    out = [] if page.evaluate("probe.dark()") else ["not dark where dark is preferred"]
    out += check_words_in_drawings(page)
    page.media(scheme="light")
    page.settle(0.05)
    return ["dark: " + text for text in out]


def check_phone(page):
    """On a phone nothing is wider than the screen but what scrolls by itself."""
    page.size(*PHONE, mobile=True)
    page.settle(0.3)
    state = page.evaluate("probe.phone()")
    out = [f"a table of sentences is cut off: {name}" for name in page.evaluate("probe.cut()")]
    if state["width"] != PHONE[0]:
        out.append(f"laid out {state['width']} px wide: no viewport of the device's width")
    out += page.evaluate("probe.overflow()")
    out += [f"a drawing is cut off: {name}" for name in state["wide"][:5]]
    page.size(*DESKTOP)
    page.settle(0.3)
    return ["phone: " + text for text in out]


def check_answer(page, margin=r"Margin|Change|Would help|Fails first|What would decide"):
    """The first screen has the answer with its sign, the margin or what would help, how sure it is, and the
    chart that decides with a sign for each size."""
    page.size(*SCREEN)
    page.settle(0.3)
    state = page.evaluate("probe.answer()")
    out = []

    def need(box, what):
        if not box:
            out.append(f"no {what}")
        elif box["bottom"] > SCREEN[1]:
            out.append(f"{what} ends at {box['bottom']:.0f} px")
        return box

    if need(state["answer"], "answer") and not re.search(r"[\u2714?\u2716]", state["answer"]["sign"]):
        out.append("the answer has no sign")
    for label in ("Confidence", margin):
        need(next((card for card in state["cards"] if re.match(label, card["label"])), None),
             f"card {label}")
    if need(state["chart"], "chart that decides"):
        if not any(re.match(r"[\u2714?\u2716]", word) for word in state["chart"]["words"]):
            out.append("no size in the chart has a sign")
    height = page.evaluate("probe.height()")
    if height > HIGHEST:
        out.append(f"{height:,} px high, more than {HIGHEST:,}")
    page.size(*DESKTOP)
    page.settle(0.3)
    return ["first screen: " + text for text in out]


def check_colours(page):
    """Met, uncertain and missed: each with a sign of its own, readable, and apart for a deuteranope."""
    out = []
    for scheme in ("light", "dark"):
        page.media(scheme=scheme)
        page.settle(0.05)
        seen = page.evaluate("probe.statuses()")
        if len({seen[status]["sign"] for status in ("good", "unsure", "bad")}) < 3:
            out.append(f"{scheme}: two of them have the same sign")
        for status in ("good", "unsure", "bad"):
            ratio = colours.contrast(seen[status]["colour"][:3], seen["paper"][:3])
            if ratio < 4.5:
                out.append(f"{scheme}: {status} {ratio:.1f}:1 on the page")
        for (a, b), least in APART.items():
            apart = colours.distance(seen[a]["colour"][:3], seen[b]["colour"][:3])
            if apart < least:
                out.append(f"{scheme}: {a} and {b} are {apart:.0f} apart, less than {least}")
    page.media()
    page.settle(0.05)
    return ["colours: " + text for text in out]


def check_injected(page):
    """Nothing from a name has become an element, an attribute or a script."""
    return [f"from a name: {text}" for text in page.evaluate("probe.injected()")]


def squeezed(text):
    return re.sub(r"[\s\u00ad\u200b]+", "", text)


# One table of the page so long that it takes several sheets, its head marked.
LONG_TABLE = """(() => {
  const table = [...document.querySelectorAll('table')].find((t) =>
    !t.closest('details') && t.tHead && t.tBodies[0] && t.tBodies[0].rows.length);
  if (!table) return false;
  const body = table.tBodies[0], row = body.rows[body.rows.length - 1];
  for (let i = 0; i < 150; ++i) body.append(row.cloneNode(true));
  table.closest('.scroll').classList.remove('short', 'tall');
  const mark = document.createTextNode('HEADMARK ');
  const cell = table.tHead.rows[0].cells[0];
  (cell.querySelector('button') || cell).prepend(mark);
  return true;
})()"""


def check_heads(page, folder):
    """A table that breaks over sheets of paper has its head on each of them. Changes the page."""
    if not page.evaluate(LONG_TABLE):
        return []
    text = paper(page, os.path.join(folder, "heads.pdf"))
    count = text.count("HEADMARK")
    return [] if count > 1 else [f"print: a long table has its head {count} times"]


def paper(page, path):
    """Prints to `path`; the text on it."""
    data = page.call("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True,
                                         "paperWidth": 8.27, "paperHeight": 11.69}, 60)["data"]
    with open(path, "wb") as file:
        file.write(base64.b64decode(data))
    done = subprocess.run(["pdftotext", "-raw", path, "-"], capture_output=True, check=True)
    return squeezed(done.stdout.decode("utf-8", "replace"))


def check_print(page, folder, pages_at_least=1):
    """A4: vector text that can be searched, no bitmap, every drawing's labels and every open
    table's cells on the paper."""
    page.media("print")
    page.settle(0.05)
    before = page.evaluate("[probe.charts(), probe.cells()]")
    page.size(PAPER, DESKTOP[1])
    wide = page.evaluate("document.documentElement.scrollWidth")
    page.size(*DESKTOP)
    page.media()
    path = os.path.join(folder, "page.pdf")
    text = paper(page, path)

    def tool(*words):
        done = subprocess.run(words, capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace")

    out = []
    if wide > PAPER + 1:  # the browser would make everything smaller
        out.append(f"{wide} px wide, and the paper {PAPER}")
    info = dict(re.findall(r"^([^:\n]+):\s+(.*)$", tool("pdfinfo", path), re.M))
    width, height = [float(n) for n in re.findall(r"[\d.]+", info["Page size"])[:2]]
    if abs(width - 595) > 2 or abs(height - 842) > 2:
        out.append(f"the paper is {info['Page size']}, not A4")
    if int(info["Pages"]) < pages_at_least:
        out.append(f"{info['Pages']} pages, expected at least {pages_at_least}")
    bitmaps = tool("pdfimages", "-list", path).splitlines()[2:]
    if bitmaps:
        out.append(f"{len(bitmaps)} bitmaps in it")
    for chart in before[0]:
        drawings = [part for part in (chart["plot"], chart["still"]) if part and part["shown"]]
        if len(drawings) != 1:
            out.append(f"{chart['id']}: {len(drawings)} drawings on paper")
        words = chart["still"]["drawing"]["words"] if chart["still"] else []
        lost = [word for word in [chart["caption"], *words] if squeezed(word) not in text]
        # Words on their side come letter by letter, sometimes in another order.
        if len(lost) > 0.1 * len(words) + 1 or not words:
            out.append(f"{chart['id']}: not on paper: {lost[:4]}")
    for table in before[1]:
        if table["in_details"]:
            continue
        lost = [cell for cell in table["cells"] if squeezed(cell) not in text]
        if lost:
            out.append(f"{len(lost)} of {len(table['cells'])} cells of {table['name']} are cut "
                       f"off, as {lost[:2]}")
    return ["print: " + text for text in out]
