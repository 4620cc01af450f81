#!/usr/bin/env python3
"""Plain reference simulation of vLLM v1 with AIBrix KVCache: preset aibrix@0.4.

A slow, direct transcription of the rules of AMBIGUITIES_AIBRIX.md over scheduler.py and fleet.py. "A5" is a rule
of that page, "§10" a section of vllm-lmcache-llmd.md. aibrix_parts.py has L1 and L2.

    python3 aibrix.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import math

import fleet as fleet_module
from aibrix_parts import Level1, Level2
from fleet import Fleet, FleetConfig, Replica, decimal, read, totals
from parts import Job

INGESTING_CALL = {"hot": "hot", "all": "put", "evicted": "evict"}              # A10


class AibrixConfig(FleetConfig):
    """A1."""

    def __init__(self, scenario):
        scenario["engine"].setdefault("offload_connector", "aibrix")
        super().__init__(scenario)
        o = self.engine.get("aibrix", {})
        self.chunk_blocks = max(int(o.get("chunk_tokens", 512)) // self.B, 4)  # K
        self.skip_blocks = int(o.get("skip_blocks", 8))
        self.small_fifo_ratio = decimal(o.get("small_fifo_ratio", "0.3"))
        self.promo_threshold = int(o.get("promo_threshold", 1))
        self.ingesting_call = INGESTING_CALL[o.get("ingestion", "hot")]
        quota = int(o.get("max_inflight_tokens", 0)) // self.B
        self.quota = max(quota, 2 * self.chunk_blocks) if quota else 0         # A10, in blocks
        self.token_timeout_ns = decimal(o.get("per_token_timeout_ms", 20)) * 10**6
        self.double_get_blocks = int(o.get("double_get_blocks", 4))
        self.double_get_ratio = decimal(o.get("double_get_ratio", "0.1"))


class AibrixReplica(Replica):
    """The scheduler is that of vLLM without a connector (A2); the worker does it all."""

    synchronous = True

    def __init__(self, fleet, number, level2):
        super().__init__(fleet, number)
        near = fleet.cfg.tiers[0]
        self.l2 = level2                                       # None: there is none
        self.l1 = Level1(fleet.cfg, near, level2 is not None, self.ingest)
        self.down, self.up = fleet.cfg.links_of(near)
        self.writes = 0                                        # to L2 under way, where there is a quota
        self.first_scheduled = []                              # requests, A3

    def lookup(self, r, local_blocks):
        return 0

    def admitted(self, r, gpu, external, first):
        pass

    # ---------------------------------------------------------------- time of the worker, A4

    def until(self, instant):
        if instant > self.fleet.now:
            yield instant

    def submit(self, link, blocks, then=lambda: None):
        """The job's end; `then` is done there."""
        job = Job(0, None, None, None, blocks * self.cfg.block_bytes)
        link.submit(job, self.fleet.now)
        self.fleet.at_end(job.end, then)
        return job.end

    # ---------------------------------------------------------------- ingestion, A10

    def ingest(self, call, key, buffer):
        if self.l2 is None or call != self.cfg.ingesting_call:
            return
        if not self.cfg.quota:
            yield from self.until(self.submit(self.l2.down, 1, lambda: self.l2.written(key)))
        elif self.writes >= self.cfg.quota:
            self.l2.refused += 1                               # dropped for good
        else:
            self.write_behind(key, buffer)

    def write_behind(self, key, buffer):
        """The worker goes on."""
        def ended():
            self.writes -= 1
            self.l1.let_go(buffer)
            self.l2.written(key)

        self.writes += 1
        self.l1.hold(buffer)
        self.submit(self.l2.down, 1, ended)

    # ---------------------------------------------------------------- load, A5 and A6

    def load(self, r, computed, q):
        """R, the tokens that were brought."""
        B, tiers = self.cfg.B, [spec["name"] for spec in self.cfg.tiers]
        first, last = computed // B, (computed + q) // B
        if last - first < self.cfg.skip_blocks:
            return 0
        sources = []                                           # names of tiers, by block
        for keys in self.chunks(r, first, last):
            hits, fetched = yield from self.load_chunk(keys)
            sources += tiers[:1] * hits + tiers[1:] * fetched
            if hits + fetched < len(keys):
                break
        if not sources:
            return 0
        known = computed - B * first                           # tokens of the first block
        if not r.preemptions:                                  # A14
            for tier in sources:
                r.cached[tier] += B
            r.cached[sources[0]] -= known
        loaded = len(sources) * B - known
        assert 0 <= loaded <= q
        return loaded

    def chunks(self, r, first, last):
        for start in range(first, last, self.cfg.chunk_blocks):
            yield [r.key(i) for i in range(start, min(last, start + self.cfg.chunk_blocks))]

    def load_chunk(self, keys):
        """A6: how many leading blocks L1 gave, and how many behind them L2."""
        buffers = yield from self.hits(keys)
        hits = len(buffers)
        missing = keys[hits:]
        if self.worth_asking(len(missing), len(keys)):
            buffers += yield from self.fetch(missing)
        if buffers:
            yield from self.until(self.submit(self.up, len(buffers)))
        for buffer in buffers:
            self.l1.let_go(buffer)
        return hits, len(buffers) - hits

    def hits(self, keys):
        """A6 (1)."""
        buffers = []
        for key in keys:
            if not self.l1.has(key):
                break
            buffer = yield from self.l1.get(key)
            self.l1.hold(buffer)
            buffers.append(buffer)
        return buffers

    def worth_asking(self, missing, blocks):
        """A6 (2): is there an L2, and does it pay?"""
        least = max(1, self.cfg.double_get_blocks)
        return self.l2 is not None and missing >= least and missing >= self.cfg.double_get_ratio * blocks

    def fetch(self, missing):
        """A6 (2): the buffers of the blocks that came from L2, now in L1."""
        buffers = yield from self.l1.ask(len(missing))
        if not buffers:
            return []
        timeout = len(missing) * self.cfg.B * self.cfg.token_timeout_ns
        arrived = yield from self.get_from_l2(missing[:len(buffers)], math.ceil(self.fleet.now + timeout))
        for buffer in buffers[arrived:]:
            self.l1.let_go(buffer)
        for key, buffer in zip(missing, buffers[:arrived]):
            self.l1.hold(buffer)
            yield from self.l1.put(key, buffer)
        return buffers[:arrived]

    def get_from_l2(self, keys, deadline):
        """A11: how many leading blocks arrive in time."""
        answer = self.fleet.now + self.l2.lookup_ns
        if answer > deadline:
            yield from self.until(deadline)
            return 0
        yield from self.until(answer)
        there = keys[:self.l2.leading(keys)]
        if not there:
            return 0
        end = self.submit(self.l2.up, len(there), lambda: self.l2.touch(there))
        yield from self.until(min(end, deadline))
        return len(there) if end <= deadline else 0

    # ---------------------------------------------------------------- store, A8

    def store(self, r, computed, q, loaded):
        if loaded == q:
            return
        B = self.cfg.B
        for keys in self.chunks(r, (computed + loaded) // B, (computed + q) // B):
            new = yield from self.not_stored(keys)
            if not new:
                continue
            buffers = yield from self.l1.ask(len(new))
            self.l1.refused += len(new) - len(buffers)
            if not buffers:
                return
            yield from self.until(self.submit(self.down, len(buffers)))
            for key, buffer in zip(new, buffers):
                yield from self.l1.put(key, buffer)

    def not_stored(self, keys):
        """The chunk without the leading blocks that L1 has, or L2 behind them."""
        known = next((i for i, key in enumerate(keys) if not self.l1.has(key)), len(keys))
        if self.worth_asking(len(keys) - known, len(keys)):
            yield from self.until(self.fleet.now + self.l2.lookup_ns)
            known += self.l2.leading(keys[known:])
        return keys[known:]

    # ---------------------------------------------------------------- steps

    def worker(self, step, _stores):
        """A4: loads, compute, stores."""
        if not step.plan:
            return
        parts = self.prompt_parts(step)
        loaded = {}
        for r, computed, q in parts:
            loaded[r] = yield from self.load(r, computed, q)
        yield from self.wait(self.compute_time(step, loaded))
        for r, computed, q in parts:
            yield from self.store(r, computed, q, loaded[r])

    def prompt_parts(self, step):
        """A3: (request, C, q) of who takes part, in order."""
        plan = {r: (computed, n) for r, computed, n, _samples in step.plan}
        self.first_scheduled += [r for r in plan if r not in self.first_scheduled]
        return [(r, plan[r][0], min(plan[r][1], r.prompt - plan[r][0])) for r in self.first_scheduled
                if r in plan and plan[r][0] < r.prompt]

    def compute_time(self, step, loaded):
        """A5: what was loaded is not computed, but one token at least is."""
        tokens = context = 0
        for r, computed, n, _samples in step.plan:
            tokens += n - min(loaded.get(r, 0), n - 1)
            context += computed + n
        return math.ceil(self.cfg.step_ns + self.cfg.token_ns * tokens + self.cfg.kv_token_ns * context)

    def check(self):
        super().check()
        assert not self.writes
        self.l1.check()


def simulate(path):
    cfg, requests = read(path, AibrixConfig)
    fleet = Fleet(cfg, requests)
    near, *behind = cfg.tiers
    stores = {}                                                # L2s, by the first replica that has it

    def level2(number):
        for spec in behind:
            owner = 0 if spec.get("scope") == "cluster" else number
            if owner not in stores:
                stores[owner] = Level2(cfg, spec, cfg.links_of(spec))
            return stores[owner]

    fleet.replicas = [AibrixReplica(fleet, number, level2(number)) for number in range(cfg.replicas)]
    fleet.run()
    tiers = [(near["name"], r.l1, r.l1.entries()) for r in fleet.replicas]
    tiers += [(store.name, store, len(store.keys)) for store in stores.values()]
    ends = [(near, r) for r in fleet.replicas] + [(spec, store) for spec in behind for store in stores.values()]
    links = [(name, link) for spec, end in ends for name, link in zip(cfg.link_names_of(spec), (end.down, end.up))]
    return cfg, requests, totals(fleet, tiers, links)


if __name__ == "__main__":
    fleet_module.main(simulate)
