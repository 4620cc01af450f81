#!/usr/bin/env python3
"""Plain reference simulation of TensorRT-LLM with the KV cache manager V1, for small scenarios.

A slow transcription of engines/decisions-trtllm.md: "rule 12" is its rule 12, "§" a section of
engines/vllm-lmcache-llmd.md, "cli" is cli.md, "T3" is item 3 of AMBIGUITIES_TRTLLM.md. Times are integer
nanoseconds. trtllm_cache.py has the blocks.

    python3 trtllm.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import json
import math
import os
import re
from collections import Counter, deque
from fractions import Fraction

import fleet
from parts import Link, ceil_div, size_of
from trtllm_cache import GPU, Cache, milliseconds


class Config:
    """Rule 1: every key and its default."""

    def __init__(self, scenario):
        e = scenario["engine"]
        assert e["preset"].startswith("trtllm") and not e.get("async_scheduling", False)
        self.B = e.get("block_tokens", 32)
        self.N = e["num_gpu_blocks"]
        self.max_seqs = e.get("max_num_seqs", 2048)
        self.budget = e.get("max_num_batched_tokens", 8192)
        self.max_len = e.get("max_model_len")
        self.utilization = {"GUARANTEED_NO_EVICT": False, "MAX_UTILIZATION": True}[
            e.get("capacity_scheduler_policy", "GUARANTEED_NO_EVICT")]
        self.chunked = e.get("enable_chunked_prefill", False)
        self.reuse = e.get("enable_block_reuse", True)
        self.partial_reuse = e.get("enable_partial_reuse", True)
        self.copy_partial = e.get("copy_on_partial_reuse", True)
        self.threshold = e.get("secondary_offload_min_priority", 30)
        self.claim_first = e.get("claim_before_onboard", True)
        self.kv_bytes = scenario["model"]["kv_bytes_per_token"]
        self.block_bytes = self.kv_bytes * self.B

        c = scenario["compute"]
        assert c["kind"] == "linear"
        self.step_ns = Fraction(str(c["step_us"])) * 1000
        self.token_ns = Fraction(str(c["token_ns"]))
        self.kv_token_ns = Fraction(str(c["kv_token_ns"]))

        self.tiers = scenario.get("tiers", [])
        self.slots, self.down, self.up = 0, None, None
        self.links = {link["name"]: Link(link) for link in scenario.get("links", [])}
        if self.tiers:
            (tier,) = self.tiers
            assert tier["name"] == "dram"
            self.slots = self.slots_of(tier)
            ends = {(link["from"], link["to"]): self.links[link["name"]] for link in scenario["links"]}
            self.down, self.up = ends["hbm", "dram"], ends["dram", "hbm"]

        w = scenario["workload"]
        self.closed_loop = w.get("arrival", "trace") == "closed-loop"
        self.concurrency = w.get("concurrency")
        self.speed = Fraction(str(w.get("speed", 1)))
        self.trace_B = w.get("block_tokens", 512)
        self.retention, self.decode_retention = w.get("retention", []), w.get("decode_retention", [35, None])

    def slots_of(self, tier):
        if "blocks" in tier:
            return int(tier["blocks"])
        text = str(tier["capacity"])
        if text.endswith("blocks"):
            return int(text.removesuffix("blocks"))
        return math.floor((int(text) if text.isdigit() else size_of(text)) / self.block_bytes)


class Request:
    def __init__(self, number, row, cfg):
        self.id, self.B = number, cfg.B
        self.trace_ms = Fraction(str(row["timestamp"]))
        self.prompt = int(row["input_length"])
        self.output = max(1, int(row["output_length"]))    # §10.14
        ids, size = row["hash_ids"], cfg.trace_B
        assert len(ids) == ceil_div(self.prompt, size), f"request {number}: hash_ids"
        # Rule 3: what each token is. Tokens of a prompt are >= 0, the request's own are < 0.
        self.identity = ([ids[p // size] * size + p % size for p in range(self.prompt)]
                         + [-1 - p - (number << 32) for p in range(self.prompt, self.prompt + self.output)])
        self.keys = {}
        self.ranges = [(start, end, priority, milliseconds(duration))
                       for start, end, priority, duration in row.get("retention", cfg.retention)]
        priority, duration = row.get("decode_retention", cfg.decode_retention)
        self.decode_retention = (priority, milliseconds(duration))
        self.context = self.prompt                         # P
        self.tokens = self.prompt                          # T
        self.computed = 0                                  # C
        self.blocks = []                                   # held
        self.estimate = 0                                  # rule 11: estimated reuse
        self.admitted = False
        self.arrival = self.scheduled = self.first_token = self.finish = None
        self.cached_hbm, self.cached = 0, {tier["name"]: 0 for tier in cfg.tiers}
        self.preemptions = 0
        self.status, self.reason = None, ""

    def part(self, start, end):
        return tuple(self.identity[start:end])

    def key(self, i):
        if i not in self.keys:
            self.keys[i] = self.part(i * self.B, (i + 1) * self.B)
        return self.keys[i]

    def retention(self, token):
        """(priority, duration) of the range that holds this token, or None."""
        for start, end, priority, duration in self.ranges:
            if start <= token and (end is None or token < end):
                return priority, duration
        return None

    # Where it stands: waits for its first chunk, has a chunked prompt under way, or decodes.
    def waits(self):
        return not self.blocks

    def decodes(self):
        return bool(self.blocks) and self.computed >= self.context

    def under_way(self):
        return bool(self.blocks) and self.computed < self.context


class Engine:
    cache_of = Cache

    def __init__(self, cfg, requests):
        self.cfg, self.requests = cfg, requests
        self.cache = self.cache_of(cfg)
        self.seen = self.cache.seen
        self.now = 0
        self.active = []                                   # arrived and not ended, in arrival order
        self.totals = Counter(steps=0, preemptions=0)
        self.to_arrive, self.unsent = deque(), deque()
        if cfg.closed_loop:                                # §10.15
            self.unsent = deque(requests)
            for _ in range(min(cfg.concurrency, len(requests))):
                self.to_arrive.append((0, self.unsent.popleft()))
        else:
            at = [(math.floor(r.trace_ms * 10**6 / cfg.speed), r.id, r) for r in requests]
            self.to_arrive.extend((time, r) for time, _, r in sorted(at, key=lambda x: x[:2]))

    # ---------------------------------------------------------------- requests

    def arrive(self):
        while self.to_arrive and self.to_arrive[0][0] <= self.now:
            time, r = self.to_arrive.popleft()
            r.arrival = time
            if ceil_div(r.prompt + r.output, self.cfg.B) > self.cfg.N:            # rule 2
                self.end(r, time, "rejected", "exceeds_pool")
            elif self.cfg.max_len is not None and r.prompt + r.output > self.cfg.max_len:
                self.end(r, time, "rejected", "too_long")
            elif not self.cfg.chunked and r.prompt > self.cfg.budget:
                self.end(r, time, "rejected", "too_long")
            else:
                self.active.append(r)

    def end(self, r, time, status, reason=""):
        assert r.status is None
        r.status, r.reason = status, reason
        if status == "completed":
            r.finish = time
        if self.unsent:
            self.to_arrive.append((time, self.unsent.popleft()))

    # ---------------------------------------------------------------- instants (rules 16, 20)

    def run(self):
        batch, until = [], None
        while True:
            if batch:
                self.now = until
                self.collect(batch)
            elif self.to_arrive:
                self.now = max(self.now, self.to_arrive[0][0])
            else:
                break
            self.arrive()
            self.cache.check(self.active)
            batch, paused = self.schedule()
            while paused and not batch:                    # rule 20
                self.seen["empty schedule repeated"] += 1
                batch, paused = self.schedule()
            if batch:
                until = self.forward(batch)
        for r in self.requests:
            if r.status is None:                           # in a closed loop also those not sent yet
                r.status, r.reason = "stuck", "deadlock"
        self.cache.check(self.active)

    def collect(self, batch):
        """The end of a forward."""
        for r, n in batch:
            was = r.computed
            r.computed += n
            assert r.computed <= r.tokens
            if was < r.context <= r.computed:              # a complete prompt
                self.cache.store(r, r.context - 1, partial=False)
        for r, _ in batch:
            if r.computed == r.tokens:
                r.tokens += 1
                if r.first_token is None:
                    r.first_token = self.now
        for r in [r for r in self.active if r.tokens - r.prompt == r.output]:
            self.cache.store(r, r.tokens - 1, partial=True)
            self.cache.release(r, self.now)
            self.active.remove(r)
            self.end(r, self.now, "completed")

    def pause(self, r):
        self.cache.store(r, r.computed, partial=True)
        self.cache.release(r, self.now)
        r.computed, r.context = 0, r.tokens
        r.preemptions += 1
        self.totals["preemptions"] += 1

    def schedule(self):
        """(batch as (request, tokens), whether something was paused)."""
        chosen, paused = self.max_utilization() if self.cfg.utilization else (self.no_evict(), [])
        prompts, decodes = self.make_batch(chosen)
        for r in paused:
            self.pause(r)
        batch = []
        for r, n in prompts:
            if r.waits():
                self.seen["resumed"] += r.admitted
                resumed = r.admitted
                cached = self.cache.allocate_prompt(r)
                if cached is None:
                    self.seen["prompts left out"] += 1
                    continue
                self.seen["resumed with tokens of the tree"] += resumed and cached > 0
                r.computed = cached
                if 0 < cached and cached + n < r.context:  # rule 15, after look-up
                    n = (cached + n) // self.cfg.B * self.cfg.B - cached
                n = min(n, r.context - cached)
            assert n > 0
            self.seen["chunked prompts"] += r.computed + n < r.context
            batch.append((r, n))
        for r in decodes:
            if self.cache.allocate_decode(r):
                batch.append((r, 1))
            else:
                self.seen["decodes left out"] += 1
        return batch, bool(paused)

    def forward(self, batch):
        """Expiry, copies, forward. Gives the forward's end."""
        cfg = self.cfg
        self.cache.expire(self.now)
        for r, _ in batch:
            if r.scheduled is None:
                r.scheduled = self.now                     # T13
        start = self.cache.run_copies(self.now)
        self.totals["steps"] += 1
        tokens = sum(n for _, n in batch)
        context = sum(r.computed + n for r, n in batch)
        return start + math.ceil(cfg.step_ns + cfg.token_ns * tokens + cfg.kv_token_ns * context)

    # ---------------------------------------------------------------- capacity (rules 11 to 14)

    def need(self, r):
        """Rule 11: blocks, as the policy counts them. It also estimates the reuse."""
        cfg, P, B = self.cfg, r.context, self.cfg.B
        r.estimate = 0
        if cfg.utilization and not r.waits():
            return ceil_div(r.tokens, B) - len(r.blocks) if r.decodes() else 0
        total = ceil_div(r.prompt + r.output, B)                                  # R
        if not r.waits():
            return total - len(r.blocks)
        leading = self.cache.matches(r, P)
        u = sum(b.ref > 0 for b in leading)
        if cfg.utilization:
            less = min(u, (P - 1) // B)
            r.estimate = B * less
            return ceil_div(P, B) - less
        r.estimate = B * min(len(leading), P // B)
        return total - min(u, P // B)

    def next_block(self, r):
        """Rule 14."""
        count = len(self.cache.matches(r, r.context))
        return r.part(0, (count + 1) * self.cfg.B) if count < r.context // self.cfg.B else None

    def delays(self):
        """Rule 14: the function that says whether to skip a request, once per schedule."""
        started, asked = set(), {}
        if self.cfg.reuse:
            started = {self.next_block(r) for r in self.active if r.under_way()} - {None}

        def skip(r):
            if not self.cfg.reuse or not r.waits():
                return False
            if r not in asked:
                block = self.next_block(r)
                asked[r] = block is not None and block in started
                started.add(block)
                self.seen["delays"] += asked[r]
            return asked[r]
        return skip

    def no_evict(self):
        """Rule 12."""
        cfg, chosen, pending = self.cfg, [], []
        left, skip = self.cache.free[GPU], self.delays()
        for r in self.active:
            if len(chosen) >= cfg.max_seqs:
                break
            if r.decodes():
                chosen.append(r)
                left -= self.need(r)
            else:
                pending.append(r)
        for r in pending:
            if skip(r):
                continue
            if len(chosen) >= cfg.max_seqs:
                break
            need = self.need(r)
            if need > left:
                break
            chosen.append(r)
            left -= need
        return chosen

    def max_utilization(self):
        """Rule 13."""
        chosen, paused = [], []
        needs, free, skip = 0, self.cache.free[GPU], self.delays()
        refs = {b: b.ref for r in self.active for b in r.blocks}
        i, end = 0, len(self.active)
        while i < end:
            r = self.active[i]
            if skip(r):
                i += 1
                continue
            if len(chosen) < self.cfg.max_seqs:
                need = self.need(r)
                if needs + need <= free:
                    needs += need
                    chosen.append(r)
                    i += 1
                    continue
            else:
                self.seen["pauses for want of a seat"] += any(x.blocks for x in self.active[i:end])
            holders = [j for j in range(i, end) if self.active[j].blocks]
            if not holders:
                break
            end = holders[-1]                              # the walk ends before it
            victim = self.active[end]
            paused.append(victim)
            self.seen["pauses"] += 1
            self.seen["pauses of itself"] += end == i
            for b in victim.blocks:
                refs[b] -= 1
                free += refs[b] == 0
        return chosen, paused

    # ---------------------------------------------------------------- batch (rule 15)

    def make_batch(self, chosen):
        """(prompts with their chunks, decodes)."""
        cfg = self.cfg
        prompts, decodes, spent = [], [], 0
        for r in chosen[:cfg.max_seqs]:
            if r.decodes():
                cost = 1
            else:
                cost = 0 if cfg.chunked else max(1, r.context - r.estimate)
            if spent + cost > cfg.budget:
                break
            spent += cost
            if r.decodes():
                decodes.append(r)
            else:
                prompts.append(r)
        if not cfg.chunked:
            return [(r, r.context) for r in prompts], decodes
        rest = {r: r.context - r.computed for r in prompts}
        room = cfg.budget - spent
        if sum(max(0, rest[r] - r.estimate) for r in prompts) <= room:
            return list(rest.items()), decodes
        unfinished, finished = [], []
        for r in prompts:
            new = rest[r] - r.estimate
            chunk = rest[r] if new <= room else room // cfg.B * cfg.B
            room -= min(chunk, new)
            if chunk == 0:
                self.seen["empty chunks"] += 1
            elif chunk < rest[r]:                          # T11
                unfinished.append((r, chunk))
            else:
                finished.append((r, chunk))
        return unfinished + finished, decodes


# ---------------------------------------------------------------- reading and reporting


def load(path, config=Config):
    with open(path) as f:
        text = re.sub(r"^\s*//.*$", "", f.read(), flags=re.M)
    scenario = json.loads(text, parse_float=str)           # decimals stay exact
    w = scenario["workload"]
    with open(os.path.join(os.path.dirname(os.path.abspath(path)), w["trace"])) as f:
        rows = [json.loads(line, parse_float=str) for line in f if line.strip()]
    rows = [row for row in rows if "spillway_trace" not in row]
    cfg = config(scenario)
    return cfg, [Request(i, row, cfg) for i, row in enumerate(rows[:w.get("limit", len(rows))])]


def totals_of(engine):
    t = {s: sum(r.status == s for r in engine.requests) for s in ("completed", "failed", "rejected", "stuck")}
    t.update(steps=engine.totals["steps"], preemptions=engine.totals["preemptions"])
    if engine.cfg.tiers:
        t.update(dram_stored=engine.cache.stored, dram_evictions=engine.cache.evictions)
    for name, link in engine.cfg.links.items():
        t[f"link_{name}_jobs"], t[f"link_{name}_bytes"] = link.jobs, link.bytes
    return t


def simulate(path):
    engine = Engine(*load(path))
    engine.run()
    return engine.cfg, engine.requests, totals_of(engine)


if __name__ == "__main__":
    fleet.main(simulate)
