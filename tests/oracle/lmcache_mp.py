#!/usr/bin/env python3
"""Plain reference simulation of a reference scenario on vLLM v1 with LMCache's multi-process connector.

A slow, direct transcription of rules 1 to 3, 14 to 20 and 28 of engines/decisions-lmcache-llmd.md over
scheduler.py; rules, sections and items are named as in fleet.py, which has the clock and the replicas.

    python3 lmcache_mp.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import math
from collections import OrderedDict, deque

import fleet as fleet_module
from fleet import Counts, Fleet, FleetConfig, Replica, bytes_of, decimal, read, totals
from lmcache_parts import full_chunks
from parts import Job


class MpConfig(FleetConfig):
    name = "lmcache-mp"

    def __init__(self, scenario):
        super().__init__(scenario)
        assert self.connector == self.name
        self.l1_tier, self.l2_tiers = self.tiers[0], self.tiers[1:]
        o = self.engine.get("lmcache_mp", {})
        self.chunk = o.get("chunk_tokens", 256)
        self.save_decode_cache = o.get("save_decode_cache", False)
        self.watermark_l1 = decimal(o.get("eviction_trigger_watermark", "0.8"))
        self.ratio = decimal(o.get("eviction_ratio", "0.2"))
        self.skip_l1 = {"default": False, "skip_l1": True}[o.get("l2_store_policy", "default")]
        self.retain = {"default": False, "retain": True}[o.get("l2_prefetch_policy", "default")]
        self.prefetches = o.get("l2_prefetch_max_in_flight", 8)
        self.resume_load = o.get("resume_load", True)
        assert self.tiers[0]["kind"] == "dram"


class Pool(Counts):
    """Keys in order, oldest first, and the tick that drops them (rule 19)."""

    def __init__(self, cfg, spec):
        super().__init__()
        self.cfg, self.capacity = cfg, bytes_of(spec["capacity"] if "capacity" in spec else None)
        self.keys = OrderedDict()                              # key -> Entry
        self.used = self.vanished = 0

    def add(self, chunk, entry):
        assert chunk.key not in self.keys
        self.keys[chunk.key] = entry
        self.used += chunk.bytes
        self.stored += 1

    def remove(self, key):
        self.used -= self.keys.pop(key).bytes

    def touch(self, key):
        if key in self.keys:
            self.keys.move_to_end(key)

    def tick(self):
        if self.capacity == math.inf or self.used < self.cfg.watermark_l1 * self.capacity:
            return
        count = max(1, math.floor(self.cfg.ratio * len(self.keys)))
        for key in [k for k, e in self.keys.items() if not e.locks and not e.writing][:count]:
            self.remove(key)
            self.evictions += 1

    def check(self):
        assert self.used == sum(e.bytes for e in self.keys.values()) <= self.capacity
        assert self.stored - self.evictions - self.vanished == len(self.keys)


class Entry:
    def __init__(self, chunk):
        self.bytes = chunk.bytes
        self.locks, self.writing, self.temporary = 0, False, False


class L1(Pool):
    def readable(self, key):
        return key in self.keys and not self.keys[key].writing

    def reserve(self, chunks):
        """Rule 17: fits whole or not at all; nothing is evicted on demand. Keys enter now."""
        if self.used + sum(c.bytes for c in chunks) > self.capacity:
            self.refused += len(chunks)
            return False
        for c in chunks:
            self.add(c, Entry(c))
            self.keys[c.key].writing = True
        return True

    def written(self, key):
        self.keys[key].writing = False
        self.keys.move_to_end(key)                             # rule 19: moves last when written

    def lock(self, key):
        self.keys[key].locks += 1

    def unlock(self, key):
        """Rule 20: a temporary key vanishes with its last lock."""
        entry = self.keys[key]
        entry.locks -= 1
        assert entry.locks >= 0 and not entry.writing
        if entry.temporary and not entry.locks:
            self.remove(key)
            self.vanished += 1


class L2(Pool):
    """Rule 20. `locks` of an entry: prefetches that read it."""

    def __init__(self, fleet, spec, links):
        super().__init__(fleet.cfg, spec)
        self.fleet, self.name = fleet, spec["name"]
        self.down, self.up = links

    def submit(self, link, chunks, then):
        job = Job(0, None, None, None, sum(c.bytes for c in chunks))
        link.submit(job, self.fleet.now)
        self.fleet.at_end(job.end, then)

    def appear(self, chunks):
        """At a push's end: existing keys are touched, what does not fit is lost."""
        for c in chunks:
            if c.key in self.keys:
                self.touch(c.key)
            elif self.used + c.bytes > self.capacity:
                self.refused += 1
            else:
                self.add(c, Entry(c))


class LookUp:
    def __init__(self, chunks):
        self.chunks = chunks                                   # all of them, found or not
        self.found = []                                        # [(tier's name, chunk)]: the answer
        self.settled = False
        self.jobs = 0                                          # prefetch jobs under way


class MpReplica(Replica):
    synchronous = False

    def __init__(self, fleet, number, make_tier):
        super().__init__(fleet, number)
        cfg = fleet.cfg
        self.l1, self.l1_name = L1(cfg, cfg.l1_tier), cfg.l1_tier["name"]
        self.down, self.up = cfg.links_of(cfg.tiers[0])
        self.l2 = [make_tier(spec, number) for spec in cfg.l2_tiers]
        self.fifo_free_at = 0                                  # rule 15: one FIFO for both directions
        self.ended_ops = []                                    # ended, not yet seen by the engine
        self.some_settled = False                              # a look-up settled, not yet seen
        self.just_finished, self.finished = [], []             # hold their blocks (rule 18)
        self.prefetching, self.queue = 0, deque()
        fleet.settle.append(self.start_queued)
        for r in self.requests:
            r.look = None
            r.answer = []                                      # the admitted request's answer
            r.offered = 0                                      # first chunk never offered for storing
            r.stores = 0                                       # operations not yet seen

    # ---------------------------------------------------------------- look-up, rules 14 and 20

    def lookup(self, r, local_blocks):
        if r.preemptions and not self.cfg.resume_load:         # 0, undeferred
            r.look = LookUp([])
            return 0
        if r.look is None:                                     # the first attempt, a full miss too
            self.submit_lookup(r)
            return None
        if not r.look.settled:
            return None
        hit = r.look.found[-1][1].end if r.look.found else 0
        return max(0, hit - local_blocks * self.cfg.B - (hit == r.tokens))     # rule 5

    def submit_lookup(self, r):
        look = r.look = LookUp(full_chunks(r, r.tokens, self.cfg.chunk, self.cfg.kv_bytes))
        for c in look.chunks:                                  # the readable L1 prefix is read-locked
            if not self.l1.readable(c.key):
                break
            self.l1.lock(c.key)
            look.found.append((self.l1_name, c))
        if len(look.found) == len(look.chunks) or not self.l2:
            self.settle(look)
            return
        self.queue.append(look)                                # the rest goes to L2
        self.start_queued()

    def start_queued(self):
        """So many prefetches at once, then in order."""
        while self.queue and self.prefetching < self.cfg.prefetches:
            self.prefetch(self.queue.popleft())

    def prefetch(self, look):
        run = []                                               # [(tier, chunk)]: the contiguous run found
        for c in look.chunks[len(look.found):]:
            tier = next((t for t in self.l2 if c.key in t.keys), None)         # first tier wins
            if tier is None or c.key in self.l1.keys:          # cut before a key L1 has or is writing
                break
            run.append((tier, c))
        if not run or not self.l1.reserve([c for _, c in run]):
            self.settle(look)                                  # L1's part is the answer
            return
        self.prefetching += 1
        for tier in self.l2:
            part = [c for t, c in run if t is tier]
            if part:
                look.jobs += 1
                for c in part:                                 # touched at its start, safe until its end
                    tier.touch(c.key)
                    tier.keys[c.key].locks += 1
                tier.submit(tier.up, part, lambda t=tier, p=part: self.prefetched(look, run, t, p))

    def prefetched(self, look, run, tier, part):
        for c in part:
            tier.keys[c.key].locks -= 1
            self.l1.written(c.key)
            self.l1.lock(c.key)
            self.l1.keys[c.key].temporary = not self.cfg.retain
        look.jobs -= 1
        if not look.jobs:
            self.prefetching -= 1
            look.found += [(t.name, c) for t, c in run]
            self.settle(look)

    def settle(self, look):
        look.settled = True
        self.some_settled = True

    def admitted(self, r, gpu, external, first):
        size = self.cfg.chunk
        r.answer, r.look = r.look.found, None
        r.offered = len(r.answer)                              # rule 16: on admission the hit
        if first:                                              # rule 28: by where found
            for name, c in r.answer:
                r.cached[name] += max(0, min(c.end, gpu + external) - max(c.start, gpu))
        below = [c for _, c in r.answer if not external or c.start < gpu // size * size]
        for c in below:
            self.l1.unlock(c.key)
        r.answer = r.answer[len(below):]

    # ---------------------------------------------------------------- operations, rules 15 to 17

    def start_load(self, r, local_blocks, _external):
        r.load_state = "loading"
        tokens = r.answer[-1][1].end - local_blocks * self.cfg.B               # hit - GPU hit
        return Job(0, r, [c.key for _, c in r.answer], None, tokens * self.cfg.kv_bytes)

    def operate(self, link, job, then):
        """One FIFO per engine for both directions."""
        job.end = self.fifo_free_at = max(self.fifo_free_at, self.fleet.now) + link.duration(job.bytes)
        link.jobs += 1
        link.bytes += job.bytes

        def end():
            then()
            self.ended_ops.append((link is self.up, job.request))
        self.fleet.at_end(job.end, end)

    def worker(self, step, _stores):
        for job in sorted(step.loads, key=lambda j: j.request.preemptions > 0):   # rule 6: new, resumed
            self.operate(self.up, job, lambda keys=job.keys: [self.l1.unlock(k) for k in keys])
        if not step.plan:
            return
        yield from self.wait(self.compute_time(step))
        for r, c, n, _samples in step.order:                   # when compute ends
            self.store(r, c + n)

    def store(self, r, end):
        """Rule 16: one operation per request and step."""
        limit = end if self.cfg.save_decode_cache else min(end, r.prompt)
        chunks = full_chunks(r, limit, self.cfg.chunk, self.cfg.kv_bytes)[r.offered:]
        r.offered = max(r.offered, limit // self.cfg.chunk)
        new = [c for c in chunks if c.key not in self.l1.keys]                 # there or written: left out
        if not new or not self.l1.reserve(new):
            return                                             # lost for good
        r.stores += 1
        job = Job(0, r, None, None, sum(c.bytes for c in new))
        self.operate(self.down, job, lambda: self.stored(new))

    def stored(self, chunks):
        """Rule 20: written chunks go to every L2, one job each, locked meanwhile."""
        for c in chunks:
            self.l1.written(c.key)
        left = [len(self.l2)]

        def pushed(tier):
            tier.appear(chunks)
            left[0] -= 1
            for c in chunks:
                if self.cfg.skip_l1 and not left[0]:           # after the last tier's push
                    self.l1.keys[c.key].temporary = True
                self.l1.unlock(c.key)
        for tier in self.l2:
            for c in chunks:
                self.l1.lock(c.key)
            tier.submit(tier.down, chunks, lambda t=tier: pushed(t))

    # ---------------------------------------------------------------- ends, rules 15 and 18

    def leave(self, r):
        self.running.remove(r)
        self.just_finished.append(r)
        for c in full_chunks(r, r.tokens, self.cfg.chunk, self.cfg.kv_bytes):
            self.l1.touch(c.key)                               # head first

    def poll(self):
        """What ended is seen at step ends and wake-ups. Finished requests free their blocks (L17)."""
        seen = bool(self.ended_ops) or self.some_settled
        for is_load, r in self.ended_ops:
            if is_load:
                r.load_state = "loaded"
            else:
                r.stores -= 1
        self.ended_ops, self.some_settled = [], False
        for r in self.finished:
            if not r.stores:
                self.free(r)
                seen = True
        self.finished = [r for r in self.finished if r.stores] + self.just_finished
        self.just_finished = []
        return seen

    def news(self):
        return bool(self.ended_ops) or self.some_settled

    def again(self, step, seen):
        """§10.4: a load was submitted, a completion arrived; blocks that a pass's end frees."""
        return step.loads or seen or self.news() or any(not r.stores for r in self.finished)

    def counted(self):
        """(name, counts, keys held) of the tiers of this replica alone."""
        return [(self.l1_name, self.l1, len(self.l1.keys))]

    def check(self):
        super().check()
        assert not self.queue and not self.prefetching and not self.finished
        self.l1.check()
        stuck = any(r.status == "stuck" for r in self.requests)
        assert stuck or not any(e.locks or e.writing or e.temporary for e in self.l1.keys.values())


def simulate(path, config=MpConfig, make_replica=MpReplica):
    cfg, requests = read(path, config)
    fleet = Fleet(cfg, requests)
    shared = {}

    def make_tier(spec, number):
        """A later tier with scope cluster exists once with its links, else per replica."""
        place = spec["name"], None if spec.get("scope") == "cluster" else number
        if place not in shared:
            shared[place] = L2(fleet, spec, cfg.links_of(spec))
        return shared[place]
    for number in range(cfg.replicas):
        fleet.replicas.append(make_replica(fleet, number, make_tier))
    fleet.ticks += [r.l1.tick for r in fleet.replicas] + [tier.tick for tier in shared.values()]
    fleet.run()
    tiers = [counted for r in fleet.replicas for counted in r.counted()]
    tiers += [(tier.name, tier, len(tier.keys)) for tier in shared.values()]
    links = [(n, link) for r in fleet.replicas for n, link in
             zip(cfg.link_names_of(cfg.tiers[0]), (r.down, r.up))]
    for tier in shared.values():
        tier.check()
        assert not any(e.locks for e in tier.keys.values())
        spec = next(t for t in cfg.tiers if t["name"] == tier.name)
        links += zip(cfg.link_names_of(spec), (tier.down, tier.up))
    return cfg, requests, totals(fleet, tiers, links)


if __name__ == "__main__":
    fleet_module.main(simulate)
