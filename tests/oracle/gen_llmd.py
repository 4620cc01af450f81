#!/usr/bin/env python3
"""Write a random small scenario with the llm-d FS connector: python3 gen_llmd.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. The requests are those of gen.py: shared prefixes, copies,
next turns, odd lengths. Pools, files and thresholds are small, so that requests are preempted, writes
dropped or refused, files evicted while they are wanted. Each key is left to its default now and then.
"""
import random

from gen import main, make_requests


def some(rng, chance, values):
    """A value, or None for the default."""
    return rng.choice(values) if rng.random() < chance else None


def put(target, **values):
    target.update({k: v for k, v in values.items() if v is not None})


def make_evictor(rng):
    e = {"interval_s": rng.choice([0.05, 0.05, 0.02, 0.1, 0.013]),
         "access_minutes": rng.choice([0, 0, 0, 0.0005, 0.001, 0.005])}
    cleanup, target = rng.choice([(85, 70), (50, 30), (90, 10), (30, 20), (62.5, 12.5), (100, 50), (10, 0)])
    put(e, queue_min=some(rng, 0.8, [0, 1, 2, 5, 20]), queue_max=some(rng, 0.8, [1, 2, 3, 5, 10, 40]),
        deletion_batch_size=some(rng, 0.9, [1, 1, 2, 3, 5, 20]))
    if rng.random() < 0.85:
        e.update(cleanup_threshold=cleanup, target_threshold=target)
    if rng.random() < 0.1:
        del e["interval_s"]
    if rng.random() < 0.05:
        del e["access_minutes"]
    return e


def make_engine(rng, rows, block):
    need = sorted(-(-(r["input_length"] + r["output_length"] - 1) // block) for r in rows)
    largest, typical = need[-1], need[len(need) // 2]
    pool = rng.choice([largest, largest + rng.randint(0, 5), int(largest * 1.3), int(largest * 1.6),
                       largest * 2, typical * 2 + largest, typical * 6 + largest, need[int(len(need) * 0.9)]])
    engine = {"preset": "vllm@0.23", "block_tokens": block, "num_gpu_blocks": max(2, pool + 1),
              "max_num_seqs": rng.choice([1, 2, 4, 8, 16, 64]),
              "max_num_batched_tokens": rng.choice([64, 100, 256, 512, 1024, 2048]),
              "async_scheduling": False, "offload_connector": "llmd-fs"}
    longest = max(r["input_length"] + r["output_length"] for r in rows)
    put(engine, long_prefill_token_threshold=some(rng, 0.1, [32, 50, 200]),
        watermark=some(rng, 0.1, [0.01, 0.05, 0.2]), max_model_len=some(rng, 0.08, [longest, longest - 1]),
        offload_prompt_only=some(rng, 0.5, [False, False, False, True]), convoy=some(rng, 0.1, [False]))
    return engine


def make_round(rng, scenario, file_bytes):
    """Whole milliseconds everywhere, so that much happens at the same instant (rule 1)."""
    scenario["compute"].update(step_us=rng.choice([1000, 2000, 5000]), token_ns=0, kv_token_ns=0)
    for link in scenario["links"]:
        files_per_ms = rng.choice([1, 1, 1, 2, 5])
        link.update(latency_us=rng.choice([0, 1000, 3000]), bandwidth=f"{files_per_ms * file_bytes}KB/s")
    (fs,) = scenario["tiers"]
    if "lookup_us" in fs:
        fs["lookup_us"] = rng.choice([0, 250, 1000])
    if "evictor" in fs:
        fs["evictor"].update(interval_s=rng.choice([0.01, 0.02, 0.05]))


def make(seed):
    rng = random.Random(f"llmd-{seed}")
    block = 16
    file_tokens = rng.choice([32, 64, 64, 128, 256])
    trace_block = rng.choice([64, 128, 128, 256, 512])
    max_prompt = trace_block * rng.choice([2, 5, 9])
    rows = make_requests(rng, trace_block, rng.randint(20, 120), max_prompt, rng.choice([3, 20, 60]))
    engine = make_engine(rng, rows, block)
    llmd = {"block_size": file_tokens}
    if file_tokens == 256 and rng.random() < 0.5:
        del llmd["block_size"]
    put(llmd, threads_per_gpu=some(rng, 0.9, [1, 1, 2, 3, 4, 5, 8, 16]),
        read_preferring_ratio=some(rng, 0.6, [0, 0.25, 0.5, 0.75, 0.9, 1]),
        max_write_queued_seconds=some(rng, 0.6, [0, 0.01, 0.02, 0.05, 0.2, 1, 30]),
        async_lookup=some(rng, 0.4, [True, True, False]))
    if llmd or rng.random() < 0.5:
        engine["llmd"] = llmd

    kv_bytes = rng.choice([131072, 131072, 40960, 8192, 1000])
    file_bytes = kv_bytes * file_tokens
    all_files = sum(r["input_length"] // file_tokens for r in rows) + 1
    files = rng.choice([1, rng.randint(2, 8), rng.randint(3, 20), all_files // 8 + 2, all_files // 3 + 1,
                        all_files * 2])
    capacity = -(-(files * file_bytes + rng.choice([0, 0, file_bytes // 2])) // 1024)
    fs = {"name": "fs", "kind": "fs", "capacity": f"{capacity}KiB"}
    put(fs, scope=some(rng, 0.6, ["cluster", "cluster", "instance"]),
        lookup_us=some(rng, 0.5, [0, 3, 50, 0.5, 700, 2000]),
        atime=some(rng, 0.6, ["strictatime", "noatime", "relatime"]))
    if rng.random() < 0.75:
        fs["evictor"] = make_evictor(rng)
    speeds = [f"{x}GB/s" for x in ("0.05", "0.2", "1", "3.7", "12")]
    links = [{"name": name, "from": a, "to": b, "kind": "affine",
              "latency_us": rng.choice([0, 10, 137, 1000, 12000]), "bandwidth": rng.choice(speeds)}
             for name, a, b in (("fs_write", "hbm", "fs"), ("fs_read", "fs", "hbm"))]

    workload = {"trace": "requests.jsonl", "arrival": "trace", "block_tokens": trace_block}
    if rng.random() < 0.35:
        workload.update(arrival="closed-loop", concurrency=rng.choice([1, 2, 3, 5, 20]))
    elif rng.random() < 0.3:
        workload["speed"] = rng.choice([0.5, 2, 3, 10])
    scenario = {
        "name": f"llmd-{seed}", "model": {"kv_bytes_per_token": kv_bytes, "layers": rng.choice([1, 4, 32])},
        "engine": engine,
        "compute": {"kind": "linear", "step_us": rng.choice([500, 2000, 7777]),
                    "token_ns": rng.choice([1000, 20000, 33333]), "kv_token_ns": rng.choice([0, 5, 17])},
        "tiers": [fs], "links": links, "workload": workload, "seed": 1}
    if rng.random() < 0.25:
        make_round(rng, scenario, file_bytes)
    replicas = rng.choice([1, 1, 2, 2, 3])
    if replicas > 1 or rng.random() < 0.3:
        scenario.update(fleet={"replicas": replicas}, policies={"routing": "round_robin"})
    return scenario, rows


if __name__ == "__main__":
    main(make)
