#!/usr/bin/env python3
"""Write a random small scenario with LMCache's multi-process connector: python3 gen_lmcache_mp.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. L1 is tiny, so that bursts between ticks are lost; times are
stretched so that a run sees several ticks.
"""
import random

from gen import main
from gen_lmcache import base, capacity, links_for


def make(seed):
    rng = random.Random(f"lmcache-mp-{seed}")
    scenario, rows, chunk, chunk_bytes, need = base(rng, seed)
    engine = scenario["engine"]
    largest, typical, total = need[-1], max(1, need[len(need) // 2]), sum(need)
    engine["offload_connector"] = "lmcache-mp"
    options = {"chunk_tokens": chunk}
    if rng.random() < 0.3:
        options["save_decode_cache"] = True
    if rng.random() < 0.4:
        options["eviction_trigger_watermark"] = rng.choice([0.1, 0.5, 0.75, 0.95, 1])
    if rng.random() < 0.4:
        options["eviction_ratio"] = rng.choice([0, 0.05, 0.3, 0.7, 1])
    if rng.random() < 0.3:
        options["resume_load"] = False
    names = rng.choice([[], ["nvme"], ["redis"], ["nvme", "redis"], ["nvme", "redis"], ["redis", "nvme"],
                        ["nvme", "share", "redis"]])
    kinds = {"nvme": "nvme", "redis": "kv", "share": "fs"}
    tiers = [{"name": "dram", "kind": "dram"}] + [{"name": n, "kind": kinds[n]} for n in names]
    if names:
        if rng.random() < 0.5:
            options["l2_store_policy"] = rng.choice(["default", "skip_l1", "skip_l1", "skip_l1"])
        if rng.random() < 0.4:
            options["l2_prefetch_policy"] = rng.choice(["default", "retain", "retain"])
        if rng.random() < 0.4:
            options["l2_prefetch_max_in_flight"] = rng.choice([1, 1, 2, 3])
    chunks = rng.choice([rng.randint(1, 6), typical, typical * 2, largest, largest * 2, typical * 8, total])
    tiers[0]["capacity"] = capacity(rng, chunk_bytes, chunks)
    for tier in tiers[1:]:
        chunks = rng.choice([rng.randint(1, 8), typical * 2, largest, largest * 4, total, total, total * 3])
        tier["capacity"] = capacity(rng, chunk_bytes, chunks)
        if rng.random() < 0.5:
            tier["scope"] = "cluster"
    if rng.random() < 0.6 and scenario["workload"]["arrival"] == "trace":
        factor = rng.choice([2, 5, 20])                        # more ticks
        for row in rows:
            row["timestamp"] *= factor
    engine["lmcache_mp"] = options
    scenario["tiers"] = tiers
    scenario["links"] = links_for(rng, tiers)
    return scenario, rows


if __name__ == "__main__":
    main(make)
