#!/usr/bin/env python3
"""Ask `spillway plan` the cases with a known right answer, and judge its first line.

    python3 check_answers.py --spillway build/spillway [--cases DIR] [--facts] [--seed N] [-v] [NAME...]

Each folder of cases/ has a scenario and expected.json, whose `why` is the arithmetic. Judged are the
exit code, results.answer (verdict, cause, remedy), results.margin, the first line of the terminal,
and the remedy itself: `spillway run` with its changes must meet the SLO. Before that the facts that
the arithmetic rests on are run: settings that must miss (`misses`) or meet (`meets`) the SLO, or give
the `same` run. --facts runs these alone. Exit 1 where anything is wrong. See README.md for the keys.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

EXIT_OF = {"met": 0, "missed": 4, "undecided": 5}
RAW_KEY = re.compile(r"\b(?:mean|median|std|p\d+)_[a-z0-9_]+")
SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
MOST_SENTENCES = 3
# What a change costs: a flag nothing, then memory, then more of the same GPUs, then others.
COST = {"flag": 0, "tier": 1, "link": 2, "replicas": 3, "tensor-parallel": 4, "gpu": 5}
NOT_BOUGHT = 9  # load, trace, replication: nobody sells these
SAME_FIGURES = ("duration_s", "engine_steps", "mean_ttft_ms", "p99_ttft_ms", "mean_e2el_ms")
# Events of a margin that a key of the scenario says as well.
GROWTH_OF = {
    "reuse": "workload.growth.reuse",
    "length": "workload.growth.context",
    "load": "workload.growth.rate",
    "growth": "workload.growth.rate",
    "peak": "workload.growth.rate",
}
CLEARLY = 1.5  # times the limit: then one run of the workload itself misses as well
UNTRIED = {"trace", "replication"}  # a run with these needs data that is not there


def as_list(value):
    return value if isinstance(value, list) else [value]


def text_of(value):
    return value if isinstance(value, str) else json.dumps(value)


def same_value(a, b):
    a, b = text_of(a).replace(" ", ""), text_of(b).replace(" ", "")
    try:
        return a == b or float(a) == float(b)
    except ValueError:
        return a == b


def kind_of(changes):
    """Of the costliest change."""
    kinds = ["flag"]
    for change in changes:
        key = change["key"]
        if key == "gpu":
            kinds.append("gpu")
        elif key == "engine.tensor_parallel_size":
            kinds.append("tensor-parallel")
        elif key == "fleet.replicas":
            kinds.append("replicas")
        elif key.startswith(("links", "media")):
            kinds.append("link")
        elif key.startswith("tiers"):
            kinds.append("tier")
        elif key.startswith("workload"):
            kinds.append("load")
    return max(kinds, key=cost_of)


def cost_of(kind):
    return COST.get(kind, NOT_BOUGHT)


class Spillway:
    def __init__(self, binary, seed):
        self.binary = binary
        self.seed = ["--seed", str(seed)] if seed else []
        self.done = {}
        self.digests = {}

    def call(self, *args):
        found = subprocess.run([self.binary, *args, *self.seed], capture_output=True, text=True)
        return found.returncode, found.stdout, found.stderr

    def run(self, scenario, changes):
        """One run of the workload itself: (met, figures, why it failed)."""
        sets = [part for key, value in changes for part in ("--set", f"{key}={value}")]
        key = (str(scenario), tuple(sets))
        if key not in self.done:
            code, out, err = self.call("run", str(scenario), *sets, "--json", "-", "--quiet")
            if code != 0:
                self.done[key] = (None, "", f"run ended with {code}: {err.strip()[:200]}")
            else:
                results = json.loads(out)["results"]
                left = results["failed"] + results["rejected"] + results.get("stuck", 0)
                self.digests[key] = {k: results[k] for k in SAME_FIGURES}
                met = left == 0 and all(target["passed"] for target in results["slo"])
                figures = ", ".join(f"{t['name']} {t['value']:.4g} ({t['target']:g})" for t in results["slo"])
                self.done[key] = (met, figures + (f", {left} not done" if left else ""), "")
        return self.done[key]


    def digest(self, scenario, changes):
        """What is equal of equal runs, whatever their scenarios say."""
        sets = [part for key, value in changes for part in ("--set", f"{key}={value}")]
        return json.dumps(self.digests.get((str(scenario), tuple(sets))))


class Case:
    def __init__(self, folder, spillway):
        self.name = folder.name
        self.scenario = folder / "scenario.json"
        self.expected = json.loads((folder / "expected.json").read_text())
        self.spillway = spillway
        self.faults = []
        self.log = []
        self.found = ""
        self.line = ""

    def fault(self, text):
        self.faults.append(text)

    def facts(self):
        for want, name in ((False, "misses"), (True, "meets")):
            for changes in self.expected.get(name, []):
                met, figures, error = self.spillway.run(self.scenario, list(changes.items()))
                said = " ".join(f"{k}={v}" for k, v in changes.items()) or "as it is"
                self.log.append(f"{name}: {said}: {error or figures}")
                if met is not want:
                    self.fault(f"fact: with {said} the run should {'meet' if want else 'miss'}: {error or figures}")

        digests = set()
        for changes in self.expected.get("same", []):
            met, figures, error = self.spillway.run(self.scenario, list(changes.items()))
            digests.add(error or self.spillway.digest(self.scenario, list(changes.items())))
        if len(digests) > 1:
            self.fault(f"fact: {len(digests)} different runs where all should be the same")

    def plan(self):
        with tempfile.TemporaryDirectory() as cache:
            args = ["plan", str(self.scenario), *self.expected.get("args", []), "--cache", cache]
            began = time.monotonic()
            code, out, err = self.spillway.call(*args, "--json", "-", "--quiet")
            self.seconds = time.monotonic() - began
            if code not in EXIT_OF.values():
                self.fault(f"plan --json ended with {code}: {err.strip()[:300]}")
                return
            results = json.loads(out)["results"]
            code_seen, terminal, _ = self.spillway.call(*args, "--quiet", "--color", "never")
        lines = terminal.strip().splitlines()
        self.line = lines[0] if lines else ""
        for where, found in (("--json", code), ("terminal", code_seen)):
            if found not in as_list(self.expected["exit"]):
                self.fault(f"exit {found} ({where}), expected {self.expected['exit']}")
        self.check_line(results)
        answer = results.get("answer")
        if answer is None:
            self.found = "no results.answer"
            self.fault("results.answer is missing: this build does not have it")
            return
        self.found = f"{answer.get('verdict')} {answer.get('cause')} {self.remedy_text(answer.get('remedy'))}"
        if EXIT_OF.get(answer.get("verdict")) != code:
            self.fault(f"verdict {answer.get('verdict')} and exit {code} contradict each other")
        for key in ("verdict", "cause"):
            if answer.get(key) not in as_list(self.expected[key]):
                self.fault(f"{key} {answer.get(key)}, expected {self.expected[key]}")
        self.check_remedy(answer)
        self.check_margin(results)

    def check_line(self, results):
        line = self.line
        if line != results.get("verdict"):
            self.fault("the first line of the terminal is not results.verdict")
        for pattern in self.expected.get("first_line", []):
            if not re.search(pattern, line):
                self.fault(f"first line lacks /{pattern}/")
        for pattern in self.expected.get("first_line_not", []):
            if re.search(pattern, line):
                self.fault(f"first line has /{pattern}/")
        if raw := RAW_KEY.findall(line):
            self.fault(f"first line has the raw key {raw[0]}")
        if len(SENTENCE_END.findall(line)) > MOST_SENTENCES:
            self.fault(f"first line has more than {MOST_SENTENCES} sentences")
        size = self.expected.get("recommended")
        if size and results.get("recommended_size") != size:
            self.fault(f"recommended {results.get('recommended_size')}, expected {size}")

    @staticmethod
    def remedy_text(remedy):
        if not remedy:
            return "-"
        changes = " ".join(f"{c['key'].split('.')[-1]}={text_of(c['to'])}" for c in remedy.get("changes", []))
        return f"{remedy.get('kind')} {changes}".strip()

    def check_remedy(self, answer):
        remedy = answer.get("remedy")
        faults = [self.remedy_fault(remedy, want) for want in as_list(self.expected["remedy"])]
        if all(faults):
            self.fault("; or ".join(faults))
        if remedy:
            self.check_remedy_works(remedy)
        self.check_none_cheaper(answer)

    def remedy_fault(self, remedy, want):
        """Nothing where it is what is wanted."""
        if want is None or not remedy:
            if want is None and not remedy:
                return ""
            return f"remedy {self.remedy_text(remedy)}, expected {'none' if want is None else want['kind']}"
        if remedy.get("kind") != want["kind"]:
            return f"remedy of kind {remedy.get('kind')}, expected {want['kind']}"
        changes = {c["key"]: c["to"] for c in remedy.get("changes", [])}
        if "keys" in want and sorted(changes) != sorted(want["keys"]):
            return f"remedy changes {sorted(changes)}, expected {sorted(want['keys'])}"
        for key, values in want.get("to", {}).items():
            if not any(same_value(changes.get(key), value) for value in as_list(values)):
                return f"remedy sets {key} to {text_of(changes.get(key))}, expected {values}"
        return ""

    def check_remedy_works(self, remedy):
        changes = remedy.get("changes", [])
        if remedy.get("kind") in UNTRIED:
            return
        if not changes:
            self.fault("the remedy lists no changes")
            return
        if kind_of(changes) != remedy.get("kind"):
            self.fault(f"kind {remedy.get('kind')}, but the costliest change is {kind_of(changes)}")
        if any(same_value(c.get("from"), c["to"]) for c in changes if "from" in c):
            self.fault("a change of the remedy changes nothing")
        if any(target.get("met") is not True for target in remedy.get("targets", [])):
            self.fault("a target of the remedy is not met")
        met, figures, error = self.spillway.run(self.scenario, [(c["key"], text_of(c["to"])) for c in changes])
        self.log.append(f"remedy {self.remedy_text(remedy)}: {error or figures}")
        if not met:
            self.fault(f"the remedy does not work: {error or figures}")
        met, figures, error = self.spillway.run(self.scenario, [])
        if met and self.expected["verdict"] == "missed":
            self.fault(f"there is a remedy, but the scenario as it is meets the SLO: {figures}")
        bare = self.line.replace(" ", "")
        for change in changes:
            switched_on = change["to"] == "true" and change["key"].split(".")[-1].replace("_", "-") in bare
            name = change["key"].split(".")[-1].replace("_", "-")
            if change["to"] == "false" and "no-" + name in bare:
                continue
            without = change["key"] == "tiers.0.capacity" and text_of(change["to"]).startswith("0")
            if without and "dowithoutthetier" in bare:
                continue
            if not switched_on and text_of(change["to"]).replace(" ", "") not in bare:
                self.fault(f"first line does not say {change['key']}={text_of(change['to'])}")

    def check_none_cheaper(self, answer):
        remedy = answer.get("remedy")
        if answer.get("verdict") == "met":
            return
        price = cost_of(remedy["kind"]) if remedy else NOT_BOUGHT
        for one in answer.get("alone", []):
            changes = one.get("changes", [])
            if not one.get("met") or not changes or cost_of(kind_of(changes)) >= NOT_BOUGHT:
                continue
            what = one.get("change") or self.remedy_text({"kind": kind_of(changes), "changes": changes})
            if cost_of(kind_of(changes)) < price:
                self.fault(f"{what} meets the SLO, is cheaper, and was passed over")
            elif remedy and [c["key"] for c in changes] == ["fleet.replicas"]:
                for c in remedy.get("changes", []):
                    if c["key"] == "fleet.replicas" and float(changes[0]["to"]) < float(c["to"]):
                        self.fault(f"{what} meets the SLO with fewer replicas, and was passed over")

    def check_margin(self, results):
        want = self.expected.get("margin")
        if not want:
            return
        margin = results.get("margin")
        if margin is None:
            self.fault("results.margin is missing")
            return
        if "holds_alone" in want and margin.get("holds_alone") is not want["holds_alone"]:
            self.fault(f"margin.holds_alone {margin.get('holds_alone')}, expected {want['holds_alone']}")
        if want.get("holds_alone") is False:
            nearest = margin.get("nearest") or {}
            if not nearest.get("event") or not margin.get("broken"):
                self.fault("margin names no event that breaks it")
            self.check_event(nearest, results)
        size = want.get("next_size")
        if size:
            following = margin.get("next_size") or {}
            if following.get("capacity") != size or not following.get("survives"):
                self.fault(f"margin.next_size {following or 'missing'}, expected {size} and what it survives")
            elif "more_per_month" not in following:
                self.fault("margin.next_size has no price")


    def check_event(self, nearest, results):
        """An event that is said to break the recommendation does, where a key says the same."""
        key, factor = GROWTH_OF.get(nearest.get("kind")), nearest.get("factor")
        if key is None or factor is None or not results.get("recommended_size"):
            return
        changes = [("tiers.0.capacity", results["recommended_size"]), (key, factor)]
        met, figures, error = self.spillway.run(self.scenario, changes)
        self.log.append(f"nearest {nearest.get('event')}: {error or figures}")
        if met is not False and nearest.get("value", 0) > CLEARLY * nearest.get("limit", 0):
            self.fault(f"{nearest.get('event')} is said to break it, and does not: {error or figures}")


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def expected_text(expected):
    def one(want):
        if want is None:
            return "-"
        values = [f"{k.split('.')[-1]}={'|'.join(as_list(v))}" for k, v in want.get("to", {}).items()]
        values += [k.split(".")[-1] for k in want.get("keys", []) if k not in want.get("to", {})]
        return " ".join([want["kind"], *values])

    parts = ["|".join(as_list(expected[key])) for key in ("verdict", "cause")]
    return " ".join(parts + [" or ".join(one(want) for want in as_list(expected["remedy"]))])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spillway", required=True, help="the program")
    parser.add_argument("--cases", default=str(pathlib.Path(__file__).resolve().parent / "cases"))
    parser.add_argument("--seed", type=int, help="of workloads and replicates, in place of the scenarios' 1")
    parser.add_argument("--facts", action="store_true", help="runs alone, no plan")
    parser.add_argument("-v", "--verbose", action="store_true", help="every run and every first line")
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases; all unless given")
    options = parser.parse_args()
    folders = sorted(path.parent for path in pathlib.Path(options.cases).glob("*/expected.json"))
    unknown = set(options.names) - {folder.name for folder in folders}
    if unknown or not folders:
        sys.exit(f"no such case: {', '.join(sorted(unknown)) or options.cases}")
    spillway = Spillway(options.spillway, options.seed)
    rows = [("case", "expected", "found", "s", "ok")]
    wrong = []
    for folder in folders:
        if options.names and folder.name not in options.names:
            continue
        case = Case(folder, spillway)
        case.seconds = 0.0
        case.facts()
        if not options.facts:
            case.plan()
        ok = "no" if case.faults else "yes"
        rows.append((case.name, expected_text(case.expected), case.found or "-", f"{case.seconds:.1f}", ok))
        wrong += [case] if case.faults else []
        if options.verbose or case.faults:
            print(f"\n== {case.name}\n{case.line}")
            for text in case.log if options.verbose else []:
                print(f"  {text}")
            for text in case.faults:
                print(f"  WRONG {text}")
    print()
    table(rows)
    print(f"\n{len(rows) - 1 - len(wrong)} of {len(rows) - 1} right")
    if any("results.answer is missing" in text for case in wrong for text in case.faults):
        print("This build of spillway writes no results.answer: verdict, cause and remedy could not be judged.")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
