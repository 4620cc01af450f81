"""Runs of an engine, by the independent implementation in tests/oracle: the cases that it decides
to the nanosecond, and the log of a saturated RTX 4090 whose steps follow the documented law."""
import json
import math
import os
import sys
import tempfile

from drawing import Draw
from tables import HIDDEN, KV_HEADS, LAYERS, Q_HEADS, VOCAB, Kernels, layer_products
from traces import lines

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))
from oracle import Engine                                      # noqa: E402
from results import header, row_of, totals_of                  # noqa: E402
from scenario import Config, load                              # noqa: E402
from parts import Request                                      # noqa: E402


# ------------------------------------------------------------------ cases to the nanosecond

LINKS = [{"name": name, "from": a, "to": b, "kind": "affine", "latency_us": 10,
          "bandwidth": "25GB/s"} for name, a, b in (("d2h", "hbm", "dram"), ("h2d", "dram", "hbm"))]


def case(name, blocks, sequences, batched, tier):
    engine = {"preset": "vllm@0.23", "block_tokens": 16, "num_gpu_blocks": blocks,
              "max_num_seqs": sequences, "max_num_batched_tokens": batched,
              "async_scheduling": False}
    scenario = {"name": name, "model": {"kv_bytes_per_token": 131072}, "engine": engine,
                "compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},
                "workload": {"trace": "requests.jsonl", "arrival": "trace"}, "seed": 1}
    if tier:
        scenario["tiers"] = [{"name": "dram", "kind": "dram", "capacity": tier, "eviction": "lru"}]
        scenario["links"] = LINKS
    return scenario


def case_requests(name, gap_ms):
    """Prompts behind one of eight documents of two blocks; every third continues an earlier one."""
    draw, rows, now, names = Draw(f"case {name}"), [], 0, {}
    prompts = []
    for i in range(80):
        now += int(draw.exponential(gap_ms))
        if prompts and draw.uniform() < 0.35:
            chain = prompts[-1 - draw.below(min(len(prompts), 20))]
        else:
            chain = [("document", draw.below(8), k) for k in range(2)]
        full = chain + [("own", i, 0)] if draw.uniform() < 0.7 else chain
        tail = draw.between(0, 511)
        ids = full + ([("tail", i)] if tail else [])
        prompts.append(full)
        rows.append({"timestamp": now, "input_length": 512 * len(full) + tail,
                     "output_length": draw.between(5, 100),
                     "hash_ids": [names.setdefault(block, len(names)) for block in ids]})
    return rows


COMPARED = ("request_id,arrival_s,scheduled_s,first_token_s,finish_s,input_tokens,output_tokens,"
            "cached_tokens_hbm,cached_tokens_dram,preemptions")


def oracle_case(name):
    scenario = (case(name, 301, 16, 2048, "1GiB") if name == "dram" else
                case(name, 501, 32, 1024, None))
    rows = case_requests(name, 100 if name == "dram" else 20)
    files = {"scenario.json": json.dumps(scenario, indent=1) + "\n", "requests.jsonl": lines(rows)}
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
                out.write(text)
        engine = Engine(*load(os.path.join(folder, "scenario.json")))
    engine.run()
    count = len(COMPARED.split(","))
    assert header().startswith(COMPARED)
    expected = [COMPARED] + [",".join(row_of(r).split(",")[:count]) for r in engine.requests]
    files["expected.csv"] = "\n".join(expected) + "\n"
    files["expected.json"] = json.dumps(totals_of(engine), indent=1) + "\n"
    return files


# ------------------------------------------------------------------ a saturated RTX 4090

# The efficiencies that models/compute/kernel_coefficients.cpp has for that GPU.
RTX_4090 = Kernels(165e12, 1008e9, 128, 1.0, 1.0, 0.90, 2.2, 0, 32.9, 0, 9.0, 0.84, 0, 0.52)
ELEMENTWISE_PASSES, HOST_S, SAMPLED_S = 14, 700e-6, 1.1e-6
SETTINGS = {"tensor_parallel_size": 1, "data_parallel_size": 1, "max_num_seqs": 256,
            "max_num_batched_tokens": 2048, "max_model_len": 32768, "dtype": "bfloat16",
            "kv_cache_dtype": "auto"}


def step_s(plan):
    """Seconds of a step of (request, tokens before, new tokens, samples a token)."""
    k, tokens = RTX_4090, sum(n for _, _, n, _ in plan)
    chunks = [(n, c) for r, c, n, _ in plan if n > 1 or c < r.prompt]
    held = [c + n for r, c, n, _ in plan if not (n > 1 or c < r.prompt)]
    sampled = sum(bool(samples) for *_, samples in plan)
    layer = sum(k.product(tokens, *shape) for _, _, *shape in layer_products())
    layer += ELEMENTWISE_PASSES * tokens * HIDDEN * 2 / k.memory
    layer += sum(k.prefill(1, n, c, Q_HEADS) for n, c in chunks)
    if held:
        slowdown = max(1, k.mixed_factor * Q_HEADS / KV_HEADS) if chunks else 1
        layer += slowdown * k.decode(len(held), sum(held) / len(held), KV_HEADS)
    head = k.product(sampled, HIDDEN, VOCAB) + sampled * SAMPLED_S if sampled else 0
    return HOST_S + LAYERS * layer + head


class Served(Engine):
    """The oracle's engine without a lower tier, with the steps of that GPU."""

    def __init__(self, cfg, requests):
        super().__init__(cfg, requests)
        self.samples = []              # (time, running, waiting, share of the pool)

    def start_worker(self, step, stores, now):
        step.end = now
        if step.plan:
            step.end = max(now, self.gpu_busy_until) + math.ceil(1e9 * step_s(step.plan))
        self.gpu_busy_until = max(self.gpu_busy_until, step.end)
        self.note(now)

    def collect(self, step, now):
        super().collect(step, now)
        self.note(now)

    def note(self, now):
        used = 1 - len(self.gpu.free) / (self.cfg.N - 1)
        self.samples.append((now, len(self.running), len(self.waiting.requests), used))


def saturated_run():
    """300 requests that come within 20 s, about ten times as fast as they can be served."""
    draw, at, rows, block = Draw("saturated"), 0.0, [], 0
    for _ in range(300):
        prompt = draw.between(262, 3998)
        ids = list(range(block, block + -(-prompt // 512)))    # nothing is shared
        block += len(ids)
        rows.append({"timestamp": f"{at:.3f}", "input_length": prompt,
                     "output_length": draw.between(100, 300), "hash_ids": ids})
        at += draw.exponential(1000 * 20 / 300)
    engine = {"block_tokens": 16, "num_gpu_blocks": 2588, "async_scheduling": True, **SETTINGS}
    cfg = Config({"engine": engine, "model": {"kv_bytes_per_token": 131072}, "workload": {},
                  "compute": {"kind": "linear", "step_us": 0, "token_ns": 0, "kv_token_ns": 0}})
    run = Served(cfg, [Request(i, row, cfg.B, 512) for i, row in enumerate(rows)])
    for r in run.requests:
        cfg.classify(r, None)
    run.run()
    return run


def request_log(run):
    out = ["input_toks,output_toks,arrival_s,queued_s,scheduled_s,first_token_s,last_token_s"]
    for r in run.requests:
        times = (r.arrival, r.arrival, r.scheduled, r.first_token, r.finish)
        out.append(f"{r.prompt},{r.output}," + ",".join(f"{t / 1e9:.6f}" for t in times))
    return "\n".join(out) + "\n"


def counters(run):
    """The engine's state every second, as its own log shows it."""
    rows, at, state = [], 10**9, (0, 0, 0.0)
    for now, *after in run.samples + [(run.end + 10**9, 0, 0, 0.0)]:
        while at < now:
            rows.append((at // 10**9, *state))
            at += 10**9
        state = after
    return rows


def counters_text(rows):
    head = "t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct\n"
    return head + "".join(f"{t},0,0,{running},{waiting},{round(100 * used, 2):g}\n"
                          for t, running, waiting, used in rows)


def run_meta(run):
    return {"model": "meta-llama/Llama-3.1-8B", "vllm_version": "0.19.0",
            "num_requests": len(run.requests), "engine_kwargs": SETTINGS, "tick_seconds": 1.0}


def run_facts(run):
    rows = counters(run)
    return {"requests": len(run.requests), "counters": len(rows),
            "fifth_kv_usage": round(100 * rows[4][3], 2) / 100}


# ------------------------------------------------------------------ the page with the example

def example_page():
    scenario = case("reference", 2048, 256, 2048, "4GiB")
    text = json.dumps(scenario, indent=2)
    return f"# spillway\n\n## The reference scenario\n\n```json\n{text}\n```\n"
