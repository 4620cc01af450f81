#!/usr/bin/env python3
"""Write a random small scenario with storage behind HiCache's host pool: python3 gen_sglang_l3.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. Engine and requests are those of gen_sglang.py, most prompts come
again. Host pools are small, so that pages leave host memory and come back from storage.
"""
import random

import gen_sglang
from gen import main
from gen_llmd import put, some


def make_again(rng, rows):
    """Most rows ask for one of few prompts, at once or long after."""
    few = [dict(r) for r in rng.sample(rows, min(len(rows), rng.choice([3, 6, 12, 20])))]
    chance = rng.choice([0.3, 0.6, 0.9])
    for row in rows:
        if rng.random() < chance:
            other = rng.choice(few)
            row.update(input_length=other["input_length"], hash_ids=other["hash_ids"])
    stretch = rng.choice([1, 1, 3, 10])
    for row in rows:
        row["timestamp"] *= stretch


def make_device(rng, page_bytes, whole):
    """A page takes from microseconds to tens of milliseconds. `whole`: of whole milliseconds."""
    device = {}
    for way in ("read", "write"):
        if whole:
            speed, latency = rng.choice([1, 1, 2, 5, 20]) * 10**3 * page_bytes, rng.choice([0, 0, 1000])
        else:
            speed, latency = page_bytes * 10**6 // rng.choice([3, 50, 400, 2000, 9000]), rng.choice([0, 20, 80, 1000])
        device[f"{way}_bandwidth"] = f"{max(1, speed // 1000)}KB/s"
        device[f"{way}_latency_us"] = latency
    return device


def make(seed):
    rng = random.Random(f"sglang-l3-{seed}")
    scenario, rows = gen_sglang.make(seed)
    engine, tiers = scenario["engine"], scenario["tiers"]
    make_again(rng, rows)
    p = engine.get("page_size", 1)
    page_bytes = p * scenario["model"]["kv_bytes_per_token"]
    pages = engine["max_total_tokens"] // p
    if not tiers or rng.random() < 0.7:
        host = rng.choice([pages // 4, pages // 2, pages // 2, pages, pages, pages * 2, pages * 5]) + 1
        tiers[:] = [{"name": "dram", "kind": "dram", "capacity": f"{host}blocks"}]
    if not scenario["links"]:
        scenario["links"] = [{"name": name, "from": a, "to": b, "kind": "affine", "latency_us": rng.choice([0, 10, 1000]),
                              "bandwidth": rng.choice(["0.05GB/s", "1GB/s", "25GB/s"])}
                             for name, a, b in (("d2h", "hbm", "dram"), ("h2d", "dram", "hbm"))]
    engine.pop("hicache_write_policy", None)
    put(engine, hicache_write_policy=some(rng, 0.6, ["write_through", "write_through_selective"]))

    whole = rng.random() < 0.3
    if whole:
        gen_sglang.make_round(rng, scenario, page_bytes)
    storage = {"name": "nvme", "kind": rng.choice(["nvme", "nvme", "fs"]), "device": make_device(rng, page_bytes, whole)}
    held = rng.choice([rng.randint(1, 8), pages // 2 + 1, pages * 2, pages * 5, pages * 5, pages * 20, None, None])
    if held is not None:
        storage["capacity"] = rng.choice([f"{held}blocks", f"{-(-held * page_bytes // 1024)}KiB"])
    elif rng.random() < 0.5:
        storage["capacity"] = "inf"
    tiers.append(storage)
    put(engine, hicache_storage_prefetch_policy=some(rng, 0.8, ["best_effort", "wait_complete", "timeout", "timeout"]),
        prefetch_threshold=rng.choice([1, 1, 16, 16, 16, 64, 64, 256, None]),
        prefetch_timeout_base=rng.choice([0, 0, 0.001, 0.002, 0.01, 0.1, 0.0000005, None]),
        prefetch_timeout_per_ki_token=some(rng, 0.8, [0, 0, 0.01, 0.1, 1, 0.0033]),
        prefetch_timeout_max=some(rng, 0.5, [0, 0.001, 0.02, 0.5, 60]))
    scenario["name"] = f"sglang-l3-{seed}"
    return scenario, rows


if __name__ == "__main__":
    main(make)
