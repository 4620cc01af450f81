#!/usr/bin/env python3
"""What is installed is enough for others: a program that links Spillway:: builds against it, and its
run is `spillway run`'s.

  tests/embed/check_embed.py --build build --source .

Installs BUILD under a scratch folder, configures tests/embed against that alone and runs it on a
scenario of the library, from the installed place.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def call(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout[-2000:]}"
                 f"{done.stderr[-3000:]}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--source", required=True, type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "usr"
        call("cmake", "--install", args.build, "--prefix", prefix)
        for file in ("bin/spillway", "share/man/man1/spillway-plan.1", "share/spillway/scenarios/KEYS.md",
                     "share/bash-completion/completions/spillway",
                     "share/spillway/scenarios/schema/scenario.schema.json", "share/doc/spillway/LICENSE"):
            if not (prefix / file).exists():
                sys.exit(f"error: {file} is not installed")
        work = pathlib.Path(folder) / "embed"
        call("cmake", "-S", args.source / "tests/embed", "-B", work, "-G", "Ninja",
             f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
        call("cmake", "--build", work)
        scenario = prefix / "share/spillway/scenarios/library/quickstart.json"
        own = call(work / "embed", scenario)
        document = json.loads(call(prefix / "bin/spillway", "run", scenario, "--quiet", "--json", "-"))
        results = document["results"]
        wanted = f"completed {results['completed']}, p99_ttft_ms {results['p99_ttft_ms']:.6f}\n"
        if own != wanted:
            sys.exit(f"error: the program says {own!r}, spillway run {wanted!r}")
        print(f"installed in {len(list(prefix.rglob('*')))} files; the program that links it: {own.strip()}")


if __name__ == "__main__":
    main()
