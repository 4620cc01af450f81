#!/usr/bin/env python3
"""Write a random small scenario with Mooncake Store behind HiCache's host pool: python3 gen_sglang_mc.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. Engine, requests and devices are those of gen_sglang_l3.py. Leases end
about when reads do, and the store holds about as much as the prompts. Some have several replicas that share it.
"""
import math
import random
from fractions import Fraction

import gen_mooncake
import gen_sglang_l3
from gen import main
from parts import size_of


def read_ns(device, page_bytes, pages):
    """L10."""
    rate = size_of(device["read_bandwidth"].removesuffix("/s"))
    return math.ceil(pages * Fraction(device["read_latency_us"]) * 1000) + math.ceil(pages * page_bytes * 10**9 / rate)


def make_leases(rng, store, devices, page_bytes, needs):
    """About as long as reading a prompt: just as long, a little longer, so long that nothing is lost."""
    device = rng.choice(devices)
    pages = [max(1, rng.choice(needs)), min(128, max(1, needs[-1]))]
    took = read_ns(device, page_bytes, rng.choice(pages))
    factor = rng.choice([0.5, 1, 1, 1, 1.02, 1.5, 3, 3, 10, 30])
    store["lease_ms"] = max(1, math.ceil(took * factor)) / 10**6


def make_reads(rng, scenario, rows, distinct, page_bytes, whole):
    """Prompts come again when memory has lost them: fast writes, an SSD that holds them all."""
    engine, (dram, kv, *ssds) = scenario["engine"], scenario["tiers"]
    gen_sglang_l3.make_again(rng, scenario, rows, [6, 8, 12])
    gen_sglang_l3.make_pace(rng, scenario, rows, [1, 2, 4, 8])
    pages = engine["max_total_tokens"] // engine.get("page_size", 1)
    dram["capacity"] = f"{max(2, pages * rng.choice([3, 4, 5]) // 4)}blocks"
    engine.update(prefetch_threshold=rng.choice([1, 1, 16]), hicache_write_policy="write_through",
                  hicache_storage_prefetch_policy=rng.choice(["wait_complete", "wait_complete", "timeout"]),
                  prefetch_timeout_base=rng.choice([0.01, 0.1, 2]))
    store = kv["store"]
    for key in ("put_discard_s", "put_release_s", "offload_queue_limit", "bucket_bytes"):
        store.pop(key, None)
    store.update(high_watermark=rng.choice([0.3, 0.5, 0.75]), eviction_ratio=rng.choice([0.1, 0.3, 0.6]),
                 eviction_check_ms=rng.choice([2, 10]))
    objects = distinct // rng.choice([1, 2, 3]) + 1
    kv["capacity"] = f"{page_bytes * objects * kv['segments']}B"
    if not whole:
        kv["device"].update(write_bandwidth="20GB/s", write_latency_us=1)
    for ssd in ssds:
        store.update(bucket_keys=rng.choice([1, 2, 5, 20]), heartbeat_ms=rng.choice([1, 5, 20]))
        ssd["capacity"] = f"{page_bytes * (distinct * rng.choice([1, 2, 4]) + 40)}B"
        if not whole:
            ssd["device"].update(write_bandwidth="20GB/s", write_latency_us=rng.choice([0, 5]))


def make_fleet(rng, scenario, rows):
    """Several replicas, mostly on one store."""
    replicas = rng.choice([2, 2, 3])
    engine = scenario["engine"]
    scenario.update(fleet={"replicas": replicas}, policies={"routing": "round_robin"})
    if rng.random() < 0.85:
        scenario["tiers"][1]["scope"] = "cluster"
        for ssd in scenario["tiers"][2:]:                       # a drive that engines wait for: bytes only
            ssd["device"]["read_latency_us"] = 0
    workload = scenario["workload"]                             # the order of engines is left open (L14)
    if workload.get("arrival") == "closed-loop":
        del workload["concurrency"]
        workload["arrival"] = "trace"
    if engine.get("schedule_policy") == "random":               # its words speak of one engine
        engine["schedule_policy"] = "lpm"
    few = len(rows)
    rows += [dict(r) for r in rng.sample(rows, few)]
    for before, row in zip(rows[few - 1:], rows[few:]):
        row["timestamp"] = before["timestamp"] + round(rng.expovariate(1 / 50))
    for before, row in zip(rows, rows[1:]):                     # no two at one instant
        row["timestamp"] = max(row["timestamp"], before["timestamp"] + 1)


def make(seed):
    rng = random.Random(f"sglang-mc-{seed}")
    scenario, rows = gen_sglang_l3.make(seed)
    engine, (dram, old) = scenario["engine"], scenario["tiers"]
    engine.pop("enable_mixed_chunk", None)                      # what a dead engine leaves is not told
    p = engine.get("page_size", 1)
    page_bytes = p * scenario["model"]["kv_bytes_per_token"]
    whole = scenario["compute"]["token_ns"] == 0
    if rng.random() < 0.5:                                      # else the host keeps what the store has
        dram["capacity"] = f"{max(2, engine['max_total_tokens'] // p * rng.choice([2, 3, 4]) // 3)}blocks"
    needs = sorted(r["input_length"] // p for r in rows)
    prompts = {tuple(r["hash_ids"]): r["input_length"] // p for r in rows}
    distinct = max(1, sum(prompts.values()))
    store, segments = {}, rng.choice([1, 1, 2, 3])
    gen_mooncake.eviction(rng, store, max(1, rows[-1]["timestamp"] - rows[0]["timestamp"]))
    if "replicas" in store:
        store["replicas"] = min(2, store["replicas"])
    if rng.random() < 0.6:                                      # else most puts are abandoned
        for key in ("put_discard_s", "put_release_s"):
            store.pop(key, None)
    if rng.random() < 0.5:
        store["high_watermark"] = rng.choice([0.5, 0.75, 0.8, 0.95])
    if store.get("eviction_check_ms") == 1 and rng.random() < 0.7:
        del store["eviction_check_ms"]
    objects = rng.choice([rng.randint(1, 8), max(1, needs[-1]), distinct // 4 + 1, distinct // 2 + 1, distinct // 2 + 1,
                          distinct, distinct * 2])
    share = page_bytes * -(-objects // segments) + rng.choice([0, 0, rng.randint(0, page_bytes - 1)])
    kv = {"name": "store", "kind": "kv", "capacity": f"{share * segments}B", "segments": segments, "store": store,
          "device": {**old["device"], "server_limit": "100000GB/s"}}
    if rng.random() < 0.3:
        kv["device"].update({k: v for k, v in gen_sglang_l3.make_device(rng, page_bytes, whole).items()})
    scenario["tiers"] = [dram, kv]
    devices = [kv["device"]]
    if rng.random() < 0.7:
        room = gen_mooncake.offload(rng, store, page_bytes, objects)
        if rng.random() < 0.6:                                  # more than a page or two at a time
            keys = rng.choice([4, 16, 60])
            store["bucket_keys"] = keys
            store.pop("bucket_bytes", None)
            room = max(room, page_bytes * max(keys, distinct * rng.choice([1, 2, 4]) // 2))
        if rng.random() < 0.5:
            store["offload_queue_limit"] = rng.choice([20, 100, 50000])
        devices.append(gen_sglang_l3.make_device(rng, page_bytes, whole))
        scenario["tiers"].append({"name": "ssd", "kind": "nvme", "capacity": f"{room}B", "device": devices[-1]})
    if rng.random() < 0.55:
        make_reads(rng, scenario, rows, distinct, page_bytes, whole)
    if rng.random() < 0.35:
        make_fleet(rng, scenario, rows)
    make_leases(rng, store, devices, page_bytes, needs)
    scenario["name"] = f"sglang-mc-{seed}"
    return scenario, rows


if __name__ == "__main__":
    main(make)
