"""Every kind of report, made by the real program from small inputs, and some that are odd: names
that would like to be markup, runs without a request, plans of one size."""

import json
import os
import subprocess

# What somebody could call a scenario, a tier, a link or a tenant. Each sets `owned` if it runs.
PAYLOADS = [
    "</script><script>owned='script';document.title='owned'</script>",
    "<img src=x onerror=\"owned='image'\">",
    "\"onmouseover=\"owned='attribute'\" x=\"",
    "javascript:owned='link'",
    "</title></style><svg onload=owned='svg'>",
    "${owned='template'} &lt;img src=x onerror=owned=1&gt; \u2028 \u202e {b|x} {@[0]}",
]

QUICKSTART = "scenarios/library/quickstart.json"
CHAT = "traces/samples/chat.jsonl.gz"


class Kind:
    """One report: how to make its result document, and how much is asked of it."""

    def __init__(self, name, arguments, pages=1, full=True, hostile=False, codes=(0,),
                 picture=True):
        self.name = name
        self.arguments = arguments
        self.pages = pages  # of A4, at least
        self.full = full  # all checks; else only that it draws and is silent
        self.hostile = hostile  # names are payloads: also pointed at, opened, read without scripts
        self.codes = codes
        self.picture = picture and full


# A plan of a few seconds that is decided, has a knee, a runner-up and a sensitivity.
PLAN = {
    "name": "chat service", "description": "DRAM for a small chat service.",
    "model": "Llama-3.1-8B", "gpu": "L40S",
    "engine": {"preset": "vllm@0.25", "num_gpu_blocks": 2500, "max_model_len": 16384},
    "tiers": [{"name": "dram", "kind": "dram", "capacity": "32GiB"}],
    "workload": {
        "synthetic": {"requests": 300, "sessions_per_s": 0.5, "turns": 5, "think_s": 20,
                      "system_prompts": 4, "system_tokens": 2000, "user_tokens": 400,
                      "answer_tokens": 40, "burst_factor": 1, "max_context": 12000,
                      "block_tokens": 64},
        "arrival": "trace"},
    "slo": [{"metric": "p99_ttft_ms", "max": 2000}, {"metric": "p99_tpot_ms", "max": 100}],
    "plan": {"sizes": ["0GiB", "4GiB", "16GiB", "32GiB"]},
    "seed": 1,
}


def hostile_scenario():
    tier = PAYLOADS[1] + PAYLOADS[2]
    linear = {"kind": "affine", "latency_us": 10, "bandwidth": "2GB/s"}
    return {
        "name": PAYLOADS[0] + PAYLOADS[4], "description": PAYLOADS[1],
        "model": {"kv_bytes_per_token": 131072},
        "engine": {"preset": "vllm@0.23", "block_tokens": 16, "num_gpu_blocks": 200,
                   "max_model_len": 2048},
        "compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},
        "tiers": [{"name": tier, "kind": "dram", "capacity": "1GiB"}],
        "links": [{"name": PAYLOADS[0], "from": "hbm", "to": tier, **linear},
                  {"name": PAYLOADS[5], "from": tier, "to": "hbm", **linear}],
        "workload": {"trace": "hostile.jsonl"},
        "slo": [{"metric": "p99_ttft_ms", "max": 20000},
                {"metric": "p99_ttft_ms", "max": 20000, "tenant": PAYLOADS[3] + PAYLOADS[1]}],
        "plan": {"tier": tier, "sizes": ["0GiB", "1GiB"], "replications": 1},
        "seed": 1,
    }


def hostile_trace():
    rows = [{"spillway_trace": 1, "block_tokens": 64}]
    for i in range(60):
        rows.append({"timestamp": 100.0 * i, "input_length": 640, "output_length": 8,
                     "tenant": [PAYLOADS[3] + PAYLOADS[1], PAYLOADS[0]][i % 2],
                     "hash_ids": [100 * (i % 7) + k for k in range(10)]})
    return "".join(json.dumps(row) + "\n" for row in rows)


def log_and_case():
    """A measured log of forty requests, and a validation case of the hostile one's engine."""
    log = "input_toks,output_toks,arrival_s,queued_s,scheduled_s,first_token_s,last_token_s\n"
    for i in range(40):
        at = 0.1 * i
        log += (f"600,{4 + i % 5},{at:.3f},{at:.3f},{at + .001:.3f},{at + .017:.3f},"
                f"{at + .039:.3f}\n")
    scenario = hostile_scenario()
    for key in ("slo", "plan"):
        del scenario[key]
    scenario.update(name="small engine", description="")
    down, up = scenario["links"]
    scenario["tiers"][0]["name"] = down["to"] = up["from"] = "dram"
    down["name"], up["name"] = "d2h", "h2d"
    case = {"name": "small case", "measured": ["log.csv"], "scenario": "engine.json",
            "tolerance": {"means": 90},
            "parameters": [{"name": name, "from": source} for name, source in (
                ("model", "what is served"), ("engine", "the engine's arguments"),
                ("compute", "a fit"), ("tiers", "the engine's arguments"), ("links", "calibrate"))]}
    return log, scenario, case


def kinds(folder):
    """Writes what they read into `folder`. Paths in `source` are relative: reports show them."""
    def write(name, content):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    write("hostile.jsonl", hostile_trace())
    hostile = write("hostile.json", hostile_scenario())
    log, engine, case = log_and_case()
    write("log.csv", log)
    write("engine.json", engine)
    case = write("case.json", case)
    plan = write("chat.json", PLAN)
    return [
        Kind("plan", ["plan", plan, "--replications", "5"], pages=5),
        Kind("run", ["run", QUICKSTART], pages=2),
        Kind("compare", ["compare", plan, "--replications", "5", "--set", "tiers.0.capacity=3GiB",
                         "--vary", "tiers.0.eviction=lru,fifo,arc"]),
        Kind("mrc", ["mrc", "--trace", CHAT]),
        Kind("replay", ["replay", "--trace", CHAT, "--policy", "lru,fifo,arc"]),
        Kind("trace-stats", ["trace", "stats", CHAT], pages=2),
        Kind("validation", ["validate", case]),
        Kind("machine", "tests/browser/machine.json"),
        Kind("hostile-plan", ["plan", hostile], full=False, hostile=True, codes=(0, 4)),
        Kind("hostile-run", ["run", hostile], full=False, hostile=True),
        Kind("hostile-compare", ["compare", hostile, "--replications", "5", "--vary",
                                 "tiers.0.eviction=lru,fifo"], full=False, hostile=True),
        Kind("plan-one-size", ["plan", hostile, "--set", 'plan.sizes=["1GiB"]'], full=False,
             codes=(0, 4)),
        Kind("plan-infeasible", ["plan", hostile, "--set", "slo.0.max=0.001"], full=False,
             codes=(4,)),
        Kind("run-rejects-all", ["run", hostile, "--set", "engine.max_model_len=16"], full=False),
    ]


def make(spillway, kind, folder, source):
    """The path of the kind's HTML, or raises with what the program said."""
    document = kind.arguments
    if isinstance(document, list):
        document = os.path.join(folder, kind.name + ".json")
        call(spillway, [*kind.arguments, "--quiet", "--color", "never", "--threads", "1", "--json",
                        document], kind.codes, source)
    path = os.path.join(folder, kind.name + ".html")
    with open(path, "wb") as file:
        file.write(call(spillway, ["report", document, "--format", "html"], (0,), source))
    return path


def call(spillway, arguments, codes, source):
    done = subprocess.run([spillway, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          cwd=source)
    if done.returncode not in codes:
        raise RuntimeError(f"spillway {' '.join(arguments[:2])}: exit {done.returncode}: "
                           + done.stderr.decode("utf-8", "replace").strip()[:400])
    return done.stdout
