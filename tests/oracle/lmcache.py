#!/usr/bin/env python3
"""Plain reference simulation of a reference scenario on vLLM v1 with LMCache in process.

A slow, direct transcription of rules 1 to 13 and 28 of engines/decisions-lmcache-llmd.md over scheduler.py;
rules, sections and items are named as in fleet.py, which has the clock and the replicas.

    python3 lmcache.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import math

import fleet as fleet_module
from fleet import Fleet, FleetConfig, Replica, ReplicaEnds, decimal, read, totals
from lmcache_parts import Dram, Kv, Nvme, full_chunks, partial_chunk
from parts import ceil_div

RETRY_NS = 100_000_000                                         # rule 9

# L1: does a request whose load failed store in that step under the policy `fail`?
FAILED_REQUEST_STORES = False


class LmcacheConfig(FleetConfig):
    def __init__(self, scenario):
        super().__init__(scenario)
        assert self.connector == "lmcache"
        o = self.engine.get("lmcache", {})
        self.chunk = o.get("chunk_tokens", 256)
        self.save_decode_cache = o.get("save_decode_cache", False)
        self.save_unfull_chunk = o.get("save_unfull_chunk", False)
        self.min_retrieve_tokens = o.get("min_retrieve_tokens", 0)
        self.local_cpu = o.get("local_cpu", True)
        self.timeout_ns = decimal(o.get("blocking_timeout_secs", 10)) * 10**9
        self.layerwise = {"blocking": False, "layerwise": True}[self.engine.get("load", "blocking")]
        self.recompute = {"fail": False, "recompute": True}[self.engine.get("kv_load_failure_policy", "fail")]
        kinds = [t["kind"] for t in self.tiers]
        assert kinds[0] == "dram" and kinds[1:] in ([], ["nvme"], ["kv"], ["nvme", "kv"])
        assert not self.layerwise or len(kinds) == 1           # rule 6


class LmcacheReplica(Replica):
    synchronous = True                                         # rule 5

    def __init__(self, fleet, number, make_tier):
        super().__init__(fleet, number)
        cfg = fleet.cfg
        self.dram = Dram(cfg.tiers[0], cfg.local_cpu)
        self.down, self.up = cfg.links_of(cfg.tiers[0])
        self.slower = [make_tier(spec, number) for spec in cfg.tiers[1:]]      # Nvme and Kv, in order
        self.tiers = [self.dram] + self.slower
        self.names = {tier: spec["name"] for tier, spec in zip(self.tiers, cfg.tiers)}
        self.lookup_ns = [decimal(spec.get("lookup_us", 0)) * 1000 if spec["kind"] == "kv" else 0
                          for spec in cfg.tiers]
        self.delay = 0                                         # of this pass, by its look-ups
        self.writes = 0                                        # slower writes under way
        self.putting = set()                                   # keys of this replica's puts under way
        self.copies = {}                                       # link -> sum of this step's copies (layerwise)
        for r in self.requests:
            r.found = None                                     # kept until admission: [(tier, chunk)]
            r.pinned = []                                      # [(tier, key)]
            r.saved, r.decoding = 0, False                     # rule 7
            r.load = None                                      # (GPU hit, external tokens, first admission?)
            r.came = None                                      # tokens that a spoilt load leaves (rule 12)

    # ---------------------------------------------------------------- look-up, rules 4 and 5

    def chunks(self, r, tokens):
        cfg = self.cfg
        return (full_chunks(r, tokens, cfg.chunk, cfg.kv_bytes)
                + (partial_chunk(r, tokens, cfg.chunk, cfg.kv_bytes) if cfg.save_unfull_chunk else []))

    def ask(self, chunks, pay):
        """Each tier in order gives the longest prefix of what is left: [(tier, chunk)]."""
        found = []
        for tier, price in zip(self.tiers, self.lookup_ns):
            for c in chunks[len(found):]:
                self.delay += price * pay                      # each key asked, the miss included
                if not tier.has(c.key):
                    break
                found.append((tier, c))
        return found

    def lookup(self, r, local_blocks):
        if r.found is None:                                    # the first scheduling attempt
            r.found = self.ask(self.chunks(r, r.tokens), True)
            for tier, c in r.found:
                if not isinstance(tier, Kv):
                    tier.pins[c.key] += 1
                    r.pinned.append((tier, c.key))
            for tier, key in reversed(r.pinned):
                tier.order.touch(key)
        hit, gpu = self.hit(r), local_blocks * self.cfg.B      # the GPU hit is taken afresh
        external = hit - gpu - (hit == r.tokens)
        return external if external >= max(1, self.cfg.min_retrieve_tokens) else 0

    def hit(self, r):
        return r.found[-1][1].end if r.found else 0

    def unpin(self, r):
        for tier, key in r.pinned:
            tier.pins[key] -= 1
        r.pinned = []

    def admitted(self, r, gpu, external, first):
        r.saved = self.hit(r)                                  # rule 7: loaded or not
        r.load = (gpu, external, first) if external else None

    def preempt(self, r):
        super().preempt(r)
        assert not r.pinned
        r.found = None                                         # rule 13; decoding stays

    # ---------------------------------------------------------------- a step, rule 6

    def worker(self, step, _stores):
        delay, self.delay = math.ceil(self.delay), 0
        yield from self.wait(delay)
        if not step.plan:
            return
        for r, _c, n, _samples in step.order:                  # rule 7: running or resumed, exactly one token
            if n == 1 and (r in step.running or r.preemptions):
                r.decoding = True
        self.copies = {self.up: 0, self.down: 0}
        for r, *_ in step.order:
            if r.load:
                yield from self.retrieve(r, *r.load)
                r.load = None
        compute = self.compute_time(step)
        if not self.cfg.layerwise:
            yield from self.wait(compute)
        for r, c, n, _samples in step.order:
            self.unpin(r)                                      # just before its own store
            if r.came is None or (FAILED_REQUEST_STORES and not self.cfg.recompute):
                yield from self.store(r, c + n)
        if self.cfg.layerwise:
            d, s = self.copies[self.up], self.copies[self.down]
            layers = self.cfg.layers
            yield from self.wait(ceil_div(d + compute + s + (layers - 1) * max(d, compute, s), layers))

    def copy(self, link, chunks):
        """A transfer up or down holds the worker; layer by layer it only adds to the step's sums."""
        nbytes = sum(c.bytes for c in chunks)
        link.jobs += 1
        link.bytes += nbytes
        if self.cfg.layerwise:
            self.copies[link] += link.duration(nbytes)
        else:
            yield from self.wait(link.duration(nbytes))

    def spoilt(self, r):
        """Rule 12, at the step's end: no token for a request whose load failed."""
        if r.came is None:
            return False
        came, r.came = r.came, None
        if not self.cfg.recompute:
            self.fleet.end_request(r, "failed", "kv_load_failed")
            self.leave(r)
            return True
        r.computed = came
        r.saved = min(r.saved, came)
        r.placeholders, r.prefilling = 0, True
        return True

    # ---------------------------------------------------------------- stores, rules 7 and 8

    def what_to_store(self, r, end):
        """`end` is L = C before + n."""
        size = self.cfg.chunk
        if r.saved > 0 and end < (r.saved // size + 1) * size:
            return []
        if r.decoding and not self.cfg.save_decode_cache:
            return []
        old = r.saved
        r.saved = end if self.cfg.save_unfull_chunk and end >= r.prompt else end // size * size
        return self.chunks(r, r.saved)[old // size:]

    def store(self, r, end):
        chunks = self.what_to_store(r, end)
        leading = []                                           # (chunk, buffer)
        for i, c in enumerate(chunks):
            if self.cfg.layerwise and self.dram.has(c.key):
                continue
            buffer = self.dram.allocate(c.bytes)
            if buffer is None:                                 # rule 9: a store keeps its leading chunks
                self.dram.refused += len(chunks) - i           # L10
                break
            leading.append((c, buffer))
        if not leading:
            return
        yield from self.copy(self.down, [c for c, _ in leading])
        for c, buffer in leading:
            self.dram.enter(c.key, buffer)
        for tier in self.slower:
            if isinstance(tier, Kv):
                self.put(tier, leading)
                continue
            for c, buffer in leading:
                if tier.write(c, lambda b=buffer: self.written([b])):
                    self.dram.use(buffer)
                    self.writes += 1
        for _c, buffer in leading:
            self.dram.release(buffer)

    def written(self, buffers):
        self.writes -= 1
        for b in buffers:
            self.dram.release(b)

    def put(self, tier, leading):
        """Rule 11: one job, without chunks this replica is putting; dropped during an outage."""
        mine = [(c, b) for c, b in leading if c.key not in self.putting]
        if not mine:
            return
        if tier.out():
            tier.refused += len(mine)
            return
        chunks, buffers = [c for c, _ in mine], [b for _, b in mine]
        self.putting.update(c.key for c in chunks)
        self.writes += 1
        for b in buffers:
            self.dram.use(b)

        def end():
            self.putting.difference_update(c.key for c in chunks)
            tier.appear(chunks)
            self.written(buffers)
        tier.submit(tier.down, chunks, end)

    # ---------------------------------------------------------------- loads, rules 9 to 12

    def buffer_for_load(self, size):
        while (buffer := self.dram.allocate(size)) is None:
            if not self.writes:
                raise ReplicaEnds                              # upstream hangs
            yield self.fleet.now + RETRY_NS
        return buffer

    def retrieve(self, r, gpu, external, first):
        """Reads into `dram`, tier by tier, then one copy up."""
        wanted = [(tier, c) for tier, c in r.found if c.end > gpu // self.cfg.chunk * self.cfg.chunk]
        places = wanted
        if len({tier for tier, _ in r.found}) > 1:             # L2: else they are where they were found
            places = self.ask([c for _, c in wanted], False)   # again, free, without touch
        got = {}                                               # key -> buffer, in order
        for tier in self.tiers:
            part = [c for t, c in places if t is tier]
            if not part:
                continue
            buffers = []
            if tier is self.dram:
                for c in part:
                    if not tier.has(c.key):
                        break
                    self.dram.use(tier.keys[c.key])
                    buffers.append(tier.keys[c.key])
            elif isinstance(tier, Kv):
                yield from self.get(tier, part, buffers)
            else:
                yield from self.read(tier, part, buffers)
            got.update((c.key, b) for c, b in zip(part, buffers))
            if tier is not self.dram and len(buffers) == len(part):            # came whole: written back
                for c, b in zip(part, buffers):
                    self.dram.enter(c.key, b)
        came = []
        for _tier, c in wanted:
            if c.key not in got:                               # loses its chunk and all behind
                break
            came.append(c)
        if came:
            yield from self.copy(self.up, came)                # whole chunks
        for b in got.values():
            self.dram.release(b)
        if len(came) < len(wanted):
            tokens = came[-1].end if came else 0
            r.came = max(gpu, tokens // self.cfg.B * self.cfg.B)
        if first:                                              # rule 28
            where = {c.key: tier for tier, c in places}
            for c in came:
                tokens = min(c.end, gpu + external) - max(c.start, gpu)
                r.cached[self.names[where[c.key]]] += max(0, tokens)

    def read(self, tier, part, buffers):
        """nvme: chunk by chunk, buffer allocated and key touched just before each."""
        for c in part:
            if not tier.has(c.key):
                return
            buffer = yield from self.buffer_for_load(c.bytes)
            if not tier.has(c.key):                            # vanished while the load waited for memory
                self.dram.release(buffer)
                return
            tier.order.touch(c.key)
            buffers.append(buffer)
            tier.up.jobs += 1
            tier.up.bytes += c.bytes
            tier.up.free_at = max(tier.up.free_at, self.fleet.now) + tier.up.duration(c.bytes)
            yield tier.up.free_at

    def get(self, tier, part, buffers):
        """kv: one job, buffers first, keys touched in order at its end. L3, L4, L5."""
        if tier.out():
            return
        mine = []
        for c in part:
            mine.append((yield from self.buffer_for_load(c.bytes)))
        there = []
        for c in part:
            if not tier.has(c.key):                            # vanished, or an outage has begun meanwhile
                break
            there.append(c)
        for b in mine[len(there):]:
            self.dram.release(b)
        mine = mine[:len(there)]
        if not there:
            return
        deadline = self.fleet.now + self.cfg.timeout_ns
        for b in mine:                                         # the job's own use of its buffers
            self.dram.use(b)

        def end():
            tier.touch(there)
            for b in mine:
                self.dram.release(b)
        job_end = tier.submit(tier.up, there, end)
        if job_end <= deadline:
            yield job_end
            buffers += mine
            return
        yield from self.wait(math.ceil(deadline) - self.fleet.now)     # it waits that long; the job goes on
        for b in mine:
            self.dram.release(b)

    # ---------------------------------------------------------------- checks

    def check(self):
        super().check()
        assert not self.writes and not self.putting
        for r in self.requests:
            if r.status == "stuck":
                self.unpin(r)
        assert not any(p for tier in self.tiers[:1] for p in tier.pins.values())
        if not self.ended:
            self.dram.check()


def simulate(path):
    cfg, requests = read(path, LmcacheConfig)
    fleet = Fleet(cfg, requests)
    shared = {}

    def make_tier(spec, number):
        """A later tier with scope cluster exists once with its links, else per replica."""
        place = spec["name"], None if spec.get("scope") == "cluster" else number
        if place not in shared:
            kind = {"nvme": Nvme, "kv": Kv}[spec["kind"]]
            shared[place] = kind(fleet, spec, cfg.links_of(spec))
        return shared[place]
    for number in range(cfg.replicas):
        fleet.replicas.append(LmcacheReplica(fleet, number, make_tier))
    fleet.run()
    tiers = [(cfg.tiers[0]["name"], r.dram, len(r.dram.keys)) for r in fleet.replicas]
    tiers += [(name, tier, len(tier.keys)) for (name, _), tier in shared.items()]
    links = [(n, link) for r in fleet.replicas for n, link in
             zip(cfg.link_names_of(cfg.tiers[0]), (r.down, r.up))]
    for (name, _), tier in shared.items():
        tier.check()
        spec = next(t for t in cfg.tiers if t["name"] == name)
        links += zip(cfg.link_names_of(spec), (tier.down, tier.up))
    return cfg, requests, totals(fleet, tiers, links)


if __name__ == "__main__":
    fleet_module.main(simulate)
