"""Everything that was said of one scenario, and who is meant by a name on a page."""
import json
import os
import re

import documents

GIB = 1 << 30
METRIC = re.compile(r"(?<![\w.])(mean|median|p50|p90|p95|p99)[_ ](ttft|tpot|itl|e2el)(?:_ms)?(?![\w])|"
                    r"(?<![\w.])(ttft|tpot|itl|e2el) (mean|median|p50|p90|p95|p99)(?![\w])", re.I)
WORDS = {"time to first token": "ttft", "first token": "ttft", "time per output token": "tpot", "output token": "tpot",
         "inter-token": "itl", "end to end": "e2el", "ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2el"}


def metric_key(match):
    """`p99 TTFT`, `TTFT p99` and `p99_ttft_ms` are one."""
    figure, name = (match.group(1), match.group(2)) if match.group(1) else (match.group(4), match.group(3))
    figure = figure.lower()
    return f"{'median' if figure == 'p50' else figure}_{name.lower()}_ms"


def plain(name):
    """Names as they are compared: `64 GiB` and `64GiB` are one size."""
    return re.sub(r"\s+", "", name).lower()


def bytes_of(point):
    """Unbounded sizes come last."""
    return float("inf") if point["capacity_bytes"] == "inf" else float(point["capacity_bytes"])


def capacity_bytes(text):
    figures = documents.figures_in(text)
    return figures[0].value if figures and figures[0].kind == "bytes" else None


class Case:
    """One scenario's documents."""

    def __init__(self, seed, scenario, plan_code, plan, reports, run_code=None, run=None, cell=None, texts=None):
        self.seed, self.scenario = seed, scenario
        self.code, self.plan = plan_code, plan
        self.results = plan["results"]
        self.points = self.results["points"]
        self.reports = reports                      # terminal, html, md, csv
        self.run_code, self.run, self.cell = run_code, run, cell
        self.texts = texts or {}
        self.answer = self.results.get("answer")
        self.names = {}
        for i, point in enumerate(self.points):
            self.names.setdefault(plain(point["name"] or point["capacity"]), i)
        for i, point in enumerate(self.points):
            alone = sum(p["capacity"] == point["capacity"] for p in self.points) == 1
            line = plain(self.line_name(point))
            if alone:
                self.names.setdefault(plain(point["capacity"]), i)
            if line and sum(plain(self.line_name(p)) == line for p in self.points) == 1:
                self.names.setdefault(line, i)

    @staticmethod
    def line_name(point):
        values = point.get("values", [])
        if len(values) == 1:
            return values[0]["value"]
        return ", ".join(f"{v['key'].split('.')[-1]} {v['value']}" for v in values)

    @property
    def first_line(self):
        return self.results["verdict"]

    @property
    def recommended(self):
        index = self.results.get("recommended_index")
        return None if index is None else self.points[index]

    @property
    def replicated(self):
        return "confidence" in self.results

    def point_named(self, name):
        index = self.names.get(plain(name))
        return None if index is None else self.points[index]

    def spoken_of(self):
        """The point that the pages are about: recommended, else what the document or the first line names."""
        for key in ("recommended_index", "provisional_index"):
            if key in self.results:
                return self.results[key]
        tried = self.results.get("counterfactuals", {}).get("cell")
        for index, point in enumerate(self.points):
            if tried in (point["name"], point["capacity"]):
                return index
        named = self.named_in(self.first_line)
        return named[0] if named else None

    def named_in(self, text):
        """Points whose name or size stands in a text, longest names first."""
        out = []
        for name in sorted(self.names, key=len, reverse=True):
            pattern = re.sub(r"(?<=\d)(?=[kmgt]i?b)|(?<=,)", r"\\s?", re.escape(name).replace("\\,", ","))
            if re.search(r"(?<![\w.=])" + pattern + r"(?![\w=])", text, re.I) and not re.fullmatch(r"[\d.]+", name):
                out.append(self.names[name])
        return out

    def slo(self):
        return self.scenario["slo"]

    def limits_of(self, metric):
        return [t["max"] if "max" in t else t["min"] for t in self.slo() if t["metric"] == metric]

    def stress_rows(self):
        return self.results.get("stress", {}).get("rows", [])

    def values_of(self, metric):
        """Every value of a metric that the document has, whichever configuration it is of."""
        out = []
        for point in self.points:
            out += [t["value"] for t in point["targets"] if t["name"] == metric]
            out += [s["value"] for s in point["run"].get("slo", []) if s["name"] == metric]
            if metric in point["run"]:
                out.append(point["run"][metric])
        out += [row["value"] for row in self.stress_rows() if row.get("target") == metric]
        tried = self.results.get("counterfactuals")
        if tried and tried["target"] == metric:
            out += [row["value"] for row in tried["changes"]] + [tried["base"]["value"]]
        for target in self.other_targets():
            if target.get("name") == metric:
                out.append(target["value"])
        out += [event["value"] for event in self.results.get("margin", {}).get("broken", [])
                if event.get("target") == metric]
        return out

    def other_targets(self):
        """Targets of what was tried beside the points: remedies, changes alone, the floor."""
        answer = self.answer or {}
        out = list(answer.get("remedy", {}).get("targets", []))
        for change in answer.get("alone", []):
            out += change.get("targets", [])
        return out + self.results.get("floor", {}).get("targets", [])


def open_case(seed, folder, run_cell):
    """Reads back what `check_plans.produce` left in a folder."""
    at = lambda name: os.path.join(folder, name)
    text = lambda name: open(at(name), encoding="utf-8", newline="").read() if os.path.exists(at(name)) else ""
    with open(at("scenario.json"), encoding="utf-8") as file:
        scenario = json.load(file)
    reports = {"terminal": documents.read_terminal(text("plan.txt")),
               "html": documents.HtmlReader(text("out/report.html")).report,
               "md": documents.read_markdown(text("again/report.md")),
               "csv": documents.read_csv(text("again/report.csv"))}
    codes = json.loads(text("codes.json"))
    run = documents.load_document(at("run.json")) if os.path.exists(at("run.json")) else None
    return Case(seed, scenario, codes["plan"], documents.load_document(at("plan.json")), reports,
                codes.get("run"), run, codes.get("cell"), {"run": text("run.txt"), "stderr": text("plan.err")})
