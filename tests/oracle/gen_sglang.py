#!/usr/bin/env python3
"""Write a random small scenario with SGLang and HiCache: python3 gen_sglang.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. The requests are those of gen.py: shared prefixes, copies,
next turns, odd lengths. Pools are small and reservations low, so that requests are retracted, chunked,
refused, loaded back, and nodes demoted, deleted, evicted from the host. Each key keeps its default at times.
Half of the scenarios have the keys of the decisions only; a stream of its own draws the others.
"""
import random

from gen import main, make_requests
from gen_llmd import put, some


def make_engine(rng, rows, p, most_output):
    def paged(tokens):
        return -(-tokens // p) * p
    need = sorted(paged(r["input_length"]) + r["output_length"] + 2 * p + 8 for r in rows)
    largest, typical = need[-1], need[len(need) // 2]
    pool = rng.choice([largest, largest, largest + rng.randint(0, 5 * p), int(largest * 1.2), int(largest * 1.5),
                       largest + typical, largest + typical * 3, largest + typical * 8,
                       need[int(len(need) * 0.9)]])              # the last one: some requests are too long
    engine = {"preset": "sglang", "max_total_tokens": pool}
    put(engine, page_size=p if p > 1 or rng.random() < 0.5 else None,
        max_running_requests=some(rng, 0.6, [1, 2, 3, 4, 8, 16, 48]),
        max_prefill_tokens=some(rng, 0.5, [32, 100, 256, 512, 1000, 2048]),
        schedule_policy=some(rng, 0.7, ["lpm", "lpm", "fcfs"]),
        schedule_conservativeness=some(rng, 0.8, [0, 0.01, 0.05, 0.05, 0.1, 0.1, 0.3, 0.3, 0.5, 1, 1.3, 2]),
        max_new_tokens=some(rng, 0.35, [1, most_output, most_output * 2, 300, 5000]),
        async_scheduling=some(rng, 0.6, [False, False, True]),
        max_model_len=some(rng, 0.08, [largest - 2 * p, largest * 3 // 4]))
    chunk = rng.choice([0, -1, 0, max(p, 16), max(p * 2, 16), 64, 64, 64, 128, 128, 256, 512, None])
    if chunk is not None and chunk > 0:
        chunk = paged(chunk)
    elif chunk is not None:
        put(engine, max_prefill_tokens=some(rng, 0.7, [64, 200, 400, 700]))
    put(engine, chunked_prefill_size=chunk)
    return engine


def make_long(rng, scenario, rows, p):
    """Long prompts in a few chunks, host hits behind them: loads take the room that a chunk counts on."""
    engine = scenario["engine"]
    engine.update(chunked_prefill_size=rng.choice([128, 256, 256, 384]), async_scheduling=True,
                  schedule_policy="fcfs", max_running_requests=rng.choice([4, 16]))
    longest = max(r["input_length"] for r in rows)
    engine["max_total_tokens"] = longest * rng.choice([10, 11, 13, 16, 19]) // 10 + 3 * p + 12
    for row in rows:
        row["output_length"] = min(row["output_length"], rng.choice([1, 2, 5]))
    scenario["tiers"] = [{"name": "dram", "kind": "dram", "capacity": f"{8 * engine['max_total_tokens'] // p}blocks"}]


def make_tails(rng, scenario, rows, trace_block):
    """Prompts that end in a few tokens, which leave the device first and are too few to be loaded back."""
    few = [dict(r) for r in rng.sample(rows, min(len(rows), 12))]
    for row in rows:
        if rng.random() < 0.7:
            other = rng.choice(few)
            row.update(input_length=other["input_length"], hash_ids=other["hash_ids"])
        row["output_length"] = min(row["output_length"], 5)
    for row in rows:
        tail = row["input_length"] % trace_block
        if tail:
            row["input_length"] += 1 + tail % 12 - tail          # the same for all that share the id
    engine = scenario["engine"]
    engine.update(page_size=rng.choice([1, 1, 2, 4]), chunked_prefill_size=0,
                  max_prefill_tokens=rng.choice([8, 12, 16, 20, 30, 40, 70, 140]))
    scenario["tiers"] = [{"name": "dram", "kind": "dram", "capacity": f"{4 * engine['max_total_tokens']}blocks"}]


def make_round(rng, scenario, page_bytes):
    """Whole milliseconds everywhere, so that much happens at the same instant."""
    scenario["compute"].update(step_us=rng.choice([1000, 2000, 5000]), token_ns=0, kv_token_ns=0)
    for link in scenario.get("links", []):
        pages_per_ms = rng.choice([1, 1, 2, 5, 20])
        link.update(latency_us=rng.choice([0, 0, 1000, 3000]), bandwidth=f"{pages_per_ms * page_bytes}KB/s")


def make_beyond(rng, scenario):
    """Keys beyond the decisions, S30 to S40."""
    engine = scenario["engine"]
    orders = ["dfs-weight", "dfs-weight", "lof", "random", "lpm"]
    if rng.random() < 0.6:
        engine["schedule_policy"] = rng.choice(orders)
        if engine["schedule_policy"] == "random":
            scenario["seed"] = rng.choice([1, 7, 2**40 + 3])
    if rng.random() < 0.6:
        engine["radix_eviction_policy"] = rng.choice(["lfu", "lfu", "slru", "slru", "fifo", "mru", "filo", "lru"])
    if rng.random() < 0.6:
        engine["enable_mixed_chunk"] = rng.choice([True, True, True, False])
        if rng.random() < 0.5:                                   # long enough that chunks and decodes meet
            p = engine.get("page_size", 1)
            engine["chunked_prefill_size"] = max(p, rng.choice([16, 32, 64, 128]) // p * p)
        if rng.random() < 0.6:
            engine["max_total_tokens"] = engine["max_total_tokens"] * rng.choice([3, 4, 6]) // 2
        elif rng.random() < 0.6:                                 # too little is reserved: a mixed batch may kill the engine
            engine["schedule_conservativeness"] = rng.choice([0, 0, 0.02])


def make(seed):
    rng = random.Random(f"sglang-{seed}")
    p = rng.choice([1, 1, 2, 4, 8, 16, 16, 32, 64])
    trace_block = rng.choice([64, 64, 64, 128, 128, 512])
    if trace_block == 512 and p < 8:
        trace_block = 128
    max_prompt = trace_block * rng.choice([1, 2, 5, 9])
    most_output = rng.choice([1, 3, 20, 60, 150, 150, 300])
    rows = make_requests(rng, trace_block, rng.randint(20, 120), max_prompt, most_output)
    if rng.random() < 0.2:                                       # many copies of few prompts, at once
        for row in rows:
            if rng.random() < 0.5:
                other = rng.choice(rows[:6])
                row.update(input_length=other["input_length"], hash_ids=other["hash_ids"])
    if rng.random() < 0.05:
        rng.choice(rows)["output_length"] = 0                    # counts as 1
    engine = make_engine(rng, rows, p, most_output)

    kv_bytes = rng.choice([131072, 131072, 40960, 8192, 1000])
    tiers, links = [], []
    if rng.random() < 0.75:
        pages = engine["max_total_tokens"] // p
        host = rng.choice([rng.randint(1, 8), pages // 8 + 1, pages // 4 + 1, pages // 2 + 1, pages // 2 + 1,
                           pages, pages * 2, pages * 6])
        dram = {"name": "dram", "kind": "dram"}
        size = rng.random()
        if size < 0.4:
            dram["capacity"] = f"{host}blocks"
        elif size < 0.75:
            dram["capacity"] = f"{-(-host * p * kv_bytes // 1024)}KiB"
        else:
            put(engine, hicache_ratio=some(rng, 0.9, [0.1, 0.2, 0.5, 0.5, 1, 1.3, 2, 3]))
        tiers = [dram]
        policies = ["write_through", "write_through", "write_through_selective", "write_back", "write_back"]
        put(engine, hicache_write_policy=some(rng, 0.85, policies), load=some(rng, 0.6, ["blocking", "layerwise"]))
        speeds = [f"{x}GB/s" for x in ("0.005", "0.05", "0.2", "1", "3.7", "25", "64")]
        links = [{"name": name, "from": a, "to": b, "kind": "affine",
                  "latency_us": rng.choice([0, 1, 10, 137, 1000]), "bandwidth": rng.choice(speeds)}
                 for name, a, b in (("d2h", "hbm", "dram"), ("h2d", "dram", "hbm"))]

    workload = {"trace": "requests.jsonl", "arrival": "trace", "block_tokens": trace_block}
    if trace_block == 512:
        del workload["block_tokens"]
    if rng.random() < 0.4:
        workload.update(arrival="closed-loop", concurrency=rng.choice([1, 2, 3, 5, 10, 20, 60]))
    elif rng.random() < 0.6:
        workload["speed"] = rng.choice([0.5, 2, 3, 10, 30])
    scenario = {
        "name": f"sglang-{seed}", "model": {"kv_bytes_per_token": kv_bytes, "layers": rng.choice([1, 4, 32, 61])},
        "engine": engine,
        "compute": {"kind": "linear", "step_us": rng.choice([500, 2000, 7777]),
                    "token_ns": rng.choice([1000, 20000, 33333]), "kv_token_ns": rng.choice([0, 5, 17])},
        "tiers": tiers, "links": links, "workload": workload, "seed": 1}
    if tiers and rng.random() < 0.12:
        make_long(rng, scenario, rows, p)
    elif tiers and rng.random() < 0.08:
        make_tails(rng, scenario, rows, trace_block)
    if rng.random() < 0.25:
        make_round(rng, scenario, kv_bytes * engine.get("page_size", 1))
    beyond = random.Random(f"sglang-beyond-{seed}")
    if beyond.random() < 0.5:
        make_beyond(beyond, scenario)
    return scenario, rows


if __name__ == "__main__":
    main(make)
