#!/usr/bin/env python3
"""Write a random small scenario with version 2 of Dynamo's KVBM: python3 gen_kvbm_v2.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. Sizes and links are those of gen_kvbm.py. Half of the seeds repeat
a few prompts so often that counts of uses climb, and then push them out of dram, so that they come again.
"""
import random

from gen import main
from gen_kvbm import conversations, make_of

POLICIES = ["pass_all", "presence", "presence_lfu"]


def thresholds(rng):
    return sorted(rng.sample(range(1, rng.choice([5, 8, 16])), 3))


def policies(rng, usual):
    """One policy mostly; two or three, or none, which is the default."""
    how = rng.random()
    if how < 0.7:
        return [rng.choice(usual)]
    return rng.sample(POLICIES, rng.choice([2, 3])) if how < 0.9 and "presence_lfu" in usual else []


def options(rng, shape, _talk):
    """Any subset of the keys of engine.kvbm; None leaves it out."""
    keys = {
        "host_policies": policies(rng, ["pass_all", "pass_all", "presence"]),
        "disk_policies": policies(rng, ["pass_all", "presence", "presence_lfu", "presence_lfu"]),
        "min_lfu_count": rng.choice([1, 1, 1, 2, 2, 3, 5, 8, 14, 15]),
        "lfu_entries": rng.choice([1, 2, 3, 5, 10, 1000, 1000, 2097152]),
        "max_batch_size": rng.choice([1, 2, 3, 5, 8, 64]),
        "inactive_pool": rng.choice(["lru", "multi_lru", "multi_lru", "lineage"]),
        "multi_lru_thresholds": thresholds(rng),
    }
    share = rng.choice([0.0, 0.4, 0.6, 0.8, 1.0])
    chosen = {key: value for key, value in keys.items() if rng.random() < share}
    if rng.random() < 0.02:                                    # nothing is ever used, so nothing leaves HBM
        chosen["host_policies"] = ["presence_lfu"]
    if shape[:1] == ("nvme",) and rng.random() < 0.5:          # else little reaches a disk
        if rng.random() < 0.5:
            chosen["disk_policies"] = [rng.choice(["presence", "pass_all"])]
            if rng.random() < 0.5:                             # duplicates of blocks that are being written
                chosen["host_policies"] = ["pass_all"]
        else:
            chosen["min_lfu_count"] = rng.choice([1, 1, 2, 3])
    return chosen if chosen or rng.random() < 0.5 else None


def popular(rng, trace_block, in_turn=False):
    """Few prompts many times, some that share their head; now and then strangers that push them out."""
    serial = rng.randint(1, 2)
    head = list(range(serial))
    prompts = []
    for _ in range(rng.randint(2, 4)):
        tail = rng.choice([1, 1, 2, 3])
        prompts.append((head if rng.random() < 0.7 else []) + list(range(serial, serial + tail)))
        serial += tail
    rows, now = [], 0
    in_turn = in_turn or rng.random() < 0.3                    # else HBM has a prompt again too often
    strangers = rng.choice([0.02, 0.1, 0.4])
    for i in range(rng.randint(30, 80)):
        if rng.random() < strangers:
            length = rng.randint(1, 4)
            chain = list(range(serial, serial + length))
            serial += length
        else:
            chain = list(prompts[i % len(prompts)] if in_turn else rng.choice(prompts))
        part = rng.choice([0, 0, rng.randint(1, trace_block - 1)])
        ids = chain + [serial] * (part > 0)
        serial += part > 0
        rows.append({"timestamp": now, "input_length": len(chain) * trace_block + part,
                     "output_length": rng.randint(1, 30), "hash_ids": ids})
        now += rng.choice([1, 10, 40, 100])
    return rows


def talk(rng, trace_block):
    return rng.choice([conversations, popular])(rng, trace_block)


def on_a_grid(rng, scenario):
    """All times are multiples of 100 us, most of 200, so that ends meet: W8."""
    scenario["compute"] = {"kind": "linear", "step_us": rng.choice([200, 400, 1000, 2000]), "token_ns": 0,
                           "kv_token_ns": 0}
    for link in scenario["links"]:                             # a block takes 100, 200, 200 or 400 us
        link["latency_us"] = rng.choice([0, 0, 200, 400])
        link["bandwidth"] = rng.choice(["0.16GB/s", "0.08GB/s", "0.08GB/s", "0.04GB/s"])


def hot(rng, seed):
    """One replica, room for one request in HBM and for several in dram: counts climb to 15."""
    scenario, rows = make_of(rng, seed, "kvbm@2.0", options, 1.0, lambda *a: popular(*a, in_turn=True))
    engine = scenario["engine"]
    most = max(r["input_length"] + r["output_length"] for r in rows) // engine["block_tokens"] + 1
    engine["num_gpu_blocks"] = most + 1
    scenario["fleet"]["replicas"] = 1
    scenario["tiers"][0]["capacity"] = f"{most * rng.choice([2, 3, 4]) + rng.randint(0, 3)}blocks"
    engine.get("kvbm", {}).pop("lfu_entries", None)
    return scenario, rows


def make(seed):
    rng = random.Random(f"kvbm-v2-{seed}")
    if rng.random() < 0.15:
        scenario, rows = hot(rng, seed)
    else:
        scenario, rows = make_of(rng, seed, "kvbm@2.0", options, 0.6, talk)
    if scenario["engine"]["block_tokens"] * scenario["model"]["kv_bytes_per_token"] == 16000 and rng.random() < 0.8:
        on_a_grid(rng, scenario)
    return scenario, rows


if __name__ == "__main__":
    main(make)
