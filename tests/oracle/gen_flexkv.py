#!/usr/bin/env python3
"""Write a random small scenario with FlexKV: python3 gen_flexkv.py SEED OUTDIR"""
import random

from gen import main
from gen_lmcache import base, capacity, links_for

KINDS = {"dram": "dram", "nvme": "nvme", "obj": "object", "remote": "kv"}


def make(seed):
    rng = random.Random(f"flexkv-{seed}")
    scenario, rows, _, _, _ = base(rng, seed)
    engine = scenario["engine"]
    engine["preset"] = "flexkv@1.2"
    block_bytes = engine["block_tokens"] * scenario["model"]["kv_bytes_per_token"]
    blocks = sorted(-(-(r["input_length"] + r["output_length"]) // engine["block_tokens"]) for r in rows)
    largest, total = blocks[-1], sum(blocks)
    options = {}
    if rng.random() < 0.5:
        options["evict_start_threshold"] = rng.choice([0.3, 0.5, 0.9, 1])
    if rng.random() < 0.5:
        options["evict_ratio"] = rng.choice([0, 0.1, 0.5, 1])
    if rng.random() < 0.3:
        options["hit_reward_seconds"] = rng.choice([1, 10])
    if rng.random() < 0.2:
        options["slru_protected_threshold"] = rng.choice([1, 3])
    if options:
        engine["flexkv"] = options
    names = ["dram"] + rng.choice([[], ["nvme"], ["nvme", "obj"], ["nvme", "remote"]])
    tiers = []
    for name in names:
        held = rng.choice([rng.randint(1, 8), largest // 2 + 1, largest, largest * 2, largest * 6, total])
        tier = {"name": name, "kind": KINDS[name], "capacity": capacity(rng, block_bytes, held)}
        if rng.random() < 0.8:
            tier["eviction"] = rng.choice(["lru", "lru", "lfu", "slru", "fifo", "mru", "filo"])
        tiers.append(tier)
    scenario["tiers"] = tiers
    scenario["links"] = links_for(rng, tiers)
    return scenario, rows


if __name__ == "__main__":
    main(make)
