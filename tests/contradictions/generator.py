"""Random scenarios from a seed: small, fast, and of every kind that a plan may meet.

`scenario(seed)` gives the files of one scenario by name; `scenario.json` is what to plan. The same
seed gives the same files. Sizes, rates and limits are drawn around what the machine can do, so that
plans meet the SLO, miss it and stay undecided about equally often.
"""
import json
import math
import random

GIB = 1 << 30
SIZES = ["0GiB", "1GiB", "2GiB", "4GiB", "8GiB", "16GiB", "32GiB", "64GiB", "128GiB"]
REAL = [("Llama-3.1-8B", "L40S"), ("Llama-3.1-8B", "H100"), ("Qwen3-14B", "H100"), ("Qwen3-8B", "A100")]
PRICES = {"currency": "USD", "source": "assumed, of a test",
          "gpu_hour": {"H100": 3.0, "L40S": 1.2, "default": 2.0},
          "dram_gib_month": {"purchase": 3.36, "months": 48, "monthly": 0.02},
          "nvme_gib_month": {"purchase": 0.12, "months": 60},
          "storage_gib_month": {"fs": 0.14, "object": 0.025, "kv": 4.0}, "network": {"per_gb": 0.01}}
LATENCIES = ("ttft", "tpot", "e2el", "itl")


def dumps(value):
    return json.dumps(value, indent=1) + "\n"


def azure(rows):
    """Azure's columns: lengths alone, no identity of blocks."""
    out = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    for row in rows:
        seconds, ms = divmod(row["timestamp"], 1000)
        clock = f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}0000"
        out.append(f"2023-11-{16 + seconds // 86400:02} {clock},{row['input_length']},{row['output_length']}")
    return "\n".join(out) + "\n"


class Maker:
    """One scenario. What is drawn first decides what fits later."""

    def __init__(self, seed):
        self.seed = seed
        self.random = random.Random(f"contradictions {seed}")
        self.files = {}
        self.requests = self.random.choice([60, 100, 150, 250, 400, 600])
        self.linear = self.chance(0.7)
        self.identity = True
        self.scenario = {"name": f"random-{seed}"}

    def chance(self, share):
        return self.random.random() < share

    def pick(self, *values):
        return self.random.choice(values)

    def log_uniform(self, low, high):
        return math.exp(self.random.uniform(math.log(low), math.log(high)))

    def rounded(self, value):
        return float(f"{value:.2g}")

    # ---- the system

    def system(self):
        s = self.scenario
        s["engine"] = {"preset": self.pick("vllm", "vllm", "vllm@0.23")}
        if self.linear:
            self.kv_bytes = self.pick(32768, 65536, 131072)
            s["model"] = {"kv_bytes_per_token": self.kv_bytes}
            s["engine"].update({"block_tokens": 16, "num_gpu_blocks": self.pick(600, 1200, 2500),
                                "max_num_seqs": self.pick(8, 32, 128), "max_num_batched_tokens": self.pick(512, 2048, 8192)})
            self.token_us = self.pick(5, 30, 100)
            self.step_ms = self.pick(2, 10, 30)
            s["compute"] = {"kind": "linear", "step_us": 1000 * self.step_ms, "token_ns": 1000 * self.token_us,
                            "kv_token_ns": self.pick(0, 5, 50)}
        else:
            s["model"], s["gpu"] = self.random.choice(REAL)
            self.kv_bytes = 150000
            self.token_us, self.step_ms = 40, 15
            if self.chance(0.7):
                s["engine"]["num_gpu_blocks"] = self.pick(2000, 5000)
            if self.chance(0.4):
                s["engine"]["max_num_batched_tokens"] = self.pick(512, 2048, 4096)
        if self.chance(0.15):
            s["engine"]["async_scheduling"] = False

    def tiers(self):
        s = self.scenario
        self.tier = "dram"
        storage = self.chance(0.1)
        if storage and self.chance(0.5):
            self.tier = "ssd"
            s["tiers"] = [{"name": "ssd", "kind": "nvme", "capacity": "64GiB",
                           "device": {"read_bandwidth": self.pick("7GB/s", "0.5GB/s"), "write_bandwidth": "3GB/s"}}]
        else:
            s["tiers"] = [{"name": "dram", "kind": "dram", "capacity": "16GiB"}]
            if storage:
                s["tiers"].append({"name": "fs", "kind": "fs",
                                   "device": {"client_limit": self.pick("0.2GB/s", "10GB/s"), "aggregate_limit": "20GB/s"}})
        if self.linear or self.chance(0.25):
            self.links()
        if self.chance(0.1):
            s["tiers"][0]["eviction"] = self.pick("arc", "s3fifo", "fifo")

    def links(self):
        """Sometimes one whose loads take longer than to compute."""
        far = "dram" if self.scenario["tiers"][0]["kind"] == "dram" else "host"
        rate = self.pick("25GB/s", "25GB/s", "3GB/s", "0.8GB/s", "0.2GB/s")
        self.scenario["links"] = [
            {"name": "d2h", "from": "hbm", "to": far, "kind": "affine", "latency_us": 10, "bandwidth": self.pick("25GB/s", "12GB/s")},
            {"name": "h2d", "from": far, "to": "hbm", "kind": "affine", "latency_us": 10, "bandwidth": rate}]

    # ---- the traffic

    def lengths(self):
        self.prompt = self.pick(300, 800, 1500)
        self.answer = self.pick(20, 60, 150)
        self.turns = self.pick(1, 3, 8)
        if self.linear:                                    # what fits the pool many times over
            pool = 16 * self.scenario["engine"]["num_gpu_blocks"]
            self.longest = max(1024, pool // self.pick(2, 4))
        else:
            self.longest = self.pick(8000, 16000)
        self.system_tokens = self.pick(64, 500, 2000)

    def session_rate(self):
        """Sessions a second at a load between idle and several times too much."""
        mean = min(self.longest, self.system_tokens + self.prompt * (self.turns + 1) / 2)
        batch = max(4, min(32, 16 * self.scenario["engine"].get("num_gpu_blocks", 8000) / (2 * mean)))
        seconds = mean * self.token_us * 1e-6 + self.answer * self.step_ms * 1e-3 / batch
        return self.pick(0.02, 0.3, 0.6, 0.8, 1.0, 1.5, 4) / (seconds * self.turns)

    def workload(self):
        self.lengths()
        self.rate = self.session_rate()
        self.waits = self.turns > 1 and self.chance(0.3)
        kind = self.pick("synthetic", "synthetic", "trace", "trace", "bare trace")
        work = {}
        if kind == "synthetic":
            work["synthetic"] = {"requests": self.requests, "sessions_per_s": self.rounded(self.rate), "turns": self.turns,
                                 "think_s": self.pick(2, 10, 40), "system_prompts": self.pick(1, 4),
                                 "system_tokens": self.system_tokens, "user_tokens": self.prompt,
                                 "answer_tokens": self.answer, "max_context": self.longest, "block_tokens": 64}
            if self.chance(0.5):
                work["synthetic"]["burst_factor"] = self.pick(1, 3)
        else:
            self.identity = kind == "trace"
            work["trace"] = "trace.jsonl" if self.identity else "trace.csv"
            rows = self.trace()
            self.files[work["trace"]] = "".join(json.dumps(r) + "\n" for r in rows) if self.identity else azure(rows)
        if self.waits and (kind == "synthetic" or self.identity):
            work["sessions"] = "wait"
        self.arrivals(work)
        self.scenario["workload"] = work

    def arrivals(self, work):
        self.closed = self.chance(0.12)
        if self.closed:
            work.update({"arrival": "closed-loop", "concurrency": self.pick(2, 8, 32)})
        elif "trace" in work and self.chance(0.15):
            work.update({"arrival": "poisson", "rate_per_s": self.rounded(self.rate * self.turns)})
        else:
            work["arrival"] = "trace"
            if self.chance(0.2):
                work["speed"] = self.pick(0.5, 1.5, 3)
            if self.chance(0.1):
                work["concurrency"] = self.pick(4, 16, 512)

    def trace(self):
        """Mooncake's form: sessions over a few system prompts, an id for each block and all before it."""
        block, rows, at, names = 512, [], 0.0, {}
        name = lambda chain: names.setdefault(chain, len(names))
        sessions = max(1, self.requests // self.turns)
        for session in range(sessions):
            at += self.random.expovariate(self.rate)
            length, when = self.system_tokens, at
            prompt = self.random.randrange(4)
            for _ in range(self.turns):
                length = min(self.longest - self.answer, length + 1 + int(self.random.expovariate(1 / self.prompt)))
                answer = 1 + int(self.random.expovariate(1 / self.answer))
                chain = [(("system", prompt, i) if (i + 1) * block <= self.system_tokens else (session, i))
                         for i in range(-(-length // block))]
                chain[-1] = chain[-1] if length % block == 0 else chain[-1] + (length,)
                row = {"timestamp": int(1000 * when), "input_length": length, "output_length": min(answer, 4 * self.answer)}
                row["session_id"] = session
                row["hash_ids"] = [name(link) for link in chain]
                rows.append(row)
                length += answer
                when += self.random.expovariate(1 / self.pick(2, 10))
        rows.sort(key=lambda row: row["timestamp"])
        return rows[:self.requests]

    # ---- what is asked

    def limit(self, what):
        """Loose, tight, impossible, or of the order that runs come to."""
        prefill = self.token_us * 1e-3 * (self.system_tokens + self.prompt)
        usual = {"ttft": prefill + 2 * self.step_ms, "tpot": 1.5 * self.step_ms, "itl": 2 * self.step_ms}
        usual["e2el"] = usual["ttft"] + self.answer * usual["tpot"]
        factor = self.pick(200, 60, 20, self.log_uniform(2, 60), self.log_uniform(1, 8), self.log_uniform(1, 4))
        if self.impossible:
            factor = self.pick(0.01, 0.5, factor)
        return self.rounded(factor * usual[what])

    def slo(self):
        self.impossible = self.chance(0.12)
        out, what = [], self.random.sample(LATENCIES, self.pick(1, 1, 2, 2, 3))
        if self.chance(0.5) and "ttft" not in what:
            what[0] = "ttft"
        for name in dict.fromkeys(what):
            figure = self.pick("p99", "p99", "p99", "p95", "p90", "mean")
            out.append({"metric": f"{figure}_{name}_ms", "max": self.limit(name)})
        if self.chance(0.12):
            offered = self.rate * self.turns
            out.append({"metric": "request_throughput", "min": self.rounded(offered * self.pick(0.1, 0.7, 3))})
        if self.chance(0.1):
            out.append({"metric": "output_throughput", "min": self.rounded(self.rate * self.turns * self.answer * self.pick(0.1, 2))})
        if self.chance(0.12):
            self.scenario["policies"] = {"admission": self.pick("all-tiers", "queue-limit:max_queue=20:timeout_s=5")}
            out.append({"metric": "rejected_share", "max": self.pick(0.01, 0.1, 0.5)})
        self.scenario["slo"] = out

    def too_long(self):
        """Some prompts are longer than the engine takes."""
        if not self.chance(0.12):
            return
        self.scenario["engine"]["max_model_len"] = max(512, int(self.longest * self.pick(0.5, 0.8)))

    def plan(self):
        count = self.pick(1, 2, 3, 4)
        sizes = sorted(self.random.sample(SIZES, count), key=SIZES.index)
        if self.chance(0.1) and self.tier == "dram":
            sizes.append("inf")
        plan = {"sizes": sizes, "replications": self.pick(1, 1, 5, 10), "objective": "least-dram"}
        self.search(plan)
        if self.chance(0.75):
            plan["sensitivity"] = False
            plan["stress"] = self.chance(0.3)
        if self.chance(0.12):
            plan["prices"] = "prices.json"
            self.files["prices.json"] = dumps(PRICES)
            if self.chance(0.6):
                plan["objective"] = "least-cost"
        if self.chance(0.1):
            cells = len(sizes) * math.prod(len(v) for v in plan.get("search", {}).values())
            plan["max_runs"] = cells + self.pick(0, 3, 9)
        if self.chance(0.06):
            plan["round_to"] = "3GiB"
        if len(sizes) < 2 and self.chance(0.3):
            del plan["objective"]
        self.scenario["plan"] = plan

    def search(self, plan):
        if not self.chance(0.45):
            return
        key = self.pick("fleet.replicas", "fleet.replicas", "engine.max_num_batched_tokens", "engine.max_num_seqs",
                        "load", "load", "tiers.0.eviction")
        work = self.scenario["workload"]
        if key == "load":
            key = "workload.concurrency" if self.closed or "concurrency" in work or self.chance(0.3) else "workload.speed"
            plan["objective"] = "most-load"
        values = {"fleet.replicas": [1, 2, 4], "engine.max_num_batched_tokens": [512, 2048, 4096],
                  "engine.max_num_seqs": [4, 64], "workload.concurrency": [2, 8, 64, 512],
                  "workload.speed": [0.25, 0.5, 1, 2], "tiers.0.eviction": ["lru", "arc"]}[key]
        if key == "fleet.replicas" and self.chance(0.7):
            plan["objective"] = "least-gpus"
        plan["search"] = {key: values[:self.pick(2, len(values))]}
        if self.chance(0.15) and key != "engine.max_num_seqs":
            plan["search"]["engine.max_num_seqs"] = [8, 128]
        plan["sizes"] = plan["sizes"][:2]

    def host(self):
        if self.chance(0.15) and self.tier == "dram":
            self.scenario["host"] = {"memory": "1024GiB", "reserved": "32GiB"}
            self.scenario["plan"]["sizes"] = [s for s in self.scenario["plan"]["sizes"] if s != "inf"]

    def make(self):
        self.system()
        self.tiers()
        self.workload()
        self.slo()
        self.too_long()
        self.plan()
        self.host()
        self.scenario["seed"] = 1 + self.seed % 7
        self.files["scenario.json"] = dumps(self.scenario)
        return self.files


def scenario(seed):
    """Files of the scenario of `seed`, by name."""
    return Maker(seed).make()
