#!/usr/bin/env python3
"""Looks for contradictions in what `spillway plan`, `report` and `run` say of random scenarios.

    python3 check_plans.py --spillway BINARY [--source PROJECT] [--seeds 1-200] [--jobs N] [--keep FOLDER]
    python3 check_plans.py --spillway BINARY --self-test [--seeds 1-30]
    python3 check_plans.py --spillway BINARY --scenario FILE

Each seed makes one scenario (`generator.py`). Its plan is written as JSON, terminal text, HTML, Markdown and CSV, the
configuration that it speaks of is run again, and figures, verdicts and names are compared with the document (`checks.py`,
`tables.py`, `charts.py`, `pages.py`, `consequences.py`); `figures.py` looks up every figure there is. --source adds small
scenarios of the library. --self-test plants contradictions into sound documents (`plant.py`, `selftest.py`): each has to
be found. One line for each contradiction; exit status 1 when there is any, or when a plant is overlooked.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import case as cases
import charts
import checks
import consequences  # noqa: F401 (its checks, as those of pages and tables)
import documents
import figures
import generator
import pages  # noqa: F401
import selftest
import tables  # noqa: F401

FORMATS = "md,csv"
LIBRARY = ("link-bound", "overload-admission")     # of the library: those without large runs
TIMEOUT_S = 900


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
        file.write(text)


def produce(binary, folder):
    """Runs the commands; what they say lies in the folder afterwards. False where the scenario is refused."""
    at = lambda name: os.path.join(folder, name)
    plan = documents.call([binary, "plan", at("scenario.json"), "--json", at("plan.json"), "--out", at("out"),
                           "--threads", "1"], TIMEOUT_S)
    write(folder, "plan.txt", plan.out)
    write(folder, "plan.err", plan.err)
    codes = {"plan": plan.code}
    write(folder, "codes.json", json.dumps(codes))
    if plan.code not in (0, 4, 5) or not os.path.exists(at("plan.json")):
        return False
    report = documents.call([binary, "report", at("plan.json"), "--format", FORMATS, "--out", at("again")], TIMEOUT_S)
    codes["report"] = report.code
    shutil.rmtree(at("out/runs"), ignore_errors=True)
    codes["cell"], settings = run_settings(folder)
    if settings is not None:
        run = documents.call([binary, "run", at("scenario.json"), "--json", at("run.json"), *settings], TIMEOUT_S)
        write(folder, "run.txt", run.out)
        codes["run"] = run.code
    write(folder, "codes.json", json.dumps(codes))
    return True


def run_settings(folder):
    """Which point to run again, and what to set for it."""
    case = cases.open_case(0, folder, None)
    index = case.spoken_of()
    index = len(case.points) - 1 if index is None else index
    point, tiers = case.points[index], case.scenario.get("tiers", [])
    number = next((i for i, tier in enumerate(tiers) if tier["name"] == case.results["tier"]), None)
    if number is None:
        return index, None
    out = ["--set", f"tiers.{number}.capacity={point['capacity']}"]
    for value in point.get("values", []):
        out += ["--set", f"{value['key']}={value['value']}"]
    return index, out


def contradictions(case):
    """(check, what, one text, the other) of a case; what several forms say alike is told once."""
    told = set()
    for function in checks.CHECKS:
        try:
            for what, said, found in function(case):
                if (function.__name__, said, found) not in told:
                    yield function.__name__, what, said, found
                told.add((function.__name__, said, found))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            place = error.__traceback__
            while place.tb_next:
                place = place.tb_next
            yield function.__name__, "cannot be read", f"{type(error).__name__}: {error}", f"line {place.tb_lineno} of {os.path.basename(place.tb_frame.f_code.co_filename)}"


def one_line(seed, name, what, said, found):
    short = lambda text: " ".join(str(text).split())[:300]
    return f"{seed}: {name}: {short(what)}: {short(said)} <> {short(found)}"


class Survey:
    """All seeds: what was found, how long it took."""

    def __init__(self, options):
        self.options = options
        self.found, self.codes, self.seconds = [], Counter(), 0.0

    def of_seed(self, seed, work):
        folder = os.path.join(work, str(seed))
        os.makedirs(folder, exist_ok=True)
        for name, text in (files_of(seed, self.options)).items():
            write(folder, name, text)
        started = time.monotonic()
        try:
            sound = produce(self.options.spillway, folder)
            case = cases.open_case(seed, folder, None) if sound else None
        except (documents.subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
            return seed, folder, None, [("commands", "failed", f"{type(error).__name__}: {error}"[:300], "")], time.monotonic() - started
        if case is None:
            with open(os.path.join(folder, "plan.err"), encoding="utf-8") as file:
                return seed, folder, None, [("refused", "plan", file.read()[-300:], "a scenario that can be planned")], 0
        return seed, folder, case, list(contradictions(case)), time.monotonic() - started

    def run(self, seeds, work):
        with ThreadPoolExecutor(self.options.jobs) as pool:
            for seed, folder, case, found, seconds in pool.map(lambda s: self.of_seed(s, work), seeds):
                self.codes[case.code if case else "refused"] += 1
                self.seconds += seconds
                for row in found:
                    print(one_line(seed, *row), flush=True)
                self.found += [(seed, *row) for row in found]
                if case:
                    figures.look_up(case)
                if found and self.options.keep:
                    shutil.copytree(folder, os.path.join(self.options.keep, str(seed)), dirs_exist_ok=True)
                if not self.options.self_test:
                    shutil.rmtree(folder, ignore_errors=True)

    def summary(self, seeds):
        by_check = Counter(name for _, name, *_ in self.found)
        print(f"{len(seeds)} scenarios, {self.seconds / max(1, len(seeds)):.2f} s each; exit status "
              + ", ".join(f"{code}: {n}" for code, n in sorted(self.codes.items(), key=str)))
        for name, count in by_check.most_common():
            print(f"  {name}: {count} in {len({s for s, n, *_ in self.found if n == name})} scenarios")
        found, unknown = figures.LOOKED_UP["found"], figures.LOOKED_UP["not found"]
        print(f"figures looked up: {found + unknown}, {100 * found / max(1, found + unknown):.1f}% in the document as they stand")
        if charts.UNKNOWN:
            print("not known to any check: " + ", ".join(f"{k} ({n})" for k, n in charts.UNKNOWN.most_common(12)))
        print("no contradiction" if not self.found else f"{len(self.found)} contradictions")


def files_of(seed, options):
    if not str(seed).isdigit():
        path = seed if os.path.exists(seed) else os.path.join(options.source, "scenarios", "library", seed + ".json")
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file if not line.lstrip().startswith("//")]
        return {"scenario.json": "".join(lines)}
    return generator.scenario(int(seed))


def range_of(text):
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spillway", required=True)
    parser.add_argument("--source")
    parser.add_argument("--seeds", default="1-200", type=range_of)
    parser.add_argument("--scenario", action="append", default=[], help="instead of seeds")
    parser.add_argument("--jobs", default=2, type=int)
    parser.add_argument("--keep", help="folder for the files of scenarios with contradictions")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--list-figures", action="store_true", help="figures of pages that the document does not have as they stand")
    options = parser.parse_args()
    seeds = options.scenario or options.seeds + (list(LIBRARY) if options.source and not options.self_test else [])
    survey = Survey(options)
    with tempfile.TemporaryDirectory() as work:
        survey.run(seeds, work)
        survey.summary(seeds)
        for (form, page, text), count in figures.NOT_FOUND.most_common() if options.list_figures else ():
            print(f"  {form}, {page}: {text}" + (f" ({count})" if count > 1 else ""))
        if options.self_test:
            return selftest.self_test(work, seeds, contradictions)
    return 1 if survey.found else 0


if __name__ == "__main__":
    sys.exit(main())
