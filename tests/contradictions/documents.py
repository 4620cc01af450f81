"""What `plan`, `report` and `run` say of one scenario, read back into pages, tables, charts and figures.

Readers know the forms (HTML, Markdown, CSV, terminal text), not the wording. Every form becomes a `Report` of `Page`s.
"""
import csv
import html
import html.parser
import io
import json
import os
import re
import subprocess
from dataclasses import dataclass, field

UNITS = {"ns": ("time", 1e-9), "us": ("time", 1e-6), "µs": ("time", 1e-6), "ms": ("time", 1e-3), "s": ("time", 1.0),
         "min": ("time", 60.0), "h": ("time", 3600.0), "%": ("share", 0.01), "B": ("bytes", 1.0)}
for power, prefix in enumerate("KMGT", 1):
    UNITS[prefix + "iB"] = ("bytes", 1024.0 ** power)
    UNITS[prefix + "B"] = ("bytes", 1000.0 ** power)
NUMBER = re.compile(r"(?<![\w.])([-−+]?\d(?:[\d,]*\d)?(?:\.\d+)?(?:e[-+]?\d{1,2}(?!\w))?)(?:[  ]?(%|[KMGT]i?B|B|ns|us|µs|ms|min|h|s)(?![\w]))?(/s)?")


class Figure:
    """A number as printed: its value in base units, and how far off its rounding may leave it."""

    def __init__(self, match, unit=None):
        digits = match.group(1).replace(",", "").replace("−", "-")
        self.text = match.group(0)
        self.unit = match.group(2) or unit
        self.kind, self.scale = UNITS.get(self.unit, ("", 1.0))
        mantissa, _, exponent = digits.partition("e")
        decimals = len(mantissa.partition(".")[2])
        self.value = float(digits) * self.scale
        self.tolerance = 0.5001 * 10.0 ** (int(exponent or 0) - decimals) * self.scale + 1e-12 * abs(self.value)

    def is_for(self, value):
        return abs(self.value - value) <= self.tolerance

    def shows(self, value):
        """`value` is in base units; a reader may take a sign or two more for what is not printed."""
        return self.is_for(value)


def figures_in(text, unit=None):
    return [Figure(match, unit) for match in NUMBER.finditer(text)]


def figure_of(text, unit=None):
    """The first figure of a cell; None where it has none."""
    match = NUMBER.search(text)
    return Figure(match, unit) if match else None


@dataclass
class Table:
    title: str = ""
    header: list = field(default_factory=list)
    rows: list = field(default_factory=list)
    page: str = ""

    def columns(self, *patterns):
        """Places of columns whose header matches one of the patterns."""
        return [i for i, name in enumerate(self.header) if any(re.search(p, name, re.I) for p in patterns)]


@dataclass
class Page:
    name: str = ""
    facts: list = field(default_factory=list)    # (label, value, detail)
    texts: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    charts: list = field(default_factory=list)   # {"data": {...}, "note": "", "table": Table}
    codes: list = field(default_factory=list)


@dataclass
class Report:
    form: str
    title: str = ""
    first: str = ""
    pages: list = field(default_factory=list)

    def tables(self):
        return [table for page in self.pages for table in page.tables]

    def facts(self):
        return [fact for page in self.pages for fact in page.facts]

    def charts(self):
        return [chart for page in self.pages for chart in page.charts]

    def sentences(self):
        """(page, text) of everything that is said in words."""
        for page in self.pages:
            for label, value, detail in page.facts:
                yield page.name, f"{label}: {value}" + (f" ({detail})" if detail else "")
            for text in page.texts:
                yield page.name, text
            for chart in page.charts:
                if chart["note"]:
                    yield page.name, chart["note"]


class HtmlReader(html.parser.HTMLParser):
    """The page as `reports/renderers/html` writes it."""

    TEXT = {"h1", "h2", "h3", "h4", "dt", "dd", "p", "th", "td", "caption", "figcaption", "pre", "summary"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.report = Report("html")
        self.open, self.words, self.data, self.svg = None, [], "", 0
        self.figure, self.table, self.script = None, None, None
        self.feed(text)
        self.attach_charts()

    @property
    def page(self):
        if not self.report.pages:
            self.report.pages.append(Page("top"))
        return self.report.pages[-1]

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.svg += tag == "svg"
        classes = (attrs.get("class") or "").split()
        if tag == "section" and "page" in classes:
            self.report.pages.append(Page(attrs.get("id", "").replace("page-", "")))
        elif tag == "figure":
            self.figure = {"data": {}, "note": "", "table": None, "title": "", "index": None}
        elif tag == "div" and "data-chart" in attrs and self.figure:
            self.figure["index"] = int(attrs["data-chart"])
        elif tag == "table":
            self.table = Table(page=self.page.name)
        elif tag == "tr" and self.table is not None:
            self.table.rows.append([])
        elif tag == "script":
            self.script = attrs.get("id")
        if tag in self.TEXT and not self.svg:
            self.open, self.words, self.classes = tag, [], classes

    def handle_data(self, data):
        if self.script == "chart-data":
            self.data += data
        elif self.open and not self.svg:
            self.words.append(data)

    def handle_endtag(self, tag):
        self.svg -= tag == "svg"
        if tag == "script":
            self.script = None
        elif tag == "figure" and self.figure:
            self.page.charts.append(self.figure)
            self.figure = None
        elif tag == "table" and self.table is not None:
            if self.figure is not None:
                self.figure["table"] = self.table
            else:
                self.page.tables.append(self.table)
            self.table = None
        elif tag == "span" and self.open:
            self.words.append(" ")
        if tag == self.open:
            text = "".join(self.words)
            self.take(tag, text if tag == "pre" else text.strip())
            self.open = None

    def take(self, tag, text):
        if tag == "h1":
            self.report.title = text
        elif tag in ("th", "td") and self.table is not None:
            if tag == "th" and len(self.table.rows) == 1:
                self.table.header.append(text)
            else:
                self.table.rows[-1].append(text)
        elif tag == "caption" and self.table is not None:
            self.table.title = text
        elif tag == "dt":
            self.page.facts.append((text, "", ""))
        elif tag == "dd":
            label, value, detail = self.page.facts[-1]
            self.page.facts[-1] = (label, value, text) if "detail" in self.classes else (label, text, detail)
        elif tag == "figcaption" and self.figure:
            self.figure["title"] = text
        elif tag == "pre":
            self.page.codes.append(text)
        elif tag == "p":
            self.paragraph(text)

    def paragraph(self, text):
        if self.figure is not None:
            self.figure["note"] += text
        elif "sub" in self.classes and not self.report.first:
            self.report.first = text
        elif not {"more", "title"} & set(self.classes):
            self.page.texts.append(text)

    def attach_charts(self):
        charts = json.loads(self.data, parse_constant=lambda c: float("nan")) if self.data.strip() else []
        for chart in self.report.charts():
            if chart["index"] is not None and chart["index"] < len(charts):
                chart["data"] = charts[chart["index"]]
        for table in self.report.tables() + [c["table"] for c in self.report.charts() if c["table"]]:
            table.rows = [row for row in table.rows if row]


def read_markdown(text):
    """Headings, facts, pipe tables, sentences; code is kept apart."""
    # U+2060 keeps GitHub from making links of words; a reader does not see it.
    plain = lambda s: html.unescape(re.sub(r"\\(.)", r"\1", s)).replace("\u2060", "").strip()
    report, page, title, code = Report("md"), Page("top"), "", None
    report.pages.append(page)
    for line in text.splitlines():
        if code is not None:
            code = None if line.startswith(code) and set(line) == {"`"} else code
        elif line.startswith("```"):
            code = re.match("`+", line).group(0)
        elif line.startswith("# "):
            report.title = plain(line[2:])
        elif line.startswith("#"):
            if line.startswith("## "):
                page = Page(plain(line[3:]))
                report.pages.append(page)
        elif match := re.match(r"- \*\*(.*?)\*\*: (.*)", line):
            page.facts.append((plain(match.group(1)), plain(match.group(2)), ""))
        elif match := re.fullmatch(r"\*\*(.*)\*\*|<summary>(.*) \([\d,]+ rows\)</summary>", line):
            title = plain(match.group(1) or match.group(2)).removesuffix("Table")
        elif line.startswith("|"):
            cells = [plain(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if title is not None:
                page.tables.append(Table(title, cells, [], page.name))
                title = None
            elif not all(re.fullmatch(r"-+:?", cell) for cell in cells):
                page.tables[-1].rows.append(cells)
        else:
            title = "" if title is None else title
            if line.strip() and not line.startswith("<"):
                page.texts.append(plain(line))
    if report.pages[0].texts:
        report.first = report.pages[0].texts[0]
    return report


def read_csv(text):
    report = Report("csv", pages=[Page("all")])
    for block in re.split(r"\r\n\r\n", text):
        rows = list(csv.reader(io.StringIO(block)))
        titled = len(rows) > 1 and len(rows[0]) == 1 and len(rows[1]) > 1
        if rows:
            title, rows = (rows[0][0], rows[1:]) if titled else ("", rows)
            report.pages[0].tables.append(Table(title, rows[0], rows[1:], "csv"))
    return report


def read_terminal(text):
    """First line, sentences, tables: cells are two blanks apart."""
    lines = text.splitlines()
    report = Report("terminal", first=lines[0] if lines else "", pages=[Page("terminal")])
    page, i = report.pages[0], 1
    while i < len(lines):
        if i + 1 < len(lines) and re.fullmatch(r"-{8,}", lines[i + 1].strip()):
            table = Table(lines[i - 1], re.split(r" {2,}", lines[i].strip()), [], "terminal")
            i += 2
            while i < len(lines) and lines[i].strip() and not lines[i].startswith("Report: "):
                table.rows.append(re.split(r" {2,}", lines[i].strip()))
                i += 1
            page.tables.append(table)
        elif lines[i].strip() and not re.match(r"\s|\S* *[|+]", lines[i]):          # no line of a chart
            page.texts.append(lines[i])
        i += 1
    return report


@dataclass
class Answer:
    """One command's exit status and output."""
    code: int
    out: str
    err: str


def call(command, timeout):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout,
                          env={**os.environ, "LC_ALL": "C", "NO_COLOR": "1"})
    return Answer(done.returncode, done.stdout, done.stderr)


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def load_document(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_constant=refuse_constant)
