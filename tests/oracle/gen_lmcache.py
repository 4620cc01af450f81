#!/usr/bin/env python3
"""Write a random small scenario with LMCache in process: python3 gen_lmcache.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. Pools and tiers are tiny, so that requests are preempted, keys
evicted and stores refused; few seeds let a load hang for ever (rule 9).
"""
import random

from gen import main, make_requests

FAST = ["0.2GB/s", "1GB/s", "3.7GB/s", "25GB/s", "64GB/s"]
SLOW = ["0.01GB/s", "0.05GB/s", "0.2GB/s", "1GB/s", "5GB/s"]


def spelled(rng, nbytes):
    """A capacity of at least `nbytes`, or exactly that."""
    how = rng.choice(["B", "B", "B", "MiB", "KiB"])
    if how == "MiB" and nbytes > 8 * 2**20:
        return f"{-(-nbytes // 2**20)}MiB"
    if how == "KiB":
        return f"{-(-nbytes // 2**10)}KiB"
    return f"{nbytes}B"


def link(rng, name, source, target, speeds):
    return {"name": name, "from": source, "to": target, "kind": "affine",
            "latency_us": rng.choice([0, 1, 10, 137, 1000, 12.5]), "bandwidth": rng.choice(speeds)}


def links_for(rng, tiers):
    links = [link(rng, "d2h", "hbm", "dram", FAST), link(rng, "h2d", "dram", "hbm", FAST)]
    for tier in tiers[1:]:
        name = tier["name"]
        links.append(link(rng, "to_" + name, "dram", name, SLOW))
        links.append(link(rng, "from_" + name, name, "dram", SLOW))
    return links


def base(rng, seed):
    """What does not depend on the connector; also tokens and bytes of a chunk, chunks of each request."""
    block = 16
    chunk = rng.choice([32, 32, 64, 64, 64, 128, 256])
    trace_block = rng.choice([64, 64, 128, 512])
    if chunk == 256:
        trace_block = rng.choice([128, 512])
    if rng.random() < 0.1:
        block = 32 if chunk % 32 == 0 else 16
    max_prompt = trace_block * rng.choice([2, 5, 9, 9])
    max_output = rng.choice([3, 20, 60, 150])
    rows = make_requests(rng, trace_block, rng.randint(20, 90), max_prompt, max_output)
    need = sorted(-(-(r["input_length"] + r["output_length"] - 1) // block) for r in rows)
    largest, typical = need[-1], need[len(need) // 2]
    pool = rng.choice([largest, largest + rng.randint(0, 5), int(largest * 1.1), int(largest * 1.3),
                       int(largest * 1.6), int(largest * 2), typical * 4 + largest,
                       need[int(len(need) * 0.9)]])            # the last one: some requests are too big
    engine = {
        "preset": "vllm@0.23", "block_tokens": block, "num_gpu_blocks": max(2, pool + 1),
        "max_num_seqs": rng.choice([1, 2, 4, 8, 16, 64]),
        "max_num_batched_tokens": rng.choice([64, 100, 256, 512, 1024, 2048]), "async_scheduling": False,
    }
    if rng.random() < 0.15:
        engine["long_prefill_token_threshold"] = rng.choice([32, 50, 200])
    if rng.random() < 0.15:
        engine["watermark"] = rng.choice([0.01, 0.05, 0.2])
    longest = max(r["input_length"] + r["output_length"] for r in rows)
    if rng.random() < 0.1:
        engine["max_model_len"] = rng.choice([longest, longest - 1, longest * 3 // 4])
    if rng.random() < 0.07:
        engine["enable_chunked_prefill"] = False
        engine["max_num_batched_tokens"] = longest + rng.choice([0, 100, 2000])
        engine["max_model_len"] = longest
        engine.pop("long_prefill_token_threshold", None)
    for switch in ("unhashed_front", "async_load_reservation"):
        if rng.random() < 0.06:
            engine[switch] = False
    kv_bytes = rng.choice([131072, 40960, 8192, 1000])
    workload = {"trace": "requests.jsonl", "arrival": "trace"}
    if trace_block != 512:
        workload["block_tokens"] = trace_block
    if rng.random() < 0.2:
        workload.update(arrival="closed-loop", concurrency=rng.choice([1, 2, 5, 20]))
    elif rng.random() < 0.2:
        workload["speed"] = rng.choice([0.25, 0.5, 1.5, 2, 3, 10])
    replicas = rng.choice([1, 1, 1, 2, 2, 3])
    scenario = {
        "name": f"random-{seed}",
        "model": {"kv_bytes_per_token": kv_bytes, "layers": rng.choice([1, 2, 7, 32])}, "engine": engine,
        "compute": {"kind": "linear", "step_us": rng.choice([500, 2000, 7777]),
                    "token_ns": rng.choice([1000, 20000, 33333]), "kv_token_ns": rng.choice([0, 5, 17])},
        "fleet": {"replicas": replicas}, "policies": {"routing": "round_robin"},
        "workload": workload, "seed": 1,
    }
    prompt_chunks = sorted(-(-(r["input_length"] + r["output_length"]) // chunk) for r in rows)
    return scenario, rows, chunk, chunk * kv_bytes, prompt_chunks


def capacity(rng, chunk_bytes, chunks):
    """About so many chunks, often not a whole number of them."""
    return spelled(rng, chunks * chunk_bytes + rng.choice([0, 0, rng.randint(0, chunk_bytes - 1)]))


def make(seed):
    rng = random.Random(f"lmcache-{seed}")
    scenario, rows, chunk, chunk_bytes, need = base(rng, seed)
    engine = scenario["engine"]
    largest, typical, total = need[-1], max(1, need[len(need) // 2]), sum(need)
    engine["offload_connector"] = "lmcache"
    options = {"chunk_tokens": chunk}
    if rng.random() < 0.3:
        options["save_decode_cache"] = True
    if rng.random() < 0.3:
        options["save_unfull_chunk"] = True
    if rng.random() < 0.2:
        options["min_retrieve_tokens"] = rng.choice([1, 17, 64, 100, 300])
    if rng.random() < 0.12:
        options["local_cpu"] = False
    if rng.random() < 0.4:
        engine["kv_load_failure_policy"] = rng.choice(["fail", "recompute", "recompute"])
    tiers = [{"name": "dram", "kind": "dram"}]
    if rng.random() < 0.6:
        tiers.append({"name": "nvme", "kind": "nvme"})
    if rng.random() < 0.6:
        tiers.append({"name": "redis", "kind": "kv"})
    for tier in tiers:
        if tier["kind"] != "kv" and rng.random() < 0.7:
            tier["eviction"] = rng.choice(["lru", "lfu", "fifo", "mru"])
    low = [rng.randint(1, 6), typical, largest]
    high = [largest, largest + 1, largest + typical, largest * 2, typical * 4 + largest]
    if rng.random() < 0.2:
        high.append(total + largest)
    sizes = low + high if len(tiers) == 1 or rng.random() < 0.15 else high     # small: a load may hang
    tiers[0]["capacity"] = capacity(rng, chunk_bytes, rng.choice(sizes))
    last_ms = rows[-1]["timestamp"]
    for tier in tiers[1:]:
        few = rng.randint(1, 8)
        chunks = rng.choice([few, typical * 2, typical * 10, largest, largest * 3, total, total * 2])
        tier["capacity"] = capacity(rng, chunk_bytes, chunks)
        if rng.random() < 0.6 and tier["kind"] == "kv":
            tier["scope"] = "cluster"
        if rng.random() < 0.1 and tier["kind"] == "nvme":
            tier["scope"] = "cluster"
        if tier["kind"] == "nvme" and rng.random() < 0.5:
            tier["put_threads"] = rng.choice([1, 2, 3, 8])
        if tier["kind"] == "kv":
            if rng.random() < 0.3:
                tier["eviction"] = rng.choice(["lru", "none"])
            if rng.random() < 0.5:
                tier["lookup_us"] = rng.choice([0, 50, 333.3, 2000])
            if rng.random() < 0.5:
                outages, at = [], 0
                often = rng.random() < 0.5
                up, down, count = (8, 6, 100) if often else (last_ms, last_ms // 2, rng.randint(1, 4))
                if often:                                      # an outage between look-up and get
                    tier["lookup_us"] = rng.choice([333.3, 2000, 2000])
                for _ in range(count):
                    start = at + rng.randint(0, max(10, up)) / 1000
                    at = start + rng.randint(1, max(10, down)) / 1000
                    start, at = round(start, 3), round(at, 3)
                    outages.append({"from_s": start, "to_s": at})
                tier["outages"] = outages
            if rng.random() < 0.4:
                options["blocking_timeout_secs"] = rng.choice([0.0005, 0.003, 0.02, 0.1, 1])
    if len(tiers) == 1 and rng.random() < 0.5:
        engine["load"] = "layerwise"
    engine["lmcache"] = options
    scenario["tiers"] = tiers
    scenario["links"] = links_for(rng, tiers)
    return scenario, rows


if __name__ == "__main__":
    main(make)
