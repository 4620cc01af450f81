"""Facts and sentences of every page, and what `run` prints, against the document.

Sentences are known by the metrics, sizes and shares in them, in today's words and in those of the glossary.
"""
import re

from case import GIB, WORDS, plain
from checks import check, mentions, shows_ms
from documents import figure_of, figures_in, read_terminal


def of_any_form(case):
    for form, report in case.reports.items():
        for page, text in report.sentences():
            yield f"{form}, {page}", text


@check
def figures_of_sentences(case):
    """A metric with a figure, wherever it stands, is one of the document's; its limit is the SLO's."""
    for where, text in of_any_form(case):
        if re.match("Not modelled|Known hole|Definition", text) or "that both ran" in text:    # of replicates in common
            continue
        for metric, value, limit in mentions(text):
            if limit is not None and case.limits_of(metric) and not any(shows_ms(limit, l) for l in case.limits_of(metric)):
                yield where, text[:200], f"limits of {metric}: {case.limits_of(metric)}"
            values = case.values_of(metric) + case.limits_of(metric)
            if not any(shows_ms(value, v) for v in values):
                yield where, text[:240], f"no {metric} of {value.text.strip()} in the document"


@check
def verdicts_of_sentences(case):
    """`NAME meets the SLO`, `NAME misses the SLO`."""
    for where, text in of_any_form(case):
        for point in case.points:
            for name in {point["name"], point["capacity"]}:
                if case.point_named(name) is not point:
                    continue
                for match in re.finditer(r"(?<![\w.=,] )(?<![\w.])" + re.escape(name) + r" (meets the SLO|meets it as well|misses the SLO)(?! in)", text):
                    good = "meets" in match.group(1)
                    if good != (point["verdict"] in ("met", "looks-met")):
                        yield where, text[max(0, match.start() - 60):match.end() + 60], f"verdict {point['verdict']}"


@check
def shares_of_sentences(case):
    """`98.8% of requests in time`: somebody's attainment, and a bound where it is one."""
    for where, text in of_any_form(case):
        for match in re.finditer(r"(at most )?([\d.]+%) of requests (in time|meet every|within SLO|meet all)", text):
            figure = figure_of(match.group(2))
            about = [case.points[i] for i in case.named_in(text)] or ([case.recommended] if case.recommended else case.points)
            fits = [p for p in case.points if figure.is_for(p["attainment"])]
            if not fits:
                yield where, text[:160], f"attainment {[round(p['attainment'], 4) for p in about]}"
            elif all(p.get("attainment_bound") for p in fits) and not match.group(1):
                yield where, text[:160], "at most: its runs were cut"


@check
def what_binds(case):
    kind = case.results["binding_kind"]
    for form, report in case.reports.items():
        for label, value, detail in report.facts():
            if re.match("Bottleneck|Limiting resource|What binds", label):
                if not re.match("none" if kind == "none" else re.escape(kind), value.lower()):
                    yield f"{form}: {label}", value, f"binding_kind {kind}"
        for page in report.pages:
            for text in page.texts:
                match = re.match(r"(What binds|Limiting resource|Bottleneck): (\w+)", text)
                if match and not match.group(2).lower().startswith("nothing" if kind == "none" else kind) and not (kind == "none" and match.group(2) == "none"):
                    yield f"{form}, {page.name}", text[:120], f"binding_kind {kind}"


@check
def run_binds(case):
    """`run` says where time goes; what more of would help, only a plan has tried: the two may differ, so have two names."""
    for word in ("What binds", "Limiting resource"):
        if word in (case.texts.get("run") or ""):
            yield "run", word, "what only a plan can know"


@check
def run_text(case):
    """What `run` prints of itself is its document's."""
    if not case.run or not case.texts.get("run"):
        return
    run, report = case.run["results"], read_terminal(case.texts["run"])
    for table in report.tables():
        for row in table.rows:
            name = WORDS.get(row[0].lower().replace(" latency", ""))
            for header, cell in zip(table.header[1:], row[1:]) if name and table.header[0] == "metric" else ():
                key = f"{'median' if header == 'p50' else header}_{name}_ms"
                if key in run and not figure_of(cell).is_for(run[key] / 1e3):
                    yield f"{row[0]}, {header}", cell, str(run[key])
            if table.header[0] == "objective":
                slo = [s for s in run["slo"] if plain(s["name"]) == plain(row[0])]
                if slo and (row[3] == "met") != slo[0]["passed"]:
                    yield row[0], row[3], f"passed {slo[0]['passed']}"


@check
def one_size(case):
    """The recommended size is the same wherever one would read it off."""
    best, r = case.recommended, case.results
    if best is None or "recommended_bytes" not in r or r["recommended_bytes"] == "inf":
        return
    bytes_ = float(r["recommended_bytes"])
    total = float(r.get("recommended_total_bytes", bytes_))
    for form, report in case.reports.items():
        for label, value, detail in report.facts():
            figure = next((f for f in figures_in(value) if f.kind == "bytes"), None)
            if re.match("Buy$|Use$|Size of|Recommended", label) and figure and not any(abs(figure.value - b) <= min(figure.tolerance, 0.02 * b) for b in (bytes_, total)):
                yield f"{form}: {label}", value, r["recommended_size"]
        for table in report.tables():
            for row in table.rows:
                if row[0] == "KV pool of this engine" and not figure_of(row[2]).is_for(bytes_):
                    yield f"{form}: {table.title}", " | ".join(row[:3]), r["recommended_size"]
        for page, text in report.sentences():
            for match in re.finditer(r"--kv-offloading-size[ =](\d+(?:\.\d+)?)(?=[ \"]|$)", text):
                if case.results["tier"] == "dram" and abs(float(match.group(1)) - bytes_ / GIB) > 0.51:
                    yield f"{form}, {page}", match.group(0), r["recommended_size"]


@check
def headroom(case):
    if not case.recommended:
        return
    if case.results["headroom"] < 0:
        yield "recommended", case.first_line, f"headroom {case.results['headroom']:.4f}: the recommended configuration misses"
    for where, text in [("first line", case.first_line)] + list(of_any_form(case)):
        for match in re.finditer(r"\(([-\d.]+%) headroom\)|^Headroom: ([-\d.]+%) to the tightest", text):
            figure = figure_of(match.group(1) or match.group(2))
            if not figure.is_for(case.results["headroom"]):
                yield where, match.group(0), f"{case.results['headroom']:.6f}"


@check
def rates(case):
    """Requests arrive and leave at one pair of rates, those of the run that is spoken of."""
    pairs = {}
    for where, text in [("first line", case.first_line)] + list(of_any_form(case)):
        for match in re.finditer(r"arrive(?: at)? ([\d.,]+)/s.{0,30}?leave at ([\d.,]+)/s|([\d.,]+) requests/s arrive, ([\d.,]+) requests/s leave", text):
            came, went = [g for g in match.groups() if g]
            pairs.setdefault((came, went), where)
            if not any(figure_of(went).is_for(p["run"]["request_throughput"]) for p in case.points):
                yield where, match.group(0), "no such request_throughput"
    if len(pairs) > 1:
        yield "rates", str(pairs), "one pair of rates"


SLIPS = [(r"\bnan\b|NaN|Infinity", "no number"), (r"\bnull\b|\bundefined\b", "null"), (r"\{\}|\{:[^}]*\}", "an unfilled place"),
         (r"\b(GiB|MiB|KiB|TiB|ms|GB|MB) \1\b|%%|\b(ms|s) (ms|s)\b", "a unit twice"), (r"(?<![\w-])-0(?:\.0+)?(?![\d.\w])", "minus nothing"),
         (r"(?<=\w)  +(?=\w)", "two blanks"), (r"(?<![\w.])inf(?:inity)? (?:ms|s|GiB|%)", "infinity with a unit")]


@check
def slips(case):
    texts = [("first line", case.first_line)] + list(of_any_form(case))
    for report in case.reports.values():
        texts += [(f"{report.form}: {t.title[:50]}", cell) for t in report.tables() for row in t.rows for cell in row]
    for where, text in texts:
        for pattern, what in SLIPS:
            match = re.search(pattern, text)
            if match and not re.search(r"--\w|\.json|\"", text):
                yield where, text[max(0, match.start() - 60):match.end() + 40], what
    if case.answer is not None:
        raw = re.search(r"\b[a-z]+\d*_[a-z_]*(ms|throughput|share)\b", case.first_line)
        if raw:
            yield "first line", case.first_line, f"{raw.group(0)} is a key, not words"
    for where, text in texts[:1] + [(w, t) for w, t in texts if re.search("of requests|of prompt tokens|of the time", t)]:
        for f in figures_in(text):
            after = text[text.find(f.text) + len(f.text):][:30]
            if f.kind == "share" and not -1e-9 <= f.value <= 1 + 1e-9 and re.match(r" of (requests|prompt|the time)", after):
                yield where, text[:160], f"{f.text.strip()} is no share"
