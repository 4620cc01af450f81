#!/usr/bin/env python3
"""Plain reference simulation of vLLM v1 with the KVBM connector of Dynamo: preset kvbm@1.0.

A slow, direct transcription of part A of engines/decisions-stores.md over scheduler.py and fleet.py. "rule 4"
is a rule of that part, "K3" item 3 of AMBIGUITIES_KVBM.md, "§10" a section of vllm-lmcache-llmd.md. Its
assertions run at every instant.

    python3 kvbm.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import heapq
import math
from collections import deque

import fleet as fleet_module
from fleet import FleetConfig, Replica, WholeInstants, bytes_of, decimal, read, totals
from kvbm_parts import Filter, Hop, LowerTier, Pool

COPY_DOWN, LOWER_WRITE, ONBOARDING = range(3)                  # rule 10: the order at one instant


class KvbmConfig(FleetConfig):
    """Rule 1."""
    preset = "kvbm@1.0"

    def __init__(self, scenario):
        engine = scenario["engine"]
        assert engine["preset"] == self.preset
        super().__init__({**scenario, "engine": {**engine, "offload_connector": "kvbm"}})
        self.read_options(engine.get("kvbm", {}))
        kinds = [t["kind"] for t in self.tiers]
        assert kinds[0] == "dram" and kinds[1:] in ([], ["nvme"], ["object"], ["nvme", "object"])

    def read_options(self, o):
        self.batch = o.get("max_transfer_batch_size", 16)
        self.window = o.get("max_concurrent_transfers", 4)
        self.filter_on = o.get("disk_offload_filter", True)
        self.filter_min = o.get("disk_filter_min", 2)
        self.filter_decay_ns = math.ceil(decimal(o.get("disk_filter_decay_s", 600)) * 10**9)
        self.filter_entries = o.get("disk_filter_entries", 1000000)

    def slots(self, tier):
        capacity = str(tier["capacity"])
        if capacity.endswith("blocks"):
            return int(capacity[:-len("blocks")])
        slots = bytes_of(tier["capacity"]) / self.block_bytes
        return 10**12 if slots == math.inf else math.floor(slots)

    def hop(self, source, target):
        return Hop(self.link_specs[(source, target)], self.window)


class CopyDown:
    def __init__(self, request, keys, step_end):
        self.request, self.keys, self.step_end = request, keys, step_end


class Onboarding:
    def __init__(self, request, tier, keys):
        self.request, self.tier, self.keys = request, tier, keys


class KvbmReplica(Replica):
    synchronous = False                                        # rule 3: the request parks

    def __init__(self, fleet, number):
        super().__init__(fleet, number)
        cfg = fleet.cfg
        names = [t["name"] for t in cfg.tiers]
        self.down = cfg.hop("hbm", names[0])
        self.host = self.make_host(cfg.tiers[0])
        self.lower = [self.make_lower(spec, cfg.hop(names[0], spec["name"])) for spec in cfg.tiers[1:]]
        self.tiers = [self.host] + self.lower
        self.names = dict(zip(self.tiers, names))
        self.up = {tier: cfg.hop(name, "hbm") for tier, name in self.names.items()}
        self.copies, self.copying = deque(), None              # rule 4: one queue, one job at a time
        self.loads, self.loading = deque(), None               # rule 3: the same
        self.just_finished, self.keeping = [], []              # rule 5: finished, blocks still held
        self.happened = False                                  # a copy has ended since the last boundary
        for r in self.requests:
            r.offered = 0                                      # rule 4: blocks offered
            r.found = []                                       # of the last look-up: [(tier, keys)]
            r.copy_downs = r.onboardings = 0                   # not ended yet
        fleet.settle.append(self.check_pools)

    def make_host(self, spec):
        return Pool(self.cfg.slots(spec))

    def make_lower(self, spec, hop):
        cfg, disk_filter = self.cfg, None
        if spec["kind"] == "nvme" and cfg.filter_on:
            disk_filter = Filter(cfg.filter_min, cfg.filter_decay_ns, cfg.filter_entries)
        return LowerTier(cfg.slots(spec), hop, cfg.window, cfg.block_bytes, disk_filter)

    def at_end(self, end, kind, tier, then):
        assert end > self.fleet.now
        heapq.heappush(self.fleet.transfers, (end, (self.number, kind, tier), then))

    # ---------------------------------------------------------------- look-up, rule 2

    def lookup(self, r, local_blocks):
        """Never defers, touches or pins."""
        B = self.cfg.B
        r.found = []
        if r.tokens - local_blocks * B < B:
            return 0
        end = local_blocks
        for tier in self.tiers:
            keys = []
            while end < r.tokens // B and tier.has(r.key(end)):
                keys.append(r.key(end))
                end += 1
            if keys:
                r.found.append((tier, keys))
        if r.found and end * B == r.tokens:                    # an aligned full hit gives up its last block
            end -= 1
            r.found[-1][1].pop()
            if not r.found[-1][1]:
                r.found.pop()
        return (end - local_blocks) * B

    def admitted(self, r, gpu, external, first):
        if first:                                              # rule 11
            for tier, keys in r.found if external else ():
                r.cached[self.names[tier]] = len(keys) * self.cfg.B

    # ---------------------------------------------------------------- onboarding, rule 3

    def start_load(self, r, local_blocks, external):
        assert external == sum(len(keys) for _, keys in r.found) * self.cfg.B > 0
        r.load_state = "loading"
        r.offered = local_blocks + external // self.cfg.B      # rule 4: at the load's end
        for tier, keys in r.found:
            for key in keys:
                tier.pin(key)
            job = Onboarding(r, tier, keys)
            r.onboardings += 1
            self.loads.append(job)
        self.next_load()
        return job

    def next_load(self):
        if self.loading or not self.loads:
            return
        job = self.loading = self.loads.popleft()
        end = self.up[job.tier].carry_blocks(self.fleet.now, len(job.keys), self.cfg.batch, self.cfg.block_bytes)
        self.at_end(end, ONBOARDING, 0, self.load_ended)

    def load_ended(self):
        job, self.loading = self.loading, None
        for key in job.keys:                                   # in block order
            job.tier.unpin(key)
        job.request.onboardings -= 1
        if not job.request.onboardings:
            job.request.load_state = "loaded"                  # the next schedule sees it
        self.happened = True
        self.move_queues()
        self.next_load()

    # ---------------------------------------------------------------- copy-down, rules 4 and 8

    def offer(self, r, computed, n, step_end):
        first, end = max(r.offered, computed // self.cfg.B), (computed + n) // self.cfg.B
        if end <= first:
            return
        assert end <= len(r.blocks)
        r.offered = end
        r.copy_downs += 1
        self.copies.append(CopyDown(r, [r.key(i) for i in range(first, end)], step_end))

    def next_copy(self):
        """The head takes all its slots or is dropped for good; so does the one behind it."""
        while self.copies and not self.copying:
            job = self.copies.popleft()
            if not self.host.take(len(job.keys)):
                self.host.refused += len(job.keys)
                job.request.copy_downs -= 1
                continue
            self.copying = job
            end = self.down.carry_blocks(max(self.fleet.now, job.step_end), len(job.keys), self.cfg.batch,
                                         self.cfg.block_bytes)
            self.at_end(end, COPY_DOWN, 0, self.copy_ended)

    def copy_ended(self):
        job, self.copying = self.copying, None
        job.request.copy_downs -= 1
        for key in job.keys:
            if self.host.register(key):                        # rule 8: pinned ones join no queue
                for tier in self.lower:
                    tier.queue.append(key)
        self.happened = True
        self.move_queues()                                     # rule 10: before the next takes its slots
        self.next_copy()

    def move_queues(self):
        for number, tier in enumerate(self.lower):
            tier.move(self.host, self.fleet.now, lambda end, key, number=number: self.at_end(
                end, LOWER_WRITE, number, lambda: self.written(number, key)))

    def written(self, number, key):
        self.lower[number].written(self.host, key)
        self.happened = True
        self.move_queues()

    # ---------------------------------------------------------------- steps

    def worker(self, step, _stores):
        if not step.plan:
            return
        duration = self.compute_time(step)
        for r, c, n, _samples in step.plan:                    # rule 4: in schedule order
            self.offer(r, c, n, self.fleet.now + duration)
            self.next_copy()
        self.check_pools()
        yield from self.wait(duration)

    def preempt(self, r):
        super().preempt(r)                                     # rule 5: frees at once, no fences
        r.offered = 0

    def leave(self, r):
        self.running.remove(r)
        self.just_finished.append(r)

    def poll(self):
        """Rule 5, behind the outputs of the same instant: frees in finish order."""
        seen, self.happened = self.happened, False
        for r in self.keeping:
            if not r.copy_downs:
                self.free(r)
                r.blocks = []
                seen = True
        self.keeping = [r for r in self.keeping if r.copy_downs] + self.just_finished
        self.just_finished = []
        self.check_pools()
        self.check_blocks()
        return seen

    def news(self):
        return self.happened

    def again(self, step, seen):
        """§10.4; the end of this empty step is a later one for who finished before it (K6)."""
        return seen or bool(step.loads) or any(not r.copy_downs for r in self.keeping)

    # ---------------------------------------------------------------- checks

    def check_pools(self):
        jobs = list(self.loads) + ([self.loading] if self.loading else [])
        pins = {tier: sum(len(j.keys) for j in jobs if j.tier is tier) for tier in self.tiers}
        pins[self.host] += sum(tier.writing for tier in self.lower)
        self.host.check(len(self.copying.keys) if self.copying else 0, pins[self.host])
        for tier in self.lower:
            tier.check(tier.writing, pins[tier])
            assert 0 <= tier.writing <= self.cfg.window
            assert tier.writing == self.cfg.window or not tier.queue, "a head that could move"
        assert self.copying or not self.copies
        assert self.loading or not self.loads

    def check_blocks(self):
        """Every GPU block is free or held by who runs, loads, waits after a load, or has finished."""
        held = [0] * self.cfg.N
        for r in self.requests:
            for b in r.blocks:
                held[b] += 1
        assert held == self.gpu.ref, "reference counts"
        assert len(self.gpu.free) + sum(c > 0 for c in held) == self.cfg.N - 1

    def check(self):
        super().check()
        self.check_pools()
        assert not self.keeping and not self.just_finished and not self.copying and not self.loading
        assert not any(r.copy_downs or r.onboardings for r in self.requests)
        assert not any(tier.queue or tier.writing for tier in self.lower)


def simulate(path, config=KvbmConfig, replica=KvbmReplica):
    cfg, requests = read(path, config)
    fleet = WholeInstants(cfg, requests)
    for number in range(cfg.replicas):
        fleet.replicas.append(replica(fleet, number))
    fleet.run()
    tiers, links = [], []
    near = cfg.tiers[0]["name"]
    for r in fleet.replicas:
        tiers += [(r.names[tier], tier, tier.keys()) for tier in r.tiers]
        hops = [("hbm", near, r.down)] + [(near, r.names[tier], tier.hop) for tier in r.lower]
        hops += [(r.names[tier], "hbm", hop) for tier, hop in r.up.items()]
        links += [(cfg.link_specs[(a, b)]["name"], hop) for a, b, hop in hops]
    return cfg, requests, totals(fleet, tiers, links)


if __name__ == "__main__":
    fleet_module.main(simulate)
