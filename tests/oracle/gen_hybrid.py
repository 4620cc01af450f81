#!/usr/bin/env python3
"""Write a random small scenario of native offload and LMCache MP side by side: python3 gen_hybrid.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. It is gen_lmcache_mp.py's scenario with a native tier in front.
"""
import random

import gen_lmcache_mp
from gen import main


def make(seed):
    rng = random.Random(f"hybrid-{seed}")
    scenario, rows = gen_lmcache_mp.make(f"hybrid-{seed}")
    engine, tiers = scenario["engine"], scenario["tiers"]
    engine["offload_connector"] = "hybrid"
    del scenario["fleet"], scenario["policies"]                # one replica
    need = sorted(-(-(r["input_length"] + r["output_length"] - 1) // engine["block_tokens"]) for r in rows)
    largest, typical, total = need[-1], need[len(need) // 2], sum(need)
    blocks = rng.choice([rng.randint(1, 8), typical, largest, largest * 2, largest * 4, typical * 8, total])
    # Native slots are whole pages of 4096 bytes.
    page = -(-engine["block_tokens"] * scenario["model"]["kv_bytes_per_token"] // 4096) * 4096
    tiers[:0] = [{"name": "native", "kind": "dram", "capacity": f"{blocks * page}B"}]
    if rng.random() < 0.3:
        engine["offload_prompt_only"] = False
    if rng.random() < 0.2:
        engine["store_defer_next_step"] = False
    if rng.random() < 0.1:
        engine["convoy"] = False
    for link in scenario["links"]:
        if "hbm" in (link["from"], link["to"]):
            end = "to" if link["from"] == "hbm" else "from"
            link[end] = "native"
    for tier in tiers[1:]:
        if "scope" in tier:
            del tier["scope"]
    return scenario, rows


if __name__ == "__main__":
    main(make)
