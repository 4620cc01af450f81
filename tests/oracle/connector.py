"""The OffloadingConnector with one CPU tier: look-up, loads, store planning, fences, transfers. §2, §10

Sections and items are named as in oracle.py. Keys and indices here count chunks of k engine blocks;
what the scheduler asks and is told counts engine blocks.
"""
from cpu_tier import CpuTier
from parts import Job, Link


class Connector:
    synchronous = False                    # a load runs beside the steps, its request is parked

    def __init__(self, cfg):
        self.cfg = cfg
        self.k = cfg.k
        self.tier = CpuTier(cfg)
        self.d2h, self.h2d = Link(cfg.out_link), Link(cfg.in_link)
        self.just_finished = []            # finished, not yet offered for storing (§10.11)
        self.deferred_stores = []          # planned, not yet submitted
        self.watched = {}                  # GPU block -> pending store jobs of finished requests (§2 Fences)
        self.being_loaded = set()          # keys of loads in flight (convoy)
        self.next_job = 0
        self.flushes = self.flush_stall_ns = 0

    # ---------------------------------------------------------------- asked by the waiting loop

    def lookup(self, r, local_blocks):
        """Tokens that can be loaded beyond the local hit, or None: ask again at the next step."""
        if r.jobs:
            return None                                        # transfers in flight; no touch
        keys = r.chunk_keys(self.k)                            # §10.12: up to floor(T/B)
        found = self.walk(keys, local_blocks)
        self.tier.touch(keys)                                  # even when deferred
        return found and found * self.cfg.B

    def walk(self, keys, local_blocks):
        if len(keys) * self.k - local_blocks < self.k:
            return 0                                           # less than one chunk to gain: nothing is asked
        first = local_blocks // self.k
        hits, pending = [], False
        for key in keys[first:]:
            ref = self.tier.lookup(key)
            if ref is None:
                break
            hits.append(key)
            pending = pending or ref == -1                     # HIT_PENDING before the miss
        gained = (first + len(hits)) * self.k - local_blocks
        if pending:
            return None
        if gained < self.k:
            return 0
        if self.cfg.convoy and any(key in self.being_loaded for key in hits):
            return None
        return gained

    def start_load(self, r, local_blocks, external_tokens):
        """The load job of an admitted request; the first chunk may be used partially (A33)."""
        end = local_blocks + external_tokens // self.cfg.B
        keys = r.chunk_keys(self.k)[local_blocks // self.k:end // self.k]
        self.tier.prepare_load(keys)
        self.being_loaded.update(keys)
        r.next_idx = end // self.k                             # §10.10
        r.load_state = "loading"
        return self.new_job(r, keys, r.blocks[local_blocks:end])

    # ---------------------------------------------------------------- stores

    def new_job(self, r, keys, blocks):
        job = Job(self.next_job, r, keys, blocks, len(blocks) * self.cfg.block_bytes)
        self.next_job += 1
        r.jobs.add(job)
        return job

    def watch(self, job):
        for b in job.blocks:
            self.watched.setdefault(b, set()).add(job)

    def finish(self, r):
        """§2: a finished request's blocks do not wait for its pending stores."""
        for job in r.jobs:
            self.watch(job)

    def plan_stores(self, step):
        """§2 Store planning, §10.3, §10.10, §10.11. Returns this step's store jobs."""
        jobs = []
        offers = [(r, c + n) for r, c, n, _ in step.plan] + [(r, r.tokens) for r in self.just_finished]
        self.just_finished = []
        for r, tokens in offers:
            tokens = min(tokens, r.tokens)
            if r.store_limit is not None:
                tokens = min(tokens, r.store_limit)
            if self.cfg.prompt_only:
                tokens = min(tokens, r.prompt)
            first, end = r.next_idx, tokens // (self.cfg.B * self.k)
            if end <= first:
                continue
            offered = r.chunk_keys(self.k)[first:end]
            new = self.tier.prepare_store(offered)
            if new is None:
                continue                                       # next_idx stays; retried with a larger batch
            r.next_idx = end
            if not new:
                continue
            self.tier.touch(r.chunk_keys(self.k))              # §10.3
            blocks = []
            for j, key in enumerate(offered, first):
                if key in set(new):
                    blocks += r.blocks[j * self.k:(j + 1) * self.k]
            assert len(blocks) == len(new) * self.k
            job = self.new_job(r, new, blocks)
            jobs.append(job)
            if r.status is not None:
                self.watch(job)
        return jobs

    # ---------------------------------------------------------------- worker, §1 async-load timing, §10.8

    def before_compute(self, step, stores, queued):
        """Submits what precedes the step's compute; returns when compute may start (later after a flush)."""
        for job in self.deferred_stores:
            self.d2h.submit(job, queued)
        self.deferred_stores = []
        flush = set()                                          # fences
        for r in step.preempted:
            flush |= r.jobs
        for blocks in step.given.values():
            for b in blocks:
                flush |= self.watched.get(b, set())
        start = queued
        if flush:
            for job in sorted(flush & set(stores), key=lambda j: j.number):
                self.d2h.submit(job, queued)
            start = max([queued] + [job.end for job in flush])
            self.flushes += 1
            self.flush_stall_ns += start - queued
        for job in step.loads:
            self.h2d.submit(job, start)
        return start, bool(flush)

    def after_compute(self, stores, end):
        rest = [job for job in stores if job.end is None]
        if self.cfg.store_defer_next_step:
            self.deferred_stores = rest
        else:                                                  # A15: right behind this step's compute
            for job in rest:
                self.d2h.submit(job, end)

    def poll(self, now):
        """Transfers that ended become visible (§10.2, §10.5). True if any did."""
        seen = False
        for job in self.d2h.finished(now):
            seen = True
            self.tier.complete_store(job.keys)
            job.request.jobs.remove(job)
            for b in job.blocks:
                if job in self.watched.get(b, ()):
                    self.watched[b].remove(job)
                    if not self.watched[b]:
                        del self.watched[b]
        for job in self.h2d.finished(now):
            seen = True
            self.tier.complete_load(job.keys)
            self.being_loaded.difference_update(job.keys)
            job.request.jobs.remove(job)
            job.request.load_state = "loaded"
        return seen

    def next_end(self):
        return [link.queue[0].end for link in (self.d2h, self.h2d) if link.queue]

    def check(self):
        assert not self.deferred_stores and not self.watched and not self.being_loaded
        self.tier.check()
