#!/usr/bin/env python3
"""What fifty extreme inputs take beside what they say that they take, and how they end where that is
not there.

  tests/faults/memory.py --spillway build/spillway [--only NAME] [--folder OUT]

Each case runs twice. First as it is: the most that it had resident is compared with its estimate (the
note at the end of a verb that takes 256 MiB or more; results.sim.memory_estimate_bytes of a run).
Then with 60% of that as address space (ulimit -v): it has to end with exit 7 and a sentence that says
how much is missing, and leave no file behind. A line each; fails where a peak is more than 1.3 times
its estimate or less than a 1.3rd of it. About 10 minutes and 8 GiB.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = SOURCE / "scenarios/library"
WITHIN = 1.3
SMALL = 64 << 20  # beside this, what the program is itself and its threads take weighs


def write_inputs(folder):
    """Small files that stand for much, and large ones."""
    header = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    with gzip.open(folder / "giants.csv.gz", "wt") as out:
        out.write(header + "5,ChatGPT,16777216,18,490,Conversation log\n" * 2500)
    with open(folder / "azure.csv", "w") as out:
        out.write("TIMESTAMP,ContextTokens,GeneratedTokens\n")
        for i in range(3_500_000):
            s = i // 100
            out.write(f"2023-11-16 {s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}.{i % 100:02}0000,"
                      f"{200 + i % 4000},{1 + i % 50}\n")
    with open(folder / "distinct.jsonl", "w") as out:
        block = 0
        for i in range(9000):
            ids = ",".join(str(block + k) for k in range(2048))
            block += 2048
            out.write(f'{{"timestamp":{i},"input_length":{2048 * 512},"output_length":8,'
                      f'"hash_ids":[{ids}]}}\n')
    with open(folder / "native.jsonl", "w") as out:
        out.write('{"spillway_trace": 1, "block_tokens": 16}\n')
        for i in range(2000):
            out.write(f'{{"timestamp":{i},"input_length":{1 << 19},"output_length":1}}\n')


def cases(folder):
    """(name, words, whether the document is a run's)."""
    generate = ["trace", "generate", "--requests", "2000000", "--sessions-per-s", "400", "--seed", "3"]
    yield "generate", generate + ["--out", folder / "chat.bin"], False
    yield "generate text", generate + ["--out", folder / "made.jsonl"], False
    for name in ("giants.csv.gz", "azure.csv", "distinct.jsonl", "native.jsonl", "chat.bin"):
        trace = folder / name
        yield f"check {name}", ["trace", "check", trace], False
        yield f"stats {name}", ["trace", "stats", trace], False
        yield f"mrc {name}", ["mrc", "--trace", trace], False
        yield f"replay lru {name}", ["replay", "--trace", trace, "--bounds", "never", "--policy", "lru",
                                     "--capacity", "4000000blocks"], False
        yield f"replay many {name}", ["replay", "--trace", trace, "--policy", "lru,arc,s3fifo", "--capacity",
                                      "4000000blocks,inf"], False
        yield f"convert {name}", ["trace", "convert", trace, folder / "converted.bin"], False
    for name, words in (
            ("sample", ["trace", "sample", folder / "chat.bin", "--share", "0.5", "--max-difference", "1"]),
            ("merge", ["trace", "merge", "--tenant", f"a={folder / 'chat.bin'}", "--tenant",
                       f"b={folder / 'azure.csv'}"]),
            ("like", ["trace", "generate", "--like", folder / "chat.bin"])):
        yield name, words + ["--out", folder / "out.bin"], False

    def run(name, trace, *sets, scenario="quickstart.json"):
        words = ["run", LIBRARY / scenario, "--json", folder / "run.json", "--set",
                 'workload={"trace": "%s"}' % trace]
        for one in sets:
            words += ["--set", one]
        return f"run {name}", words, True

    chat = folder / "chat.bin"
    yield run("overload", chat, "workload.limit=400000", "workload.speed=50")
    yield run("idle", chat, "workload.limit=400000", "workload.speed=0.01")
    yield run("large pool", chat, "workload.limit=400000", "workload.speed=50",
              "engine.num_gpu_blocks=268435456", "engine.max_num_seqs=4096")
    yield run("large tier", chat, "workload.limit=400000", "workload.speed=0.02",
              'tiers.0.capacity="64TiB"')
    yield run("small blocks", chat, "workload.limit=200000", "engine.block_tokens=1")
    yield run("arc", chat, "workload.limit=400000", "workload.speed=0.02",
              'tiers.0.eviction="arc"', 'tiers.0.capacity="16TiB"')
    yield run("s3fifo in HBM", chat, "workload.limit=400000", 'engine.eviction="s3fifo"',
              "engine.num_gpu_blocks=4000000")
    yield run("giants", folder / "giants.csv.gz", "workload.limit=50", "engine.num_gpu_blocks=1100000",
              "engine.max_num_batched_tokens=8388608", "engine.max_model_len=33554432")
    yield run("many short", folder / "azure.csv", "workload.speed=0.05")
    yield run("many short at once", folder / "azure.csv", "workload.speed=1000")
    yield run("distinct", folder / "distinct.jsonl", "workload.limit=2000",
              "engine.num_gpu_blocks=70000000", "engine.max_num_batched_tokens=8388608",
              "engine.max_model_len=33554432")
    yield run("fs tier", chat, "workload.limit=300000", scenario="fs-tier.json")
    yield run("link", chat, "workload.limit=300000", scenario="link-bound.json")
    yield "compare", ["compare", LIBRARY / "quickstart.json", "--vary", "engine.max_num_seqs=64,256",
                      "--set", 'workload={"trace": "%s", "limit": 300000, "speed": 50}' % chat,
                      "--replications", "2"], False
    yield "plan", ["plan", LIBRARY / "quickstart.json", "--set",
                   'workload={"trace": "%s", "limit": 200000, "speed": 50}' % chat, "--budget", "30s"], False


def execute(words, limit=None):
    """Exit code, most resident bytes, standard error."""
    def confine():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    child = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             preexec_fn=confine)
    said = child.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_maxrss * 1024, said


def estimate_of(folder, said, is_run):
    if is_run:
        with open(folder / "run.json") as file:
            return json.load(file)["results"]["sim"]["memory_estimate_bytes"]
    found = re.search(r"takes about ([\d.]+) (MiB|GiB) of memory", said)
    return float(found[1]) * (1 << (20 if found[2] == "MiB" else 30)) if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--spillway", required=True, type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=SOURCE / "build/long/memory")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    folder = args.folder.resolve()
    spillway = args.spillway.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "native.jsonl").exists():
        write_inputs(folder)
    faults = []
    count = small = 0
    for name, words, is_run in cases(folder):
        if args.only not in name:
            continue
        count += 1
        before = set(os.listdir(folder))
        code, peak, said = execute([spillway, *words])
        estimate = estimate_of(folder, said, is_run)
        weighs = estimate > 0
        small += 0 if weighs else 1
        ratio = peak / estimate if weighs else 0
        line = f"{name:28} exit {code}, peak {peak / 2**20:7.0f} MiB, stated {estimate / 2**20:7.0f}, {ratio:.2f}"
        if code not in (0, 4, 5):
            faults.append(f"{name}: exit {code}: {said.strip()[-300:]}")
        elif weighs and not 1 / WITHIN <= ratio <= WITHIN:
            faults.append(f"{name}: {ratio:.2f} times what it says")
        if weighs:
            for old in set(os.listdir(folder)) - before:
                (folder / old).unlink()
            kept = {f: os.stat(folder / f).st_mtime_ns for f in os.listdir(folder)}
            code, _, said = execute([spillway, *words], int(0.6 * peak))
            line += f"; with 60% of that: exit {code}"
            if code != 7 or "out of memory" not in said:
                faults.append(f"{name}: exit {code} with too little: {said.strip()[-300:]}")
            after = {f: os.stat(folder / f).st_mtime_ns for f in os.listdir(folder)}
            if after != kept:
                faults.append(f"{name}: left {sorted(set(after.items()) - set(kept.items()))}")
            if name == "generate":
                execute([spillway, *words])  # what others read
        print(line, flush=True)
    for fault in faults:
        print("error:", fault)
    print(f"{count} inputs, {small} of them too small to say what they take, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
