#!/usr/bin/env python3
"""Write a random small reference scenario: python3 gen.py SEED OUTDIR [--classic]

OUTDIR gets scenario.json and requests.jsonl. About half of the seeds use a key of gen_features.py;
--classic leaves those out, and what a seed draws besides them never depends on the option.
"""
import json
import os
import random
import sys

from gen_features import extend


def tree_ids(rng):
    """Ids of prefix-tree nodes: an id always implies the same parent chain and the same token count."""
    ids = {}

    def node(parent, label, tokens):
        return ids.setdefault((parent, label, tokens), len(ids))
    return node


def make_requests(rng, trace_block, count, max_prompt, max_output):
    node = tree_ids(rng)
    branch = rng.choice([1, 2, 2, 3, 5])               # children per tree node: few = much sharing
    fresh = rng.choice([0.0, 0.1, 0.3, 0.7])           # chance that a block starts private content
    aligned = rng.choice([0.0, 0.1, 0.3, 0.8])         # prompts that end on a trace-block boundary
    repeat = rng.choice([0.0, 0.05, 0.3])              # exact copy of an earlier prompt
    grow = rng.choice([0.0, 0.3, 0.7])                 # next turn of an earlier session
    together = rng.choice([0.0, 0.2, 0.6, 0.95])       # same arrival time as the one before
    gap_ms = rng.choice([1, 5, 20, 80, 300])
    prompts, sessions, rows, now = [], [], [], rng.choice([0, 0, 5, 1000])
    serial = 0
    for _ in range(count):
        if rows and rng.random() >= together:
            now += int(rng.expovariate(1 / gap_ms)) if rng.random() < 0.9 else 10 * gap_ms
        if prompts and rng.random() < repeat:
            length, chain = rng.choice(prompts)
        else:
            session = None
            if sessions and rng.random() < grow:
                session = rng.randrange(len(sessions))
                chain = list(sessions[session])
            else:
                chain = []
            room = max_prompt // trace_block - len(chain)
            extra = rng.randint(0, max(0, min(room, rng.choice([1, 2, 4, 8, 16]))))
            private = session is not None
            for _ in range(extra):
                if private or rng.random() < fresh:
                    private, serial = True, serial + 1
                    label = ("new", serial)
                else:
                    label = ("tree", rng.randrange(branch))
                chain.append(node(chain[-1] if chain else None, label, trace_block))
            full = list(chain)
            length = len(chain) * trace_block
            if not chain or rng.random() >= aligned:
                block_choices = [rng.randint(1, trace_block - 1), 8 * rng.randint(1, trace_block // 8 - 1)]
                tail = rng.choice(block_choices)
                serial += 1
                label = ("tree", rng.randrange(branch)) if rng.random() < 0.3 else ("new", serial)
                chain.append(node(chain[-1] if chain else None, label, tail))
                length += tail
            if session is None:
                sessions.append(full)
            else:
                sessions[session] = full
            prompts.append((length, chain))
        output = 1 if rng.random() < 0.08 else rng.randint(1, max_output)
        rows.append({"timestamp": now, "input_length": length, "output_length": output, "hash_ids": chain})
    return rows


def make(seed, classic=False):
    scenario, rows = make_classic(seed)
    if not classic:
        extend(random.Random(f"{seed}-6"), scenario, rows)
    return scenario, rows


def make_classic(seed):
    rng = random.Random(seed)
    block = rng.choice([8, 16, 16, 32])
    trace_block = rng.choice([512, 512, 512, 128, 64])
    max_prompt = rng.choice([trace_block * 2, trace_block * 5, trace_block * 9])
    max_output = rng.choice([3, 20, 60, 200])
    rows = make_requests(rng, trace_block, rng.randint(30, 150), max_prompt, max_output)
    need = sorted(-(-(r["input_length"] + r["output_length"] - 1) // block) for r in rows)
    largest, typical = need[-1], need[len(need) // 2]
    pool = rng.choice([largest, largest + rng.randint(0, 5), int(largest * 1.3), int(largest * 2),
                       typical * 4 + largest, typical * 12 + largest, sum(need),
                       need[int(len(need) * 0.9)]])      # the last one: some requests are too big
    engine = {
        "preset": "vllm@0.23", "block_tokens": block, "num_gpu_blocks": max(2, pool + 1),
        "max_num_seqs": rng.choice([1, 2, 4, 8, 16, 64]),
        "max_num_batched_tokens": rng.choice([64, 100, 256, 512, 1024, 2048, 4096]),
        "async_scheduling": rng.random() < 0.1,
    }
    if rng.random() < 0.15:
        engine["long_prefill_token_threshold"] = rng.choice([32, 50, 200, 512])
    if rng.random() < 0.15:
        engine["watermark"] = rng.choice([0.01, 0.05, 0.2])
    if rng.random() < 0.12:
        longest = max(r["input_length"] + r["output_length"] for r in rows)
        engine["max_model_len"] = rng.choice([longest, longest - 1, longest * 3 // 4])
    if rng.random() < 0.4:
        engine["offload_prompt_only"] = rng.random() < 0.3
    for switch in ("unhashed_front", "reserve_full_isl", "async_load_reservation", "convoy", "store_defer_next_step"):
        if rng.random() < 0.08:
            engine[switch] = False
    kv_bytes = rng.choice([131072, 131072, 40960, 8192, 1000])
    scenario = {
        "name": f"random-{seed}", "model": {"kv_bytes_per_token": kv_bytes}, "engine": engine,
        "compute": {"kind": "linear", "step_us": rng.choice([500, 2000, 7777]),
                    "token_ns": rng.choice([1000, 20000, 33333]), "kv_token_ns": rng.choice([0, 5, 17])},
    }
    if rng.random() < 0.8:
        slot = -(-kv_bytes * block // 4096) * 4096
        slots = rng.choice([rng.randint(1, 8), typical, largest, largest * 2, largest * 6,
                            typical * 20, sum(need) * 2])
        def at_least_a_slot(unit):
            return max(-(-slot // unit), slots * slot // unit)
        capacity = rng.choice([f"{slots}blocks", f"{at_least_a_slot(2**20)}MiB",
                               f"{at_least_a_slot(10**6)}MB"])
        if slots * slot > 2**31 and rng.random() < 0.5:
            capacity = f"{slots * slot // 2**30}GiB"
        scenario["tiers"] = [{"name": "dram", "kind": "dram", "capacity": capacity, "eviction": "lru"}]
        fast = ["0.2GB/s", "1GB/s", "3.7GB/s", "25GB/s", "64GB/s", "100GB/s"]
        scenario["links"] = [
            {"name": name, "from": a, "to": b, "kind": "affine",
             "latency_us": rng.choice([0, 1, 10, 137, 1000]), "bandwidth": rng.choice(fast)}
            for name, a, b in (("d2h", "hbm", "dram"), ("h2d", "dram", "hbm"))]
    workload = {"trace": "requests.jsonl", "arrival": "trace"}
    if trace_block != 512:
        workload["block_tokens"] = trace_block
    if rng.random() < 0.15:
        workload.update(arrival="closed-loop", concurrency=rng.choice([1, 2, 5, 20, 200]))
    elif rng.random() < 0.15:
        workload["speed"] = rng.choice([0.25, 0.5, 1.5, 2, 3, 10])
    if rng.random() < 0.05:
        workload["limit"] = rng.randint(1, len(rows))
    scenario["workload"] = workload
    scenario["seed"] = 1
    return scenario, rows


def write(scenario, rows, out):
    """Rows with tenants need the header that tells such a trace from Mooncake's plain one."""
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "scenario.json"), "w") as f:
        f.write(json.dumps(scenario, indent=1) + "\n")
    head = []
    if any("tenant" in r for r in rows):
        head = [{"spillway_trace": 1, "block_tokens": scenario["workload"].get("block_tokens", 512)}]
    with open(os.path.join(out, "requests.jsonl"), "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in head + rows)


def main(made):
    """A generator's command line: SEED OUTDIR."""
    write(*made(int(sys.argv[1])), sys.argv[2])


if __name__ == "__main__":
    main(lambda seed: make(seed, "--classic" in sys.argv[3:]))
