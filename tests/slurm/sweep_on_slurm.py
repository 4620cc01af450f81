#!/usr/bin/env python3
"""Sweeps on a real Slurm of two nodes: whatever happens, the merged result is the local one.

    tests/slurm/sweep_on_slurm.py --spillway BINARY [--long] [HISTORY...]

Each history is a function below, run on the same cluster with a campaign of its own; its result is
compared with that of one local worker. --long adds those that wait for Slurm's timeouts and runs
each three times. Where Slurm or munge are not installed, or do not start, it says so and passes.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import cluster as slurm

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
EXPERIMENT = {
    "name": "slurm",
    "model": "Llama-3.1-8B",
    "gpu": "L40S",
    "engine": {"preset": "vllm"},
    "tiers": [{"name": "dram", "kind": "dram", "capacity": "16GiB"}],
    "workload": {"trace": "trace.bin"},
    "sweep": {
        "vary": {"tiers.0.capacity": ["4GiB", "16GiB", "64GiB"],
                 "engine.max_num_seqs": [32, 256]},
        "replications": 4,
    },
    "seed": 7,
}
RUNS = 30  # 3 sizes, 2 batch limits, 4 replicates and the recording itself


class Failed(Exception):
    """What a history found to be otherwise."""


def expect(condition, what):
    if not condition:
        raise Failed(what)


class Bench:
    """The program, a planned campaign to copy, and what one local worker made of it."""

    def __init__(self, program, scratch):
        self.program = program
        self.scratch = pathlib.Path(scratch)
        self.cluster = None
        self.reference = None
        self.planned = {}  # runs that planning made, to estimate what the others take
        trace = self.scratch / "trace.bin"
        self.must(["trace", "generate", "--out", str(trace), "--requests", "8000", "--seed", "3"])
        (self.scratch / "experiment.json").write_text(json.dumps(EXPERIMENT))
        local = self.campaign("local")
        self.must(["sweep", "run", local, "-j", "1", "--quiet"])
        self.reference = self.digest(local)

    def env(self):
        return self.cluster.env if self.cluster else dict(os.environ)

    def ask(self, *arguments, timeout=300):
        return subprocess.run([self.program, *arguments], text=True, capture_output=True,
                              timeout=timeout, env=self.env(), stdin=subprocess.DEVNULL)

    def must(self, arguments):
        done = self.ask(*arguments)
        expect(done.returncode == 0,
               f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr}")
        return done

    def campaign(self, name):
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        self.must(["sweep", "plan", str(self.scratch / "experiment.json"), "-o", str(folder),
                   "--quiet"])
        self.planned[str(folder)] = 0
        self.planned[str(folder)] = self.done(str(folder))
        return str(folder)

    def digest(self, campaign):
        """Of the merged campaign, with what the merge counted."""
        merged = self.must(["sweep", "merge", campaign, "-o", campaign + ".sqlite", "--json", "-",
                            "--quiet"])
        os.remove(campaign + ".sqlite")
        results = json.loads(merged.stdout)["results"]
        expect(results["runs"] == results["done"] == RUNS, f"{results['done']} of {RUNS} runs")
        return results["campaign_digest"]

    def same_as_local(self, campaign):
        digest = self.digest(campaign)
        expect(digest == self.reference, f"digest {digest}, locally {self.reference}")

    def done(self, campaign):
        """Runs finished since it was planned, by their lines."""
        lines = [one.read_bytes().count(b"\n")
                 for one in pathlib.Path(campaign, "segments").glob("*.jsonl")]
        return sum(lines) - self.planned[campaign]

    def start(self, campaign, *options):
        return subprocess.Popen(
            [self.program, "sweep", "run", campaign, "--runner", "slurm", "--partition", "cpu",
             *options], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env(),
            stdin=subprocess.DEVNULL)

    def finish(self, process, code=0, seconds=280):
        out, err = process.communicate(timeout=seconds)
        expect(process.returncode == code,
               f"exit {process.returncode} instead of {code}: {err.strip() or out.strip()}")
        return out + err

    def wait(self, what, ready, process=None, seconds=60):
        until = time.monotonic() + seconds
        while not ready():
            expect(process is None or process.poll() is None, f"it ended before there were {what}")
            expect(time.monotonic() < until, f"no {what} within {seconds} s")
            time.sleep(0.05)

    def queue(self, states="PD,R,CG"):
        """(job_task, state, reason, node) of what waits or runs."""
        told = self.cluster.ask("squeue", "-h", "-r", "-t", states, "-o", "%i|%t|%r|%N").stdout
        return [tuple(line.split("|")) for line in told.split("\n") if line]

    def workers(self):
        """Process ids of workers that run in tasks of this cluster."""
        out = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                facts = (entry / "environ").read_bytes().split(b"\0")
            except (OSError, ValueError):
                continue
            conf = b"SLURM_CONF=" + self.cluster.env["SLURM_CONF"].encode()
            if words[1:3] == [b"sweep", b"worker"] and conf in facts:
                out.append(int(entry.name))
        return out


def emitted_files(bench):
    """What `sweep emit` writes is YAML with a shard for each index, and a script for sbatch."""
    camp = bench.campaign("emitted")
    job = camp + ".yaml"
    bench.must(["sweep", "emit", camp, "--scheduler", "k8s", "--shards", "5", "--mem", "2G",
                "--image", "example.org/spillway:1", "--claim", "campaigns", "-o", job])
    try:
        import yaml
    except ImportError:
        return "skipped: no YAML reader (package python3-yaml)"
    spec = yaml.safe_load(pathlib.Path(job).read_text())["spec"]
    worker = spec["template"]["spec"]["containers"][0]
    expect(spec["completionMode"] == "Indexed" and spec["completions"] == 5, "no indexed Job")
    expect(spec["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"] == [2, 3], "no policy")
    expect(worker["resources"]["limits"]["memory"] == "2Gi", "2G is not 2Gi")
    expect(worker["command"][:2] == ["sh", "-c"], "no command")
    # As Kubernetes would run its last index, with $$ for $.
    os.environ["JOB_COMPLETION_INDEX"] = "4"
    told = subprocess.run(["sh", "-c", worker["command"][2].replace("$$", "$"), "echo", "CAMP",
                           worker["command"][5]], text=True, capture_output=True)
    expect(told.stdout == "sweep worker CAMP --shard 5/5 --quiet\n", told.stdout + told.stderr)
    return ""


def happy_path(bench):
    """Nine shards in an array of five tasks, because the cluster allows no more."""
    camp = bench.campaign("happy")
    bench.finish(bench.start(camp, "--shards", "9", "--time", "00:10:00"))
    bench.same_as_local(camp)
    logs = list(pathlib.Path(camp, "logs").glob("*_*.log"))
    expect(len(logs) == 5, f"{len(logs)} logs instead of 5")
    return f"{RUNS} runs, digest {bench.reference}"


def rejected_jobs(bench):
    """Slurm's own words, and not one file more."""
    camp = bench.campaign("rejected")
    before = sorted(str(one) for one in pathlib.Path(camp).rglob("*"))
    for options, words in ((["--partition", "nope"], "invalid partition"),
                           (["--partition", "cpu", "--time", "soon"], "Invalid --time"),
                           (["--partition", "cpu", "--mem", "9T"], "can not be satisfied")):
        done = bench.ask("sweep", "run", camp, "--runner", "slurm", *options)
        expect(done.returncode == 2 and words in done.stderr,
               f"{options}: exit {done.returncode}: {done.stderr}")
    after = sorted(str(one) for one in pathlib.Path(camp).rglob("*"))
    expect(before == after, f"left behind: {set(after) - set(before)}")
    return ""


def failing_task(bench):
    """A worker is killed: its task fails, and only what it lacks is submitted again."""
    camp = bench.campaign("failing")
    process = bench.start(camp, "--shards", "4")
    bench.wait("workers and runs", lambda: bench.workers() and bench.done(camp) > 0, process)
    os.kill(bench.workers()[0], signal.SIGKILL)
    text = bench.finish(process)
    bench.same_as_local(camp)
    logs = sorted(one.name for one in pathlib.Path(camp, "logs").glob("*_*.log"))
    arrays = sorted({name.split("_")[0] for name in logs}, key=int)
    expect(len(arrays) == 2, f"arrays {arrays}: {text}")
    again = [name for name in logs if name.startswith(arrays[1] + "_")]
    expect(len(again) == 1, f"submitted again: {again}")
    return f"submitted again: task {again[0].split('_')[1].split('.')[0]} of 4"


def cancelled(bench):
    """Ctrl-C cancels the array, keeps what is done, and the next run completes it."""
    camp = bench.campaign("cancelled")
    process = bench.start(camp, "--shards", "4")
    bench.wait("a run", lambda: bench.done(camp) > 0, process)
    process.send_signal(signal.SIGINT)
    bench.finish(process, code=130)
    kept = bench.done(camp)
    bench.wait("empty queue", lambda: not bench.queue())
    expect(0 < kept, "nothing was kept")
    bench.finish(bench.start(camp, "--shards", "4"))
    bench.same_as_local(camp)
    return f"{kept} of {RUNS} runs kept"


def double_submit(bench):
    """While an array waits or runs, the campaign is not submitted again."""
    camp = bench.campaign("double")
    bench.finish(bench.start(camp, "--shards", "4", "--submit-only"))
    second = bench.finish(bench.start(camp, "--shards", "4"), code=2)
    expect("of this campaign still waits or runs" in second, second)
    bench.wait("empty queue", lambda: not bench.queue(), seconds=120)
    bench.same_as_local(camp)
    return ""


def emitted_array(bench):
    """The script of `sweep emit --scheduler slurm`, submitted by hand."""
    camp = bench.campaign("by hand")
    script = str(bench.scratch / "job.sh")
    bench.must(["sweep", "emit", camp, "--scheduler", "slurm", "--shards", "3", "--partition", "cpu",
                "--sbatch=--comment=two words", "-o", script])
    done = bench.cluster.ask("sbatch", "--parsable", "--chdir", str(bench.scratch), script)
    expect(done.returncode == 0, done.stderr)
    bench.wait("empty queue", lambda: not bench.queue(), seconds=120)
    bench.same_as_local(camp)
    return ""


def killed_controller(bench):
    """slurmctld is killed and comes back: tasks run on, the sweep waits for its answers."""
    camp = bench.campaign("controller")
    process = bench.start(camp, "--shards", "4")
    bench.wait("a run", lambda: bench.done(camp) > 0, process)
    bench.cluster.kill_controller()
    at = bench.done(camp)
    bench.wait("more runs", lambda: bench.done(camp) > at, process)
    bench.cluster.start_controller()
    bench.finish(process)
    bench.same_as_local(camp)
    return f"killed after {at} of {RUNS} runs"


def killed_node(bench):
    """A node dies with its tasks; Slurm runs them again on the other one."""
    camp = bench.campaign("node")
    process = bench.start(camp, "--shards", "4")
    bench.wait("runs on both nodes", lambda: bench.done(camp) > 0 and
               {one[3] for one in bench.queue("R")} == {"n1", "n2"}, process)
    bench.cluster.kill_node("n1")
    at, start, requeued = bench.done(camp), time.monotonic(), set()
    while process.poll() is None and time.monotonic() - start < 240:
        for task, _, reason, _ in bench.queue("PD"):
            if reason == "BeginTime":  # Slurm would wait two minutes; an operator need not
                bench.cluster.ask("scontrol", "update", f"JobId={task}", "StartTime=now")
                requeued.add(task)
        time.sleep(0.5)
    bench.finish(process)
    bench.same_as_local(camp)
    took = time.monotonic() - start
    bench.cluster.start_node("n1")
    bench.wait("two nodes again", lambda: bench.cluster.nodes() == {"n1": "idle", "n2": "idle"})
    expect(requeued, "no task was run again")
    return f"killed after {at} of {RUNS} runs, done {took:.0f} s later on the other node"


ORDINARY = (happy_path, rejected_jobs, failing_task, cancelled, double_submit, killed_node)
LONG = ORDINARY + (emitted_array, killed_controller)


def run(histories, bench, repeat):
    failures = 0
    for history in histories:
        for _ in range(repeat):
            start = time.monotonic()
            try:
                said = history(bench)
                verdict = "ok"
            except (Failed, subprocess.TimeoutExpired) as why:
                said, verdict = str(why), "FAILED"
                failures += 1
                if bench.cluster:
                    bench.cluster.ask("scancel", "--user", str(os.getuid()))
            took = time.monotonic() - start
            print(f"{verdict:6} {took:5.1f} s  {history.__name__}{': ' if said else ''}{said}",
                  flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spillway", required=True)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("histories", nargs="*")
    options = parser.parse_args()
    known = {history.__name__: history for history in (emitted_files,) + LONG}
    unknown = [name for name in options.histories if name not in known]
    if unknown:
        parser.error(f"no history {unknown[0]}; there are {', '.join(known)}")
    chosen = [known[name] for name in options.histories] or (LONG if options.long else ORDINARY)
    with tempfile.TemporaryDirectory(prefix="spillway-slurm-") as scratch:
        os.chmod(scratch, 0o755)  # munge's socket lies in it
        bench = Bench(str(pathlib.Path(options.spillway).resolve()), scratch)
        failures = run([] if options.histories else [emitted_files], bench, 1)
        try:
            # Indices up to 5: shards beyond that share tasks.
            with slurm.Cluster(pathlib.Path(scratch, "slurm"), max_array_size=6) as bench.cluster:
                failures += run(chosen, bench, 3 if options.long else 1)
        except slurm.Unavailable as why:
            print(f"skipped: {why}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
