#!/usr/bin/env python3
"""Write a random small scenario with AIBrix KVCache: python3 gen_aibrix.py SEED OUTDIR"""
import random

from gen import main
from gen_lmcache import base, capacity, links_for


def make(seed):
    rng = random.Random(f"aibrix-{seed}")
    scenario, rows, _, _, _ = base(rng, seed)
    engine = scenario["engine"]
    engine["preset"] = "aibrix@0.4"
    block_bytes = engine["block_tokens"] * scenario["model"]["kv_bytes_per_token"]
    blocks = sorted(-(-r["input_length"] // engine["block_tokens"]) for r in rows)
    largest, total = blocks[-1], sum(blocks)
    options = {"chunk_tokens": rng.choice([64, 128, 512]), "skip_blocks": rng.choice([1, 2, 8]),
               "ingestion": rng.choice(["hot", "all", "evicted"]),
               "max_inflight_tokens": rng.choice([0, 0, 16, 512, 4096])}
    if rng.random() < 0.4:
        options["promo_threshold"] = rng.choice([1, 2, 3])
    if rng.random() < 0.4:
        options["small_fifo_ratio"] = rng.choice([0.1, 0.5, 0.9])
    if rng.random() < 0.4:
        options["per_token_timeout_ms"] = rng.choice([1, 0.01, 0.1])
    if rng.random() < 0.4:
        options["double_get_blocks"] = rng.choice([1, 2])
    if rng.random() < 0.2:
        options["double_get_ratio"] = rng.choice([0, 0.3, 0.75])
    engine["aibrix"] = options
    tiers = [{"name": "dram", "kind": "dram", "eviction": rng.choice(["s3fifo", "s3fifo", "lru", "fifo"])}]
    if rng.random() < 0.67:
        tiers.append({"name": "redis", "kind": "kv", "eviction": rng.choice(["lru", "none"]),
                      "scope": rng.choice(["cluster", "replica"]), "lookup_us": rng.choice([0, 50, 333.3])})
    for tier in tiers:
        held = rng.choice([rng.randint(1, 8), largest // 2 + 1, largest, largest * 2, largest * 6, total])
        tier["capacity"] = capacity(rng, block_bytes, held)
    if len(tiers) > 1 and rng.random() < 0.15:
        del tiers[1]["capacity"]
    scenario["tiers"] = tiers
    scenario["links"] = links_for(rng, tiers)
    return scenario, rows


if __name__ == "__main__":
    main(make)
