#!/usr/bin/env python3
"""A run of a million requests: how long its report takes, in how much memory, and how large its trace is.

    python3 million.py --spillway BINARY [--requests N]

Bars: a report as HTML in 5 s and 500 MiB; a trace within its cap, whole and sound. Exit status 1 when one is missed.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_SECONDS, MOST_MIB = 5, 500
CAP = 20_000_000

SCENARIO = {"name": "million", "model": {"kv_bytes_per_token": 4096},
            "engine": {"preset": "vllm@0.23", "block_tokens": 64, "num_gpu_blocks": 40000, "max_num_seqs": 512,
                       "max_num_batched_tokens": 8192},
            "compute": {"kind": "linear", "step_us": 500, "token_ns": 200, "kv_token_ns": 0},
            "tiers": [{"name": "dram", "kind": "dram", "capacity": "64GiB"}],
            "links": [{"name": f"{a}2{b}", "from": ends[a], "to": ends[b], "kind": "affine", "latency_us": 10,
                       "bandwidth": "25GB/s"} for ends in [{"d": "hbm", "h": "dram"}] for a, b in ("dh", "hd")],
            "workload": {"arrival": "poisson", "rate_per_s": 2000},
            "slo": [{"metric": "p99_ttft_ms", "max": 500}], "seed": 1}


def timed(command, **options):
    """Seconds, peak MiB, output; leaves when the command fails."""
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    out, err = child.communicate()
    seconds = time.monotonic() - began
    if child.returncode:
        sys.exit(f"{' '.join(command[:3])} ...: exit {child.returncode}: {err.strip()[-400:]}")
    return seconds, out


def measured(command):
    """The same, and its own peak of memory: from a process that has no other child."""
    probe = ("import resource, subprocess, sys, time; t = time.monotonic(); "
             "code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL); "
             "print(code, time.monotonic() - t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)")
    _, out = timed([sys.executable, "-c", probe, *command])
    code, seconds, mib = out.split()
    if code != "0":
        sys.exit(f"{' '.join(command[:3])} ...: exit {code}")
    return float(seconds), float(mib)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--spillway", required=True)
    p.add_argument("--requests", type=int, default=1_000_000)
    a = p.parse_args()
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        scenario = dict(SCENARIO)
        scenario["workload"] = {**SCENARIO["workload"],
                                "synthetic": {"requests": a.requests, "block_tokens": 64, "turns": 3, "think_s": 5,
                                              "answer_tokens": 8, "user_tokens": 200, "system_tokens": 500}}
        with open(at("s.json"), "w") as f:
            json.dump(scenario, f)
        seconds, mib = measured([a.spillway, "run", at("s.json"), "--quiet", "--json", at("result.json"), "--output",
                                 f"kind=perfetto,path={at('trace.json')}", "--trace-window", "10000h", "--trace-cap",
                                 f"{CAP}B"])
        with open(at("result.json")) as f:
            results = json.load(f)["results"]
        print(f"run: {results['completed']} requests in {seconds:.1f} s, {mib:.0f} MiB, "
              f"{results['engine_steps']} steps, result of {os.path.getsize(at('result.json')) / 2**20:.2f} MiB")
        seconds, mib = measured([a.spillway, "report", at("result.json"), "--format", "html", "--out", at("out"),
                                 "--quiet"])
        size = os.path.getsize(at("out/report.html"))
        print(f"report: {seconds:.2f} s, {mib:.0f} MiB, {size / 2**20:.2f} MiB of HTML")
        if seconds > MOST_SECONDS or mib > MOST_MIB:
            missed.append(f"the report takes more than {MOST_SECONDS} s or {MOST_MIB} MiB")
        if results["completed"] < a.requests:
            missed.append("not all requests completed")
        trace = os.path.getsize(at("trace.json"))
        print(f"trace: {trace} bytes of at most {CAP}")
        checker = os.path.join(HERE, "..", "perfetto", "check_trace.py")
        checked = subprocess.run([sys.executable, checker, at("trace.json"), "--cap", str(CAP)], capture_output=True,
                                 text=True, check=False)
        print(checked.stdout.strip().replace(folder + os.sep, ""))
        if checked.returncode or (a.requests >= 100_000 and trace < CAP * 9 // 10):
            missed.append("the trace is unsound, or far from its cap")
    for problem in missed:
        print(problem)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
