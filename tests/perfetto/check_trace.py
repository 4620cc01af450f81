#!/usr/bin/env python3
"""Checks Chrome JSON traces of `spillway run --output kind=perfetto` without knowing how they are made.

    python3 check_trace.py --spillway BINARY --source PROJECT
    python3 check_trace.py TRACE... [--from SECONDS --to SECONDS --cap BYTES]

The first form runs scenarios, some made for it (preemptions, several tiers, a pipeline, several engines, a
narrow window, a small cap), checks each trace, and what it says against the rows of kind=requests; then it
breaks a sound trace in every way that a rule below is about: the checker must refuse each.
Exit status 1 when anything is wrong, one line each.
"""
import argparse
import copy
import csv
import json
import os
import subprocess
import sys
import tempfile
from decimal import Decimal

STAGES = ("front end", "queue", "load wait", "load", "recompute", "step")


def ns(us):
    """Microseconds as nanoseconds; what is finer than these is an error."""
    value = us * 1000
    if value != value.to_integral_value():
        raise ValueError(f"{us} us is no whole number of ns")
    return int(value)


class Trace:
    """Events by kind. Every broken rule goes to `problems`."""

    def __init__(self, text, begin=None, end=None, cap=None):
        self.problems = []
        self.events = []
        if cap is not None and len(text) > cap:
            self.problems.append(f"{len(text)} bytes, at most {cap} were allowed")
        try:
            self.document = json.loads(text, parse_float=Decimal, parse_int=Decimal,
                                       parse_constant=lambda c: self.problems.append(f"constant {c}"))
            self.events = self.document["traceEvents"]
        except (ValueError, KeyError, TypeError) as error:
            self.problems.append(f"no trace: {error}")
            return
        self.begin, self.end = begin, end
        known = {"X": self.slice, "C": self.counter, "i": self.instant, "b": self.async_begin,
                 "e": self.async_end, "M": self.metadata}
        self.slices, self.open, self.counters, self.names = {}, {}, {}, {}
        self.asyncs = {}
        for number, event in enumerate(self.events):
            try:
                known[event["ph"]](event)
            except (KeyError, TypeError, ValueError, ArithmeticError) as error:
                self.problems.append(f"event {number}: {type(error).__name__} {error}: {event}"[:200])
        self.finish()

    def bad(self, what, event):
        self.problems.append(f"{what}: {json.dumps(event, default=str)}"[:240])

    def inside(self, event, at, until=None):
        until = at if until is None else until
        if at < 0 or until < at:
            self.bad("a time before 0, or a negative length", event)
        if self.begin is not None and at < self.begin or self.end is not None and until > self.end:
            self.bad("outside the window", event)

    def slice(self, e):
        at = ns(e["ts"])
        until = at + ns(e["dur"])
        self.inside(e, at, until)
        if not isinstance(e["args"], dict):
            self.bad("args", e)
        self.slices.setdefault((e["pid"], e["tid"]), []).append((at, until, e))

    def instant(self, e):
        self.inside(e, ns(e["ts"]))
        self.slices.setdefault((e["pid"], e["tid"]), [])

    def counter(self, e):
        at = ns(e["ts"])
        self.inside(e, at)
        (value,) = e["args"].values()
        if value < 0:
            self.bad("a negative counter", e)
        track = (e["pid"], e["name"])
        if at < self.counters.get(track, at):
            self.bad("a counter that goes back in time", e)
        self.counters[track] = at

    def async_begin(self, e):
        at = ns(e["ts"])
        self.inside(e, at)
        stack = self.open.setdefault((e["cat"], e["id"]), [])
        if stack and at < stack[-1][1]:
            self.bad("begins before what it is part of", e)
        stack.append([e["name"], at, at])               # name, begin, end of its last part
        self.asyncs.setdefault((e["cat"], e["id"]), []).append([len(stack), e["name"], at, None, e.get("args")])
        if len(stack) > 1:
            if at < stack[-2][2]:
                self.bad("begins before the part before it ends", e)

    def async_end(self, e):
        at = ns(e["ts"])
        self.inside(e, at)
        stack = self.open.get((e["cat"], e["id"]), [])
        if not stack:
            return self.bad("ends what never began", e)
        name, began, parts = stack.pop()
        if name != e["name"]:
            self.bad(f"ends where {name} is open", e)
        if at < began or at < parts:
            self.bad("ends before it began, or before a part of it", e)
        if stack:
            stack[-1][2] = at
        for item in reversed(self.asyncs[(e["cat"], e["id"])]):
            if item[1] == e["name"] and item[3] is None:
                item[3] = at
                break
        return None

    def metadata(self, e):
        if e["name"] in ("process_name", "thread_name"):
            key = (e["pid"], e["tid"] if e["name"] == "thread_name" else None)
            if key in self.names:
                self.bad("named twice", e)
            if not isinstance(e["args"]["name"], str) or not e["args"]["name"]:
                self.bad("no name", e)
            self.names[key] = e["args"]["name"]
        elif e["name"] != "process_sort_index":
            self.bad("unknown metadata", e)

    def finish(self):
        for (pid, tid), slices in self.slices.items():
            if (pid, tid) not in self.names:
                self.problems.append(f"track {pid}/{tid} has no name")
            stack = []
            for at, until, e in sorted(slices, key=lambda s: (s[0], -s[1])):
                while stack and stack[-1] <= at:
                    stack.pop()
                if stack and until > stack[-1]:
                    self.bad("overlaps another slice of its track without being part of it", e)
                stack.append(until)
        for key, stack in self.open.items():
            if stack:
                self.problems.append(f"{key} is never ended")
        for e in self.events:
            if isinstance(e, dict) and (e.get("pid"), None) not in self.names:
                self.bad("a process without a name", e)
        other = self.document.get("otherData")
        if not isinstance(other, dict) or {"window", "cap_bytes", "events", "events_left_out_by_cap",
                                           "cut_at_s"} - set(other):
            self.problems.append("otherData does not say what is in the file")
            return
        counted = sum(e.get("ph") != "M" for e in self.events if isinstance(e, dict))
        if other["events"] != counted:
            self.problems.append(f"{other['events']} events said to be here, {counted} found")
        if (other["events_left_out_by_cap"] > 0) != (other["cut_at_s"] != "nowhere"):
            self.problems.append("what the cap left out, and from where on, disagree")

    def requests(self):
        """Id to (begin, end, {stage: ns}) of completed requests."""
        out = {}
        for (category, number), spans in self.asyncs.items():
            if category != "request" or "ttft_us" not in (spans[0][4] or {}):
                continue
            stages = {}
            for depth, name, at, until, _ in spans:
                if depth == 2 and until is not None:
                    stages[name] = stages.get(name, 0) + until - at
            out[int(number)] = (spans[0][2], spans[0][3], stages)
        return out


def seconds_ns(text):
    return int(Decimal(text) * 10**9)


def against_rows(trace, path):
    """What the trace says of whole requests is what the rows of the same run say."""
    problems, seen = [], trace.requests()
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    done = [r for r in rows if r["status"] == "completed"]
    if len(seen) != len(done):
        problems.append(f"{len(done)} requests completed, {len(seen)} are in the trace")
    for r in done:
        if int(r["request_id"]) not in seen:
            continue
        begin, end, stages = seen[int(r["request_id"])]
        want = {s: seconds_ns(r[s.replace(" ", "_") + "_s"]) for s in STAGES}
        want["decode"] = seconds_ns(r["finish_s"]) - seconds_ns(r["first_token_s"])
        want = {name: length for name, length in want.items() if length}
        if (begin, end) != (seconds_ns(r["arrival_s"]), seconds_ns(r["finish_s"])) or stages != want:
            problems.append(f"request {r['request_id']}: {(begin, end, stages)}, rows say {r}")
        total = seconds_ns(r["first_token_s"]) - seconds_ns(r["arrival_s"])
        if sum(want.values()) - want.get("decode", 0) != total:
            problems.append(f"request {r['request_id']}: stages of the row do not add up")
    return problems


# ---- scenarios

def base(name, **parts):
    out = {"name": name, "model": {"kv_bytes_per_token": 131072},
           "engine": {"preset": "vllm@0.23", "block_tokens": 16, "num_gpu_blocks": 400, "max_num_seqs": 64,
                      "max_num_batched_tokens": 1024},
           "compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},
           "workload": {"synthetic": {"requests": 150, "block_tokens": 64}, "arrival": "poisson", "rate_per_s": 20},
           "seed": 3}
    for key, value in parts.items():
        out[key] = {**out[key], **value} if isinstance(value, dict) and key in out else value
    return out


LINKS = [{"name": "d2h <b>&\"\\", "from": "hbm", "to": "dram", "kind": "affine", "latency_us": 10,
          "bandwidth": "5GB/s"},
         {"name": "h2d", "from": "dram", "to": "hbm", "kind": "affine", "latency_us": 10, "bandwidth": "1GB/s"}]
DRAM = {"name": "dram", "kind": "dram", "capacity": "512MiB"}
NVME = {"name": "ssd", "kind": "nvme", "capacity": "inf",
        "device": {"read_bandwidth": "1GB/s", "write_bandwidth": "1GB/s"}}


def made():
    tiers = {"tiers": [DRAM], "links": LINKS}
    yield base("preemptions")
    yield base("offload", **tiers)
    yield base("storage-behind", tiers=[DRAM, NVME], links=LINKS)
    yield base("asynchronous", engine={"async_scheduling": True}, **tiers)
    for load in ("blocking", "barrier", "layerwise"):   # the last needs the number of layers
        yield base(load, model={"kv_bytes_per_token": 131072, "layers": 32},
                   engine={"load": load, "num_gpu_blocks": 900}, **tiers)
    yield base("pipeline", engine={"pipeline_parallel_size": 2})
    yield base("engines", engine={"data_parallel_size": 3}, **tiers)


def run(binary, scenario, folder, *more):
    trace, rows = os.path.join(folder, "trace.json"), os.path.join(folder, "rows.csv")
    done = subprocess.run([binary, "run", scenario, "--quiet", "--json", os.path.join(folder, "result.json"),
                           "--output", f"kind=requests,path={rows}", "--output", f"kind=perfetto,path={trace}",
                           *more], capture_output=True, text=True, check=False)
    if done.returncode:
        return None, rows, done.stderr.strip()[-300:]
    with open(trace, "rb") as f:
        return f.read(), rows, ""


def check_runs(binary, source, folder, problems):
    count, preempted, sound = 0, 0, None
    scenarios = []
    for scenario in made():
        path = os.path.join(folder, scenario["name"] + ".json")
        with open(path, "w") as f:
            json.dump(scenario, f)
        scenarios.append(path)
    library = os.path.join(source, "scenarios", "library")
    scenarios += [os.path.join(library, name + ".json") for name in (
        "quickstart", "fs-tier", "nvme-tier", "link-bound", "load-semantics", "swap-space", "overload-admission")]
    for path in scenarios:
        name = os.path.basename(path)
        text, rows, error = run(binary, path, folder, "--trace-window", "100000h")
        if text is None:
            problems.append(f"{name}: {error}")
            continue
        trace = Trace(text, cap=200_000_000)
        count += 1
        problems += [f"{name}: {p}" for p in trace.problems]
        whole = trace.document["otherData"]["events_left_out_by_cap"] == 0 if not trace.problems else False
        if whole:
            problems += [f"{name}: {p}" for p in against_rows(trace, rows)[:3]]
        preempted += any(stages.get("recompute", 0) > 0 for _, _, stages in trace.requests().values())
        if name == "storage-behind.json":
            sound = text
            kinds = {s for _, _, stages in trace.requests().values() for s in stages}
            if not {"queue", "load", "step", "decode"} <= kinds:
                problems.append(f"{name}: only {kinds} in its requests")
        # A part of it, and a small file: exactly within their bounds.
        last = max((ns(e["ts"]) for e in trace.events if "ts" in e), default=0)
        begin, length = max(1, last // 3 // 10**6), max(1, last // 5 // 10**6)
        text, _, error = run(binary, path, folder, "--trace-window", f"{begin}ms+{length}ms")
        part = Trace(text or b"", begin * 10**6, (begin + length) * 10**6)
        problems += [f"{name}, window: {p}" for p in part.problems] + [error] * bool(error)
        for cap in (65_536, 100_000):
            text, _, error = run(binary, path, folder, "--trace-window", "100000h", "--trace-cap", f"{cap}B")
            small = Trace(text or b"", cap=cap)
            problems += [f"{name}, cap {cap}: {p}" for p in small.problems] + [error] * bool(error)
            left = small.document["otherData"]["events_left_out_by_cap"] if not small.problems else 0
            if len(trace.events) > len(small.events) and left == 0:
                problems.append(f"{name}, cap {cap}: does not say what was left out")
            count += 1
        count += 1
    if preempted == 0:
        problems.append("no scenario preempted anybody before a first token")
    return count, sound


# ---- canaries

def canaries(text):
    """Broken forms of a sound trace: (what is broken, text, window, cap)."""
    document = json.loads(text)
    events = document["traceEvents"]
    kinds = {ph: [i for i, e in enumerate(events) if e["ph"] == ph] for ph in "XCbeM"}
    steps = [i for i in kinds["X"] if events[i]["name"] == "step"]

    def changed(change):
        other = copy.deepcopy(document)
        change(other["traceEvents"])
        other["otherData"]["events"] = sum(e.get("ph") != "M" for e in other["traceEvents"])
        return json.dumps(other).encode()

    def put(index, key, value):
        return lambda es: es[index].__setitem__(key, value)

    def drop(index):
        return lambda es: es.pop(index)

    first, second = steps[0], steps[1]
    gap = events[second]["ts"] - events[first]["ts"]
    yield "truncated", text[:-10], (None, None), None
    yield "a comma too many", text.replace(b"\n],", b",\n],"), (None, None), None
    yield "an overlap", changed(put(first, "dur", gap + 1)), (None, None), None
    yield "a negative length", changed(put(first, "dur", -1)), (None, None), None
    yield "a negative counter", changed(put(kinds["C"][0], "args", {"value": -1})), (None, None), None
    yield "a counter back in time", changed(put(kinds["C"][-1], "ts", 0)), (None, None), None
    yield "a begin without an end", changed(drop(kinds["e"][-1])), (None, None), None
    yield "an end without a begin", changed(drop(kinds["b"][-1])), (None, None), None
    yield "an end of another name", changed(put(kinds["e"][0], "name", "other")), (None, None), None
    yield "an end before its begin", changed(put(kinds["e"][-1], "ts", 0)), (None, None), None
    yield "a track without a name", changed(drop(kinds["M"][-1])), (None, None), None
    yield "a process without a name", changed(drop(kinds["M"][0])), (None, None), None
    yield "half a nanosecond", changed(put(first, "ts", events[first]["ts"] + 0.0005)), (None, None), None
    yield "an unknown phase", changed(put(first, "ph", "Q")), (None, None), None
    yield "no arguments", changed(lambda es: es[first].pop("args")), (None, None), None
    yield "before the window", text, (10**18, None), None
    yield "behind the window", text, (None, 1), None
    yield "over the cap", text, (None, None), len(text) - 1
    other = copy.deepcopy(document)
    other["otherData"]["events"] += 1
    yield "a wrong count", json.dumps(other).encode(), (None, None), None
    other = copy.deepcopy(document)
    del other["otherData"]
    yield "nothing about what is left out", json.dumps(other).encode(), (None, None), None
    yield "NaN", changed(put(kinds["C"][0], "args", {"value": float("nan")})), (None, None), None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("traces", nargs="*")
    p.add_argument("--spillway")
    p.add_argument("--source")
    p.add_argument("--from", dest="begin", type=Decimal)
    p.add_argument("--to", dest="end", type=Decimal)
    p.add_argument("--cap", type=int)
    a = p.parse_args()
    problems = []
    bound = [None if s is None else int(s * 10**9) for s in (a.begin, a.end)]
    for path in a.traces:
        with open(path, "rb") as f:
            trace = Trace(f.read(), *bound, a.cap)
        problems += [f"{path}: {x}" for x in trace.problems]
        print(f"{path}: {len(trace.events)} events, {len(trace.problems)} problems")
    if a.spillway:
        with tempfile.TemporaryDirectory() as folder:
            count, sound = check_runs(a.spillway, a.source, folder, problems)
        refused = 0
        if sound is None or Trace(sound).problems:
            problems.append("no sound trace to break")
        else:
            for what, text, window, cap in canaries(sound):
                refused += 1
                if not Trace(text, *window, cap).problems:
                    problems.append(f"canary not refused: {what}")
        print(f"{count} traces checked, {refused} broken ones refused")
    for problem in problems[:40]:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
