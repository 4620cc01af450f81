#!/usr/bin/env python3
"""The static binary works where there is nothing else: no libc, no /proc, no /tmp.

    tests/static/alone.py --static build/static/spillway --spillway build/spillway

Puts it alone into an empty folder, makes that the root, and runs there what people run on a machine
that is not theirs, with and without /proc. The ordinary binary then reads the profile and plans the
same scenario to the same digest. Needs root; exit 77 says that it was skipped.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def expect(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


class Root:
    """A root folder with the program in it. What is mounted is gone with each command."""

    def __init__(self, folder, program, proc):
        self.folder, self.proc = pathlib.Path(folder), proc
        shutil.copy(program, self.folder / "spillway")
        if proc:
            (self.folder / "proc").mkdir()

    def run(self, *arguments, code=0):
        start = ["unshare", "--mount", *["--mount-proc"] * self.proc, f"--root={self.folder}"]
        done = subprocess.run([*start, "/spillway", *arguments], env={}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        words = " ".join(arguments)
        expect(done.returncode == code,
               f"{words} (proc: {self.proc}): exit {done.returncode}, not {code}: {done.stderr[-800:]}")
        return done.stdout + done.stderr


def ordinary(program, *arguments):
    done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=300)
    expect(done.returncode == 0, f"the ordinary {' '.join(arguments)}: {done.stderr[-800:]}")
    return done.stdout


def use_alone(program, reference, folder, proc):
    root = Root(folder, program, proc)
    version = root.run("--version")
    expect(version.split()[0] == ordinary(reference, "--version").split()[0], f"version {version}")

    answer = root.run("demo", "--out", "/demo", "--quiet")
    expect("It meets the SLO" in answer, f"demo says {answer}")
    root.run("plan", "/demo/scenario.json", "--out", "/plan", "--replications", "1", "--quiet")
    expect(root.folder.joinpath("plan/report.html").exists(), "plan wrote no report")
    found = json.loads(root.folder.joinpath("plan/plan.json").read_text())["digest"]
    wanted = json.loads(ordinary(reference, "plan", f"{folder}/demo/scenario.json", "--replications",
                                 "1", "--quiet", "--json", "-"))["digest"]
    expect(found == wanted, f"the plan's digest is {found}, the ordinary binary's {wanted}")

    root.run("trace", "check", "/demo/trace.jsonl.gz")
    root.run("trace", "convert", "/demo/trace.jsonl.gz", "/demo/trace.csv.zst", "--quiet")
    # A sweep starts the program again, by the name that /proc has for it.
    sweep = ["--set", 'sweep={"vary": {"engine.max_num_seqs": [64, 256]}, "replications": 3}',
             "--quiet"]
    root.run("sweep", "plan", "/demo/scenario.json", "-o", "/campaign", *sweep)
    if proc:
        root.run("sweep", "run", "/campaign", "-j", "2", "--quiet")
    else:
        said = root.run("sweep", "run", "/campaign", "-j", "2", "--quiet", code=7)
        advice = "spillway sweep worker /campaign --shard 1/1"
        expect(advice in said, f"a sweep without /proc says only: {said}")
        root.run(*advice.split()[1:], "--quiet")
    root.run("sweep", "merge", "/campaign", "--quiet")

    root.run("calibrate", "--budget", "4s", "--memory", "64MiB", "--scratch", "/", "--out",
             "/machine.json", "--quiet")
    profile = f"{folder}/machine.json"
    cells = json.loads(pathlib.Path(profile).read_text())["results"]
    expect(cells["dram"] and cells["storage"], "the profile holds no memory or no storage")
    page = ordinary(reference, "report", profile, "--format", "md")
    expect("Storage" in page, "the report of the profile has no storage")
    ordinary(reference, "run", f"{folder}/demo/scenario.json", "--set", f"hardware={profile}", "--quiet")
    print(f"ok: alone {'with' if proc else 'without'} /proc: demo, plan, sweep, trace, calibrate; its "
          f"plan has digest {found} as the ordinary binary's, which reads its profile")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--static", required=True)
    p.add_argument("--spillway", required=True)
    a = p.parse_args()
    if os.geteuid() != 0:
        print("skipped: changing the root needs root")
        sys.exit(77)
    for proc in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            use_alone(a.static, os.path.abspath(a.spillway), folder, proc)


if __name__ == "__main__":
    main()
