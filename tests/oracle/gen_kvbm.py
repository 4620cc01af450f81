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


def options(rng, shape, talk):
    """Any subset of the keys of engine.kvbm; None leaves it out."""
    keys = {
        "max_transfer_batch_size": rng.choice([1, 2, 3, 5, 16, 32]),
        "max_concurrent_transfers": rng.choice([1, 1, 2, 3, 4, 6]),
        "disk_offload_filter": rng.random() < 0.5,
        "disk_filter_min": rng.choice([1, 2, 3, 4, 8]),
        "disk_filter_decay_s": rng.choice([0.005, 0.05, 0.3, 1, 2, 10, 600]),
        "disk_filter_entries": rng.choice([1, 2, 5, 12, 50, 1000]),
    }
    share = rng.choice([0.0, 0.4, 0.4, 0.8])
    chosen = {key: value for key, value in keys.items() if rng.random() < share}
    if shape[:1] == ("nvme",) and rng.random() < (0.7 if talk else 0.3):      # else little reaches a disk
        chosen["disk_offload_filter"] = False
    return chosen if chosen or rng.random() < 0.5 else None


def link(rng, name, source, target, speeds, is_round):
    latency = rng.choice([0, 16, 32, 64, 320] if is_round else [0, 1, 10, 137, 1000, 12.5])
    return {"name": name, "from": source, "to": target, "kind": "affine", "latency_us": latency,
            "bandwidth": rng.choice(["1GB/s", "0.5GB/s", "0.25GB/s", "0.1GB/s"]) if is_round
            else rng.choice(speeds)}


def links_for(rng, tiers, is_round):
    speeds = SLOW if rng.random() < 0.3 else FAST              # slow: copy-downs queue and find no slots
    links = [link(rng, "d2h", "hbm", "dram", speeds, is_round), link(rng, "h2d", "dram", "hbm", FAST, is_round)]
    for tier in tiers[1:]:
        name = tier["name"]
        links.append(link(rng, "to_" + name, "dram", name, SLOW + FAST[:2], is_round))
        links.append(link(rng, "from_" + name, name, "hbm", SLOW + FAST[:2], is_round))
    return links


def conversations(rng, trace_block):
    """Sessions over one system prompt that take turns: its head is young in G2, their tails only below."""
    head = list(range(rng.randint(1, 3)))
    sessions = [list(head) for _ in range(rng.randint(2, 5))]
    rows, now, serial = [], 0, len(head)
    for _ in range(rng.randint(25, 60)):
        chain = rng.choice(sessions)
        if len(chain) - len(head) > 6:
            del chain[len(head):]
        for _ in range(rng.randint(1, 2)):
            chain.append(serial)
            serial += 1
        tail = rng.choice([0, 0, rng.randint(1, trace_block - 1)])
        serial += tail > 0
        rows.append({"timestamp": now, "input_length": len(chain) * trace_block + tail,
                     "output_length": rng.randint(1, 30), "hash_ids": chain + [serial - 1] * (tail > 0)})
        now += rng.choice([1, 20, 60, 150])
    return rows


def make(seed):
    return make_of(random.Random(f"kvbm-{seed}"), seed, "kvbm@1.0", options, 0.25, conversations)


def make_of(rng, seed, preset, options_of, talk_share, talk_rows):
    """Both versions: a share of the seeds has the workload of `talk_rows` and little room."""
    scenario, rows, *_ = base(rng, seed)
    engine = scenario["engine"]
    engine["preset"] = preset
    is_round = rng.random() < 0.33
    if is_round:                                               # 16 us for a block at 1 GB/s, whole steps of 16 us
        engine["block_tokens"] = 16
        scenario["model"]["kv_bytes_per_token"] = 1000
        scenario["compute"] = {"kind": "linear", "step_us": rng.choice([160, 1600]),
                               "token_ns": rng.choice([0, 1000, 16000]), "kv_token_ns": 0}
    if rng.random() < 0.25:                                    # exact repetitions after a while
        length, again = rows[-1]["timestamp"], rng.choice([1, 2, 3])
        rows = [{**row, "timestamp": row["timestamp"] + k * length} for k in range(again + 1) for row in rows]
        rows = rows[:150]
    talk = rng.random() < talk_share
    if talk:
        rows = talk_rows(rng, scenario["workload"].get("block_tokens", 512))
        engine.pop("max_model_len", None)
        engine.pop("enable_chunked_prefill", None)
    need = sorted(-(-(r["input_length"] + r["output_length"]) // engine["block_tokens"]) for r in rows)
    largest, typical, total = need[-1], max(1, need[len(need) // 2]), sum(need)
    block_bytes = engine["block_tokens"] * scenario["model"]["kv_bytes_per_token"]
    if talk:
        engine["num_gpu_blocks"] = largest + rng.choice([1, 3, typical])
    tiers = [{"name": "dram", "kind": "dram"}]
    shape = rng.choice([(), ("nvme",), ("nvme",), ("nvme",), ("nvme", "object"), ("nvme", "object"), ("object",)])
    tiers += [{"name": kind, "kind": kind} for kind in shape]
    sizes = [rng.randint(1, 8), typical, typical * 2, typical * 4, largest, largest + typical, largest * 3, total]
    if talk:
        sizes = [largest, largest + typical, largest + 2 * typical]
    tiers[0]["capacity"] = capacity(rng, rng.choice(sizes), block_bytes)
    for tier in tiers[1:]:
        slots = rng.choice([rng.randint(1, 6), rng.randint(1, 30), typical, typical * 3, largest, total // 3, total])
        slots = max(1, slots)
        tier["capacity"] = capacity(rng, slots, block_bytes)
    chosen = options_of(rng, shape, talk)
    if chosen is not None:
        engine["kvbm"] = chosen
    scenario["tiers"] = tiers
    scenario["links"] = links_for(rng, tiers, is_round)
    return scenario, rows


if __name__ == "__main__":
    main(make)
