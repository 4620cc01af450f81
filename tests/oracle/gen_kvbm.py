#!/usr/bin/env python3
"""Write a random small scenario with Dynamo's KVBM: python3 gen_kvbm.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. Pools and tiers are tiny, so that requests are preempted, blocks
evicted and copies dropped. A third of the seeds has round times only, so that ends meet at one instant.
"""
import random

from gen import main
from gen_lmcache import FAST, SLOW, base, spelled


def capacity(rng, slots, block_bytes):
    """Exactly so many slots, often with bytes to spare that make none."""
    if rng.random() < 0.3:
        return f"{slots}blocks"
    return spelled(rng, slots * block_bytes + rng.choice([0, 0, rng.randint(0, block_bytes - 1)]))


def options(rng):
    """Any subset of the keys of engine.kvbm."""
    keys = {
        "max_transfer_batch_size": rng.choice([1, 2, 3, 5, 16, 32]),
        "max_concurrent_transfers": rng.choice([1, 1, 2, 3, 4, 6]),
        "disk_offload_filter": rng.random() < 0.5,
        "disk_filter_min": rng.choice([1, 2, 3, 4, 8]),
        "disk_filter_decay_s": rng.choice([0.005, 0.05, 0.3, 1, 2, 10, 600]),
        "disk_filter_entries": rng.choice([1, 2, 5, 12, 50, 1000]),
    }
    share = rng.choice([0.0, 0.4, 0.4, 0.8])
    return {key: value for key, value in keys.items() if rng.random() < share}


def link(rng, name, source, target, speeds, is_round):
    latency = rng.choice([0, 16, 32, 64, 320] if is_round else [0, 1, 10, 137, 1000, 12.5])
    return {"name": name, "from": source, "to": target, "kind": "affine", "latency_us": latency,
            "bandwidth": rng.choice(["1GB/s", "0.5GB/s", "0.25GB/s", "0.1GB/s"]) if is_round
            else rng.choice(speeds)}


def links_for(rng, tiers, is_round):
    links = [link(rng, "d2h", "hbm", "dram", FAST, is_round), link(rng, "h2d", "dram", "hbm", FAST, is_round)]
    for tier in tiers[1:]:
        name = tier["name"]
        links.append(link(rng, "to_" + name, "dram", name, SLOW + FAST[:2], is_round))
        links.append(link(rng, "from_" + name, name, "hbm", SLOW + FAST[:2], is_round))
    return links


def make(seed):
    rng = random.Random(f"kvbm-{seed}")
    scenario, rows, *_ = base(rng, seed)
    engine = scenario["engine"]
    engine["preset"] = "kvbm@1.0"
    is_round = rng.random() < 0.33
    if is_round:                                               # 16 us for a block at 1 GB/s, whole steps of 16 us
        engine["block_tokens"] = 16
        scenario["model"]["kv_bytes_per_token"] = 1000
        scenario["compute"] = {"kind": "linear", "step_us": rng.choice([160, 1600]),
                               "token_ns": rng.choice([0, 1000, 16000]), "kv_token_ns": 0}
    if rng.random() < 0.25:                                    # exact repetitions after a while
        again = rng.choice([1, 2, 3])
        rows += [{**row, "timestamp": row["timestamp"] + rows[-1]["timestamp"]} for row in rows] * again
        rows[:] = rows[:150]
    if rng.random() < 0.06:
        engine["reserve_full_isl"] = False
    need = sorted(-(-(r["input_length"] + r["output_length"]) // engine["block_tokens"]) for r in rows)
    largest, typical, total = need[-1], max(1, need[len(need) // 2]), sum(need)
    block_bytes = engine["block_tokens"] * scenario["model"]["kv_bytes_per_token"]
    tiers = [{"name": "dram", "kind": "dram"}]
    shape = rng.choice([(), ("nvme",), ("nvme",), ("nvme",), ("nvme", "object"), ("nvme", "object"), ("object",)])
    tiers += [{"name": kind, "kind": kind} for kind in shape]
    sizes = [rng.randint(1, 8), typical, typical * 2, typical * 4, largest, largest + typical, largest * 3, total]
    tiers[0]["capacity"] = capacity(rng, rng.choice(sizes), block_bytes)
    for tier in tiers[1:]:
        slots = rng.choice([rng.randint(1, 6), typical, typical * 3, largest, largest * 3, total, total * 2])
        tier["capacity"] = capacity(rng, slots, block_bytes)
    chosen = options(rng)
    if shape[:1] == ("nvme",) and rng.random() < 0.3:          # else little reaches a small disk
        chosen["disk_offload_filter"] = False
    if chosen or rng.random() < 0.5:
        engine["kvbm"] = chosen
    scenario["tiers"] = tiers
    scenario["links"] = links_for(rng, tiers, is_round)
    return scenario, rows


if __name__ == "__main__":
    main(make)
