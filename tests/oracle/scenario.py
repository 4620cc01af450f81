"""Reading of a reference scenario (cli.md): every key the oracle knows, each with its default.

A "§" in a comment is a section of engines/vllm-lmcache-llmd.md, "cli" is cli.md, "A7" is item 7 of
AMBIGUITIES.md beside this file.
"""
import json
import math
import os
import re
from fractions import Fraction

from parts import Request, ceil_div, size_of

SWITCHES = ("unhashed_front", "reserve_full_isl", "async_load_reservation", "convoy",
            "store_defer_next_step", "threshold_counts_offers")                    # §9, §10.7

# A31: does a class with "offload": false only store nothing, or does it never ask the connector at all?
OFFLOAD_FALSE_NEVER_ASKS = True


class Config:
    def __init__(self, scenario):
        e = scenario["engine"]
        self.B = e["block_tokens"]
        self.N = e["num_gpu_blocks"]
        self.max_seqs = e["max_num_seqs"]
        self.max_tokens = e.get("max_num_scheduled_tokens") or e["max_num_batched_tokens"]   # §1 step 1
        self.max_len = e.get("max_model_len")
        self.threshold = e.get("long_prefill_token_threshold", 0)
        self.chunked_prefill = e.get("enable_chunked_prefill", True)
        self.priority = {"fcfs": False, "priority": True}[e.get("scheduling_policy", "fcfs")]
        self.watermark = int(float(e.get("watermark", 0.0)) * self.N)              # wm, §1
        self.is_async = e.get("async_scheduling", False)
        self.defer_block_free = e.get("defer_block_free", False)
        self.prompt_only = e.get("offload_prompt_only", True)
        self.max_offload_tokens = e.get("max_offload_tokens")
        for name in SWITCHES:
            setattr(self, name, e.get(name, True))

        c = scenario["compute"]
        assert c["kind"] == "linear"
        self.step_ns = Fraction(str(c["step_us"])) * 1000
        self.token_ns = Fraction(str(c["token_ns"]))
        self.kv_token_ns = Fraction(str(c["kv_token_ns"]))
        self.block_bytes = scenario["model"]["kv_bytes_per_token"] * self.B

        self.tier = None
        if scenario.get("tiers"):
            (self.tier,) = scenario["tiers"]
            assert self.tier["kind"] == "dram"
            self.eviction = self.tier.get("eviction", "lru")
            self.k = e.get("blocks_per_chunk", 1)                                  # blocks of a chunk, §2
            if "offload_block_tokens" in e:
                assert e["offload_block_tokens"] % self.B == 0
                self.k = e["offload_block_tokens"] // self.B
            self.slots = self.slots_of(self.tier["capacity"])
            self.store_threshold = e.get("store_threshold", 0)
            self.max_tracker_size = e.get("max_tracker_size", 64000)
            self.out_link, self.in_link = None, None
            for link in scenario["links"]:
                if link["from"] == "hbm":
                    self.out_link = link
                else:
                    self.in_link = link

        w = scenario["workload"]
        self.closed_loop = w.get("arrival", "trace") == "closed-loop"
        self.concurrency = w.get("concurrency")
        self.speed = Fraction(str(w.get("speed", 1)))
        self.classes = {c["tenant"]: c for c in w.get("classes", [])}

    def slots_of(self, capacity):
        if str(capacity).endswith("blocks"):                                       # A34
            return int(str(capacity)[:-len("blocks")]) // self.k
        per_slot = ceil_div(self.block_bytes * self.k, 4096) * 4096                # §2 Capacity
        return math.floor(size_of(capacity) / per_slot)

    def classify(self, r, tenant):
        """Priority and store limit of a request; a tenant without a class has priority 0 and no limit."""
        own = self.classes.get(tenant, {})
        r.priority = own.get("priority", 0)
        limits = [self.max_offload_tokens, own.get("max_offload_tokens"),
                  None if own.get("offload", True) else 0]                         # A31, A32
        limits = [x for x in limits if x is not None]
        r.never_asks = OFFLOAD_FALSE_NEVER_ASKS and not own.get("offload", True)
        r.store_limit = min(limits) if limits else None


def load(path, config=None):
    """(Config, requests in file order). Other connectors bring their own kind of Config."""
    with open(path) as f:
        text = re.sub(r"^\s*//.*$", "", f.read(), flags=re.M)
    scenario = json.loads(text, parse_float=str)               # decimals stay exact
    w = scenario["workload"]
    with open(os.path.join(os.path.dirname(os.path.abspath(path)), w["trace"])) as f:
        rows = [json.loads(line, parse_float=str) for line in f if line.strip()]
    rows = [row for row in rows if "spillway_trace" not in row]          # a header names the block size again
    rows = rows[:w.get("limit", len(rows))]
    cfg = (config or Config)(scenario)
    requests = [Request(i, row, cfg.B, w.get("block_tokens", 512)) for i, row in enumerate(rows)]
    for r, row in zip(requests, rows):
        cfg.classify(r, row.get("tenant"))
    return cfg, requests
