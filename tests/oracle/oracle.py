#!/usr/bin/env python3
"""Plain reference simulation of one "reference scenario" (cli.md) on a vLLM-v1-like engine.

A slow, direct transcription of engines/vllm-lmcache-llmd.md sections 1, 2, 9 and 10; a "§" in a
comment is a section of that file, "cli" is cli.md, "A7" is item 7 of AMBIGUITIES.md beside this file.
Every time is an integer number of nanoseconds; durations are exact fractions rounded up.
Standard library only. parts.py holds the passive data structures, results.py the output formats.

    python3 oracle.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import argparse
import json
import math
import os
import re
from collections import deque
from fractions import Fraction

from parts import DramTier, GpuPool, Job, Link, Request, Step, ceil_div, size_of
from results import HEADER, row_of, totals_of

SWITCHES = ("unhashed_front", "reserve_full_isl", "async_load_reservation", "convoy",
            "store_defer_next_step")                                              # §9, §10.7


class Engine:
    def __init__(self, scenario, requests):
        e = scenario["engine"]
        self.B = e["block_tokens"]
        self.N = e["num_gpu_blocks"]
        self.max_seqs = e["max_num_seqs"]
        self.max_tokens = e["max_num_batched_tokens"]
        self.max_len = e.get("max_model_len")
        self.threshold = e.get("long_prefill_token_threshold", 0)
        self.watermark = int(float(e.get("watermark", 0.0)) * self.N)              # wm, §1
        self.is_async = e.get("async_scheduling", False)
        self.prompt_only = e.get("offload_prompt_only", True)
        for name in SWITCHES:
            setattr(self, name, e.get(name, True))
        c = scenario["compute"]
        assert c["kind"] == "linear"
        self.step_ns = Fraction(str(c["step_us"])) * 1000
        self.token_ns = Fraction(str(c["token_ns"]))
        self.kv_token_ns = Fraction(str(c["kv_token_ns"]))
        self.block_bytes = scenario["model"]["kv_bytes_per_token"] * self.B

        self.gpu = GpuPool(self.N, self.unhashed_front)
        self.dram = self.d2h = self.h2d = None
        if scenario.get("tiers"):
            (tier,) = scenario["tiers"]
            assert tier["kind"] == "dram" and tier.get("eviction", "lru") == "lru"
            self.dram = DramTier(self.slots_of(tier["capacity"]))
            for link in scenario["links"]:
                if link["from"] == "hbm":
                    self.d2h = Link(link)
                else:
                    self.h2d = Link(link)

        self.requests = requests
        w = scenario["workload"]
        self.closed_loop = w.get("arrival", "trace") == "closed-loop"
        speed = Fraction(str(w.get("speed", 1)))
        self.to_arrive = deque()           # (time, request)
        if self.closed_loop:               # §10.15
            self.unsent = deque(requests)
            for _ in range(min(w["concurrency"], len(requests))):
                self.to_arrive.append((0, self.unsent.popleft()))
        else:
            at = [(math.floor(r.trace_ms * 10**6 / speed), r.id, r) for r in requests]
            self.to_arrive.extend((time, r) for time, _, r in sorted(at, key=lambda x: x[:2]))

        self.running = []
        self.waiting, self.skipped = deque(), deque()
        self.just_finished = []            # finished, not yet offered for storing (§10.11)
        self.deferred_stores = []          # planned, not yet submitted
        self.watched = {}                  # GPU block -> pending store jobs of finished requests (§2 Fences)
        self.being_loaded = set()          # keys of loads in flight (convoy)
        self.in_flight = deque()           # steps scheduled and not collected: at most 1, or 2 if async
        self.gpu_busy_until = 0
        self.next_job = 0
        self.totals = dict.fromkeys(
            ("steps", "preemptions", "recomputed_tokens", "gpu_hit_tokens", "gpu_hit_tokens_resumed", "dram_hit_tokens",
             "dram_hit_tokens_resumed", "deferrals", "flushes", "flush_stall_ns", "empty_steps"), 0)

    def slots_of(self, capacity):
        if str(capacity).endswith("blocks"):
            return int(str(capacity)[:-len("blocks")])
        per_slot = ceil_div(self.block_bytes, 4096) * 4096                         # §2 Capacity
        return math.floor(size_of(capacity) / per_slot)

    # ---------------------------------------------------------------- main loop

    def run(self):
        depth = 2 if self.is_async else 1
        now = self.to_arrive[0][0] if self.to_arrive else 0
        idle_at, idle_count = -1, 0
        while True:
            # §10.5: outputs and frees, store completions, load completions, arrivals, schedule.
            while self.in_flight and self.in_flight[0].end <= now:
                self.collect(self.in_flight.popleft(), now)
            completions = self.poll(now)
            self.arrive(now)
            step = self.schedule(now)
            if step.plan:
                self.totals["steps"] += 1                      # A19: empty steps are not counted
                self.in_flight.append(step)
                if len(self.in_flight) == depth:
                    now = self.in_flight[0].end
                continue                                       # §10.17: else fill the second place at once
            self.totals["empty_steps"] += 1
            if self.in_flight:                                 # A20: an executing step is awaited
                now = self.in_flight[0].end
                continue
            idle_count = idle_count + 1 if idle_at == now else 0
            idle_at = now
            assert idle_count < 10, "empty steps without end at one instant"
            now = max(now, step.end)                           # an empty step lasts as long as its flush
            if (step.preempted or self.deferred_stores or self.just_finished or step.loads or completions):
                continue                                       # §10.4
            wake = [q[0].end for q in self.queues() if q]
            if self.to_arrive:
                wake.append(self.to_arrive[0][0])
            if not wake:
                break
            now = min(wake)
        self.end = now
        for r in self.requests:                                # §10.6
            if r.status is None:
                r.status, r.reason = "stuck", "deadlock"
        self.check_invariants()

    def queues(self):
        return [self.d2h.queue, self.h2d.queue] if self.dram else []

    def arrive(self, now):
        while self.to_arrive and self.to_arrive[0][0] <= now:
            time, r = self.to_arrive.popleft()
            r.arrival = time
            if self.max_len is not None and r.prompt + r.output > self.max_len:    # A10
                self.end_request(r, time, "failed", "too_long")
            elif ceil_div(r.prompt + r.output - 1, self.B) > self.N - 1:           # §10.14
                self.end_request(r, time, "rejected", "exceeds_pool")
            else:
                self.waiting.append(r)

    def end_request(self, r, now, status, reason=""):
        assert r.status is None
        r.status, r.reason = status, reason
        if status == "completed":
            r.finish = now
        if self.closed_loop and self.unsent:                   # §10.15: successor at the finish instant
            self.to_arrive.append((now, self.unsent.popleft()))

    def collect(self, step, now):
        """End of a step: tokens appear, finished requests free their blocks, in schedule order."""
        for r, _c, _n, samples in step.plan:
            r.in_flight_steps -= 1
            if not samples:
                continue
            r.tokens += 1
            if r.placeholders:                                 # 0 if preempted meanwhile (A21)
                r.placeholders -= 1
                if self.is_async:                              # decode blocks enter once their tokens are known
                    self.register_upto(r, r.computed - r.placeholders)
            if r.first_token is None:
                r.first_token = now
            if r.tokens - r.prompt < r.output:
                continue
            self.end_request(r, now, "completed")
            for job in r.jobs:                                 # §2: its blocks do not wait for pending stores
                self.watch(job)
            if r not in self.running:                          # preempted with its last token in flight:
                self.waiting.remove(r)                         # holds no blocks, offers none (A23)
                continue
            self.running.remove(r)
            self.gpu.release(r.blocks)                         # r.blocks stays readable for the last offer
            if self.dram:
                self.just_finished.append(r)

    def poll(self, now):
        """Transfers that ended become visible (§10.2, §10.5). True if any did."""
        if not self.dram:
            return False
        seen = False
        for job in self.d2h.finished(now):
            seen = True
            self.dram.complete_store(job.keys)
            job.request.jobs.remove(job)
            for b in job.blocks:
                if job in self.watched.get(b, ()):
                    self.watched[b].remove(job)
                    if not self.watched[b]:
                        del self.watched[b]
        for job in self.h2d.finished(now):
            seen = True
            self.dram.complete_load(job.keys)
            self.being_loaded.difference_update(job.keys)
            job.request.jobs.remove(job)
            job.request.load_state = "loaded"
        return seen

    # ---------------------------------------------------------------- scheduler, §1

    def schedule(self, now):
        step = Step()
        budget = self.running_loop(step, self.max_tokens)
        if not step.preempted:
            self.waiting_loop(step, budget)
        for r, _c, n, _samples in step.plan:
            if r.scheduled is None:
                r.scheduled = now                              # §10.16
        stores = self.plan_stores(step) if self.dram else []   # uses C before and n
        for i, (r, c, n, _) in enumerate(step.plan):           # C += n right after scheduling
            r.computed = c + n
            samples = r.computed == r.tokens + r.placeholders
            step.plan[i] = (r, c, n, samples)
            if samples:
                r.prefilling = False
                r.placeholders += 1
            r.in_flight_steps += 1
        self.start_worker(step, stores, now)
        return step

    def running_loop(self, step, budget):
        i = 0
        while i < len(self.running) and budget > 0:
            r = self.running[i]
            i += 1
            if r.placeholders and r.computed + 2 - r.placeholders >= r.prompt + r.output:
                continue                                       # its last token is already in flight (A22)
            n = r.tokens + r.placeholders - r.computed
            if self.threshold:
                n = min(n, self.threshold)
            n = min(n, budget)
            if self.max_len is not None:
                n = min(n, self.max_len - r.computed - 1)
            if n == 0:
                continue
            while (need := self.blocks_needed(r, r.computed + n, [])) > len(self.gpu.free):
                victim = self.running.pop()                    # FCFS: last element, possibly r itself
                self.preempt(victim)
                step.preempted.append(victim)
                if victim is r:
                    return budget                              # the running loop ends
            new = self.gpu.allocate(need)
            r.blocks += new
            step.given.update(new)
            self.register_upto(r, min(r.computed + n, r.tokens))
            step.plan.append((r, r.computed, n, None))
            budget -= n
        return budget

    def waiting_loop(self, step, budget):
        set_aside = []
        while (self.skipped or self.waiting) and budget > 0 and len(self.running) < self.max_seqs:
            queue = self.skipped or self.waiting               # FCFS: skipped before waiting
            r = queue[0]
            if r.load_state == "loading":
                set_aside.append(queue.popleft())
                continue
            if r.load_state == "loaded":
                self.promote(r)
            hits, external = [], 0
            if r.computed == 0:
                assert r.in_flight_steps == 0
                hits = self.gpu.lookup([r.key(i) for i in range((r.tokens - 1) // self.B)])   # §10.12
                if self.dram:
                    external = self.connector_lookup(r, len(hits))
                    if external is None:
                        self.totals["deferrals"] += 1
                        set_aside.append(queue.popleft())
                        continue
            total = r.computed + (len(hits) + external) * self.B
            n = 0
            if not external:
                n = r.tokens - total
                if self.threshold:
                    n = min(n, self.threshold)
                n = min(n, budget)
            if not self.may_admit(r, total + n, hits, external):
                break                                          # head-of-line blocking
            queue.popleft()
            self.admit(step, r, n, total, hits, external)
            if external:
                set_aside.append(r)                            # holds blocks, takes no sequence slot
            else:
                budget -= n
        assert len(self.running) <= self.max_seqs and budget >= 0
        self.skipped.extendleft(reversed(set_aside))           # in original order, before older skipped ones

    def blocks_needed(self, r, tokens, hits):
        need = max(0, ceil_div(tokens, self.B) - len(r.blocks) - len(hits))
        return need + sum(self.gpu.ref[b] == 0 for b in hits)

    def may_admit(self, r, tokens, hits, external):
        """§1 Allocation rule for the waiting loop."""
        free = len(self.gpu.free)
        wm = self.watermark if self.running else 0
        if self.reserve_full_isl and self.blocks_needed(r, r.tokens, hits) + wm > free:
            return False
        reserved = 0
        if external and self.async_load_reservation:           # §10.13: without the candidate
            reserved = sum(max(0, ceil_div(q.tokens, self.B) - len(q.blocks))
                           for q in self.requests if q.prefilling and q is not r)
        return self.blocks_needed(r, tokens, hits) + wm <= free - reserved

    def admit(self, step, r, n, total, hits, external):
        need = ceil_div(total + n, self.B) - len(r.blocks) - len(hits)
        self.gpu.touch(hits)
        r.blocks += hits
        r.registered += len(hits)
        r.blocks += self.gpu.allocate(max(0, need))
        step.given.update(r.blocks)                            # §10.8: prefix hits included
        if r.computed == 0:                                    # not a promoted load: hits count now
            resumed = "_resumed" if r.preemptions else ""
            self.totals["gpu_hit_tokens" + resumed] += len(hits) * self.B
            self.totals["dram_hit_tokens" + resumed] += external * self.B
            if not r.admitted_before:                          # §10.16
                r.cached_hbm, r.cached_dram = len(hits) * self.B, external * self.B
                r.admitted_before = True
        r.computed = total
        if external:
            keys = r.full_keys()[len(hits):len(hits) + external]
            self.dram.prepare_load(keys)
            self.being_loaded.update(keys)
            step.loads.append(self.new_job(r, keys, r.blocks[len(hits):]))
            r.next_idx = len(hits) + external                  # §10.10
            r.load_state = "loading"
            r.prefilling = True
        else:
            self.running.append(r)
            self.register_upto(r, min(total + n, r.tokens))    # at schedule time: same-step sharing
            step.plan.append((r, total, n, None))
            r.prefilling = total + n < r.tokens

    def promote(self, r):
        """A finished load, reached by the waiting walk."""
        r.load_state = None
        self.register_upto(r, r.computed)
        if r.computed == r.tokens:
            r.computed -= 1                                    # recompute one token

    def register_upto(self, r, tokens):
        while r.registered < tokens // self.B:
            self.gpu.register(r.blocks[r.registered], r.key(r.registered))
            r.registered += 1

    def preempt(self, r):
        self.gpu.release(r.blocks)
        self.totals["preemptions"] += 1
        self.totals["recomputed_tokens"] += r.computed
        r.blocks, r.registered, r.computed, r.placeholders, r.prefilling = [], 0, 0, 0, False
        r.preemptions += 1
        self.waiting.appendleft(r)                             # front of waiting, behind skipped

    # ---------------------------------------------------------------- connector, §2

    def connector_lookup(self, r, local_blocks):
        """Blocks that can be loaded beyond the local hit, or None: ask again at the next step."""
        if r.jobs:
            return None                                        # transfers in flight; no touch
        keys = r.full_keys()                                   # §10.12: up to floor(T/B)
        run = []
        for key in keys[local_blocks:]:
            if key not in self.dram.ref:
                break
            run.append(key)
        pending = any(self.dram.ref[k] == -1 for k in run)     # HIT_PENDING before the miss
        convoy = self.convoy and any(k in self.being_loaded for k in run)
        self.dram.touch(keys)                                  # even when deferred
        return None if pending or convoy else len(run)

    def new_job(self, r, keys, blocks):
        job = Job(self.next_job, r, keys, blocks, len(keys) * self.block_bytes)
        self.next_job += 1
        r.jobs.add(job)
        return job

    def watch(self, job):
        for b in job.blocks:
            self.watched.setdefault(b, set()).add(job)

    def plan_stores(self, step):
        """§2 Store planning, §10.3, §10.10, §10.11. Returns this step's store jobs."""
        jobs = []
        offers = [(r, c + n) for r, c, n, _ in step.plan] + [(r, r.tokens) for r in self.just_finished]
        self.just_finished = []
        for r, tokens in offers:
            tokens = min(tokens, r.tokens)
            if self.prompt_only:
                tokens = min(tokens, r.prompt)
            storable = tokens // self.B
            if storable <= r.next_idx:
                continue
            offered = [r.key(i) for i in range(r.next_idx, storable)]
            new = self.dram.prepare_store(offered)
            if new is None:
                continue                                       # next_idx stays; retried with a larger batch
            first, r.next_idx = r.next_idx, storable
            if not new:
                continue
            self.dram.touch(r.full_keys())                     # §10.3
            blocks = [r.blocks[first + i] for i, key in enumerate(offered) if key in set(new)]
            job = self.new_job(r, new, blocks)
            jobs.append(job)
            if r.status is not None:
                self.watch(job)
        return jobs

    # ---------------------------------------------------------------- worker, §1 async-load timing, §10.8

    def start_worker(self, step, stores, now):
        queued = max(now, self.gpu_busy_until)                 # transfers wait for compute already queued
        for job in self.deferred_stores:
            self.d2h.submit(job, queued)
        self.deferred_stores = []
        flush = set()                                          # fences
        for r in step.preempted:
            flush |= r.jobs
        for b in step.given:
            flush |= self.watched.get(b, set())
        compute_start = queued
        if flush:
            for job in sorted(flush & set(stores), key=lambda j: j.number):
                self.d2h.submit(job, queued)
            compute_start = max([queued] + [job.end for job in flush])
            self.totals["flushes"] += 1
            self.totals["flush_stall_ns"] += compute_start - queued
        for job in step.loads:
            self.h2d.submit(job, compute_start)
        step.end = compute_start if flush else now
        if step.plan:
            tokens = sum(n for _, _, n, _ in step.plan)
            context = sum(c + n for _, c, n, _ in step.plan)
            step.end = compute_start + math.ceil(
                self.step_ns + self.token_ns * tokens + self.kv_token_ns * context)
        self.gpu_busy_until = max(self.gpu_busy_until, step.end)
        rest = [job for job in stores if job.end is None]
        if self.store_defer_next_step:
            self.deferred_stores = rest
        else:                                                  # A15: right behind this step's compute
            for job in rest:
                self.d2h.submit(job, max(step.end, queued))

    # ---------------------------------------------------------------- checks and results

    def check_invariants(self):
        alive = [r for r in self.requests if r.status == "stuck"]
        count = [0] * self.N
        for r in alive:
            for b in r.blocks:
                count[b] += 1
        assert count == self.gpu.ref, "reference counts"
        assert len(self.gpu.free) + sum(c > 0 for c in count) == self.N - 1
        assert all(self.gpu.ref[b] == 0 for b in self.gpu.free)
        assert all(r.status is not None for r in self.requests)
        assert not self.running and not self.in_flight and not self.deferred_stores and not self.watched
        assert not any(r.jobs for r in self.requests) and not self.being_loaded
        if self.dram:
            assert all(v == 0 for v in self.dram.ref.values()) and len(self.dram.ref) <= self.dram.slots
            assert set(self.dram.lru) == set(self.dram.ref)
            assert self.dram.stored - self.dram.evictions == len(self.dram.ref)
        for key, blocks in self.gpu.map.items():
            assert blocks and all(self.gpu.hash[b] == key for b in blocks)


def load(path):
    with open(path) as f:
        text = re.sub(r"^\s*//.*$", "", f.read(), flags=re.M)
    scenario = json.loads(text, parse_float=str)               # decimals stay exact
    w = scenario["workload"]
    with open(os.path.join(os.path.dirname(os.path.abspath(path)), w["trace"])) as f:
        rows = [json.loads(line, parse_float=str) for line in f if line.strip()]
    rows = rows[:w.get("limit", len(rows))]
    block = scenario["engine"]["block_tokens"]
    return scenario, [Request(i, row, block, w.get("block_tokens", 512)) for i, row in enumerate(rows)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("scenario")
    p.add_argument("--requests")
    p.add_argument("--totals")
    a = p.parse_args()
    engine = Engine(*load(a.scenario))
    engine.run()
    totals = json.dumps(totals_of(engine), indent=1)
    if a.requests:
        with open(a.requests, "w") as f:
            f.write("\n".join([HEADER] + [row_of(r) for r in engine.requests]) + "\n")
    if a.totals:
        with open(a.totals, "w") as f:
            f.write(totals + "\n")
    else:
        print(totals)


if __name__ == "__main__":
    main()
