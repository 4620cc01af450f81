#!/usr/bin/env python3
"""Hold `spillway scenario from` to command lines and configurations out of the engines' documentation.

    python3 check_documented.py --spillway build/spillway [NAME...]

documented/: each file is one of them, as published, without paths of machines. Comment lines in front have its address, `options:`
what it does not say, and `expect:` a key and its value. Of each, a scenario must come that runs as it
is; no part of it may be unknown; and `run --from-engine-config` must make the same of it. The engines of
REQUIRED must all be there, MINIMUM files or more. Exit 1 where anything is wrong; NAME is a part of the
names of files.
"""
import argparse
import concurrent.futures
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

from check_init import Program, at_key, same

MINIMUM = 20
REQUIRED = ("vllm", "sglang", "trtllm", "dynamo", "lmcache", "kserve", "stack", "llmd", "mooncake", "aibrix", "flexkv")
LIMIT = 20  # requests


def header(text):
    """(addresses, options, expectations) of the comment lines in front."""
    addresses, options, expect = [], [], {}
    for line in text.split("\n"):
        if not line.startswith("# "):
            break
        words = line[2:]
        if words.startswith("https://"):
            addresses.append(words)
        elif words.startswith("options: "):
            options += shlex.split(words[9:])
        elif words.startswith("expect: "):
            key, _, value = words[8:].partition(" ")
            expect[key] = json.loads(value)
    return addresses, options, expect


def check(program, path, folder):
    addresses, options, expect = header(path.read_text())
    faults = [] if addresses else ["has no address of its source"]
    if not expect:
        faults.append("expects nothing")
    out_file = folder / "made.json"
    code, out, err = program.call("scenario", "from", path, *options, "--out", out_file, "--json", "-")
    if code != 0:
        return faults + [f"expected a scenario, found exit {code}: {err.strip()[:300]}"]
    results = json.loads(out)["results"]
    for one in results["unknown"]:
        faults.append(f"unknown: {one['what']}: {one['why']}")
    configuration, error = program.configuration(out_file, limit=LIMIT)
    if error:
        return faults + [error]
    for key, wanted in expect.items():
        found = at_key(results["scenario"], key)
        found = at_key(configuration, key) if found is None or key == "model.name" else found
        if not same(found, wanted):
            faults.append(f"{key}: expected {json.dumps(wanted)}, found {json.dumps(found)}")
    given = ("run", "--from-engine-config", path, *options, "--set", f"workload.limit={LIMIT}", "--quiet", "--json", "-")
    code, out, err = program.call(*given)
    if code != 0:
        return faults + [f"--from-engine-config: found exit {code}: {err.strip()[:300]}"]
    direct = json.loads(out)["inputs"]["configuration"]
    for part in ("model", "gpu", "engine", "tiers", "links", "fleet"):
        if direct.get(part) != configuration.get(part):
            faults.append(f"--from-engine-config: another {part} than that of the scenario")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spillway", required=True, help="the program")
    parser.add_argument("names", nargs="*", metavar="NAME", help="files; all unless given")
    options = parser.parse_args()
    here = pathlib.Path(__file__).resolve().parent
    program = Program(options.spillway, here)
    files = sorted((here / "documented").iterdir())
    faults = 0
    if len(files) < MINIMUM:
        print(f"expected {MINIMUM} files or more, found {len(files)}")
        faults += 1
    for engine in REQUIRED:
        if not any(engine in path.name for path in files):
            print(f"expected a file of {engine}, found none")
            faults += 1
    chosen = [path for path in files if not options.names or any(name in path.name for name in options.names)]

    def judge(path):
        with tempfile.TemporaryDirectory() as scratch:
            try:
                return check(program, path, pathlib.Path(scratch))
            except subprocess.TimeoutExpired as slow:
                return [f"expected an end within {slow.timeout:g} s, found none"]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(judge, chosen))
    for path, wrong in zip(chosen, found):
        for text in wrong:
            print(f"WRONG {path.name}: {text}")
    right = sum(not wrong for wrong in found)
    print(f"documented: {right} of {len(chosen)} right")
    sys.exit(0 if right == len(chosen) and not faults else 1)


if __name__ == "__main__":
    main()
