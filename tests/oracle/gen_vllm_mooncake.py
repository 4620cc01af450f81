#!/usr/bin/env python3
"""Write a random small scenario of vLLM with Mooncake Store.

    python3 gen_vllm_mooncake.py SEED OUTDIR
    python3 gen_vllm_mooncake.py --coverage 1-200

OUTDIR gets scenario.json and requests.jsonl. Pools are tiny, leases end about when reads do, the
store holds about as much as the prompts. A third of the seeds have round times, so that things meet
at one instant. `--coverage` counts the seeds that reach each branch of V5 to V14.
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
    block = rng.choice([b for b in (8, 16, 16, 32, 64) if trace_block % b == 0])
    engine["block_tokens"] = block
    need = blocks_of(rows, block)
    largest, typical = need[-1], need[len(need) // 2]
    pool = rng.choice([largest, largest + rng.randint(0, 5), int(largest * 1.2), int(largest * 1.5),
                       largest * 2, largest + typical * 4, need[int(len(need) * 0.9)]])
    engine["num_gpu_blocks"] = max(2, pool + 1)
    if rng.random() < 0.6:
        engine["max_num_seqs"] = rng.choice([4, 8, 16, 64])
    if rng.random() < 0.75:
        engine["kv_load_failure_policy"] = rng.choice(["fail", "recompute", "recompute"])


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


def make_loop(rng, scenario):
    """Closed loops of few, so that a finish sends a request to another replica, which may sleep."""
    replicas, workload = scenario["fleet"]["replicas"], scenario["workload"]
    if replicas > 1 and rng.random() < 0.45:
        workload.pop("speed", None)
        workload.update(arrival="closed-loop", concurrency=rng.randint(1, 2 * replicas))


def make_links(rng, nbytes, has_ssd, is_whole):
    def joined(name, source, target, speeds):
        if is_whole:
            return gen_mooncake.whole_link(rng, name, source, target, nbytes)
        return link(rng, name, source, target, speeds)
    speeds = SLOW[1:] if rng.random() < 0.4 else FAST          # slow: puts outlive requests
    links = [joined("put", "hbm", "store", speeds),
             joined("get", "store", "hbm", rng.choice([FAST, FAST, SLOW[1:]]))]
    if has_ssd:
        links.append(joined("to_ssd", "store", "ssd", rng.choice([FAST, SLOW[1:]])))
        links.append(joined("from_ssd", "ssd", "hbm", rng.choice([FAST, SLOW[1:]])))
    return links


def lease_ms(spec, nbytes, factor):
    """A whole number of nanoseconds: the time that a job takes, times a factor."""
    rate = size_of(spec["bandwidth"].removesuffix("/s"))
    took = math.ceil(Fraction(str(spec["latency_us"])) * 1000 + nbytes * 10**9 / rate)
    return max(1, math.ceil(took * factor)) / 10**6


def make_leases(rng, store, links, nbytes, prompts):
    """About as long as reading a prompt, just as long, or so long that none is lost."""
    spec = rng.choice([spec for spec in links if spec["to"] == "hbm"])
    blocks = max(1, rng.choice([rng.choice(prompts), rng.choice(prompts), prompts[-1]]))
    factor = rng.choice([0.5, 1, 1, 1.02, 1.5, 3, 10, 30, 100])
    store["lease_ms"] = lease_ms(spec, blocks * nbytes, factor)


def distinct_objects(rows, block):
    seen = set()
    for row in rows:
        for i in range(row["input_length"] // block):
            seen.add((row["hash_ids"][0], tuple(row["hash_ids"]), i))
    return max(1, len(seen))


def forget_bounds(store):
    """Keys that lose most puts, or keep most objects from the SSD."""
    for key in ("put_discard_s", "put_release_s", "offload_queue_limit", "bucket_bytes"):
        store.pop(key, None)


def slow_reads(rng, links, nbytes):
    """Reads of some steps, quick writes."""
    for name, spec in links.items():
        if spec["to"] == "hbm":
            rate = max(1, int(nbytes / rng.choice([0.5, 2, 5, 20]) / 1000))
            spec.update(latency_us=rng.choice([0, 10]), bandwidth=f"{rate}MB/s")
        else:
            spec.update(latency_us=1, bandwidth=rng.choice(["1GB/s", "5GB/s", "20GB/s"]))


def make_churn(rng, scenario, rows, nbytes, prompts, is_whole):
    """Bursts of prompts that come again when HBM has lost them: gets queue, leases end meanwhile,
    checks evict all the time, saves of several requests take turns."""
    engine, (memory, *ssds) = scenario["engine"], scenario["tiers"]
    store, links = memory["store"], {link["name"]: link for link in scenario["links"]}
    largest, typical = prompts[-1], max(1, prompts[len(prompts) // 2])
    if rng.random() < 0.7:
        pool = largest + 1 + rng.choice([1, 2, 4]) * typical
        engine["num_gpu_blocks"] = max(engine["num_gpu_blocks"], pool)
    if rng.random() < 0.6:
        engine.update(long_prefill_token_threshold=rng.choice([32, 64, 128]),
                      max_num_batched_tokens=rng.choice([64, 128, 256, 512]),
                      max_num_seqs=rng.choice([4, 16]))
        engine.pop("enable_chunked_prefill", None)
    forget_bounds(store)
    store.update(high_watermark=rng.choice([0.3, 0.5, 0.75, 0.9]),
                 eviction_ratio=rng.choice([0.05, 0.1, 0.3, 0.6, 1]),
                 eviction_check_ms=rng.choice([1, 2, 5]), replicas=1)
    distinct = distinct_objects(rows, engine["block_tokens"])
    segments = memory.get("segments", 1)
    objects = max(largest, rng.choice([largest * 2, largest * 3, distinct // 4, distinct // 2,
                                       distinct]))
    memory["capacity"] = f"{nbytes * -(-objects // segments) * segments}B"
    if not is_whole:
        slow_reads(rng, links, typical * nbytes)
    for ssd in ssds:
        store.update(bucket_keys=rng.choice([1, 2, 5, 20]), heartbeat_ms=rng.choice([5, 10, 20]))
        ssd["capacity"] = f"{nbytes * (distinct * rng.choice([1, 2, 4]) + 40)}B"
    spec = links["from_ssd"] if ssds and rng.random() < 0.6 else links["get"]
    blocks = rng.choice([1, typical // 4, typical // 2, typical, typical, largest])
    if ssds and rng.random() < 0.5:                            # the SSD is late, memory is not
        links["get"].update(latency_us=0, bandwidth="64GB/s")
        spec = links["from_ssd"]
        store.update(high_watermark=rng.choice([0.5, 0.75]),
                     eviction_ratio=rng.choice([0.05, 0.1, 0.2]))
    factor = rng.choice([0.5, 1, 1.02, 1.5, 1.5, 3, 6])
    store["lease_ms"] = lease_ms(spec, blocks * nbytes, factor)


def burst(rng, rows):
    """The same prompts again and again, several at an instant, and others that are new."""
    prompts = rng.sample(rows, min(len(rows), rng.choice([4, 8, 12])))
    out, now, gap = [], 0, rng.choice([2, 5, 20, 60, 200])
    fresh, talk = rng.choice([0, 0.2, 0.4, 0.6]), rng.choice([0, 0, 20, 60])
    while len(out) < 80:
        now += rng.randint(1, 2 * gap)
        for row in rng.sample(prompts, rng.randint(1, len(prompts))):
            out.append({**row, "timestamp": now})
            if rng.random() < fresh:
                first = 10**6 + 100 * len(out)
                out[-1]["hash_ids"] = list(range(first, first + len(row["hash_ids"])))
            if talk:
                out[-1]["output_length"] = rng.randint(1, talk)
    return out


def heads(rng, trace_block, fresh_from):
    """Some heads of prompts, each with a tail that is new or comes again, a few at an instant."""
    lengths = [rng.randint(1, 3) for _ in range(rng.choice([4, 8, 12]))]
    out, now, gap, serial = [], 0, rng.choice([2, 5, 10, 30]), fresh_from
    again, longest = rng.choice([0, 0.5, 0.8]), rng.choice([3, 30, 80])
    while len(out) < 80:
        now += rng.randint(0, 2 * gap)
        for _ in range(rng.randint(1, 5)):
            head = rng.randrange(len(lengths))
            ids = [10 * head + i for i in range(lengths[head])]
            tail = rng.choice([0, 1, 2, 3])
            first = serial if rng.random() >= again else 1000 * (head + 1) + 10 * rng.randrange(3)
            ids += range(first, first + tail)
            rest = rng.choice([0, 0, rng.randint(1, trace_block - 1)])
            ids += [serial + tail] * (rest > 0)
            serial += tail + 1
            tokens = (len(ids) - (rest > 0)) * trace_block + rest
            out.append({"timestamp": now, "input_length": tokens,
                        "output_length": rng.randint(1, longest), "hash_ids": ids})
    return out


def make_flood(rng, scenario, rows, nbytes):
    """A store that every step fills and every check empties: refused blocks, pressure that comes
    and goes, objects gone between look-up and get."""
    engine, (memory, *ssds) = scenario["engine"], scenario["tiers"]
    for key in ("max_model_len", "enable_chunked_prefill", "watermark"):
        engine.pop(key, None)
    largest = blocks_of(rows, engine["block_tokens"])[-1]
    engine.update(num_gpu_blocks=largest + 1 + rng.choice([0, largest // 2, largest, 2 * largest]),
                  max_num_seqs=rng.choice([4, 8, 16]),
                  max_num_batched_tokens=rng.choice([64, 128, 256]),
                  long_prefill_token_threshold=rng.choice([0, 32, 64]))
    store, segments = memory["store"], memory.get("segments", 1)
    forget_bounds(store)
    store.update(high_watermark=rng.choice([0.3, 0.5, 0.75, 0.9]),
                 eviction_ratio=rng.choice([0.1, 0.3, 0.6, 1]),
                 eviction_check_ms=rng.choice([1, 2, 5, 10]), replicas=1)
    objects = largest * rng.choice([1, 2, 3, 4, 6]) // 2 + 1
    memory["capacity"] = f"{nbytes * -(-objects // segments) * segments}B"
    for ssd in ssds:
        store.update(bucket_keys=rng.choice([1, 5]), heartbeat_ms=rng.choice([5, 20]))
        ssd["capacity"] = f"{nbytes * (objects * rng.choice([1, 4]) + 40)}B"
    links = {link["name"]: link for link in scenario["links"]}
    for name in links:
        ms = rng.choice([0.02, 0.2, 0.5, 1, 2])                # that a block takes
        links[name].update(latency_us=0, bandwidth=f"{nbytes / ms / 1000:g}MB/s")
    blocks = rng.randint(1, 12)
    spec = links[rng.choice(["get", "get", "from_ssd"] if ssds else ["get"])]
    store["lease_ms"] = lease_ms(spec, blocks * nbytes, rng.choice([1, 1.02, 1.5, 3]))
    if rng.random() < 0.15:                                    # loads that wait behind one another
        engine["async_load_reservation"] = False


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
    tiers = [{"name": "store", "kind": "kv", "capacity": f"{share * segments}B",
              "segments": segments, "store": store}]
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
        tiers.append({"name": "ssd", "kind": rng.choice(["nvme", "nvme", "fs"]),
                      "capacity": f"{room}B"})
        if rng.random() < 0.2:
            del tiers[1]["capacity"]
    return tiers, prompts


def make(seed):
    rng = random.Random(f"vllm-mooncake-{seed}")
    scenario, rows, *_ = base(rng, seed)
    scenario["fleet"]["replicas"] = rng.choice([1, 1, 2, 2, 3])
    rows = make_workload(rng, scenario, rows)
    how = rng.choice(["plain", "plain", "churn", "flood", "flood"])
    if how == "churn":
        rows = burst(rng, rows)
    elif how == "flood":
        rows = heads(rng, scenario["workload"].get("block_tokens", 512), 10**6)
    make_loop(rng, scenario)
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
    if how == "churn":
        make_churn(rng, scenario, rows, nbytes, prompts, is_whole)
    elif how == "flood":
        make_flood(rng, scenario, rows, nbytes)
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
    elif sys.argv[1] == "--help":
        print(__doc__)
    else:
        main(make)
