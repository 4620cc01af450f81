#!/usr/bin/env python3
"""clang reads every unit of the program that gcc built, and neither refuses nor warns.

  tests/compilers/check_clang.py --build build [--jobs N]

Takes the commands of BUILD/compile_commands.json, tests aside, and runs them as `clang++
-fsyntax-only`: seconds a unit instead of the minutes of another build. tests/long presets builds and
tests with clang, and compares digests. Skipped (exit 77) where clang++ is missing.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

WITH_VALUE = {"-o", "-MF", "-MT", "-MQ", "-include"}  # -include: gcc's precompiled header
ALONE = {"-c", "-MD", "-MMD", "-Winvalid-pch"}


def as_clang(clang, command):
    words = shlex.split(command)
    while words and not words[0].endswith(("c++", "g++")):  # ccache and the like
        words.pop(0)
    out = [clang, "-fsyntax-only", "-Wno-unknown-warning-option"]
    skip = False
    for word in words[1:]:
        if not skip and word not in ALONE and word not in WITH_VALUE and not word.startswith("--param"):
            out.append(word)
        skip = word in WITH_VALUE and not skip
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    clang = shutil.which("clang++")
    if clang is None:
        print("skipped: clang++ is missing (package clang)")
        return 77
    with open(args.build / "compile_commands.json") as file:
        units = json.load(file)
    tests = str(args.build.resolve() / "tests")
    source = str(pathlib.Path(__file__).resolve().parents[1])
    units = [u for u in units if not u["file"].startswith((tests, source)) and "cmake_pch" not in u["file"]]

    def check(unit):
        done = subprocess.run(as_clang(clang, unit["command"]), cwd=unit["directory"],
                              capture_output=True, text=True)
        return unit["file"], done.returncode, done.stderr

    refused = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for file, code, said in pool.map(check, units):
            if code == 0 and not said.strip():
                continue
            refused += 1
            print(f"{os.path.relpath(file, source)}: exit {code}\n{said[:4000]}")
    print(f"clang reads {len(units) - refused} of {len(units)} units of the program")
    return 1 if refused or not units else 0


if __name__ == "__main__":
    sys.exit(main())
