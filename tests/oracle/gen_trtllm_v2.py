#!/usr/bin/env python3
"""Write a random small scenario of TensorRT-LLM's KV cache manager V2: python3 gen_trtllm_v2.py SEED OUTDIR

Requests and sizes are those of gen_trtllm.py, on which host memory and often a disk are put: some hold only what
was suspended, or less than that, so that requests give up.
"""
import random

import gen_trtllm
from gen import main
from gen_llmd import put, some


def capacity(rng, slots, block_bytes):
    size = -(-slots * block_bytes // 1024) + rng.choice([0, 0, block_bytes // 2048])
    return rng.choice([f"{size}KiB", f"{size}KiB", f"{slots}blocks"])


def make_links(rng, pairs, block_bytes, exact):
    links = []
    for name, a, b in pairs:
        disk = "disk" in (a, b)
        link = {"name": name, "from": a, "to": b, "kind": "affine",
                "latency_us": rng.choice([0, 1, 10, 137, 1000]),
                "bandwidth": rng.choice(["0.01GB/s", "0.1GB/s", "3GB/s", "7.1GB/s"] if disk else
                                        ["0.05GB/s", "0.2GB/s", "1GB/s", "3.7GB/s", "12GB/s", "64GB/s"])}
        if exact:
            link.update(latency_us=rng.choice([0, 0, 1000]), bandwidth=f"{rng.choice([1, 2, 5]) * block_bytes}KB/s")
        links.append(link)
    return links


def make(seed):
    scenario, rows = gen_trtllm.make(seed + 1_000_000)
    rng = random.Random(f"trtllm-v2-{seed}")
    scenario["name"] = f"trtllm-v2-{seed}"
    engine = scenario["engine"]
    for key in ("copy_on_partial_reuse", "secondary_offload_min_priority", "claim_before_onboard",
                "capacity_scheduler_policy"):
        engine.pop(key, None)
    for key in ("retention", "decode_retention"):
        scenario["workload"].pop(key, None)
    engine["kv_cache_manager"] = "v2"
    put(engine, capacity_scheduler_policy=some(rng, 0.2, ["MAX_UTILIZATION"]),
        disk_prefetch_num_reqs=some(rng, 0.1, [0]),
        max_util_for_resume=some(rng, 0.5, [0.5, 0.7, 0.8, 0.9, 0.99, 1]))
    if rng.random() < 0.5:
        for row in rows:
            if rng.random() < 0.6:
                row["output_length"] = rng.randint(1, rng.choice([40, 100, 200]))
        need = max(-(-(r["input_length"] + r["output_length"]) // engine.get("block_tokens", 32)) for r in rows)
        engine["num_gpu_blocks"] = max(2, need + rng.choice([0, 0, 1, 3, need // 4, need]))
        if "max_model_len" in engine:
            del engine["max_model_len"]
    pool = engine["num_gpu_blocks"]
    block_bytes = scenario["model"]["kv_bytes_per_token"] * engine.get("block_tokens", 32)
    exact = scenario["compute"]["token_ns"] == 0
    dram = {"name": "dram", "kind": "dram"}
    if rng.random() < 0.75:
        slots = rng.choice([1, 2, 3, rng.randint(2, 10), pool // 2 + 1, pool, pool * 3])
        dram["capacity"] = capacity(rng, slots, block_bytes)
    pairs = [("d2h", "hbm", "dram"), ("h2d", "dram", "hbm")]
    scenario["tiers"] = [dram]
    if rng.random() < 0.65:
        slots = rng.choice([1, 2, 5, rng.randint(2, 20), pool, pool * 2, pool * 5])
        scenario["tiers"].append({"name": "disk", "kind": "nvme", "capacity": capacity(rng, slots, block_bytes)})
        pairs += [("to_disk", "dram", "disk"), ("from_disk", "disk", "dram")]
    scenario["links"] = make_links(rng, pairs, block_bytes, exact)
    return scenario, rows


if __name__ == "__main__":
    main(make)
