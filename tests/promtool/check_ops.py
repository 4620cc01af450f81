#!/usr/bin/env python3
"""Checks what `spillway report` writes for operations with Prometheus' own promtool.

    python3 check_ops.py --spillway BINARY --source PROJECT

Metrics, histories, alert rules and every expression of the dashboard are sound, for each engine release and
for hostile names. Series made of the simulated run's own figures raise no alert; one figure past its
threshold raises its own alert and no other; a run past the knee raises those that it should. Exit
status 1 when anything differs, one line each. Without promtool it says so and passes.
"""
import argparse
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HOSTILE = ("a\"b\\c: {{ $labels.x }} {{{ }}} 'q' # | > - * & ! % @ ` \u2028 \u0085 \ufeff \ufffe "
           "\U0001f600 </script> ${job} [1m]\n- alert: Owned\n")
# Upper bounds of vLLM's histograms (vllm/v1/metrics/loggers.py @ 005a810bc4).
TTFT = [.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160,
        640, 2560]
TOKEN = [.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80]
REQUEST = [.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920,
           7680]
MINUTES = 600
LABELS = 'model_name="m",engine="0",instance="i",job="j"'

failures = []


def fail(message):
    failures.append(message)
    print(message, file=sys.stderr)


def run(command, text=None, ok=(0,)):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode not in ok:
        fail(f"{' '.join(command[:8])}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Checker:
    def __init__(self, spillway, source, folder):
        self.spillway = spillway
        self.source = source
        self.folder = folder
        listed = json.loads(run([spillway, "list", "metrics", "--json", "-"]).stdout)["results"]
        self.known = {row["metric"].split("{")[0] for row in listed}

    def result(self, verb, name, *options):
        """The document of a verb."""
        path = os.path.join(self.folder, f"{name}.json")
        run([self.spillway, verb, *options, "--json", path, "--quiet"], ok=(0, 4, 5))
        return path

    def write(self, document, name, *options, ok=(0,)):
        out = os.path.join(self.folder, name)
        run([self.spillway, "report", document, "--format", "prometheus,alerts,grafana", "--out",
             out, *options], ok=ok)
        return out

    def history(self, name):
        """A library scenario's run over time: Prometheus takes it in, and its counters end where the
        run's own figures do."""
        source = os.path.join(self.source, "scenarios", "library", f"{name}.json")
        text = os.path.join(self.folder, f"{name}.om")
        path = self.result("run", name, source, "--output", f"kind=openmetrics,path={text}",
                           "--metrics-start", "1764200000")
        blocks = os.path.join(self.folder, f"{name}.tsdb")
        done = run(["promtool", "tsdb", "create-blocks-from", "openmetrics", text, blocks])
        if done.stderr:
            fail(f"{name}: promtool tsdb create-blocks-from: {done.stderr}")
        with open(path, encoding="utf-8") as file:
            results = json.load(file)["results"]
        last = {}
        with open(text, encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    key, value, _ = line.rsplit(" ", 2)
                    last[key.split("{")[0]] = float(value)
        for family in {key.split("_bucket")[0] for key in last}:
            if family not in self.known and not family.endswith(("_sum", "_count")):
                fail(f"{name}: {family} is not in `list metrics`")
        done_count = results["completed"] + results["warmup_requests"]
        for family, value in last.items():
            if family.endswith("time_to_first_token_seconds_count") and value != done_count:
                fail(f"{name}: {family} ends at {value}, {done_count} requests completed")
            if family.endswith("time_to_first_token_seconds_sum"):
                mean = results["mean_ttft_ms"] / 1000
                if results["warmup_requests"] == 0 and abs(value / done_count / mean - 1) > 1e-9:
                    fail(f"{name}: {family} ends at {value}, {done_count} requests of {mean} s")

    def sound(self, out):
        """All three files."""
        with open(os.path.join(out, "metrics.prom"), encoding="utf-8") as file:
            text = file.read()
        done = run(["promtool", "check", "metrics"], text)
        if done.stdout or done.stderr:
            fail(f"{out}: promtool check metrics: {done.stdout}{done.stderr}")
        run(["promtool", "check", "rules", os.path.join(out, "alerts.yml")])
        with open(os.path.join(out, "dashboard.json"), encoding="utf-8") as file:
            self.dashboard(out, json.load(file))

    def dashboard(self, out, board):
        taken = set()
        ids = [panel["id"] for panel in board["panels"]]
        if len(set(ids)) != len(ids) or not ids:
            fail(f"{out}: panels without ids of their own")
        exprs = []
        for panel in board["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                     for y in range(at["y"], at["y"] + at["h"])}
            if cells & taken or at["x"] + at["w"] > 24:
                fail(f"{out}: panel {panel['id']} overlaps another or leaves the grid")
            taken |= cells
            if panel["datasource"]["uid"] != "${datasource}":
                fail(f"{out}: panel {panel['id']} has a fixed data source")
            exprs += [target["expr"] for target in panel["targets"]]
        for expr in exprs:
            for metric in re.findall(r"[a-z_]+:[a-z_:]+|\b(?:lmcache|trtllm|dynamo|node|kvbm|"
                                     r"master|mooncake|flexkv)_\w+", expr):
                if re.sub(r"_(bucket|sum|count)$", "", metric) not in self.known and \
                        metric not in self.known:
                    fail(f"{out}: {metric} is not in the table of metrics")
        # Grafana puts these in before Prometheus sees the expression.
        rules = [{"record": f"panel:expr{i}", "expr": expr.replace("$__rate_interval", "5m")}
                 for i, expr in enumerate(exprs)]
        path = os.path.join(self.folder, "exprs.yml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"groups": [{"name": "panels", "rules": rules}]}, file)
        run(["promtool", "check", "rules", path])

    def raised(self, out, figures):
        """Names of the alerts that series of these figures raise."""
        test = {"rule_files": [os.path.join(out, "alerts.yml")], "evaluation_interval": "1m",
                "tests": [{"interval": "1m", "input_series": series_of(figures),
                           "promql_expr_test": [{
                               "expr": "count by (alertname) (ALERTS{alertstate=\"firing\"})",
                               "eval_time": f"{MINUTES - 10}m", "exp_samples": [
                                   {"labels": '{alertname="none"}', "value": -1}]}]}]}
        path = os.path.join(self.folder, "alerts_test.yml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(test, file)
        # The expectation never holds: promtool then prints what it got.
        done = run(["promtool", "test", "rules", path], ok=(1,))
        got = (done.stdout + done.stderr).split("got:")[-1]
        return set(re.findall(r'alertname="Spillway(\w+)"', got))


def shares(stats, bounds):
    """Of a latency by its quantiles in seconds: share at or below each bound."""
    points = [(0, 0), (stats["p50"], .5), (stats["p90"], .9), (stats["p95"], .95),
              (stats["p99"], .99), (stats["max"], 1)]
    out = []
    for bound in bounds:
        share = 1.0
        for (x0, y0), (x1, y1) in zip(points, points[1:]):
            if x0 <= bound < x1:
                share = y0 + (y1 - y0) * (bound - x0) / (x1 - x0)
                break
        out.append(share)
    return out


def figures_of(results):
    """Of a run: what its engine's metrics would show, per second."""
    seconds = results["duration_s"]

    def stats(name):
        return {q: results[f"{key}_{name}_ms"] / 1000 for q, key in
                (("p50", "median"), ("p90", "p90"), ("p95", "p95"), ("p99", "p99"),
                 ("max", "max"), ("mean", "mean"))}

    def mean(name):
        values = next((s["values"] for s in results["series"] if s["name"] == name), [0])
        return sum(values) / max(1, len(values))

    queue = results["queue_time_ms"]
    hbm, dram = results["tiers"][:2]
    up = next(link for link in results["links"] if link["to"] == "hbm")
    down = next(link for link in results["links"] if link["from"] == "hbm")
    return {
        "rate": results["completed"] / seconds, "ttft": stats("ttft"), "tpot": stats("tpot"),
        "itl": stats("itl"), "e2el": stats("e2el"),
        "queue": {"p50": queue["p50"] / 1000, "p90": queue["p99"] / 1000,
                  "p95": queue["p99"] / 1000, "p99": queue["p99"] / 1000,
                  "max": queue["p99"] / 1000, "mean": queue["mean"] / 1000},
        "running": mean("running"), "waiting": mean("waiting"),
        "usage": hbm["mean_bytes"] / hbm["capacity_bytes"],
        "preemptions": results["preemptions"] / seconds,
        "asked": 16 * dram["queries"] / seconds, "found": 16 * dram["hits"] / seconds,
        "loaded": up["bytes"] / seconds, "stored": down["bytes"] / seconds,
        "capacity": up["capacity_bytes_per_s"], "memory": 0.5, "present": True}


def series_of(f):
    def counter(name, per_second, labels=""):
        return {"series": f"{name}{{{LABELS}{labels}}}", "values":
                f"0+{per_second * 60:.9f}x{MINUTES}"}

    def gauge(name, value):
        return {"series": f"{name}{{{LABELS}}}", "values": f"{value:.9f}x{MINUTES}"}

    out = []
    if f["present"]:
        for name, key, bounds in (
                ("time_to_first_token_seconds", "ttft", TTFT),
                ("request_time_per_output_token_seconds", "tpot", TOKEN),
                ("inter_token_latency_seconds", "itl", TOKEN),
                ("e2e_request_latency_seconds", "e2el", REQUEST),
                ("request_queue_time_seconds", "queue", REQUEST)):
            for bound, share in zip(bounds + ["+Inf"], shares(f[key], bounds) + [1.0]):
                out.append(counter(f"vllm:{name}_bucket", f["rate"] * share, f',le="{bound}"'))
            out.append(counter(f"vllm:{name}_count", f["rate"]))
            out.append(counter(f"vllm:{name}_sum", f["rate"] * f[key]["mean"]))
        out += [gauge("vllm:num_requests_running", f["running"]),
                gauge("vllm:num_requests_waiting", f["waiting"]),
                gauge("vllm:kv_cache_usage_perc", f["usage"]),
                counter("vllm:num_preemptions_total", f["preemptions"]),
                counter("vllm:external_prefix_cache_queries_total", f["asked"]),
                counter("vllm:external_prefix_cache_hits_total", f["found"]),
                counter("vllm:kv_offload_load_bytes_total", f["loaded"]),
                counter("vllm:kv_offload_store_bytes_total", f["stored"])]
        for way, key in (("CPU_to_GPU", "loaded"), ("GPU_to_CPU", "stored")):
            out.append(counter("vllm:kv_offload_total_bytes_total", f[key],
                               f',transfer_type="{way}"'))
    out.append(gauge("node_memory_MemAvailable_bytes", 1e12 * f["memory"]))
    out.append(gauge("node_memory_MemTotal_bytes", 1e12))
    return out


def one_by_one(figures):
    """A figure past its threshold, and the alerts that this alone is to raise."""
    def scaled(key, factor):
        out = copy.deepcopy(figures)
        out[key] = {q: v * factor for q, v in out[key].items()} \
            if isinstance(out[key], dict) else out[key] * factor
        return out

    def with_(**values):
        return {**copy.deepcopy(figures), **values}

    yield "no engine", with_(present=False), {"EngineAbsent"}
    yield "slow first tokens", scaled("ttft", 10), {"TtftP99AboveTarget"}
    # p99 1.8 to 2.4 s: beyond a limit of 2 s, and within the histogram's bucket of 1 to 2.5 s.
    yield "first tokens within the bucket of the limit", scaled("ttft", 3), {"TtftP99AboveTarget"}
    yield "slow first tokens of a few requests", \
        {**scaled("ttft", 10), "rate": figures["rate"] / 20}, set()
    yield "slow tokens", scaled("tpot", 10), {"TpotP99AboveTarget"}
    yield "a queue", scaled("queue", 100), {"QueueTimeAbovePlan"}
    yield "a full cache", with_(usage=0.97, waiting=12), {"KvCacheFull"}
    yield "a full cache that nobody waits for", with_(usage=0.97, waiting=0), set()
    yield "preemptions", with_(preemptions=0.5), {"PreemptionsAbovePlan"}
    yield "few hits", with_(found=figures["found"] / 2), {"HitRatioBelowPlan"}
    yield "a busy link", with_(loaded=0.9 * figures["capacity"]), {"LoadNearLinkCapacity"}
    yield "little memory", with_(memory=0.02), {"HostMemoryLow"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--spillway", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    if shutil.which("promtool") is None:
        print("skipped: there is no promtool; on Debian it is in the package prometheus")
        return 0
    quickstart = os.path.join(options.source, "scenarios", "library", "quickstart.json")
    swap = os.path.join(options.source, "scenarios", "library", "swap-space.json")
    with tempfile.TemporaryDirectory() as folder:
        check = Checker(os.path.abspath(options.spillway), options.source, folder)

        healthy = check.result("run", "healthy", quickstart)
        out = check.write(healthy, "ops")
        check.sound(out)
        with open(healthy, encoding="utf-8") as file:
            figures = figures_of(json.load(file)["results"])
        raised = check.raised(out, figures)
        if raised:
            fail(f"the simulated run's own figures raise {sorted(raised)}")
        for what, changed, expected in one_by_one(figures):
            raised = check.raised(out, changed)
            if raised != expected:
                fail(f"{what}: expected {sorted(expected)}, raised {sorted(raised)}")

        crowded = check.result("run", "crowded", quickstart, "--set", "workload.speed=12", "--set",
                               "tiers.0.capacity=4GiB")
        with open(crowded, encoding="utf-8") as file:
            raised = check.raised(out, figures_of(json.load(file)["results"]))
        expected = {"TtftP99AboveTarget", "QueueTimeAbovePlan", "TrafficAbovePlan",
                    "HitRatioBelowPlan"}
        if not expected <= raised:
            fail(f"past the knee: expected {sorted(expected)}, raised {sorted(raised)}")

        plan = check.result("plan", "plan", quickstart, "--replications", "1", "--no-sensitivity",
                            "--set", 'plan.sizes=["0GiB","64GiB"]')
        check.sound(check.write(plan, "plan_ops"))
        for engines in ("vllm@0.24,lmcache", "sglang", "trtllm", "dynamo", "vllm@0.28",
                        "vllm@0.25,lmcache-mp", "vllm@0.25,kvbm", "sglang,mooncake",
                        "vllm@0.10,aibrix", "vllm@0.25,flexkv", "kvbm", "mooncake"):
            check.sound(check.write(plan, "other_ops", "--engine", engines))
        nothing = check.result("plan", "nothing", quickstart, "--replications", "1",
                               "--no-sensitivity", "--set", 'plan.sizes=["0GiB"]', "--set",
                               "slo.0.max=1")
        out = check.write(nothing, "nothing_ops", ok=(4,))
        if sorted(os.listdir(out)) != ["dashboard.json", "metrics.prom"]:
            fail(f"a plan without an answer: {sorted(os.listdir(out))}")
        matcher = 'model_name="m",job=~"j|k"'
        out = check.write(healthy, "matched_ops", "--matcher", matcher, "--runbook-url",
                          "https://wiki.example/kv")
        check.sound(out)
        with open(os.path.join(out, "alerts.yml"), encoding="utf-8") as file:
            text = file.read()
        if text.count("runbook_url: ") != text.count("- alert: "):
            fail("a rule without its runbook_url")
        for what, changed, expected in one_by_one(figures):
            raised = check.raised(out, changed)
            if raised != expected:
                fail(f"{what}, with a matcher: expected {sorted(expected)}, raised {sorted(raised)}")
        out = check.write(healthy, "others_ops", "--matcher", 'model_name="other"')
        if raised := check.raised(out, dict(figures, usage=0.97, waiting=12)):
            if raised != {"EngineAbsent"}:
                fail(f"engines of another name raise {sorted(raised)}")
        for preset in ("vllm@0.12", "vllm@0.14", "vllm@0.19", "vllm@0.23"):
            check.sound(check.write(
                check.result("run", "preset", quickstart, "--set", f"engine.preset={preset}"),
                "preset_ops"))
        check.sound(check.write(check.result("run", "swap", swap), "swap_ops"))
        for name in ("quickstart", "kvbm-disk", "sglang-hicache", "trtllm-host-cache",
                     "flexkv-tiers", "aibrix-l2", "mooncake-store", "lmcache-redis"):
            check.history(name)
        hostile = check.result("run", "hostile", quickstart, "--set", f"name={HOSTILE}", "--set",
                               "workload.limit=50")
        out = check.write(hostile, "hostile_ops")
        check.sound(out)
        with open(os.path.join(out, "alerts.yml"), encoding="utf-8") as file:
            text = file.read()
        if "alert: Owned" in [line.strip("- ") for line in text.splitlines()] or "{{ $labels" in text:
            fail("a hostile name became a rule or a template")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
