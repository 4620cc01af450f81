#!/usr/bin/env python3
"""Write a random small TensorRT-LLM scenario: python3 gen_trtllm.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. The requests are those of gen.py: shared prefixes, copies, next
turns, odd lengths; short trace blocks, so that prompts share a part of a block. Pools and host levels are
tight: requests are paused, entries go down, come back and are lost. Keys are left to their default now and then.
"""
import random

from gen import main, make_requests
from gen_llmd import put, some

PRIORITIES = [0, 5, 20, 29, 30, 34, 35, 36, 50, 80, 100]


def make_duration(rng):
    return rng.choice([None, None, 0, 5, 10, 20, 50, 100, 300, 1000, 5000])


def make_ranges(rng, block, longest):
    """Ranges of a retention list: in any order, not overlapping, now and then with gaps or an open end."""
    ranges, start = [], rng.choice([0, 0, 0, rng.randint(1, longest)])
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        length = rng.choice([block, 2 * block, 3 * block, rng.randint(1, max(1, longest))])
        last = rng.random() < 0.4
        ranges.append([start, None if last else start + length, rng.choice(PRIORITIES), make_duration(rng)])
        if last:
            break
        start += length + rng.choice([0, 0, block, rng.randint(1, 2 * block)])
    if len(ranges) > 1 and rng.random() < 0.3:
        rng.shuffle(ranges)
    return ranges


def add_retention(rng, rows, workload, block):
    """In the trace, as defaults, in both, or nowhere. Rows share few sorts, as tenants would."""
    longest = max(r["input_length"] for r in rows)
    where = rng.choice(["nowhere", "trace", "trace", "defaults", "both"])
    if where in ("defaults", "both"):
        put(workload, retention=some(rng, 0.8, [make_ranges(rng, block, longest)]),
            decode_retention=some(rng, 0.6, [[rng.choice(PRIORITIES), make_duration(rng)]]))
    if where in ("trace", "both"):
        sorts = []
        for _ in range(rng.randint(1, 4)):
            sort = {}
            put(sort, retention=some(rng, 0.8, [make_ranges(rng, block, longest)]),
                decode_retention=some(rng, 0.5, [[rng.choice(PRIORITIES), make_duration(rng)]]))
            sorts.append(sort)
        often = rng.choice([0.1, 0.3, 0.6, 1])
        for row in rows:
            if rng.random() < often:
                row.update(rng.choice(sorts))


def cut_prompts(rng, rows, trace_block, block):
    """Some prompts become a beginning of another one: the last id then covers fewer tokens than elsewhere."""
    chance = rng.choice([0, 0.1, 0.3, 0.6])
    for i in range(1, len(rows) - 1):
        if rng.random() >= chance:
            continue
        longer = rows[rng.randrange(i)]
        unit = rng.choice([1, 1, block, block, trace_block])
        if rng.random() < 0.5:                             # just before the longer one, and soon over
            longer = rows[i + 1]
            rows[i]["output_length"] = min(rows[i]["output_length"], rng.choice([1, 2, 3, 8]))
            if rng.random() < 0.5:
                longer["timestamp"] = rows[i]["timestamp"]
        length = rng.randint(1, longer["input_length"])
        length = min(max(1, length // unit) * unit, longer["input_length"])
        rows[i].update(input_length=length, hash_ids=longer["hash_ids"][:-(-length // trace_block)])


def add_pairs(rng, rows, trace_block, block):
    """A short prompt of whole blocks with a few tokens of output, and at the same time a longer one that begins
    with it. The longer one computes the last block of the short one again, and stores more blocks below it."""
    fresh = 1 + max(i for row in rows for i in row["hash_ids"])
    for _ in range(rng.randint(1, 8)):
        count = rng.randint(1, 3)
        ids = list(range(fresh, fresh + count))
        fresh += count
        whole = count * trace_block // block
        short = block * rng.randint(1, max(1, whole - 1))
        now = rng.choice(rows)["timestamp"]
        rows.append({"timestamp": now, "input_length": short, "output_length": rng.randint(1, 5),
                     "hash_ids": ids[:-(-short // trace_block)]})
        rows.append({"timestamp": now, "input_length": count * trace_block, "output_length": rng.randint(1, 90),
                     "hash_ids": ids})
    rows.sort(key=lambda row: row["timestamp"])


def add_fours(rng, rows, trace_block, block):
    """One prompt leaves a prefix. Then come a stranger that stays long and three that share the prefix: one soon
    over, one that waits for it (rule 14), one that overtakes it meanwhile. The one that waited then counts blocks
    in use that are not any more once the last one is paused. Gives a pool in which that may happen."""
    fresh = 1 + max(i for row in rows for i in row["hash_ids"])
    del rows[rng.randint(1, 20):]
    end = max(row["timestamp"] for row in rows)
    for _ in range(rng.randint(1, 8)):
        prefix, y, z = [fresh], [fresh + 1], [fresh + 2]
        e, w = ([fresh + first + i for i in range(rng.randint(1, 3))] for first in (3, 6))
        fresh += 9
        blocks = {}
        now = rng.randint(0, max(1, end))
        for delay, ids, output in ((0, prefix + z, 1), (rng.choice([5, 20, 80, 300]), e, rng.randint(1, 120)),
                                   (0, prefix + y, rng.randint(1, 3)), (0, prefix + y + w, rng.randint(1, 20)),
                                   (0, prefix + z, rng.randint(10, 90))):
            now += delay
            tail = {y[0]: rng.randint(block, trace_block), z[0]: rng.randint(1, block)}
            length = (len(ids) - 1) * trace_block + tail.get(ids[-1], rng.randint(1, trace_block))
            blocks[ids[-1]] = -(-length // block)
            rows.append({"timestamp": now, "input_length": length, "output_length": output, "hash_ids": ids})
    rows.sort(key=lambda row: row["timestamp"])
    return blocks[e[-1]] + blocks[w[-1]] - rng.randint(1, trace_block // block)


def press(rng, rows):
    """Much output and nearly all at once: requests displace each other."""
    squeeze = rng.choice([1, 3, 10, 100])
    most = rng.choice([40, 100, 200])
    for row in rows:
        row["timestamp"] //= squeeze
        if rng.random() < 0.6:
            row["output_length"] = rng.randint(1, most)


def make_engine(rng, rows, block, pressed, hint):
    need = sorted(-(-(r["input_length"] + r["output_length"]) // block) for r in rows)
    largest, typical = need[-1], need[len(need) // 2]
    pool = rng.choice([largest, largest + rng.randint(0, 3), int(largest * 1.3), int(largest * 1.6),
                       largest * 2, typical + largest, typical * 3 + largest, need[int(len(need) * 0.9)]])
    longest = max(r["input_length"] for r in rows)
    whole = max(r["input_length"] + r["output_length"] for r in rows)
    chunked = rng.random() < 0.6
    budget = rng.choice([block, 2 * block, 3 * block + 5, 64, 100, 200, 500, 1000])
    if not chunked:
        budget = rng.choice([longest, longest + 7, longest * 2, 8192, longest * 3 // 4])
    engine = {"preset": "trtllm@1.2", "block_tokens": block, "num_gpu_blocks": max(2, pool),
              "max_num_seqs": rng.choice([1, 2, 3, 4, 8, 16, 64]), "max_num_batched_tokens": max(1, budget)}
    if pressed:
        engine.update(num_gpu_blocks=max(2, largest + rng.choice([0, 1, 3, largest // 4, largest // 2])),
                      max_num_seqs=rng.choice([6, 8, 16, 64]))
    if hint and rng.random() < 0.7:
        engine["num_gpu_blocks"] = max(2, hint)
    if block == 32 and rng.random() < 0.5:
        del engine["block_tokens"]
    if rng.random() < 0.15:
        del engine["max_num_seqs"]
    if chunked or rng.random() < 0.3:
        engine["enable_chunked_prefill"] = chunked
    policy = rng.choice(["GUARANTEED_NO_EVICT", "MAX_UTILIZATION"] + ["MAX_UTILIZATION"] * 6 * pressed)
    if policy == "MAX_UTILIZATION" or rng.random() < 0.5:
        engine["capacity_scheduler_policy"] = policy
    put(engine, enable_block_reuse=some(rng, 0.2, [True, False]),
        enable_partial_reuse=some(rng, 0.3, [True, False]),
        copy_on_partial_reuse=some(rng, 0.45, [True, False, False]),
        claim_before_onboard=some(rng, 0.6, [True, False, False]),
        secondary_offload_min_priority=some(rng, 0.5, [0, 20, 30, 35, 36, 60, 100]),
        async_scheduling=some(rng, 0.1, [False]), max_model_len=some(rng, 0.08, [whole, whole - 1]))
    return engine


def make_links(rng, block_bytes, exact):
    speeds = [f"{x}GB/s" for x in ("0.05", "0.2", "1", "3.7", "12", "64")]
    links = [{"name": name, "from": a, "to": b, "kind": "affine",
              "latency_us": rng.choice([0, 1, 10, 137, 1000]), "bandwidth": rng.choice(speeds)}
             for name, a, b in (("d2h", "hbm", "dram"), ("h2d", "dram", "hbm"))]
    if exact:
        for link in links:
            link.update(latency_us=rng.choice([0, 0, 1000]), bandwidth=f"{rng.choice([1, 2, 5]) * block_bytes}KB/s")
    return links


def make(seed):
    rng = random.Random(f"trtllm-{seed}")
    block = rng.choice([8, 16, 16, 32, 32, 64])
    trace_block = rng.choice([t for t in (64, 64, 128, 128, 256, 512) if t >= block])
    max_prompt = trace_block * rng.choice([2, 3, 5] if trace_block < 256 else [1, 2])
    rows = make_requests(rng, trace_block, rng.randint(20, 120), max_prompt, rng.choice([3, 20, 60]))
    cut_prompts(rng, rows, trace_block, block)
    if rng.random() < 0.3:
        add_pairs(rng, rows, trace_block, block)
    hint = None
    if rng.random() < 0.3:
        hint = add_fours(rng, rows, trace_block, block)
    pressed = rng.random() < 0.4
    if pressed:
        press(rng, rows)
    exact = rng.random() < 0.25                            # whole milliseconds: much at the same instant
    engine = make_engine(rng, rows, block, pressed, hint)
    kv_bytes = rng.choice([131072, 131072, 40960, 8192, 1000])
    workload = {"trace": "requests.jsonl", "arrival": "trace", "block_tokens": trace_block}
    if trace_block == 512 and rng.random() < 0.5:
        del workload["block_tokens"]
    add_retention(rng, rows, workload, block)
    if rng.random() < 0.35:
        workload.update(arrival="closed-loop", concurrency=rng.choice([1, 2, 3, 5, 20]))
    elif rng.random() < 0.3:
        workload["speed"] = rng.choice([0.5, 2, 3, 10])
    compute = {"kind": "linear", "step_us": rng.choice([500, 2000, 7777]),
               "token_ns": rng.choice([1000, 20000, 33333]), "kv_token_ns": rng.choice([0, 5, 17])}
    if exact:
        compute.update(step_us=rng.choice([1000, 2000, 5000]), token_ns=0, kv_token_ns=0)
    scenario = {"name": f"trtllm-{seed}",
                "model": {"kv_bytes_per_token": kv_bytes, "layers": rng.choice([1, 4, 32])},
                "engine": engine, "compute": compute, "tiers": [], "links": [], "workload": workload, "seed": 1}
    if rng.random() < 0.8:
        block_bytes = kv_bytes * block
        pool = engine["num_gpu_blocks"]
        slots = rng.choice([1, 2, 3, rng.randint(2, 10), pool // 2 + 1, pool, pool * 3])
        size = -(-slots * block_bytes // 1024) + rng.choice([0, 0, block_bytes // 2048])
        capacity = rng.choice([f"{size}KiB", f"{size}KiB", f"{slots}blocks"])
        scenario["tiers"] = [{"name": "dram", "kind": "dram", "capacity": capacity}]
        scenario["links"] = make_links(rng, block_bytes, exact)
    return scenario, rows


if __name__ == "__main__":
    main(make)
