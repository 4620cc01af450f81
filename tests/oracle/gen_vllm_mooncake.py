#!/usr/bin/env python3
"""Write a random small scenario of vLLM with Mooncake Store: python3 gen_vllm_mooncake.py SEED OUTDIR

OUTDIR gets scenario.json and requests.jsonl. Pools are tiny, leases end about when reads do, the
store holds about as much as the prompts. A third of the seeds have round times, so that things meet
at one instant. `--coverage 1-200` counts the seeds that reach each branch of V5 to V14.
"""
import collections
import math
import os
import random
import sys
import tempfile
from fractions import Fraction

import gen_mooncake
import vllm_mooncake
from compare import seeds_of
from gen import main, write
from gen_kvbm import conversations
from gen_lmcache import FAST, SLOW, base, link
from parts import size_of


def blocks_of(rows, block, answers=True):
    """Of each request, sorted."""
    return sorted(-(-(r["input_length"] + answers * r["output_length"]) // block) for r in rows)


def make_engine(rng, engine, rows, trace_block):
    """Another block size, a pool that often preempts, what becomes of failed loads."""
    engine["preset"] = "mooncake@0.3"
    engine["block_tokens"] = block = rng.choice([b for b in (8, 16, 16, 32, 64) if trace_block % b == 0])
    need = blocks_of(rows, block)
    largest, typical = need[-1], need[len(need) // 2]
    pool = rng.choice([largest, largest + rng.randint(0, 5), int(largest * 1.2), int(largest * 1.5),
                       largest * 2, largest + typical * 4, need[int(len(need) * 0.9)]])
    engine["num_gpu_blocks"] = max(2, pool + 1)
    if rng.random() < 0.6:
        engine["max_num_seqs"] = rng.choice([4, 8, 16, 64])
    if rng.random() < 0.75:
        engine["kv_load_failure_policy"] = rng.choice(["fail", "recompute", "recompute", "recompute"])


def make_workload(rng, scenario, rows):
    """Turns of conversations, prompts that come again, or the base's requests as they are."""
    trace_block = scenario["workload"].get("block_tokens", 512)
    how = rng.random()
    if how < 0.25 and trace_block <= 128:
        for key in ("max_model_len", "enable_chunked_prefill"):
            scenario["engine"].pop(key, None)
        return conversations(rng, trace_block)
    if how < 0.6:
        length, again = rows[-1]["timestamp"] + rng.choice([0, 5, 40]), rng.choice([1, 2, 3])
        rows = [{**row, "timestamp": row["timestamp"] + k * length}
                for k in range(again + 1) for row in rows]
        rows = rows[:100]
    if rng.random() < 0.4:                                     # one prompt at two replicas at once
        rows = [dict(row) for row in rows for _ in range(rng.choice([1, 1, 2, 2, 3]))][:100]
    return rows


def make_links(rng, nbytes, has_ssd, is_whole):
    def joined(name, source, target, speeds):
        if is_whole:
            return gen_mooncake.whole_link(rng, name, source, target, nbytes)
        return link(rng, name, source, target, speeds)
    speeds = SLOW[1:] if rng.random() < 0.4 else FAST          # slow: puts queue, and outlive requests
    links = [joined("put", "hbm", "store", speeds),
             joined("get", "store", "hbm", rng.choice([FAST, FAST, SLOW[1:]]))]
    if has_ssd:
        links.append(joined("to_ssd", "store", "ssd", rng.choice([FAST, SLOW[1:]])))
        links.append(joined("from_ssd", "ssd", "hbm", rng.choice([FAST, SLOW[1:]])))
    return links


def duration_ns(spec, nbytes):
    rate = size_of(spec["bandwidth"].removesuffix("/s"))
    return math.ceil(Fraction(str(spec["latency_us"])) * 1000 + nbytes * 10**9 / rate)


def make_leases(rng, store, links, nbytes, prompts):
    """About as long as reading a prompt: just as long, a little longer, so long that none is lost."""
    spec = rng.choice([spec for spec in links if spec["to"] == "hbm"])
    blocks = max(1, rng.choice([rng.choice(prompts), rng.choice(prompts), prompts[-1]]))
    factor = rng.choice([0.5, 1, 1, 1.02, 1.5, 3, 10, 30, 100])
    store["lease_ms"] = max(1, math.ceil(duration_ns(spec, blocks * nbytes) * factor)) / 10**6


def distinct_objects(rows, block):
    seen = set()
    for row in rows:
        for i in range(row["input_length"] // block):
            seen.add((row["hash_ids"][0], tuple(row["hash_ids"]), i))
    return max(1, len(seen))


def make_store(rng, scenario, rows, nbytes):
    """The two tiers."""
    block = scenario["engine"]["block_tokens"]
    prompts = blocks_of(rows, block, answers=False)
    distinct = distinct_objects(rows, block)
    store, segments = {}, rng.choice([1, 1, 2, 3])
    gen_mooncake.eviction(rng, store, max(1, rows[-1]["timestamp"]))
    for key in ("soft_pin_ms", "allow_evict_soft_pinned"):     # V2: no pins
        store.pop(key, None)
    if rng.random() < 0.6:                                     # else most puts are abandoned
        for key in ("put_discard_s", "put_release_s"):
            store.pop(key, None)
    if store.get("eviction_check_ms") == 1 and rng.random() < 0.6:
        del store["eviction_check_ms"]
    objects = rng.choice([rng.randint(1, 8), prompts[-1], prompts[-1] + 4, prompts[-1] * 2,
                          distinct // 4 + 1, distinct // 2 + 1, distinct, distinct * 2])
    share = nbytes * -(-objects // segments) + rng.choice([0, 0, rng.randint(0, nbytes - 1)])
    tiers = [{"name": "store", "kind": "kv", "capacity": f"{share * segments}B", "segments": segments,
              "store": store}]
    if segments == 1 and rng.random() < 0.5:
        del tiers[0]["segments"]
    if scenario["fleet"]["replicas"] > 1 and rng.random() < 0.75:
        tiers[0]["scope"] = "cluster"
    if rng.random() < 0.65:
        room = gen_mooncake.offload(rng, store, nbytes, objects)
        if rng.random() < 0.5:                                 # what memory loses stays on the SSD
            store.update(bucket_keys=rng.choice([1, 2, 8, 40]), heartbeat_ms=rng.choice([1, 5, 20]))
            store.pop("bucket_bytes", None)
            room = max(room, nbytes * (distinct * rng.choice([1, 2, 4]) + 40))
        store["heartbeat_ms"] = max(5, store["heartbeat_ms"])  # heartbeats of long runs take time
        tiers.append({"name": "ssd", "kind": rng.choice(["nvme", "nvme", "fs"]), "capacity": f"{room}B"})
        if rng.random() < 0.2:
            del tiers[1]["capacity"]
    return tiers, prompts


def make(seed):
    rng = random.Random(f"vllm-mooncake-{seed}")
    scenario, rows, *_ = base(rng, seed)
    scenario["fleet"]["replicas"] = rng.choice([1, 1, 2, 2, 3])
    rows = make_workload(rng, scenario, rows)
    engine = scenario["engine"]
    make_engine(rng, engine, rows, scenario["workload"].get("block_tokens", 512))
    is_whole = rng.random() < 0.33
    if is_whole:
        scenario["model"]["kv_bytes_per_token"] = 1000
        scenario["compute"].update(step_us=rng.choice([500, 1000, 2000]), token_ns=0, kv_token_ns=0)
    nbytes = engine["block_tokens"] * scenario["model"]["kv_bytes_per_token"]
    scenario["tiers"], prompts = make_store(rng, scenario, rows, nbytes)
    scenario["links"] = make_links(rng, nbytes, len(scenario["tiers"]) == 2, is_whole)
    if rng.random() < 0.8:
        make_leases(rng, scenario["tiers"][0]["store"], scenario["links"], nbytes, prompts)
    scenario["name"] = f"vllm-mooncake-{seed}"
    return scenario, rows


def run_fleet(scenario, rows):
    with tempfile.TemporaryDirectory() as scratch:
        write(scenario, rows, scratch)
        return vllm_mooncake.run_fleet(os.path.join(scratch, "scenario.json"))


def coverage(seeds):
    """How many seeds reach each branch, and how often it is reached in all."""
    reached, times = collections.Counter(), collections.Counter()
    for seed in seeds:
        fleet = run_fleet(*make(seed))
        for name, count in fleet.seen.items():
            reached[name] += count > 0
            times[name] += count
        for r in fleet.requests:
            times["status " + r.status] += 1
        for status in {r.status for r in fleet.requests}:
            reached["status " + status] += 1
    for name in sorted(times):
        print(f"{reached[name]:4} seeds {times[name]:7}  {name}")


if __name__ == "__main__":
    if sys.argv[1] == "--coverage":
        coverage(seeds_of(sys.argv[2]))
    else:
        main(make)
