#!/usr/bin/env python3
"""Write a random small scenario with storage behind HiCache's host pool: python3 gen_sglang_l3.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. Engine and requests are those of gen_sglang.py, but most prompts come
again. Host pools are small, so that pages leave host memory and come back from storage.
"""
import random

import gen_sglang
from gen import main
from gen_llmd import put, some


def make_pace(rng, scenario, rows, concurrency):
    """Most arrive when something has been written."""
    workload = scenario["workload"]
    for key in ("arrival", "concurrency", "speed"):
        workload.pop(key, None)
    if rng.random() < 0.45:
        workload.update(arrival="closed-loop", concurrency=rng.choice(concurrency))
    else:
        workload["arrival"] = "trace"
    now, gap_ms, together = 0, rng.choice([10, 30, 100, 100, 300, 1000]), rng.choice([0, 0.2, 0.6])
    for row in rows:
        if rng.random() >= together:
            now += round(rng.expovariate(1 / gap_ms))
        row["timestamp"] = now


def make_again(rng, scenario, rows, prompts):
    """A few prompts, that the device cannot hold at once, come again and again: at random or in turn."""
    engine = scenario["engine"]
    most = rng.choice([2, 5, 20, 100, 300])
    for row in rows:
        row["output_length"] = min(row["output_length"], most)
    longer = sorted(rows, key=lambda r: r["input_length"])[len(rows) // 2:]
    few = [dict(r) for r in rng.sample(longer, min(len(longer), rng.choice(prompts)))]
    chance, in_turn = rng.choice([0.7, 0.9, 1]), rng.random() < 0.5
    for i, row in enumerate(rows):
        if rng.random() < chance:
            other = few[i % len(few)] if in_turn else rng.choice(few)
            row.update(input_length=other["input_length"], hash_ids=other["hash_ids"])
    p = engine.get("page_size", 1)
    largest = max(-(-r["input_length"] // p) * p + r["output_length"] + 2 * p + 8 for r in rows)
    engine["max_total_tokens"] = largest * rng.choice([10, 10, 11, 13, 16]) // 10
    make_pace(rng, scenario, rows, [1, 2, 2, 3, 5, 8])


def make_device(rng, page_bytes, whole):
    """A page takes from microseconds to tens of milliseconds. `whole`: of whole milliseconds."""
    device = {}
    for way in ("read", "write"):
        if whole:
            speed, latency = rng.choice([1, 1, 1, 2, 4]) * 10**3 * page_bytes, rng.choice([0, 0, 1000])
        else:
            speed, latency = page_bytes * 10**6 // rng.choice([3, 50, 400, 2000, 9000]), rng.choice([0, 20, 80, 1000])
        device[f"{way}_bandwidth"] = f"{max(1, speed // 1000)}KB/s"
        device[f"{way}_latency_us"] = latency
    return device


def make_stops(rng, scenario, rows, page_bytes):
    """All is in storage, and a time-out is about a batch or two."""
    engine, (dram, storage) = scenario["engine"], scenario["tiers"]
    pages = engine["max_total_tokens"] // engine.get("page_size", 1)
    dram["capacity"], storage["capacity"] = f"{pages * rng.choice([4, 5, 6]) // 3}blocks", "inf"
    device = storage["device"]
    rate = int(device["read_bandwidth"][:-len("KB/s")]) * 1000
    batch_s = 128 * (device["read_latency_us"] / 10**6 + page_bytes / rate)
    engine.update(hicache_storage_prefetch_policy="timeout", prefetch_threshold=rng.choice([1, 16, 100, 160]),
                  prefetch_timeout_per_ki_token=0,
                  prefetch_timeout_base=round(batch_s * rng.choice([0.3, 1, 1.5, 2, 2.4]), 6))
    make_pace(rng, scenario, rows, [1, 2, 2, 3])


def make_losses(rng, scenario, rows, whole):
    """Storage that holds less than all the prompts, slow reads that wait for one another, fast writes."""
    engine, (dram, storage) = scenario["engine"], scenario["tiers"]
    p = engine.get("page_size", 1)
    pages = engine["max_total_tokens"] // p
    rows += [dict(r) for r in rng.sample(rows, len(rows))]
    prompts = [tuple(r["hash_ids"]) for r in rows]
    again = sum(r["input_length"] // p for t, r in dict(zip(prompts, rows)).items() if prompts.count(t) > 1)
    dram["capacity"] = f"{pages * rng.choice([2, 3, 4])}blocks"
    storage["capacity"] = f"{max(1, again * rng.choice([2, 3, 4, 5, 6, 8]) // 10)}blocks"
    if not whole:
        storage["device"].update(write_bandwidth="20GB/s", write_latency_us=rng.choice([0, 1]))
    storage["device"]["read_latency_us"] = rng.choice([1000, 3000, 10000])
    policies = ["wait_complete", "wait_complete", "timeout", "best_effort"]
    engine.update(prefetch_threshold=rng.choice([1, 1, 16, rng.randint(p, 8 * p + 64)]),
                  hicache_write_policy="write_through", hicache_storage_prefetch_policy=rng.choice(policies))
    make_pace(rng, scenario, rows, [4, 6, 10, 20])


def make_retractions(rng, scenario, rows):
    """Long answers of several requests that are promised little room."""
    engine = scenario["engine"]
    put(engine, schedule_conservativeness=rng.choice([0, 0.01, 0.05]), max_running_requests=rng.choice([4, 8, 16]),
        prefetch_threshold=rng.choice([1, 1, 16]))
    engine.pop("max_new_tokens", None)
    for row in rows:
        row["output_length"] = rng.choice([5, 60, 150, 250])
    p, most = engine.get("page_size", 1), max(r["input_length"] for r in rows) + 250
    engine["max_total_tokens"] = (most + 4 * p + 8) * rng.choice([10, 12, 15]) // 10
    make_pace(rng, scenario, rows, [3, 6, 10])


def make(seed):
    rng = random.Random(f"sglang-l3-{seed}")
    scenario, rows = gen_sglang.make(seed)
    engine, tiers = scenario["engine"], scenario["tiers"]
    mode = rng.random()
    if mode < 0.15 or rng.random() < 0.25:                        # long prompts are several batches then
        engine["page_size"] = rng.choice([1, 1, 2])
    if mode < 0.4 or rng.random() < 0.8:
        make_again(rng, scenario, rows, [12, 16, 24] if 0.15 < mode < 0.4 else [4, 6, 8, 12])
    p = engine.get("page_size", 1)
    page_bytes = p * scenario["model"]["kv_bytes_per_token"]
    pages = engine["max_total_tokens"] // p
    if not tiers or rng.random() < 0.8:
        host = pages * rng.choice([2, 4, 6, 6, 8, 8, 9, 12]) // 6 + 1
        tiers[:] = [{"name": "dram", "kind": "dram", "capacity": f"{host}blocks"}]
    if not scenario["links"]:
        scenario["links"] = [
            {"name": name, "from": a, "to": b, "kind": "affine", "latency_us": rng.choice([0, 10, 1000]),
             "bandwidth": rng.choice(["0.05GB/s", "1GB/s", "25GB/s"])}
            for name, a, b in (("d2h", "hbm", "dram"), ("h2d", "dram", "hbm"))]
    engine.pop("hicache_write_policy", None)
    put(engine, hicache_write_policy=some(rng, 0.6, ["write_through", "write_through_selective"]))

    whole = rng.random() < 0.4
    if whole:
        gen_sglang.make_round(rng, scenario, page_bytes)
    storage = {"name": "nvme", "kind": "nvme", "device": make_device(rng, page_bytes, whole)}
    held = rng.choice([rng.randint(1, 8), pages // 2 + 1, pages, pages * 2, pages * 3, pages * 4, pages * 6,
                       pages * 20, None, None])
    if held is not None:
        storage["capacity"] = rng.choice([f"{held}blocks", f"{-(-held * page_bytes // 1024)}KiB"])
    elif rng.random() < 0.5:
        storage["capacity"] = "inf"
    tiers.append(storage)
    longest = max(r["input_length"] for r in rows)
    thresholds = [1, 16, 16, 64, 64, 256, None]
    if rng.random() < 0.9:                                       # mostly such that a prompt reaches
        thresholds = [t for t in thresholds if (t or 256) <= longest * 2 // 3] + [rng.randint(1, longest)]
    put(engine, hicache_storage_prefetch_policy=some(rng, 0.8, ["best_effort", "wait_complete", "wait_complete", "timeout", "timeout"]),
        prefetch_threshold=rng.choice(thresholds),
        prefetch_timeout_base=rng.choice([0, 0, 0.001, 0.002, 0.01, 0.1, 0.0000005, None]),
        prefetch_timeout_per_ki_token=some(rng, 0.8, [0, 0, 0.01, 0.1, 1, 0.0033]),
        prefetch_timeout_max=some(rng, 0.5, [0, 0.001, 0.02, 0.5, 60]))
    if mode < 0.15:
        make_stops(rng, scenario, rows, page_bytes)
    elif mode < 0.4:
        make_losses(rng, scenario, rows, whole)
    elif mode < 0.55:
        make_retractions(rng, scenario, rows)
    scenario["name"] = f"sglang-l3-{seed}"
    return scenario, rows


if __name__ == "__main__":
    main(make)
