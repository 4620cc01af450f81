"""What the plan says beside its points: events, factors, cost, host memory, confidence; and the same of each on every page."""
import re

from case import bytes_of
from checks import check, close
from documents import figure_of
from pages import of_any_form


def names_in(text, rows):
    return {row["name"] for row in rows if re.search(re.escape(row["name"]) + r"(?![\w])", text)}


@check
def sensitivity(case):
    s = case.results.get("sensitivity")
    if not s:
        return
    for factor in s["factors"]:
        for end in ("low", "high"):
            side = factor[end]
            if (side["margin"] >= 0) != side["met"]:
                yield f"{factor['name']} {side.get('factor')}", f"met {side['met']}", f"margin {side['margin']:.3f}"
        above, below = factor.get("missed_above"), factor.get("missed_below")
        if above is not None and above <= factor.get("changes_above", 1) or below is not None and below >= factor.get("changes_below", 1):
            yield factor["name"], f"misses at {above or below}", f"holds to {factor.get('changes_above', factor.get('changes_below'))}"
    if case.recommended and case.recommended["verdict"] == "met" and s["margin"] >= 0 and s["factors"] and not any(
            f[end]["met"] for f in s["factors"] for end in ("low", "high")):
        yield "sensitivity", "every change misses the SLO", f"{case.recommended['name']} meets it"


@check
def events_of_sentences(case):
    """Lists of events that meet or miss the SLO."""
    rows = [row for row in case.stress_rows() if row["kind"] != "as-is"]
    of = lambda outcome: {row["name"] for row in rows if row["outcome"] == outcome}
    for where, text in of_any_form(case) if rows else ():
        for pattern, outcome in ((r"still meets the SLO: (.*?)\.(?: |$)", "met"), (r"It is missed: (.*?)\.(?: |$)", "missed"),
                                 (r"in one run each: (.*?) miss(?:es)? the SLO", "missed"), (r"No service at all: (.*?)\.(?: |$)", "down")):
            match = re.search(pattern, text)
            if match and names_in(match.group(1), rows) != of(outcome):
                yield where, match.group(0)[:200], f"{outcome}: {sorted(of(outcome))}"
        match = re.search(r"(\d+) of (\d+) miss the SLO", text)
        if match:
            ran = [row for row in case.stress_rows() if row["outcome"] in ("met", "missed")]
            missed = sum(row["outcome"] == "missed" for row in ran)
            if (int(match.group(1)), int(match.group(2))) != (missed, len(ran)):
                yield where, match.group(0), f"{missed} of {len(ran)}"
        if re.match("(Breaks it|Margin): Nothing that was tried", text) and (of("missed") or of("down")):
            yield where, text[:120], f"missed: {sorted(of('missed') | of('down'))}"


@check
def cost(case):
    cost = case.results.get("cost", {})
    cells = {cell["point"]: cell for cell in cost.get("cells", [])}
    if not cells or not cost.get("currency"):
        return
    best = cells.get(case.results.get("recommended_index"))
    for form, report in case.reports.items():
        for table in report.tables():
            for at in table.columns(r"a month$") if table.header and table.header[0] in ("cell", "configuration") else ():
                for row in table.rows:
                    point = case.point_named(row[0])
                    cell = cells.get(case.points.index(point)) if point else None
                    if cell and not figure_of(row[at]).is_for(cell["per_month"]):
                        yield f"{form}: {table.title}: {row[0]}", row[at], str(cell["per_month"])
    for where, text in [("first line", case.first_line)] + list(of_any_form(case)):
        if re.match("Cost: |The cheapest", text) and best:
            match = re.search(r"(?:%s )?([\d.,]+)(?: %s)? a month" % ((cost["currency"],) * 2), text)
            if match and not figure_of(match.group(1)).is_for(best["per_month"]):
                yield where, text[:160], str(best["per_month"])
    if best and cost["items"] and not close(sum(item["per_month"] for item in cost["items"]), best["per_month"], 1e-6):
        yield "cost", f"items come to {sum(item['per_month'] for item in cost['items'])}", str(best["per_month"])


@check
def host_memory(case):
    """What a host needs is the sum of its lines, and the same wherever it is said."""
    said = {}
    for where, text in of_any_form(case):
        for match in re.finditer(r"(?:host needs|Needed:|[Hh]ost memory needed:?) ([\d.,]+ [KMGT]iB)", text):
            said.setdefault(figure_of(match.group(1)).value, where)
    for table in case.reports["html"].tables():
        if "line by line" in table.title and table.columns("^memory$"):
            at = table.columns("^memory$")[0]
            ends = [i for i, row in enumerate(table.rows) if re.match("needed|total|sum", row[0], re.I)]
            rows = table.rows[:ends[0]] if ends else table.rows
            lines = [figure_of(row[at]) for row in rows if figure_of(row[at])]
            total, room = sum(f.value for f in lines), sum(f.tolerance for f in lines) + 1
            for value, where in said.items():
                if abs(value - total) > room + 0.006 * (1 << 30):
                    yield where, f"{value / (1 << 30):.2f} GiB are needed", f"the lines come to {total / (1 << 30):.2f} GiB"
    if len(said) > 1:
        yield "host memory", str({k / (1 << 30): v for k, v in said.items()}), "one figure"


@check
def confidence(case):
    c = case.results.get("confidence")
    for where, text in of_any_form(case) if c else ():
        for match in re.finditer(r"([\d,]+) runs? to decide", text):
            if not figure_of(match.group(1)).is_for(c["runs"]):
                yield where, text[:160], f"{c['runs']} runs"
        for match in re.finditer(r"(\d+) of (\d+) cells are shown to miss", text):
            shown = sum(p["verdict"] == "missed" for p in case.points)
            if (int(match.group(1)), int(match.group(2))) != (shown, len(case.points)):
                yield where, match.group(0), f"{shown} of {len(case.points)}"
        for match in re.finditer(r"([\d.]+%) (?:lower )?confidence(?! of)", text):
            if not figure_of(match.group(1)).is_for(c["level"]):
                yield where, text[:160], f"level {c['level']}"
        if case.recommended and re.match("Expect|Confidence: [\\d.]+% of", text):
            match = re.search(r"over (\d+) replicates?", text)
            if match and int(match.group(1)) != case.recommended["replications"]:
                yield where, text[:160], f"{case.recommended['replications']} replicates"
    for where, text in of_any_form(case):
        match = re.search(r"(\d+) of (\d+) cells do not meet the SLO", text)
        if match and int(match.group(1)) != sum(p["verdict"] not in ("met", "looks-met") for p in case.points):
            yield where, match.group(0), str([p["verdict"] for p in case.points])


@check
def falsifiers(case):
    """`it is wrong if` a target's figure is beyond its limit, at the rate of the run."""
    for table in case.reports["html"].tables():
        if not table.columns("it is wrong if"):
            continue
        for row in table.rows:
            limits = case.limits_of(row[0])
            match = re.match(r"(?:above|below) ([\d.,]+)(?: at ([\d.,]+) requests/s)?", row[2])
            if not limits or not match:
                continue
            if not any(figure_of(match.group(1)).is_for(limit) for limit in limits):
                yield f"{table.title}: {row[0]}", row[2], str(limits)
            if match.group(2) and not any(figure_of(match.group(2)).is_for(p["run"]["request_throughput"]) for p in case.points):
                yield f"{table.title}: {row[0]}", row[2], "no such request_throughput"
            if not any(figure_of(row[1]).is_for(v) for v in case.values_of(row[0])):
                yield f"{table.title}: {row[0]}", row[1], str(case.values_of(row[0])[:6])


@check
def sizes_of_facts(case):
    """Runner-up, next smaller and largest sizes are those of the document."""
    keys = {"Runner-up": "runner_up_index", "Too small": "infeasible_max_index", "Largest tried": "infeasible_max_index"}
    for form, report in case.reports.items():
        for label, value, _ in report.facts():
            index = case.results.get(keys.get(label, ""))
            if index is not None and case.point_named(value.split(" (")[0]) is not case.points[index]:
                yield f"{form}: {label}", value[:80], case.points[index]["name"]
        for page in report.pages:
            for text in page.texts:
                match = re.match(r"(Runner-up|Largest tried|Largest size below|Sweet spot \(knee\): a \w+ tier above) ?:? (.*?)(?::|\. | (?:gains|misse|looks|is not|was not))", text)
                index = match and case.results.get({"Runner-up": "runner_up_index", }.get(match.group(1), "knee_index" if match.group(1).startswith("Sweet") else "infeasible_max_index"))
                if index is not None and case.point_named(match.group(2)) not in (None, case.points[index]):
                    yield f"{form}, {page.name}", text[:120], case.points[index]["name"]
    smaller = case.results.get("infeasible_max_index")
    least = case.results.get("feasible_min_index")
    if None not in (smaller, least) and case.points[smaller].get("values") == case.points[least].get("values"):
        if bytes_of(case.points[smaller]) >= bytes_of(case.points[least]) and case.results.get("confidence", {}).get("boundary") != "non_monotone":
            yield "infeasible_max", case.points[smaller]["name"], f"feasible_min {case.points[least]['name']}"
