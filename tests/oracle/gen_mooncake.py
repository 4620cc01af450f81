#!/usr/bin/env python3
"""Write a random small scenario of Mooncake Store's clients: python3 gen_mooncake.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. Pools are tiny, leases end about when transfers do,
and every time-out is short, so that each rule decides something. A third of the seeds have times of
whole and half milliseconds only: many things happen at one instant.
"""
import random

from gen import main, make_requests
from gen_lmcache import FAST, SLOW, link


def times(rng):
    """A time in ms about as long as a transfer or a gap between requests."""
    return rng.choice([1, 2, 5, 12.5, 20, 40, 100, 400])


def whole_link(rng, name, source, target, nbytes):
    """Moves a block in whole or half milliseconds."""
    per_ms = rng.choice([0.5, 1, 1, 2])
    bandwidth = f"{nbytes * per_ms / 1000:g}MB/s"
    return {"name": name, "from": source, "to": target, "kind": "affine",
            "latency_us": rng.choice([0, 0, 500, 1000]), "bandwidth": bandwidth}


def pins(rng, rows):
    """Lines that pin softly or hard, and lines that poll."""
    soft, hard = rng.choice([0, 0, 0.3, 0.7]), rng.choice([0, 0, 0.05, 0.3])
    poll = rng.choice([0, 0, 0.2, 0.6])
    for row in rows:
        if rng.random() < soft:
            row["soft_pin"] = True
        if rng.random() < hard:
            row["hard_pin"] = True
        if rng.random() < poll:
            row["poll_ms"] = [rng.choice([0.5, 1, 3, 10, 10, 25, 100]), rng.randint(1, 12)]


def eviction(rng, store, span):
    if rng.random() < 0.95:
        store["lease_ms"] = rng.choice([times(rng), times(rng), span / 8])
    if rng.random() < 0.6:
        store["soft_pin_ms"] = rng.choice([5, 50, 300, 2000, 20000])
    if rng.random() < 0.5:
        store["high_watermark"] = rng.choice([0.1, 0.25, 0.5, 0.75, 0.8, 0.95, 1])
    if rng.random() < 0.6:
        store["eviction_ratio"] = rng.choice([0.01, 0.1, 0.2, 0.35, 0.5, 1])
    if rng.random() < 0.3:
        store["allow_evict_soft_pinned"] = False
    if rng.random() < 0.6:
        store["replicas"] = rng.randint(1, 3)
    if rng.random() < 0.4:
        store["eviction_check_ms"] = rng.choice([1, 3, 20, 100])
    if rng.random() < 0.5:
        store["put_discard_s"] = rng.choice([0, 0.001, 0.005, 0.02, 0.1])
    if rng.random() < 0.5:
        store["put_release_s"] = rng.choice([0.002, 0.01, 0.05, 0.05, 0.2, 1])


def offload(rng, store, nbytes, objects):
    """Keys of the SSD, and its capacity in bytes."""
    store["enable_offload"] = True
    if rng.random() < 0.6:
        store["offload_on_evict"] = True
        if rng.random() < 0.45:
            store["offload_force_evict"] = True
    if rng.random() < 0.6:
        store["offload_queue_limit"] = rng.choice([1, 2, 3, 5, 10, 30])
    if rng.random() < 0.5:
        store["offload_cap_ratio"] = rng.choice([0.1, 0.25, 0.34, 0.7, 1])
    keys = rng.choice([1, 1, 2, 3, 5, 8])
    store["bucket_keys"] = keys
    if rng.random() < 0.5:
        in_bytes = rng.choice([1, 1.5, 2, 3, 4.25])
        store["bucket_bytes"] = int(in_bytes * nbytes)
        keys = min(keys, int(in_bytes))
    store["heartbeat_ms"] = rng.choice([1, 2, 5, 10, 10, 30, 200])
    if rng.random() < 0.5:
        store["ssd_high_watermark"] = rng.choice([0.5, 0.7, 0.85, 1])
        store["ssd_low_watermark"] = rng.choice([0.1, 0.3, 0.5])
    wanted = rng.choice([keys, keys * 3, objects // 2, objects, objects * 3, objects * 3])
    capacity = nbytes * max(keys, wanted)
    return capacity + rng.choice([0, 0, rng.randint(0, nbytes - 1)])


def make(seed):
    rng = random.Random(f"mooncake-{seed}")
    block = rng.choice([16, 16, 32, 64])
    trace_block = rng.choice([64, 64, 128, 512])
    max_prompt = trace_block * rng.choice([2, 5, 9])
    rows = make_requests(rng, trace_block, rng.randint(20, 100), max_prompt, 20)
    if rng.random() < 0.3:
        factor = rng.choice([2, 5, 20])
        for row in rows:
            row["timestamp"] *= factor
    pins(rng, rows)
    whole = rng.random() < 0.33
    nbytes = (1000 if whole else rng.choice([131072, 40960, 8192, 1000])) * block

    def joined(name, source, target, speeds):
        if whole:
            return whole_link(rng, name, source, target, nbytes)
        return link(rng, name, source, target, speeds)
    need = sorted(r["input_length"] // block for r in rows)
    largest, typical, total = max(1, need[-1]), max(1, need[len(need) // 2]), max(1, sum(need))
    span = max(1, rows[-1]["timestamp"] - rows[0]["timestamp"])
    store, segments = {}, rng.choice([1, 1, 2, 3, 4])
    eviction(rng, store, span)
    objects = rng.choice([rng.randint(1, 6), typical, largest, largest * 2, typical * 6,
                          total // 3 + 1, total])
    share = nbytes * -(-objects // segments) + rng.choice([0, 0, 0, rng.randint(0, nbytes - 1)])
    capacity = share * segments + rng.choice([0, 0, 0, segments - 1])
    tiers = [{"name": "store", "kind": "kv", "capacity": f"{capacity}B", "scope": "cluster",
              "segments": segments, "store": store}]
    links = [joined("put", "hbm", "store", rng.choice([FAST, SLOW])),
             joined("get", "store", "hbm", rng.choice([FAST, SLOW]))]
    if segments == 1 and rng.random() < 0.5:
        del tiers[0]["segments"]
    if rng.random() < 0.7:
        room = offload(rng, store, nbytes, objects)
        tiers.append({"name": "ssd", "kind": "nvme", "capacity": f"{room}B"})
        links.append(joined("to_ssd", "store", "ssd", rng.choice([FAST, SLOW])))
        links.append(joined("from_ssd", "ssd", "hbm", rng.choice([FAST, SLOW])))
    workload = {"trace": "requests.jsonl", "arrival": "trace"}
    if trace_block != 512:
        workload["block_tokens"] = trace_block
    if rng.random() < 0.2:
        workload.update(arrival="closed-loop", concurrency=rng.choice([1, 2, 5, 20]))
    elif rng.random() < 0.2:
        workload["speed"] = rng.choice([0.25, 0.5, 1.5, 2, 3, 10])
    compute = {"kind": "linear", "step_us": rng.choice([500, 2000, 7777]),
               "token_ns": rng.choice([1000, 20000, 33333]), "kv_token_ns": rng.choice([0, 5, 17])}
    if whole:
        compute.update(step_us=rng.choice([500, 1000, 2000]), token_ns=0, kv_token_ns=0)
    return {
        "name": f"random-{seed}", "model": {"kv_bytes_per_token": nbytes // block},
        "engine": {"preset": "mooncake-client", "block_tokens": block},
        "compute": compute,
        "tiers": tiers, "links": links, "workload": workload, "seed": 1,
    }, rows


if __name__ == "__main__":
    main(make)
