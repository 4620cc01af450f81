"""Plants contradictions into the documents of sound scenarios: a checker that misses one is no checker.

A plant is a function of a folder. It edits one thing and says what, or says nothing where the folder has no such thing.
"""
import json
import os
import re

import case as cases

PLANTS = []


def plant(function):
    PLANTS.append(function)
    return function


def read(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
        file.write(text)


def other(figure):
    """Another figure of as many digits: its first digit is changed."""
    at = re.search(r"[1-9]", figure)
    if not at:
        return figure.replace("0", "7", 1)
    digit = "3" if at.group(0) in "789" else str(int(at.group(0)) + 2)
    return figure[:at.start()] + digit + figure[at.end():]


def swap(folder, name, pattern, replace, flags=re.M):
    """Replaces the first match; `replace` is of the match. What was changed, or nothing."""
    text = read(folder, name)
    match = re.search(pattern, text, flags)
    if not match:
        return None
    new = replace(match)
    if new == match.group(0):
        return None
    write(folder, name, text[:match.start()] + new + text[match.end():])
    return f"{name}: {match.group(0)[:80]!r} to {new[:80]!r}"


def in_document(folder, change, name="plan.json"):
    document = json.loads(read(folder, name))
    said = change(document["results"])
    if said:
        write(folder, name, json.dumps(document))
    return said


def spoken(folder):
    case = cases.open_case(0, folder, None)
    index = case.spoken_of()
    return case, 0 if index is None else index


def figure_in_table(name, row, end):
    """A plant that changes a time in a row that begins with a size."""
    return lambda folder: swap(folder, name, row, lambda m: m.group(1) + other(m.group(2)) + end)


@plant
def terminal_figure(folder):
    return swap(folder, "plan.txt", r"^( *[\d.]+ ?[GT]iB\S*  .*?  )(\d[\d.,]* m?s)(?=  )", lambda m: m.group(1) + other(m.group(2)))


@plant
def terminal_unit(folder):
    return swap(folder, "plan.txt", r"^( *[\d.]+ ?[GT]iB\S*  .*?  \d[\d.,]*) ms(?=  )", lambda m: m.group(1) + " s")


@plant
def terminal_verdict(folder):
    return swap(folder, "plan.txt", r"^( *[\d.]+ ?[GT]iB\S* +)(looks )?(met|missed)\b",
                lambda m: m.group(1) + (m.group(2) or "") + {"met": "missed", "missed": "met"}[m.group(3)])


@plant
def markdown_figure(folder):
    return swap(folder, "again/report.md", r"^(\| [\d.]+ ?[GT]iB \|.*?\| )(\d[\d.,]*)( m?s \|)", lambda m: m.group(1) + other(m.group(2)) + m.group(3))


@plant
def csv_figure(folder):
    return swap(folder, "again/report.csv", r"^([\d.]+ ?[GT]iB,.*?,)(\d[\d.]*)( m?s,)", lambda m: m.group(1) + other(m.group(2)) + m.group(3))


@plant
def html_figure(folder):
    return swap(folder, "out/report.html", r'(<td(?: class="n")?>[\d.]+ ?[GT]iB</td>(?:<td[^<>]*>[^<>]*</td>)*?<td[^<>]*>)(\d[\d.,]*)( m?s</td>)',
                lambda m: m.group(1) + other(m.group(2)) + m.group(3))


@plant
def html_verdict(folder):
    return swap(folder, "out/report.html", r'(<td(?: class="n")?>[\d.]+ ?[GT]iB</td><td[^<>]*>)(looks )?(met|missed)\b',
                lambda m: m.group(1) + (m.group(2) or "") + {"met": "missed", "missed": "met"}[m.group(3)])


@plant
def html_share(folder):
    return swap(folder, "out/report.html", r"(\d[\d.]*)(% of requests (?:in time|within SLO))", lambda m: other(m.group(1)) + m.group(2))


@plant
def html_target(folder):
    return swap(folder, "out/report.html", r"(<dd class=\"detail\">[^<>]*?\((?:at most|limit) )(\d[\d.,]*)( m?s\))", lambda m: m.group(1) + other(m.group(2)) + m.group(3))


@plant
def html_target_unit(folder):
    return swap(folder, "out/report.html", r"(_ms |TTFT |TPOT )(\d[\d.,]*) ms( \()", lambda m: f"{m.group(1)}{m.group(2)} s{m.group(3)}")


@plant
def html_unit_twice(folder):
    return swap(folder, "out/report.html", r"(<dd class=\"(?:value|detail)\">[^<>]*?\d) (GiB|ms)\b", lambda m: f"{m.group(1)} {m.group(2)} {m.group(2)}")


@plant
def html_bottleneck(folder):
    return swap(folder, "out/report.html", r"(<dt>(?:Bottleneck|Limiting resource)</dt><dd class=\"value\">)\w+", lambda m: m.group(1) + "Weather")


@plant
def html_size(folder):
    return swap(folder, "out/report.html", r"(<dt>(?:Size of [^<]*|Buy|Use)</dt><dd class=\"value\">)(\d+)", lambda m: m.group(1) + other(m.group(2)))


@plant
def html_pool(folder):
    return swap(folder, "out/report.html", r"(<td>KV pool of this engine</td><td>[^<]*</td><td[^>]*>)(\d+)", lambda m: m.group(1) + other(m.group(2)))


def in_charts(folder, change):
    pattern = r'(?s)(<script type="application/json" id="chart-data">)(.*?)(</script>)'
    match = re.search(pattern, read(folder, "out/report.html"))
    charts = json.loads(match.group(2)) if match else []
    for chart in charts:
        said = change(chart)
        if said:
            write_charts = lambda m: m.group(1) + json.dumps(charts) + m.group(3)
            return f"{chart['title']}: {said}" if swap(folder, "out/report.html", pattern, write_charts) else None
    return None


@plant
def chart_figure(folder):
    def change(chart):
        if chart.get("xNames") and chart.get("yLabel") in ("ms", "s") and chart["kind"] == "lines" and chart["series"][0]["y"][-1]:
            chart["series"][0]["y"][-1] *= 1.1
            return "a tenth more"
    return in_charts(folder, change)


@plant
def chart_unit(folder):
    def change(chart):
        if chart.get("xNames") and chart.get("yLabel") == "ms" and any(y for s in chart["series"] for y in s["y"]):
            chart["yLabel"] = "s"
            return "ms are called s"
    return in_charts(folder, change)


@plant
def chart_limit(folder):
    def change(chart):
        if chart.get("yLabel") in ("ms", "s") and chart.get("limits"):
            chart["limits"][0]["value"] *= 2
            return "twice the limit"
    return in_charts(folder, change)


@plant
def chart_order(folder):
    def change(chart):
        if len(chart.get("xNames") or []) > 1 and all("iB" in name for name in chart["xNames"]):
            chart["xNames"].reverse()
            return "sizes from right to left"
    return in_charts(folder, change)


@plant
def exit_status(folder):
    codes = json.loads(read(folder, "codes.json"))
    codes["plan"] = {0: 4, 4: 0, 5: 4}[codes["plan"]]
    write(folder, "codes.json", json.dumps(codes))
    return f"exit status {codes['plan']}"


@plant
def point_verdict(folder):
    _, index = spoken(folder)
    flip = {"met": "missed", "missed": "met", "looks-met": "looks-missed", "looks-missed": "looks-met"}

    def change(results):
        point = results["points"][index]
        if point["verdict"] in flip and point["run"]["completed"] == point["run"]["requests"]:
            point["verdict"] = flip[point["verdict"]]
            return f"{point['name']} is called {point['verdict']}"
    return in_document(folder, change)


@plant
def feasible(folder):
    return in_document(folder, lambda r: r.update(feasible=not r["feasible"]) or f"feasible {r['feasible']}")


@plant
def recommended(folder):
    def change(results):
        if results.get("recommended_index") is not None and len(results["points"]) > 1:
            results["recommended_index"] = (results["recommended_index"] + 1) % len(results["points"])
            return "another point is recommended"
    return in_document(folder, change)


@plant
def target_met(folder):
    def change(results):
        for point in results["points"]:
            for target in point["targets"]:
                target["met"] = not target["met"]
                return f"{target['name']} met {target['met']}"
    return in_document(folder, change)


@plant
def attainment(folder):
    def change(results):
        point = results["points"][0]
        point["attainment_low"] = min(1, point["attainment"] + 0.1) if point["attainment"] < 0.9 else -0.1
        return f"attainment_low {point['attainment_low']}"
    return in_document(folder, change)


@plant
def figure_of_run(folder):
    def change(results):
        for key in ("p99_ttft_ms", "completed"):
            if results.get(key):
                results[key] *= 2
                return f"twice the {key}"
    return in_document(folder, change, "run.json") if read(folder, "run.json") else None


@plant
def text_of_run(folder):
    return swap(folder, "run.txt", r"^(Time to first token +)(\d[\d.,]*)", lambda m: m.group(1) + other(m.group(2)))


@plant
def null(folder):
    return in_document(folder, lambda r: r.update(headroom=None) or "headroom null")


@plant
def event(folder):
    def change(results):
        for row in results.get("stress", {}).get("rows", []):
            if row["outcome"] in ("met", "missed"):
                row["outcome"] = "missed" if row["outcome"] == "met" else "met"
                return f"{row['name']} {row['outcome']}"
    return in_document(folder, change)


@plant
def order(folder):
    return in_document(folder, lambda r: len(r["points"]) > 1 and (r["points"].reverse() or "points the other way round"))


def in_first_line(folder, pattern, replace):
    """Edits the first line of every form alike: only the document can tell."""
    said = []

    def change(results):
        match = re.search(pattern, results["verdict"])
        if match:
            said.append((results["verdict"], results["verdict"][:match.start()] + replace(match) + results["verdict"][match.end():]))
            results["verdict"] = said[0][1]
            return said[0][1]
    out = in_document(folder, change)
    for name in ("plan.txt", "out/report.html", "again/report.md"):
        if out:
            write(folder, name, read(folder, name).replace(*said[0]))
    return out


@plant
def first_line_figure(folder):
    return in_first_line(folder, r"((?:_ms is|TTFT|TPOT|TTFT is) )(\d[\d.,]*\d)", lambda m: m.group(1) + other(m.group(2)))


@plant
def first_line_limit(folder):
    return in_first_line(folder, r"(_ms is \d[\d.,]*, target at most |(?:TTFT|TPOT) \d[\d.,]* m?s \(limit )(\d[\d.,]*)", lambda m: m.group(1) + other(m.group(2)))


@plant
def first_line_no(folder):
    return in_first_line(folder, r"^No (\w+) (.*?)meets", lambda m: f"This {m.group(1)} {m.group(2)}meets")


@plant
def first_line_yes(folder):
    return in_first_line(folder, r"^The smallest (.*?) meets|^Use .*?meets", lambda m: "No size meets")


@plant
def terminal_first_line(folder):
    return swap(folder, "plan.txt", r"\A(.*?)(\d+)", lambda m: m.group(1) + other(m.group(2)))


@plant
def headroom(folder):
    return in_document(folder, lambda r: r.get("recommended_index") is not None and (r.update(headroom=r["headroom"] / 2 - 0.1) or "less headroom"))


@plant
def answer_verdict(folder):
    return in_document(folder, lambda r: "answer" in r and (r["answer"].update(verdict={"met": "missed"}.get(r["answer"]["verdict"], "met")) or r["answer"]["verdict"]))


@plant
def answer_cause(folder):
    return in_document(folder, lambda r: "answer" in r and (r["answer"].update(cause="overload" if r["answer"]["verdict"] == "met" else "fits") or r["answer"]["cause"]))


@plant
def bound_as_mean(folder):
    return in_document(folder, lambda r: r["points"][0].update(attainment_bound=not r["points"][0].get("attainment_bound")) or "attainment_bound")


@plant
def factor(folder):
    def change(results):
        for row in results.get("sensitivity", {}).get("factors", []):
            row["low"]["met"] = not row["low"]["met"]
            return f"{row['name']} met {row['low']['met']}"
    return in_document(folder, change)


@plant
def list_of_events(folder):
    return swap(folder, "out/report.html", r"(still meets the SLO: |It is missed: )in 3 months(?:, | and )", lambda m: m.group(1))


@plant
def memory_needed(folder):
    return swap(folder, "out/report.html", r"(<dt>Needed</dt><dd class=\"value\">)(\d+)", lambda m: m.group(1) + other(m.group(2)))


@plant
def cost(folder):
    return swap(folder, "plan.txt", r"^(Cost: [A-Z]+ ?|Cost: )(\d[\d,.]*)", lambda m: m.group(1) + other(m.group(2)))


@plant
def runs(folder):
    return swap(folder, "plan.txt", r"(\d+)( runs to decide)", lambda m: other(m.group(1)) + m.group(2))


@plant
def rate_of_departure(folder):
    return swap(folder, "plan.txt", r"(leave at )(\d[\d.]*)(/s)", lambda m: m.group(1) + other(m.group(2)) + m.group(3))
