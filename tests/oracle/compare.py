#!/usr/bin/env python3
"""Compares `spillway run` with the oracle on random reference scenarios, row by row and to the nanosecond.

    python3 compare.py --spillway BINARY [--seeds 1-60] [--classic] [--keep DIR] [--case DIR ...]

--classic leaves out the keys of gen_features.py. A scenario that the binary refuses differs.
--case compares with the expected.csv of a folder that holds scenario.json and requests.jsonl.
Exit status 1 when anything differs; the first differing rows are printed.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# Total of the oracle -> where it stands in a result document (tiers and links by index).
TOTALS = {
    "completed": ["completed"], "rejected": ["rejected"], "stuck": ["stuck"], "failed": ["failed"],
    "steps": ["engine_steps"], "preemptions": ["preemptions"], "deferrals": ["deferrals"],
    "recomputed_tokens": ["recomputed_tokens"], "flushes": ["flushes"],
    "gpu_evictions": ["tiers", 0, "evictions"], "gpu_stores": ["tiers", 0, "stores"],
    "gpu_queries": ["tiers", 0, "queries"], "gpu_hits": ["tiers", 0, "hits"],
    "gpu_hits_resumed": ["tiers", 0, "hits_resumed"],
    "dram_stored_blocks": ["tiers", 1, "stores"], "dram_evictions": ["tiers", 1, "evictions"],
    "dram_store_failures": ["tiers", 1, "store_failures"], "dram_stores_skipped": ["tiers", 1, "stores_skipped"],
    "dram_queries": ["tiers", 1, "queries"], "dram_hits": ["tiers", 1, "hits"],
    "dram_hits_resumed": ["tiers", 1, "hits_resumed"], "dram_peak_bytes": ["tiers", 1, "peak_bytes"],
    "dram_slots": ["tiers", 1, "capacity_blocks"],
    "store_jobs": ["links", 0, "transfers"], "load_jobs": ["links", 1, "transfers"],
    "d2h_bytes": ["links", 0, "bytes"], "h2d_bytes": ["links", 1, "bytes"],
}
OPTIONAL = ("dram_stores_skipped",)                    # keys that a result may leave out


def rows_of(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def different_rows(expected, found):
    if len(expected) != len(found):
        return [f"{len(expected)} rows expected, {len(found)} found"]
    out = []
    for e, f in zip(expected, found):
        # A scenario without a lower tier has no column for it; the oracle writes zeros.
        bad = {k: (v, f.get(k, "0")) for k, v in e.items() if f.get(k, "0") != v}
        if bad:
            out.append(f"request {e['request_id']}: (expected, found) {bad}")
    return out


def different_totals(expected, results):
    out = []
    for name, path in TOTALS.items():
        if name not in expected or (len(path) > 1 and path[1] >= len(results[path[0]])):
            continue
        value = results
        for part in path:
            value = value[part] if isinstance(part, int) else value.get(part, "missing")
        if value == "missing" and name in OPTIONAL:
            continue
        if value != expected[name]:
            out.append(f"{name}: expected {expected[name]}, found {value}")
    if "flush_stall_ns" in expected and expected["flush_stall_ns"] != round(results["flush_stall_s"] * 10**9):
        out.append(f"flush stall: expected {expected['flush_stall_ns']} ns, found {results['flush_stall_s']} s")
    return out


class Refused(Exception):
    """The binary did not simulate a scenario."""


def run_spillway(binary, scenario, folder):
    rows, document = os.path.join(folder, "spillway.csv"), os.path.join(folder, "spillway.json")
    done = subprocess.run([binary, "run", scenario, "--quiet", "--json", document, "--output",
                           f"kind=requests,path={rows}"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"exit {done.returncode}: {done.stderr.strip()[:200]}")
    with open(document) as f:
        return rows_of(rows), json.load(f)["results"]


def check_seed(binary, seed, folder, classic):
    os.makedirs(folder, exist_ok=True)
    scenario, rows, totals = (os.path.join(folder, n) for n in ("scenario.json", "oracle.csv", "oracle.json"))
    subprocess.run([sys.executable, os.path.join(HERE, "gen.py"), str(seed), folder] + ["--classic"] * classic,
                   check=True)
    subprocess.run([sys.executable, os.path.join(HERE, "oracle.py"), scenario, "--requests", rows,
                    "--totals", totals], check=True)
    found, results = run_spillway(binary, scenario, folder)
    with open(totals) as f:
        return different_rows(rows_of(rows), found) + different_totals(json.load(f), results)


def check_case(binary, case, folder):
    os.makedirs(folder, exist_ok=True)
    found, results = run_spillway(binary, os.path.join(case, "scenario.json"), folder)
    out = different_rows(rows_of(os.path.join(case, "expected.csv")), found)
    with open(os.path.join(case, "expected.json")) as f:
        return out + different_totals(json.load(f), results)


def seeds_of(text):
    """1-60, or one, or none."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1) if first else range(0)


def compare_all(jobs, keep, reached=lambda: ""):
    """`jobs`: each a name, and what gives its differences when told a folder. Exit status 1 where any differs."""
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, check in jobs:
            try:
                differences = check(os.path.join(keep or scratch, os.path.basename(name.split()[-1])))
            except Refused as refusal:
                differences = [str(refusal)]
            if differences:
                failures += 1
                print(f"{name}: {len(differences)} differences")
                print("\n".join("  " + d for d in differences[:5]))
    print(f"{len(jobs)} scenarios compared, {failures} differ" + reached())
    return 1 if failures else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--spillway", required=True)
    p.add_argument("--seeds", default="")
    p.add_argument("--case", action="append", default=[])
    p.add_argument("--classic", action="store_true", help="scenarios without the newer keys")
    p.add_argument("--keep", help="leave every scenario and result in this folder")
    a = p.parse_args()
    jobs = [(f"seed {s}", lambda folder, s=s: check_seed(a.spillway, s, folder, a.classic))
            for s in seeds_of(a.seeds)]
    jobs += [(f"case {c}", lambda folder, c=c: check_case(a.spillway, c, folder)) for c in a.case]
    return compare_all(jobs, a.keep)


if __name__ == "__main__":
    sys.exit(main())
