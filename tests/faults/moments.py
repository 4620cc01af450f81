#!/usr/bin/env python3
"""Ends every verb at random moments, by Ctrl-C and SIGTERM, and plans by --budget.

tests/faults/moments.py --spillway build/spillway [--times 100] [--seed 1]

Each must be gone within a second; what it wrote is whole or absent, and nothing else is left.
"""
import argparse
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MOST_S = 1.0
LIBRARY = pathlib.Path(__file__).resolve().parents[2] / "scenarios" / "library"


def verbs(spillway, work):
    """Name, words, and the files that may be there afterwards, each whole. Traces and campaigns lie in `work`."""
    trace = work / "t.jsonl"
    row = {"timestamp": 0, "input_length": 100, "output_length": 400000, "hash_ids": [1]}
    slow = work / "slow.jsonl"
    slow.write_text(json.dumps(row) + "\n" + json.dumps(row) + "\n")
    call = lambda *words: subprocess.run([spillway, *map(str, words)], check=True, capture_output=True)
    call("trace", "generate", "--requests", "60000", "--out", trace)
    call("trace", "convert", trace, work / "t.bin")
    quick = LIBRARY / "quickstart.json"
    bound = LIBRARY / "link-bound.json"
    long_run = ["--set", f'workload={{"trace": "{slow}"}}', "--set", "engine.num_gpu_blocks=200000"]
    many = ["--set", 'sweep={"vary": {"tiers.0.capacity": ["0GiB", "1GiB", "4GiB"]}, "replications": 20}']
    return [
        ("run", ["run", quick, "--json", "OUT/run.json"]),
        ("run, one long answer", ["run", bound, *long_run, "--json", "OUT/run.json"]),
        ("compare", ["compare", quick, "--vary", "tiers.0.eviction=lru,fifo", "--json", "OUT/compare.json"]),
        ("plan", ["plan", quick, "--out", "OUT/plan"]),
        ("plan, one long answer", ["plan", bound, *long_run, "--out", "OUT/plan"]),
        ("plan, budget", ["plan", quick, "--out", "OUT/plan", "--budget"]),
        ("plan, one long answer, budget", ["plan", bound, *long_run, "--out", "OUT/plan", "--budget"]),
        ("sweep plan", ["sweep", "plan", quick, *many, "-o", "OUT/camp"]),
        ("sweep run", ["sweep", "run", "CAMP"]),
        ("sweep merge", ["sweep", "merge", "CAMP", "-o", "OUT/all.sqlite", "--csv", "OUT/all.csv"]),
        ("replay", ["replay", "--trace", work / "t.bin", "--policy", "lru,arc,s3fifo", "--json", "OUT/r.json"]),
        ("mrc", ["mrc", "--trace", trace, "--json", "OUT/mrc.json"]),
        ("trace stats", ["trace", "stats", trace, "--json", "OUT/stats.json"]),
        ("trace check", ["trace", "check", trace, "--json", "OUT/check.json"]),
        ("trace convert", ["trace", "convert", trace, "OUT/t.jsonl.gz"]),
        ("trace generate", ["trace", "generate", "--requests", "300000", "--out", "OUT/g.jsonl"]),
        ("trace sample", ["trace", "sample", trace, "--share", "0.5", "--out", "OUT/s.jsonl"]),
        ("calibrate", ["calibrate", "--host-only", "--budget", "20s", "--memory", "256MiB", "--scratch", "OUT",
                       "--out", "OUT/machine.json"]),
        ("demo", ["demo", "--out", "OUT/demo"]),
    ], many


def is_whole(path, spillway):
    if path.name in ("scenario.json", "experiment.json"):  # with comments
        return path.read_text().rstrip().endswith("}")
    if path.suffix == ".json":
        json.loads(path.read_text())
    elif path.suffix == ".gz":
        subprocess.run(["gzip", "-t", str(path)], check=True)
    elif path.suffix == ".html":
        return path.read_text().rstrip().endswith("</html>")
    elif path.suffix == ".sqlite":
        import sqlite3
        return sqlite3.connect(path).execute("pragma integrity_check").fetchone()[0] == "ok"
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--spillway", required=True)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    spillway = str(pathlib.Path(options.spillway).resolve())
    draw = random.Random(options.seed)
    problems = 0
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        table, many = verbs(spillway, work)
        for name, words in table:
            if options.only and options.only not in name:
                continue
            budget = words[-1] == "--budget"
            longest = None  # of what is waited before it is ended: as long as it takes, up to 3 s
            slowest, ended, faults = 0.0, 0, []
            for i in range(options.times):
                out = work / "out"
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir()
                camp = work / "camp"
                if "CAMP" in words and (i % 20 == 0 or not camp.exists()):
                    shutil.rmtree(camp, ignore_errors=True)
                    subprocess.run([spillway, "sweep", "plan", str(LIBRARY / "quickstart.json"), *many, "-o",
                                    str(camp)], check=True, capture_output=True)
                wait = draw.uniform(0, longest or 3)
                call = [str(w).replace("OUT", str(out)).replace("CAMP", str(camp)) for w in words]
                if budget:
                    call.append(f"{wait + 0.05:.3f}s")
                process = subprocess.Popen([spillway, *call], stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
                begin = time.monotonic()
                number = draw.choice([signal.SIGINT, signal.SIGTERM])
                if not budget:
                    try:
                        process.wait(wait if longest else 3)
                    except subprocess.TimeoutExpired:
                        pass
                    longest = longest or time.monotonic() - begin
                    begin = time.monotonic()
                    process.send_signal(number)
                code = process.wait(60)
                took = time.monotonic() - begin - (wait + 0.05 if budget else 0)
                if code in (-number, 128 + number) or budget and code == 5:
                    ended += 1
                    slowest = max(slowest, took)
                elif code not in (0, 4, 5, 6):
                    faults.append(f"exit {code} after {wait:.3f} s")
                if took > MOST_S:
                    faults.append(f"{took:.2f} s to end after {wait:.3f} s")
                for path in out.rglob("*"):
                    if ".tmp" in path.name:
                        faults.append(f"left {path.name} after {wait:.3f} s")
                    elif path.is_file() and "runs" not in path.parts:
                        try:
                            if not is_whole(path, spillway):
                                faults.append(f"torn {path.name} after {wait:.3f} s")
                        except Exception as error:  # whatever a torn file does to its reader
                            faults.append(f"torn {path.name} after {wait:.3f} s: {error}")
            problems += len(faults)
            print(f"{name}: {ended} of {options.times} ended early, the slowest within {slowest:.2f} s"
                  + (f"; {len(faults)} FAULTS, first {faults[:3]}" if faults else ""), flush=True)
    print("ok" if problems == 0 else f"{problems} faults")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
