#!/usr/bin/env python3
"""Compares `spillway run` with v0.py on random scenarios of vLLM v0, row by row and to the nanosecond.

    python3 compare_v0.py --spillway BINARY [--seeds 1-40] [--keep DIR]

Exit status 1 when anything differs; the first differing rows are printed, and at the end what the scenarios reached.
"""
import argparse
import os
import sys

import gen_v0
import v0
from compare import compare_all, different_rows, rows_of, run_spillway, seeds_of
from gen import write
from results import lines_of

# Total of v0.py -> where it stands in a result document (links by index).
TOTALS = {
    "completed": ["completed"], "rejected": ["rejected"], "failed": ["failed"], "stuck": ["stuck"],
    "steps": ["engine_steps"], "preemptions": ["preemptions"], "recomputed_tokens": ["recomputed_tokens"],
    "swapped_out": ["swap", "swapped_out"], "swapped_in": ["swap", "swapped_in"],
    "blocks_out": ["swap", "blocks_out"], "blocks_in": ["swap", "blocks_in"],
    "peak_swapped": ["swap", "peak_requests_swapped"],
    "out_jobs": ["links", 0, "transfers"], "out_bytes": ["links", 0, "bytes"],
    "in_jobs": ["links", 1, "transfers"], "in_bytes": ["links", 1, "bytes"],
}


def different_totals(expected, results):
    out = []
    for name, path in TOTALS.items():
        if name not in expected:
            continue
        value = results
        for part in path:
            value = value[part]
        if value != expected[name]:
            out.append(f"{name}: expected {expected[name]}, found {value}")
    if round(results["swap"]["stall_s"] * 1e9) != expected["stall_ns"]:
        out.append(f"stall_ns: expected {expected['stall_ns']}, found {results['swap']['stall_s']} s")
    if ("fatal" in results["swap"]) != expected["dead"]:
        out.append(f"dead: expected {expected['dead']}, found {results['swap'].get('fatal')}")
    return out


def check_seed(binary, seed, folder, reached):
    write(*gen_v0.make(seed), folder)
    path = os.path.join(folder, "scenario.json")
    engine = v0.Engine(*v0.load(path))
    engine.run()
    expected = os.path.join(folder, "oracle.csv")
    with open(expected, "w") as f:
        f.writelines(line + "\n" for line in lines_of(engine))
    totals = v0.totals_of(engine)
    for what in ("swapped_out", "preemptions", "stuck", "dead", "rejected", "recomputed_tokens"):
        reached[what] = reached.get(what, 0) + (totals[what] > 0)
    found, results = run_spillway(binary, path, folder)
    return different_rows(rows_of(expected), found) + different_totals(totals, results)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--spillway", required=True)
    p.add_argument("--seeds", default="1-40")
    p.add_argument("--keep", help="leave every scenario and result in this folder")
    a = p.parse_args()
    reached = {}
    jobs = [(f"seed {s}", lambda folder, s=s: check_seed(a.spillway, s, folder, reached)) for s in seeds_of(a.seeds)]
    return compare_all(jobs, a.keep, lambda: "; with " + ", ".join(f"{what} {n}" for what, n in reached.items()))


if __name__ == "__main__":
    sys.exit(main())
