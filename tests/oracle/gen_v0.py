#!/usr/bin/env python3
"""Write a random small scenario of vLLM v0: python3 gen_v0.py SEED OUTDIR (scenario.json, requests.jsonl).

Pools are small enough that most scenarios preempt; some CPU pools are too small to live."""
import random

from gen import main, make_requests


def make(seed):
    rng = random.Random(seed * 7919 + 4)
    block = rng.choice([8, 16, 16, 32])
    max_prompt = rng.choice([64, 300, 1200])
    rows = make_requests(rng, 64, rng.randint(20, 120), max_prompt, rng.choice([3, 20, 60, 200]))
    need = sorted(-(-(r["input_length"] + r["output_length"]) // block) for r in rows)
    largest, typical = need[-1], need[len(need) // 2]
    longest_prompt = max(r["input_length"] for r in rows)
    longest = max(r["input_length"] + r["output_length"] for r in rows)
    pool = rng.choice([largest, largest + 1, largest + 2, int(largest * 1.3), largest * 2, typical * 4 + largest,
                       typical * 12 + largest, need[int(len(need) * 0.9)], max(2, largest - 1)])
    chunked = rng.random() < 0.45
    engine = {"preset": "vllm@0.6", "block_tokens": block, "num_gpu_blocks": max(2, pool)}
    seqs = rng.choice([1, 2, 4, 8, 16, 64])
    engine["max_num_seqs"] = seqs
    if chunked:
        engine["enable_chunked_prefill"] = True
        engine["max_num_batched_tokens"] = max(seqs, rng.choice([16, 64, 100, 256, 512, 2048]))
    elif rng.random() < 0.7:
        engine["max_num_batched_tokens"] = max(seqs, rng.choice([longest, longest * 2, 2048, longest_prompt]))
    if rng.random() < 0.4:
        engine["watermark"] = rng.choice([0, 0.01, 0.05, 0.2])
    if rng.random() < 0.1 and (chunked or "max_num_batched_tokens" not in engine):
        engine["max_model_len"] = min(rng.choice([longest, longest * 3 // 4]), engine["num_gpu_blocks"] * block)
    kv_bytes = rng.choice([131072, 40960, 8192, 1000])
    swap = rng.random() < 0.7
    model = {"kv_bytes_per_token": kv_bytes}
    if rng.random() < 0.5:
        model["layers"] = rng.choice([1, 2, 32])
    scenario = {
        "name": f"v0-{seed}", "model": model, "engine": engine,
        "compute": {"kind": "linear", "step_us": rng.choice([500, 2000, 7777]),
                    "token_ns": rng.choice([1000, 20000, 33333]), "kv_token_ns": rng.choice([0, 5, 17])},
    }
    if swap or rng.random() < 0.5:
        engine["preemption_mode"] = "swap" if swap else "recompute"
    if swap:
        blocks = rng.choice([typical, largest, largest * 2, sum(need), sum(need), sum(need), sum(need)])
        engine["swap_space"] = f"{blocks * block * kv_bytes + rng.randint(0, block * kv_bytes - 1)}B"
        rates = ["0.2GB/s", "1GB/s", "3.7GB/s", "25GB/s", "64GB/s"]
        submit = rng.choice([0, 0, 0, 3, 6])
        scenario["links"] = [
            {"name": name, "from": a, "to": b, "kind": "affine", "latency_us": rng.choice([0, 1, 10, 137, 1000]),
             "bandwidth": rng.choice(rates), **({"submit_us": submit} if submit else {})}
            for name, a, b in (("swap-out", "hbm", "cpu"), ("swap-in", "cpu", "hbm"))]
    workload = {"trace": "requests.jsonl", "arrival": "trace", "block_tokens": 64}
    if rng.random() < 0.2:
        workload.update(arrival="closed-loop", concurrency=rng.choice([1, 2, 5, 20, 200]))
    elif rng.random() < 0.2:
        workload["speed"] = rng.choice([0.25, 0.5, 2, 10])
    scenario["workload"] = workload
    scenario["seed"] = 1
    return scenario, rows


if __name__ == "__main__":
    main(make)
