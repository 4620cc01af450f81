"""Contradictions inside the document, and between it, the first line, the exit status and `run`.

A check is a generator of (what, one text, the other text); its name is the function's.
"""
import math
import re

from case import GIB, METRIC, bytes_of, metric_key, plain
from documents import figures_in, figure_of

CHECKS = []
CODES = {"met": 0, "missed": 4, "undecided": 5}
CAUSES = {"not-admitted": "missed", "standstill": "missed", "no-identity": None, "not-binding": "undecided", "floor": "missed", "overload": "missed",
          "setting": "missed", "link": "missed", "tier-adds-nothing": None, "capacity": "missed", "policy": "missed",
          "compute": "missed", "admission": "missed", "hbm": "missed", "fits": "met", "short-trace": "undecided",
          "close": "undecided", "budget": "undecided"}
REMEDIES = ["flag", "tier", "replicas", "tensor-parallel", "gpu", "load", "trace", "replication"]
NEGATIVE = re.compile(r"\b(no|not|nothing|none|miss|misses|missed|out of reach|overloaded|at best|cannot|nearest|fails?)\b", re.I)
POSITIVE = re.compile(r"\b(meets?|use|needed|holds|met)\b", re.I)


def check(function):
    CHECKS.append(function)
    return function


def within(target, value):
    return value >= target["target"] if target["bound"] == "min" else value <= target["target"]


def close(a, b, relative=1e-9):
    return math.isclose(a, b, rel_tol=relative, abs_tol=1e-12)


# ---- the document by itself

@check
def exit_code(case):
    r = case.results
    expected = 5 if r["undecided"] else 0 if case.recommended else 4
    if case.code != expected:
        yield "exit status", str(case.code), f"undecided {r['undecided']}, recommended {r.get('recommended')}"
    if r["feasible"] != (expected == 0):
        yield "feasible", str(r["feasible"]), f"exit status {case.code}"
    if case.recommended and r["recommended"] not in (case.recommended["name"], case.recommended["capacity"]):
        yield "recommended", r["recommended"], case.recommended["name"]
    for key in ("runner_up", "feasible_min", "infeasible_max", "provisional", "knee"):
        index = r.get(key + "_index")
        if index is not None and key in r and plain(r[key]) not in (plain(case.points[index]["name"]), plain(case.points[index]["capacity"])):
            yield key, r[key], case.points[index]["name"]


@check
def answer_contract(case):
    answer = case.answer
    if answer is None:
        return
    if CODES.get(answer["verdict"]) != case.code:
        yield "answer.verdict", answer["verdict"], f"exit status {case.code}"
    if answer["cause"] not in CAUSES or CAUSES[answer["cause"]] not in (None, answer["verdict"]):
        yield "answer.cause", answer["cause"], answer["verdict"]
    remedy = answer.get("remedy")
    if remedy:
        if remedy["kind"] not in REMEDIES:
            yield "answer.remedy.kind", remedy["kind"], "one of " + ", ".join(REMEDIES)
        if remedy["free"] and remedy["kind"] in ("tier", "replicas", "tensor-parallel", "gpu"):
            yield "answer.remedy.free", "free", remedy["kind"]
    for what, targets in (("remedy", (remedy or {}).get("targets", [])), ("floor", case.results.get("floor", {}).get("targets", []))):
        for t in targets:
            slo = [s for s in case.slo() if s["metric"] == t["name"]]
            if not any(close(s.get("max", s.get("min")), t["limit"]) for s in slo):
                yield f"answer.{what} limit", f"{t['name']} {t['limit']}", str(slo)
            if what == "remedy" and remedy["kind"] not in ("trace", "replication") and not t["met"]:
                yield "a remedy that misses", f"{t['name']} {t['value']}", f"limit {t['limit']}"
    floor = case.results.get("floor")
    if floor and floor["met"] != all(t["met"] for t in floor["targets"]):
        yield "floor.met", str(floor["met"]), str(floor["targets"])
    if floor and answer["cause"] == "floor" and floor["met"]:
        yield "answer.cause", "floor", "floor.met is true"


@check
def answer_margin(case):
    margin = case.results.get("margin")
    if not margin:
        return
    if not case.recommended:
        yield "margin", "there is one", f"exit status {case.code}"
    if margin["holds_alone"] != (not margin["broken"]):
        yield "margin.holds_alone", str(margin["holds_alone"]), f"broken: {margin['broken']}"
    if twice := {event["event"] for event in margin["broken"]} & set(margin["survived"]):
        yield "margin", f"broken: {sorted(twice)}", "survived: the same"


@check
def point_verdict(case):
    for p in case.points:
        missed = [t["name"] for t in p["targets"] if not t["met"]]
        whole = p["run"]["completed"] == p["run"]["requests"] if "completed" in p["run"] else True
        if p["verdict"] in ("met", "looks-met") and missed:
            yield p["name"], f"verdict {p['verdict']}", f"targets not met: {missed}"
        # A run that is not whole misses the SLO whatever the latencies of the rest are.
        if p["verdict"] in ("missed", "looks-missed") and not missed and whole and p["targets"]:
            yield p["name"], f"verdict {p['verdict']}", "every target is met"
        backed = p["verdict"] == ("met" if case.replicated else "looks-met")
        if p["feasible"] != backed and p["replications"] > 0:
            yield p["name"], f"feasible {p['feasible']}", f"verdict {p['verdict']}"
    best = case.recommended
    if best and (not best["feasible"] or best["verdict"] in ("missed", "looks-missed", "excluded")):
        yield "recommended", best["name"], f"feasible {best['feasible']}, verdict {best['verdict']}"


@check
def target_bounds(case):
    for p in case.points:
        for t in p["targets"]:
            inside = (lambda x: x >= t["limit"]) if t["bound"] == "min" else (lambda x: x <= t["limit"])
            # Of one run by the figure as well: few requests may leave one more beyond a percentile.
            once = p["replications"] == 0 and t["met"] and within(t, t["value"])
            if t["met"] != inside(t["x"]) and not once:
                yield f"{p['name']} {t['name']}", f"met {t['met']}", f"x {t['x']}, limit {t['limit']}"
            bound = t.get("confidence_bound")
            if t["backed"] and (bound is None or not inside(bound)):
                yield f"{p['name']} {t['name']}", "backed", f"bound {bound}, limit {t['limit']}"
            if t["share"] and not 0 <= t["x"] <= 1:
                yield f"{p['name']} {t['name']}", "a share", str(t["x"])
            wanted = [s for s in case.slo() if s["metric"] == t["name"]]
            if not any(close(s.get("max", s.get("min")), t["target"]) for s in wanted):
                yield f"{p['name']} {t['name']}", f"target {t['target']}", str(wanted)
        if p["verdict"] == "met" and p["replications"] and not all(t["backed"] for t in p["targets"]):
            yield p["name"], "met", f"not backed: {[t['name'] for t in p['targets'] if not t['backed']]}"


@check
def value_and_verdict(case):
    """A figure beyond its limit that is called met, or within it and missed, needs a word that nobody reads.

    Percentiles are judged by shares of requests, so that the two may differ by a little; more than a tenth is no rounding.
    Where a server ceases to serve, figures are of what completes, and the verdict `standstill` says so.
    """
    for p in case.points:
        if "standstill" in p:
            continue
        for t in p["targets"]:
            if t["met"] == within(t, t["value"]) or not t["target"]:
                continue
            far = abs(t["value"] / t["target"] - 1)
            if far > 0.1 and p["run"]["completed"] == p["run"]["requests"]:
                yield f"{p['name']} {t['name']}", f"met {t['met']} (x {t['x']:.4g} of {t['limit']:.4g})", f"value {t['value']:.6g}, target {t['target']:.6g}"


@check
def attainment(case):
    for p in case.points:
        low, mean = p["attainment_low"], p["attainment"]
        if not 0 <= low <= mean + 1e-12 or mean > 1:
            yield p["name"], f"attainment {mean}", f"attainment_low {low}"
        per_request = all(t["share"] and re.search("_(ttft|tpot|e2el)_", t["name"]) for t in p["targets"])
        if p["verdict"] == "met" and per_request and p["targets"]:
            least = 1 - sum(t["limit"] for t in p["targets"])
            if mean < least - 1e-9:
                yield p["name"], f"met, attainment {mean:.4f}", f"its targets allow no less than {least:.4f}"
        # A share of TPOT is of the requests that have one, attainment is of all.
        worst = max((t["x"] for t in p["targets"] if t["share"] and re.search("_(ttft|e2el)_", t["name"])
                     and "tenant" not in t), default=0)
        if not p["cut"] and mean > 1 - worst + 1e-6 and case.answer is not None:
            yield p["name"], f"attainment {mean:.6f}", f"{worst:.6f} of requests miss one target alone"


@check
def cut_is_a_bound(case):
    """What runs that were cut short leave of the attainment is a bound, and no mean over replicates.

    A point with a confidence bound was verified on further replicates, which run to their end.
    """
    for p in case.points:
        verified = any("confidence_bound" in t for t in p["targets"])
        if p["cut"] and not verified and not p.get("attainment_bound"):
            yield p["name"], f"attainment {p['attainment']:.4f}", f"{p['cut']} of {p['replications']} runs were cut, and no attainment_bound"
        if p.get("attainment_bound") and not p["cut"]:
            yield p["name"], "attainment_bound", "no run was cut"


@check
def one_run(case):
    """Points judged by one run: share of requests, figures and verdicts are that run's."""
    for p in case.points:
        run = p["run"]
        for s in run.get("slo", []):
            # Where nobody is served no figure is kept, whatever it reads.
            if s["passed"] != within(s, s["value"]) and run["completed"] > 0:
                yield f"{p['name']} {s['name']}", f"passed {s['passed']}", f"value {s['value']}, target {s['target']}"
            if s["name"] in run and not close(s["value"], run[s["name"]]):
                yield f"{p['name']} {s['name']}", f"slo value {s['value']}", f"run {run[s['name']]}"
        if run.get("goodput", 0) > run["request_throughput"] * (1 + 1e-9):
            yield p["name"], f"goodput {run['goodput']}", f"throughput {run['request_throughput']}"
        whole = run.get("warmup_requests", 0) == 0
        if not case.replicated and whole and run["request_throughput"] > 0:
            share = run["goodput"] * run["completed"] / (run["request_throughput"] * run["requests"])
            if abs(share - p["attainment"]) > 0.25 + 1 / run["requests"]:          # a warm-up may be left out of the one
                yield p["name"], f"attainment {p['attainment']:.4f}", (
                    f"{share:.4f} of all requests of its one run ({run['completed']} of {run['requests']} completed) are goodput")
        for link in run.get("links", []):
            if not 0 <= link["busy_fraction"] <= 1 + 1e-9:
                yield p["name"], f"link {link['name']}", f"busy {link['busy_fraction']}"


@check
def order(case):
    lines = {}
    for p in case.points:
        lines.setdefault(case.line_name(p), []).append(p)
    for line in lines.values():
        sizes = [bytes_of(p) for p in line]
        if sizes != sorted(sizes) or len(set(sizes)) < len(sizes):
            yield "sizes", ", ".join(p["capacity"] for p in line), "ascending and each once"
    if case.results["objective"] != "least-dram" or not case.recommended or len(lines) > 1:
        return
    for p in case.points:
        if p["feasible"] and bytes_of(p) < bytes_of(case.recommended):
            yield "recommended", case.recommended["name"], f"{p['name']} is smaller and feasible"


@check
def same_run(case):
    """`run` of the configuration that the plan speaks of is the run in the plan."""
    if case.run is None:
        if case.run_code is not None:
            yield "run", f"exit status {case.run_code}", case.points[case.cell]["name"]
        return
    point, run = case.points[case.cell], case.run["results"]
    if point["digest"] != case.run["digest"]:
        yield f"{point['name']} digest", f"plan {point['digest']}", f"run {case.run['digest']}"
    for key, value in point["run"].items():
        if key != "sim" and run.get(key) != value:
            yield f"{point['name']} {key}", f"plan {str(value)[:80]}", f"run {str(run.get(key))[:80]}"


# ---- the first line

def sentences(text):
    return [s for s in re.split(r"(?<=[.!?;])\s+(?=[A-Z(\d])", text) if s]


def mentions(text):
    """(metric, value, limit) of each metric that a text names with a figure; limit None where none is said."""
    found = list(METRIC.finditer(text))
    for i, match in enumerate(found):
        rest = text[match.end():found[i + 1].start() if i + 1 < len(found) else None][:110]
        raw = match.group(0).endswith("_ms")
        said = re.match(r":?,? (?:of \w+ )?(?:is |was |at |of |would be )*(?=[\d-])", rest)
        if not said:
            continue
        value = figure_of(rest[said.end():], "ms" if raw else None)
        after = rest[said.end() + len(value.text):]
        bound = re.search(r"(?:at most|at least|limit|SLO asks|SLO|may be|target)[^\d.;]{0,12}(?=\d)", after)
        limit = figure_of(after[bound.end():], "ms" if raw else None) if bound and "miss" not in after[:bound.start()] else None
        if value.kind == "time":
            yield metric_key(match), value, limit if limit is not None and limit.kind == "time" else None


def shows_ms(figure, milliseconds):
    return figure.is_for(milliseconds / 1e3)


@check
def first_line_same(case):
    for form in ("terminal", "html", "md"):
        first = case.reports[form].first
        if not plain(first).startswith(plain(case.first_line)):
            yield f"first line of {form}", first, case.first_line


@check
def first_line_words(case):
    head = re.sub(r"\([^)]*\)", "", case.first_line)
    opening = sentences(head)[0] if head else ""
    negative, positive = NEGATIVE.search(opening), POSITIVE.search(opening)
    bare = re.match(r"(No \w+ is needed|No tier)", opening)
    beside = re.match("This trace cannot size a cache", opening) and POSITIVE.search(head)
    if case.code == 0 and not beside and (not positive or negative and not bare):
        yield "exit status 0", opening, "says that something meets the SLO"
    if case.code == 4 and not negative:
        yield "exit status 4", opening, "says that nothing does"
    if case.code == 5 and not re.search(r"not decided|no answer|undecided|inconclusive|cannot|uncertain|not enough|too short", opening, re.I):
        yield "exit status 5", opening, "says that nothing is decided"


def is_beyond(case, metric, value):
    """Whether a printed value misses every, or meets every, target of this metric; None where it is both or neither."""
    limits = [t for t in case.slo() if t["metric"] == metric]
    missed = [value.value - value.tolerance > t["max"] / 1e3 if "max" in t else value.value + value.tolerance < t["min"] for t in limits]
    return missed[0] if missed and len(set(missed)) == 1 else None


@check
def first_line_polarity(case):
    """Who misses shows what is beyond its limit; who meets shows nothing that is."""
    for sentence in sentences(case.first_line):
        found = list(mentions(sentence))
        if not found:
            continue
        words = re.sub(r"\([^)]*\)", "", sentence)
        beyond = [is_beyond(case, metric, value) for metric, value, _ in found]
        negative = NEGATIVE.search(words) and not re.match(r"No \w+ is needed", words)
        if negative and not any(b is True for b in beyond) and not re.search(r"\bset\b|\buse\b|not decided", words, re.I):
            if not re.search("would be|^First to break", sentence):
                yield "a miss without a figure beyond its limit", sentence, str(case.slo())
        if not negative and any(b is True for b in beyond):
            yield "met, with a figure beyond its limit", sentence, str(case.slo())


@check
def first_line_targets(case):
    for place, (metric, value, limit) in enumerate(mentions(case.first_line)):
        limits = case.limits_of(metric)
        if limit is not None and not any(shows_ms(limit, l) for l in limits):
            yield f"limit of {metric}", case.first_line, str(limits)
        index = case.spoken_of()
        about = [] if index is None else [t["value"] for t in case.points[index]["targets"] + case.points[index]["run"].get("slo", []) if t["name"] == metric]
        about += [t["value"] for t in case.other_targets() if t["name"] == metric]
        about = about if about and place == 0 else case.values_of(metric)
        if not any(shows_ms(value, v) for v in about):
            yield f"{metric} {value.text}", case.first_line, str([float(f"{v:.6g}") for v in about])


def numbers_in(value, out):
    if isinstance(value, dict):
        for key, child in value.items():
            if key not in ("digest", "content_hash"):
                numbers_in(child, out)
    elif isinstance(value, list):
        for child in value:
            numbers_in(child, out)
    elif isinstance(value, str):
        out += [f.value for f in figures_in(value)]
    elif not isinstance(value, bool):
        out.append(float(value))
    return out


def known_numbers(case):
    """Of the document and the scenario, and what first lines derive from them."""
    without_words = {k: v for k, v in case.results.items() if k not in ("verdict", "notes")}
    out = numbers_in(without_words, []) + numbers_in(case.scenario, []) + [0.0, 1.0, 2.0, float(len(case.points))]
    for p in case.points:
        run = p["run"]
        out += [run["requests"] - run["completed"], run["rejected"], run["failed"], bytes_of(p), p["replications"] - p["cut"]]
        for key in ("rejected", "failed", "completed"):
            out.append(run[key] / max(1, run["requests"]))
        span = case.results.get("workload", {}).get("stats", {}).get("span_s", 0)
        out += [run["requests"] / span] if span else []
    return out + [1 - x for x in out if 0 < x < 1]


@check
def first_line_figures(case):
    """Every figure with a unit stands in the document, in one unit or another."""
    known = known_numbers(case)
    scales = {"time": (1, 1e-3, 1e-6), "share": (1, 0.01), "bytes": (1, GIB), "": (1, 1000)}
    for f in figures_in(case.first_line):
        if not f.kind and not f.text.endswith("/s"):
            continue
        if not any(f.is_for(v * scale) for v in known for scale in scales[f.kind]):
            yield f"{f.text.strip()}", case.first_line, "no such figure in the document"


@check
def first_line_names(case):
    """Sizes that the first line recommends are those of the document."""
    if not case.recommended:
        return
    sizes = [f.value for f in figures_in(case.first_line) if f.kind == "bytes"]
    bare = len(case.recommended["run"].get("tiers", [])) < 2 or bytes_of(case.recommended) in (0, float("inf"))
    if not bare and not any(close(s, v, 0.01) for s in sizes for v in (bytes_of(case.recommended), case.results.get("recommended_bytes", 0))):
        if case.results["objective"] in ("least-dram", "least-cost"):
            yield "recommended size", case.first_line, case.recommended["capacity"]


@check
def no_null(case):
    def walk(value, where):
        if value is None or isinstance(value, float) and not math.isfinite(value):
            yield where, str(value), "a number is promised"
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, child in children:
            yield from walk(child, f"{where}.{key}")
    yield from walk(case.plan, "plan")
