#!/usr/bin/env python3
"""Compares `spillway run` with the oracle of a connector that keeps chunks, or of another
engine than vLLM, row by row and to the nanosecond.

    python3 compare_parts.py --part PART --spillway BIN [--seeds 1-60] [--keep DIR]

Random scenarios of gen_<part>.py, and the histories of cases/ that are its own. Rows are compared
whole, and every total that a result document has. Exit status 1 when anything differs.
"""
import argparse
import collections
import csv
import json
import os
import subprocess
import sys

from compare import HERE, compare_all, different_rows, rows_of, run_spillway, seeds_of

CASES = {"lmcache": "lmcache-", "lmcache_mp": "lmcache-mp-", "llmd": "llmd-", "hybrid": "hybrid-", "sglang": "sglang-",
         "sglang_l3": "sglang-l3-", "sglang_mc": "sglang-mc-",
         "trtllm": "trtllm-", "trtllm_v2": "trtllm-v2-",
         "kvbm": "kvbm-", "kvbm_v2": "kvbm-v2-", "mooncake": "mooncake-", "aibrix": "aibrix-", "flexkv": "flexkv-",
         "vllm_mooncake": "vllm-mooncake-"}
ORACLES = {"sglang_l3": "sglang", "sglang_mc": "sglang"}      # of parts that share one


def oracle(part, scenario, rows, totals):
    subprocess.run([sys.executable, os.path.join(HERE, f"{ORACLES.get(part, part)}.py"), scenario, "--requests", rows,
                    "--totals", totals], check=True)
    with open(totals) as f:
        return json.load(f)


def found_totals(results):
    """What a result document says of the oracle's totals; tiers count chunks or files."""
    out = {name: results[key] for name, key in (
        ("completed", "completed"), ("failed", "failed"), ("rejected", "rejected"), ("stuck", "stuck"),
        ("steps", "engine_steps"), ("preemptions", "preemptions"), ("deferrals", "deferrals"),
        ("recomputed_tokens", "recomputed_tokens"))}
    for tier in results["tiers"][1:]:
        out[tier["name"] + "_stored"] = tier["stores"]
        out[tier["name"] + "_evictions"] = tier["evictions"]
        out[tier["name"] + "_refused"] = tier["store_failures"] + sum(tier.get("write_refusals", {}).values())
    links = collections.Counter()
    for link in results["links"]:
        name = link["name"].split("/")[0]                      # of several engines
        links[f"link_{name}_jobs"] += link["transfers"]
        links[f"link_{name}_bytes"] += link["bytes"]
    return out | links


def differences(expected_rows, expected_totals, found, results):
    out = different_rows(expected_rows, found)
    have = found_totals(results)
    for name, value in expected_totals.items():
        # An engine that hangs in a step never ends it, and a store's clock may go on behind that.
        open_when_stuck = name == "steps" or name.startswith(("store_", "ssd_", "link_to_ssd"))
        if name not in have or (open_when_stuck and expected_totals["stuck"]):
            continue
        if have[name] != value:
            out.append(f"{name}: expected {value}, found {have[name]}")
    return out


def check_seed(part, binary, seed, folder):
    os.makedirs(folder, exist_ok=True)
    scenario, rows, totals = (os.path.join(folder, n) for n in ("scenario.json", "oracle.csv", "oracle.json"))
    subprocess.run([sys.executable, os.path.join(HERE, f"gen_{part}.py"), str(seed), folder], check=True)
    expected = oracle(part, scenario, rows, totals)
    return differences(rows_of(rows), expected, *run_spillway(binary, scenario, folder))


def check_case(part, binary, case, folder):
    """The committed rows are those of the oracle, and of the product."""
    os.makedirs(folder, exist_ok=True)
    scenario, rows, totals = os.path.join(case, "scenario.json"), f"{folder}/oracle.csv", f"{folder}/oracle.json"
    expected = oracle(part, scenario, rows, totals)
    with open(os.path.join(case, "expected.csv"), newline="") as f:
        committed = list(csv.DictReader(f))
    out = [] if committed == rows_of(rows) else ["expected.csv is not what the oracle says"]
    return out + differences(committed, expected, *run_spillway(binary, scenario, folder))


def cases_of(part):
    folder = os.path.join(HERE, "cases")
    longer = [p for c, p in CASES.items() if c != part and p.startswith(CASES[part])]
    return [os.path.join(folder, n) for n in sorted(os.listdir(folder))
            if n.startswith(CASES[part]) and not any(n.startswith(p) for p in longer)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--part", required=True, choices=sorted(CASES))
    p.add_argument("--spillway", required=True)
    p.add_argument("--seeds", default="")
    p.add_argument("--keep", help="leave every scenario and result in this folder")
    a = p.parse_args()
    jobs = [(f"seed {s}", lambda folder, s=s: check_seed(a.part, a.spillway, s, folder))
            for s in seeds_of(a.seeds)]
    jobs += [(os.path.basename(c), lambda folder, c=c: check_case(a.part, a.spillway, c, folder))
             for c in cases_of(a.part)]
    return compare_all(jobs, a.keep)


if __name__ == "__main__":
    sys.exit(main())
