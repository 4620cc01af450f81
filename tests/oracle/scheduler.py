"""The vLLM-v1 scheduler of section 1: running loop, waiting loop, allocation rule, preemption, frees.

Sections and items are named as in oracle.py. The connector is asked; it never decides here.
"""
from collections import deque

from parts import GpuPool, Queue, Request, Step, ceil_div


class Scheduler:
    def __init__(self, cfg, requests, connector):
        self.cfg, self.requests, self.connector = cfg, requests, connector
        self.gpu = GpuPool(cfg.N, cfg.unhashed_front)
        self.running = []
        self.waiting, self.skipped = Queue(cfg.priority), Queue(cfg.priority)
        self.scheduled_steps = self.collected_steps = 0        # steps with tokens
        self.repeating = 0                                     # of these in a row, without a new token (A45)
        self.deferred_frees = deque()                          # (last step that may write, blocks), A24
        self.totals = dict.fromkeys(
            ("steps", "preemptions", "recomputed_tokens", "gpu_hit_tokens", "gpu_hit_tokens_resumed",
             "dram_hit_tokens", "dram_hit_tokens_resumed", "gpu_queries", "dram_queries", "deferrals",
             "empty_steps"), 0)

    def schedule(self, now):
        step = Step()
        budget = self.running_loop(step, self.cfg.max_tokens)
        if not step.preempted:
            self.waiting_loop(step, budget)
        for r, _c, _n, _samples in step.plan:
            if r.scheduled is None:
                r.scheduled = now                              # §10.16
        stores = self.connector.plan_stores(step) if self.connector else []   # uses C before and n
        if step.plan:
            new = any(c + n > max(c, r.lost) for r, c, n, _ in step.plan)
            self.repeating = 0 if new else self.repeating + 1
        for i, (r, c, n, _) in enumerate(step.plan):           # C += n right after scheduling
            self.totals["recomputed_tokens"] += max(0, min(c + n, r.lost) - c)
            r.computed = c + n
            samples = r.computed == r.tokens + r.placeholders
            step.plan[i] = (r, c, n, samples)
            if samples:
                r.prefilling = False
                r.placeholders += 1
            r.in_flight_steps += 1
            r.last_step = self.scheduled_steps
        self.scheduled_steps += bool(step.plan)
        return step, stores

    # ---------------------------------------------------------------- running loop

    def running_loop(self, step, budget):
        i = 0
        while i < len(self.running) and budget > 0:
            r = self.running[i]
            i += 1
            if r.placeholders and r.computed + 2 - r.placeholders >= r.prompt + r.output:
                continue                                       # its last token is already in flight (A22)
            n = r.tokens + r.placeholders - r.computed
            if self.cfg.threshold:
                n = min(n, self.cfg.threshold)
            n = min(n, budget)
            if self.cfg.max_len is not None:
                n = min(n, self.cfg.max_len - r.computed - 1)
            if n == 0:
                continue
            while (need := self.blocks_needed(r, r.computed + n, [])) > len(self.gpu.free):
                victim = self.victim()
                if self.running.index(victim) < i:             # nobody is passed over (A38)
                    i -= 1
                self.running.remove(victim)
                budget += self.withdraw(step, victim)
                self.preempt(victim)
                step.preempted.append(victim)
                if victim is r:
                    return budget                              # the running loop ends
            new = self.gpu.allocate(need)
            r.blocks += new
            step.given[r] = list(new)
            self.register_upto(r, min(r.computed + n, r.tokens))
            step.plan.append((r, r.computed, n, None))
            budget -= n
        return budget

    def victim(self):
        """FCFS: last element of running. Priority: the last in the order of the queues (A37)."""
        if not self.cfg.priority:
            return self.running[-1]
        return max(self.running, key=Request.rank)

    def withdraw(self, step, victim):
        """A victim that this step has already scheduled computes nothing; its budget comes back."""
        for entry in step.plan:
            if entry[0] is victim:
                step.plan.remove(entry)
                del step.given[victim]
                return entry[2]
        return 0

    def preempt(self, r):
        self.free(r)
        self.totals["preemptions"] += 1
        r.lost = max(r.lost, r.computed)
        r.blocks, r.registered, r.computed, r.placeholders, r.prefilling = [], 0, 0, 0, False
        r.preemptions += 1
        self.waiting.put_back([r])                             # front of waiting, behind skipped; or the heap

    # ---------------------------------------------------------------- waiting loop

    def next_queue(self):
        """FCFS: skipped before waiting. Priority compares the heads."""
        if self.cfg.priority and self.waiting and self.skipped:
            return min(self.waiting, self.skipped, key=lambda q: q.head().rank())
        return self.skipped or self.waiting

    def waiting_loop(self, step, budget):
        cfg = self.cfg
        set_aside = []
        while (self.skipped or self.waiting) and budget > 0 and len(self.running) < cfg.max_seqs:
            queue = self.next_queue()
            r = queue.head()
            if r.load_state == "loading":
                set_aside.append(queue.pop())
                continue
            if r.load_state == "loaded":
                self.promote(r)
            hits, external = [], 0
            if r.computed == 0:
                assert r.in_flight_steps == 0
                hits = self.gpu.lookup([r.key(i) for i in range((r.tokens - 1) // cfg.B)])   # §10.12
                if self.connector and not r.never_asks:
                    external = self.connector.lookup(r, len(hits))         # tokens
                    if external is None:
                        self.totals["deferrals"] += 1
                        set_aside.append(queue.pop())
                        continue
            total = r.computed + len(hits) * cfg.B + external
            parked = external and not self.connector.synchronous           # an asynchronous load
            n = 0
            if not parked:
                n = r.tokens - total
                if cfg.threshold:
                    n = min(n, cfg.threshold)
                if not cfg.chunked_prefill and n > budget:
                    break
                n = min(n, budget)
            if not self.may_admit(r, total + n, hits, parked):
                break                                          # head-of-line blocking
            queue.pop()
            self.admit(step, r, n, total, hits, external, parked)
            if parked:
                set_aside.append(r)                            # holds blocks, takes no sequence slot
            else:
                budget -= n
        assert len(self.running) <= cfg.max_seqs and budget >= 0
        self.skipped.put_back(set_aside)                       # in original order, before older skipped ones

    def blocks_needed(self, r, tokens, hits):
        need = max(0, ceil_div(tokens, self.cfg.B) - len(r.blocks) - len(hits))
        return need + sum(self.gpu.ref[b] == 0 for b in hits)

    def may_admit(self, r, tokens, hits, parked):
        """§1 Allocation rule for the waiting loop."""
        free = len(self.gpu.free)
        wm = self.cfg.watermark if self.running else 0
        if self.cfg.reserve_full_isl and self.blocks_needed(r, r.tokens, hits) + wm > free:
            return False
        reserved = 0
        if parked and self.cfg.async_load_reservation:       # §10.13: without the candidate
            reserved = sum(max(0, ceil_div(q.tokens, self.cfg.B) - len(q.blocks))
                           for q in self.requests if q.prefilling and q is not r)
        return self.blocks_needed(r, tokens, hits) + wm <= free - reserved

    def admit(self, step, r, n, total, hits, external, parked):
        need = ceil_div(total + n, self.cfg.B) - len(r.blocks) - len(hits)
        self.gpu.touch(hits)
        r.blocks += hits
        r.registered += len(hits)
        r.blocks += self.gpu.allocate(max(0, need))
        step.given[r] = list(r.blocks)                         # §10.8: prefix hits included
        if r.computed == 0:                                    # not a promoted load: hits count now
            self.count_hits(r, len(hits), external)
        r.computed = total
        if parked:
            step.loads.append(self.connector.start_load(r, len(hits), external))
            r.prefilling = True
        else:
            self.running.append(r)
            self.register_upto(r, min(total + n, r.tokens))    # at schedule time: same-step sharing
            step.plan.append((r, total, n, None))
            r.prefilling = total + n < r.tokens

    def count_hits(self, r, local, external):
        resumed = "_resumed" if r.preemptions else ""
        self.totals["gpu_hit_tokens" + resumed] += local * self.cfg.B
        self.totals["dram_hit_tokens" + resumed] += external
        if not r.preemptions:                                  # A39
            self.totals["gpu_queries"] += r.tokens // self.cfg.B
            self.totals["dram_queries"] += (not r.never_asks) * (r.tokens // self.cfg.B - local)
        if not r.admitted_before:                              # §10.16
            r.cached_hbm, r.cached_dram = local * self.cfg.B, external
            r.admitted_before = True

    def promote(self, r):
        """A finished load, reached by the waiting walk."""
        r.load_state = None
        self.register_upto(r, r.computed)
        if r.computed == r.tokens:
            r.computed -= 1                                    # recompute one token

    def register_upto(self, r, tokens):
        while r.registered < tokens // self.cfg.B:
            self.gpu.register(r.blocks[r.registered], r.key(r.registered))
            r.registered += 1

    # ---------------------------------------------------------------- frees

    def free(self, r):
        """With defer_block_free, blocks that a step in flight may still write wait for it (A24)."""
        if self.cfg.defer_block_free and r.last_step >= self.collected_steps:
            self.deferred_frees.append((self.scheduled_steps - 1, r.blocks))
        else:
            self.gpu.release(r.blocks)

    def collected(self):
        """A step with tokens has been collected: what only waited for it is free, before its own frees."""
        self.collected_steps += 1
        while self.deferred_frees and self.deferred_frees[0][0] < self.collected_steps:
            self.gpu.release(self.deferred_frees.popleft()[1])
