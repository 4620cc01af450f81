"""Every chart of the page against the document: its data, its axis, its limits, and the table of figures under it."""
import re
from collections import Counter

from case import GIB, plain
from checks import check, close
from documents import figure_of
from tables import busiest, cached, latency

UNKNOWN = Counter()                                # charts that nothing here knows

def use_of(value, limit, at_least):
    """How much of a limit a figure uses; above 1 it misses it."""
    part, whole = (limit, value) if at_least else (value, limit)
    return part / whole if whole > 0 else 1e9 if part > 0 else 0


def chart_value(case, title, y_label, series, point):
    """Value of a point in the units of a chart's axis; None: not known."""
    title, per = title.lower(), 100 if "%" in y_label else 1
    for words, name in (("first token", "ttft"), ("ttft", "ttft"), ("output token", "tpot"), ("tpot", "tpot")):
        if words in title:
            figure = series if re.fullmatch(r"p\d\d", series) else "p99"
            return latency(point, name, figure) * {"ms": 1e3, "s": 1}.get(y_label, float("nan"))
    if "goodput" in title:
        return point["run"].get("goodput")
    if re.search("meet every|within slo|attainment", title):
        return per * point["attainment"]
    if "miss each" in title or "miss" in title and "target" in title:
        values = [t["x"] for t in point["targets"] if plain(t["name"]) == plain(series) or plain(t["name"].replace("_ms", "").replace("_", " ")) == plain(series)]
        return per * values[0] if values else None
    if title.startswith("slo against") and "within limit" in y_label:
        worst = max(point["targets"], key=lambda t: use_of(t["x"], t["limit"], t["bound"] == "min"), default=None)
        return per * (1 - min(1, worst["x"])) if worst else None
    if "busiest" in title:
        return per * busiest(point)
    if "from caches" in title or "hits" in title:
        sources = point["run"].get("prompt_tokens_by_source", {})
        if series in sources or series in [t["name"] for q in case.points for t in q["run"].get("tiers", [])]:
            return per * sources.get(series, 0) / max(1, point["run"]["total_input_tokens"])
        return None if re.search("check|one pass", series) else per * cached(point)
    return None


@check
def difference_charts(case):
    """Requests in time of each configuration less those of the answer, in points."""
    index = case.spoken_of()
    for chart in case.reports["html"].charts():
        data = chart["data"]
        if data.get("yLabel") != "percentage points" or index is None or not data.get("xNames"):
            continue
        answer = case.points[index]
        for name, y in zip(data["xNames"], data["series"][0]["y"]):
            beside = [p for p in case.points if plain(case.line_name(p)) == plain(name)]
            about = [p for p in beside if p["capacity"] == answer["capacity"]] or beside
            values = [100 * p["difference"]["mean"] if p.get("difference", {}).get("to_index") == index
                      else 100 * (p["attainment"] - answer["attainment"]) for p in about]
            if not any(close(v, y, 1e-5) for v in values):
                yield f"chart {data['title']}, {name}", f"{y} points", str([round(v, 6) for v in values])


@check
def bars(case):
    """Margins of events, and the sizes that are required, recommended and installed."""
    rows = {row["name"]: row for row in case.stress_rows()}
    for chart in case.reports["html"].charts():
        data = chart["data"]
        for bar in data.get("bars", []):
            row = rows.get(bar["name"])
            if row and "Margin to the tightest" in data["title"]:
                shown = bar["low"] + bar["high"] - data.get("barsFrom", 0)
                if not close(max(-200, 100 * row.get("margin", 0)), shown, 1e-5):
                    yield f"chart {data['title']}, {bar['name']}", str(shown), str(row.get("margin"))
                if (bar["high"] > 0) != (row["outcome"] == "met") and shown:
                    yield f"chart {data['title']}, {bar['name']}", f"the side of {bar['highName'] if bar['high'] > 0 else bar['lowName']}", row["outcome"]
        if data.get("unit") == "GiB" and "recommended" in data["title"] and case.recommended:
            for stack in data["stacks"]:
                each = stack["parts"][0] * GIB
                instances = case.scenario.get("host", {}).get("instances", 1) * case.scenario["engine"].get("data_parallel_size", 1)
                if stack["name"] == "recommended" and not close(each, float(case.results["recommended_bytes"]) * instances, 1e-6):
                    yield f"chart {data['title']}", f"recommended {stack['parts'][0]} GiB", case.results["recommended_size"]


def points_along(case, data, series):
    """Points at the places of a chart's x axis; None where it is not about sizes or searched values."""
    names = data.get("xNames") or []
    out = []
    lines = {plain(case.line_name(p)) for p in case.points}
    for name in names:
        point = case.point_named(name)
        if plain(series) in lines and plain(series):
            of_line = [p for p in case.points if plain(case.line_name(p)) == plain(series) and plain(p["capacity"]) == plain(name)]
            point = of_line[0] if of_line else point
        elif point is None or sum(plain(p["capacity"]) == plain(name) for p in case.points) > 1:
            index = case.spoken_of()
            values = case.points[index].get("values") if index is not None else None
            of_line = [p for p in case.points if p.get("values") == values and plain(p["capacity"]) == plain(name)]
            point = of_line[0] if of_line else point
        out.append(point)
    return out


@check
def charts(case):
    for chart in case.reports["html"].charts():
        data = chart["data"]
        if data.get("kind") not in ("lines", "scatter") or not data.get("xNames"):
            continue
        title, y_label = data["title"], data.get("yLabel", "")
        sizes = [figure_of(name) for name in data["xNames"]]
        if all(f is not None and f.kind == "bytes" for f in sizes) and [f.value for f in sizes] != sorted(f.value for f in sizes):
            yield f"chart {title}", str(data["xNames"]), "sizes ascending"
        known = False
        for series in data["series"]:
            for name, y, point in zip(data["xNames"], series["y"], points_along(case, data, series["name"])):
                value = chart_value(case, title, y_label, series["name"], point) if point else None
                known = known or value is not None
                if value is not None and y is not None and not close(value, y, 1e-6):
                    yield f"chart {title}, {series['name']} at {name}", f"{y} {y_label}", f"{value:.9g}"
        if not known and y_label != "percentage points":
            UNKNOWN[f"chart {title}"] += 1
        for limit in data.get("limits", []):
            yield from chart_limit(case, title, y_label, limit)
        yield from chart_against_table(chart, title)


def chart_limit(case, title, y_label, limit):
    name = plain(limit["name"].removeprefix("limit of "))
    for t in case.slo():
        if name in (plain(t["metric"]), plain(t["metric"].replace("_ms", "").replace("_", " "))):
            scale = {"ms": 1.0, "s": 1e-3}.get(y_label)
            if scale and not any(close(scale * l, limit["value"]) for l in case.limits_of(t["metric"])):
                yield f"chart {title}", f"limit {limit['value']} {y_label}", str(t)


def chart_against_table(chart, title):
    """The figures under a chart are the chart's."""
    table, data = chart["table"], chart["data"]
    if table is None or len({len(s["y"]) for s in data["series"]}) > 1:
        return
    for series in data["series"]:
        unit = data.get("yLabel", "")
        at = [i for i, h in enumerate(table.header) if h in (series["name"], f"{series['name']} ({unit})")]
        for row, y in zip(table.rows, series["y"]) if len(at) == 1 and len(table.rows) == len(series["y"]) else ():
            figure = figure_of(row[at[0]])
            if (figure is None) != (y is None) or figure is not None and not figure.is_for(y * figure.scale):
                yield f"table of chart {title}, {series['name']}", row[at[0]], str(y)
