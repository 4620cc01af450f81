"""Every table of every form against the document, and the forms against each other.

Columns are known by what they are called, in today's words and in those of the glossary; what is not known is not
compared by its meaning, and `figures.py` looks its figures up.
"""
import re

from case import WORDS, plain
from checks import check
from documents import figure_of

NAMED = r"^(size|cell|configuration|values)$"


def cached(point, first=0):
    run = point["run"]
    tokens = [n for name, n in run.get("prompt_tokens_by_source", {}).items() if name != "local_compute"]
    names = [t["name"] for t in run.get("tiers", [])][first:]
    by_name = {k: v for k, v in run.get("prompt_tokens_by_source", {}).items() if k in names}
    return (sum(by_name.values()) if names or first else sum(tokens)) / max(1, run.get("total_input_tokens", 0))


def busiest(point):
    return max((link["busy_fraction"] for link in point["run"].get("links", [])), default=0)


def latency(point, name, figure):
    return point["run"].get(f"{'median' if figure == 'p50' else figure}_{name}_ms", 0) / 1e3


def column_value(case, header, point, form=""):
    """What a column of this name shows of a point, in base units; None where it is not known."""
    name, run = header.lower(), point["run"]
    if form == "terminal" and point["replications"]:            # figures over replicates, as the verdict
        for t in point["targets"]:
            if plain(name) == plain(t["name"].replace("_ms", "").replace("_", " ")):
                return base(t, t["value"])
    match = re.fullmatch(r"(?:(p\d\d) )?(ttft|tpot|itl|e2el?)(?: (p\d\d))?", name)
    if match:
        return latency(point, "e2el" if match.group(2).startswith("e2e") else match.group(2), match.group(1) or match.group(3))
    if re.fullmatch(r"attainment|in time|(share of )?requests within slo|within slo", name):
        return point["attainment"]
    if re.match(r"attainment at least|at least", name):
        return point["attainment_low"]
    if re.fullmatch(r"from caches|hits", name):
        return cached(point)
    if name == "from hbm":
        return cached(point) - cached(point, 1)
    if name == "from " + case.results["tier"].lower():
        return cached(point, 1)
    known = {"replicates": point["replications"], "preemptions": run.get("preemptions"), "busiest link": busiest(point),
             "incomplete": run["requests"] - run["completed"], "requests/s": run["request_throughput"],
             "goodput/s": run.get("goodput"), "tokens/s": run.get("total_token_throughput"), "completed": run["completed"]}
    return known.get(name)


def standing_fits(case, point, word):
    """A point's word in a column `SLO`."""
    verdict, word = point["verdict"], word.lower()
    if verdict == "excluded" or re.search("uncertain|undecided", word):
        return True
    says_met, says_missed = re.match(r"(looks |slo )?met", word), re.match(r"(looks |slo )?missed", word)
    if not says_met and not says_missed:
        return False
    sure = not word.startswith("looks")
    if bool(says_met) != (verdict in ("met", "looks-met")):
        return False
    return not (sure and case.replicated and verdict.startswith("looks-") and not re.search("once|replicate|size|run", word))


@check
def cells_of_tables(case):
    for form, report in case.reports.items():
        for table in report.tables():
            if not table.header or not re.match(NAMED, table.header[0], re.I):
                continue
            yield from named_rows(case, form, table)


def named_rows(case, form, table):
    seen = [case.point_named(row[0].split(" at ")[0]) for row in table.rows]
    if form in ("html", "csv") and len(table.columns("^SLO$", "^within SLO$")) == 2 and len(seen) != len(case.points):
        yield f"{form}: {table.title}", f"{len(seen)} rows", f"{len(case.points)} points"
    for row, point in zip(table.rows, seen):
        if point is None:
            if table.header[0] != "values":
                yield f"{form}: {table.title}", row[0], "no such point in the document"
            continue
        if table.header[0] == "values" and case.spoken_of() is not None:      # each at the size of the answer
            size = case.points[case.spoken_of()]["capacity"]
            beside = [p for p in case.points if p.get("values") == point.get("values") and p["capacity"] == size]
            point = beside[0] if beside else point
            if " at " in row[0]:
                continue
        for header, cell in zip(table.header[1:], row[1:]):
            yield from one_cell(case, f"{form}: {table.title[:60]}: {row[0]}, {header}", header, cell, point, form)


def one_cell(case, where, header, cell, point, form=""):
    if header == "SLO":
        if not standing_fits(case, point, cell):
            yield where, cell, f"verdict {point['verdict']}, {point['replications']} replicates"
        return
    if header == "digest":
        if cell != point["digest"]:
            yield where, cell, point["digest"]
        return
    value = column_value(case, header, point, form)
    figure = figure_of(cell)
    if value is None or figure is None:
        if value is not None and cell not in ("-", ""):
            yield where, cell, "no figure"
        return
    if not figure.is_for(value):
        yield where, cell, f"{value:.8g}"
    if re.match("attainment$|in time|within SLO", header) and point.get("attainment_bound"):
        if "at most" not in cell:
            yield where, cell, f"{point['cut']} of {point['replications']} runs were cut: a bound"


def target_of(case, point, label, once):
    rows = point["run"].get("slo", []) if once else point["targets"]
    for t in rows:
        if plain(label) in (plain(t["name"]), plain(t["name"].replace("_ms", "").replace("_", " "))):
            return t
    return None


def figure_ms(cell, metric):
    return figure_of(cell, "ms" if metric.endswith("_ms") and not re.search(r"\d ?m?s\b", cell) else None)


def base(t, value):
    return value / 1e3 if t["name"].endswith("_ms") else value


@check
def target_tables(case):
    for form, report in case.reports.items():
        for table in report.tables():
            label, value = table.columns("^(target|objective)$"), table.columns("^(figure|value)$")
            if not label or not value or table.columns("what happens|measured|tightest") or table.header[0] not in ("target", "objective", "cell", "configuration", "size"):
                continue
            once = "one run" in table.title
            for row in table.rows:
                point = case.point_named(row[0]) if re.match(NAMED, table.header[0]) else (
                    [case.points[i] for i in case.named_in(table.title)] or [None])[0]
                label_at = label[0]
                if table.header[0] == "objective":
                    label_at = 0
                t = point and target_of(case, point, row[label_at], once)
                where = f"{form}: {table.title[:60]}: {row[label_at]}"
                if not t:
                    yield where, " | ".join(row), "no such target in the document"
                    continue
                yield from target_row(where, table, row, t, value[0], once)


def target_row(where, table, row, t, value_at, once):
    shown = figure_ms(row[value_at], t["name"])
    if shown and not shown.is_for(base(t, t["value"])):
        yield where, row[value_at], str(t["value"])
    limit_at = table.columns("^limit$") or (table.columns("^target$") if table.header[0] == "objective" else [])
    limit = figure_ms(row[limit_at[0]], t["name"]) if limit_at else None
    if limit and not limit.is_for(base(t, t["target"])):
        yield where, row[limit_at[0]], str(t["target"])
    if limit_at and ("at least" in row[limit_at[0]]) != (t["bound"] == "min"):
        yield where, row[limit_at[0]], t["bound"]
    for at in table.columns("^(met|verdict)$"):
        good = t["passed"] if once else t["met"]
        if bool(re.match("yes|uncertain|met", row[at])) != good:
            yield where, row[at], str({k: t[k] for k in ("met", "passed", "backed") if k in t})
        if not once and row[at] == "yes" and not t["backed"]:
            yield where, row[at], "not backed"
    for at in table.columns("^judged by$", "with .*confidence"):
        figure = figure_of(row[at])
        x = t["x"] if "judged" in table.header[at] else t.get("confidence_bound")
        if figure and x is not None and not figure.is_for(x):
            yield f"{where}, {table.header[at]}", row[at], f"{x:.8g}"


@check
def stress_tables(case):
    rows = {row["name"]: row for row in case.stress_rows()}
    for form, report in case.reports.items():
        for table in report.tables():
            if table.columns("what happens"):
                for row in table.rows:
                    yield from stress_row(f"{form}: {row[0]}", table, row, rows.get(row[0]))
    for row in rows.values():
        if row["outcome"] in ("met", "missed") and "margin" in row:
            if (row["margin"] >= 0) != (row["outcome"] == "met"):
                yield f"event {row['name']}", f"outcome {row['outcome']}", f"margin {row['margin']:.3f} ({row.get('target')} {row.get('value')} of {row.get('limit')})"
            if row["kind"] == "as-is" and case.recommended and row["outcome"] == "missed":
                yield "event as it is", "missed", f"{case.results['stress']['cell']} is recommended"


def stress_row(where, table, row, document):
    if document is None:
        yield where, row[0], "no such event"
        return
    cell = dict(zip(table.header, row))
    if plain(cell.get("SLO", "")) != plain(document["outcome"]).replace("not-asked", "notasked"):
        yield where, cell.get("SLO"), document["outcome"]
    for header, key in (("figure", "value"), ("target", "limit")):
        figure = figure_ms(cell.get(header, "-"), document.get("target", ""))
        if figure and key in document and not figure.is_for(document[key] / (1e3 if document["target"].endswith("_ms") else 1)):
            yield f"{where}, {header}", cell[header], str(document[key])


@check
def transposed_tables(case):
    """Figures as rows, configurations as columns."""
    for form, report in case.reports.items():
        for table in report.tables():
            points = [case.point_named(name) for name in table.header[1:]]
            if not table.header or table.header[0] != "figure" or not points or None in points:
                continue
            for row in table.rows:
                for cell, point in zip(row[1:], points):
                    match = re.match(r"(.*), (p\d\d)", row[0])
                    name = match and WORDS.get(match.group(1).lower())
                    if name and not figure_of(cell).is_for(latency(point, name, match.group(2))):
                        yield f"{form}: {table.title}: {row[0]}", cell, str(latency(point, name, match.group(2)))
                    if row[0].startswith("Target "):
                        t = target_of(case, point, row[0][7:], True)
                        if t and (cell == "met") != t["passed"]:
                            yield f"{form}: {table.title}: {row[0]}", cell, f"passed {t['passed']}"


@check
def same_tables(case):
    """What the page has in a table, Markdown and CSV have in it."""
    mine = {}
    for table in case.reports["html"].tables():
        mine.setdefault((table.title, tuple(table.header)), table.rows)
    for form in ("md", "csv"):
        for table in case.reports[form].tables():
            rows = mine.get((table.title, tuple(table.header)))
            if rows is None:
                if table.title and form == "md":
                    yield f"{form}: {table.title}", str(table.header)[:120], "the page has no such table"
                continue
            strip = lambda cells: [c.lstrip("'").strip() for c in cells]
            for a, b in zip(table.rows, rows):
                if strip(a) != strip(b) and not any("..." in c for c in a):
                    yield f"{form}: {table.title}", " | ".join(a)[:160], " | ".join(b)[:160]
