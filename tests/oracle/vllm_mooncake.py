#!/usr/bin/env python3
"""Plain reference simulation of vLLM v1 with Mooncake Store as its KV connector: mooncake@0.3.

Written from AMBIGUITIES_VLLM_MOONCAKE.md alone, over scheduler.py, fleet.py and mooncake_store.py.
"V7" in a comment is a rule of that page, "§10" a section of vllm-lmcache-llmd.md, "A8" an item of
AMBIGUITIES.md. vllm_mooncake_parts.py has the store's clock and the two threads. Assertions count
GPU blocks at every boundary, the store's bytes at every 32nd instant (MOONCAKE_CHECK=1: at each).

    python3 vllm_mooncake.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import heapq
import os
from collections import Counter

import fleet as fleet_module
from fleet import Fleet, FleetConfig, Replica, read, totals
from parts import Job, Link
from vllm_mooncake_parts import Get, Receiver, Save, Sender, SharedStore

VERIFY_EVERY = 1 if os.environ.get("MOONCAKE_CHECK") else 32   # instants


class MooncakeConfig(FleetConfig):
    """V1."""

    def __init__(self, scenario):
        engine = scenario["engine"]
        assert engine["preset"] == "mooncake@0.3"
        super().__init__({**scenario, "engine": {**engine, "offload_connector": "mooncake"}})
        policy = engine.get("kv_load_failure_policy", "fail")
        self.recompute = {"fail": False, "recompute": True}[policy]
        kinds = [tier["kind"] for tier in self.tiers]
        assert kinds[0] == "kv" and kinds[1:] in ([], ["nvme"], ["fs"])
        scope = self.tiers[0].get("scope", "instance")
        self.shared = {"instance": False, "cluster": True}[scope]


class MooncakeFleet(Fleet):
    """V13: one instant."""

    def __init__(self, cfg, requests):
        super().__init__(cfg, requests)
        self.seen = Counter()                                  # branches of the rules
        self.instants = 0
        count = 1 if cfg.shared else cfg.replicas
        self.stores = [SharedStore(self) for _ in range(count)]
        self.replicas = [MooncakeReplica(self, number) for number in range(cfg.replicas)]

    def alive(self):
        """Instants of steps, gets, saves and arrivals: without any, §10.6's end has come."""
        times = [r.wait_until for r in self.replicas if r.wait_until is not None]
        times += [end for end, _, _ in self.transfers[:1]]
        return times + [time for time, _ in list(self.to_arrive)[:1]]

    def next_instant(self):
        times = self.alive()
        if not times:
            self.give_up()
            if all(shared.write_end is None for shared in self.stores):
                return None
        times += [shared.next_instant(self.now, self.unfinished) for shared in self.stores]
        return min(t for t in times if t is not None)

    def give_up(self):
        """§10.6. The store's clock alone brings nobody on."""
        for r in self.requests:
            if r.status is None:
                r.status, r.reason = "stuck", "deadlock"
        self.unfinished = 0

    def run(self):
        while (now := self.next_instant()) is not None:
            self.now = now
            self.end_jobs()
            for replica in self.replicas:
                replica.receiver.go_on()
                replica.sender.go_on()
            for shared in self.stores:
                shared.tick(now, self.unfinished)
            self.arrive()
            self.turns()
            self.instants += 1
            if self.instants % VERIFY_EVERY == 0:
                self.verify()
        self.verify()
        for replica in self.replicas:
            replica.check()

    def verify(self):
        for shared in self.stores:
            shared.store.verify()

    def end_jobs(self):
        """In order of submission, each with what it makes readable."""
        ended = 0
        while self.transfers and self.transfers[0][0] <= self.now:
            heapq.heappop(self.transfers)[2]()
            ended += 1
        steps = sum(r.wait_until == self.now for r in self.replicas)
        self.seen["V13 a job ends with a step"] += bool(ended and steps)
        self.seen["V13 two jobs end at once"] += ended > 1
        self.seen["V13 two steps end at once"] += steps > 1


class MooncakeReplica(Replica):
    synchronous = False                                        # V5: loaded asynchronously

    def __init__(self, fleet, number):
        super().__init__(fleet, number)
        self.shared = fleet.stores[number % len(fleet.stores)]
        memory, specs = fleet.cfg.tiers[0]["name"], fleet.cfg.link_specs
        self.put_link, self.get_link = Link(specs["hbm", memory]), Link(specs[memory, "hbm"])
        self.receiver, self.sender = Receiver(self), Sender(self)
        self.begun_step = self.ended_step = 0                  # numbers of steps with tokens
        self.just_finished, self.keeping = [], []              # V10: finished, blocks still held
        self.happened = False                                  # V12: what wakes it
        self.last_turn = None
        for r in self.requests:
            r.found = None                                     # (g, h) of the last look-up
            r.get = r.first_get = None
            r.life = r.saves = 0                               # saves: of this life, not ended
            self.begin_life(r)

    def begin_life(self, r):
        """V8."""
        r.life += 1
        r.saves = r.offered = r.saved = 0                      # saved: s
        r.goal = None                                          # E
        r.gave_up = False                                      # V7: the store is not asked again

    def submit(self, link, blocks, then):
        job = Job(0, None, None, None, blocks * self.cfg.block_bytes)
        link.submit(job, self.fleet.now)
        self.fleet.at_end(job.end, then)
        return job.end

    # ---------------------------------------------------------------- look-up, V5

    def lookup(self, r, local_blocks):
        seen, g, whole = self.fleet.seen, local_blocks, r.tokens // self.cfg.B
        r.found = None
        if r.gave_up:
            seen["V7 not asked again"] += 1
            seen["V7 not asked again, GPU hit"] += g > 0
            return 0
        if not whole:
            seen["V5 less than a block"] += 1
            return 0
        there = [bool(self.shared.store.exist([r.key(i)], self.fleet.now)) for i in range(whole)]
        h = (there + [False]).index(False)
        seen["V5 renewed behind a gap"] += any(there[h:])
        if h * self.cfg.B == r.tokens:
            seen["V5 a full hit gives up its last block"] += 1
            h -= 1
        seen["V5 the GPU has more"] += h < g
        seen["V5 just as much in both"] += 0 < h == g
        if h <= g:
            return 0
        seen["V5 hit behind a GPU hit"] += g > 0
        seen["V5 hit after a preemption"] += r.preemptions > 0
        r.found = (g, h)
        return (h - g) * self.cfg.B

    def may_admit(self, r, tokens, hits, parked):
        admits = super().may_admit(r, tokens, hits, parked)
        if not admits and r.computed == 0:
            self.fleet.seen["V7 freed, not admitted again"] += r.gave_up
            self.fleet.seen["V5 renewed, not admitted"] += r.tokens >= self.cfg.B and not r.gave_up
        elif not admits:
            self.fleet.seen["V7 promoted, not admitted"] += 1
        return admits

    # ---------------------------------------------------------------- get, V6 and V7

    def start_load(self, r, local_blocks, external):
        g, h = r.found
        assert g == local_blocks and external == (h - g) * self.cfg.B > 0
        r.load_state, r.get = "loading", Get(r, g, h)
        return r.get

    def admitted(self, r, gpu, external, first):
        r.loads_first = first and external > 0                 # V14

    def count_loaded(self, get):
        """V14: by the source each leading block came from; only of the first admission."""
        r = get.request
        if not r.loads_first:
            return
        r.loads_first = False
        for memory in get.sources[:get.came()]:
            name = self.shared.names[0 if memory else 1]
            r.cached[name] += self.cfg.B
            self.fleet.seen["V14 from the SSD"] += not memory

    def see_get(self, get):
        """V7, at a boundary."""
        r, seen = get.request, self.fleet.seen
        if get.came() < get.asked() and not self.cfg.recompute:
            seen["V7 fail"] += 1
            seen["V7 fail with blocks that came"] += get.came() > 0
            r.load_state = None
            self.skipped.remove(r)
            self.free(r)
            r.blocks, r.prefilling = [], False
            self.fleet.end_request(r, "failed", "kv_load_failed")
            seen["V7 fail sends a successor here"] += bool(self.inbox)
            return
        r.load_state = "loaded"

    def promote(self, r):
        """V7, when the walk reaches it."""
        seen, get = self.fleet.seen, r.get
        if get.came() == get.asked():
            seen["V7 complete"] += 1
            super().promote(r)
            return
        assert self.cfg.recompute
        r.load_state = None
        have = get.first + get.came()
        r.computed = have * self.cfg.B
        if have:
            seen["V7 recompute, GPU hit only"] += get.came() == 0
            seen["V7 recompute, some came"] += get.came() > 0
            self.register_upto(r, r.computed)
            return
        seen["V7 recompute, nothing came"] += 1
        self.free(r)
        r.blocks, r.registered, r.prefilling = [], 0, False    # it does not count in §10.13
        r.gave_up = True

    # ---------------------------------------------------------------- save, V8 to V10

    def offer(self, r, computed, n):
        if r.goal is None:
            r.goal = r.tokens
            self.fleet.seen["V8 answers of an earlier life"] += r.tokens > r.prompt
        if computed >= r.goal:
            return                                             # answers computed one by one
        end = min(computed + n, r.tokens) // self.cfg.B
        if end <= r.offered:
            return
        self.fleet.seen["V8 a later save of a life"] += r.offered > 0
        self.sender.queue.append(Save(r, end, self.begun_step))
        r.offered = end
        r.saves += 1

    def preempt(self, r):
        super().preempt(r)                                     # V9: frees at once
        self.sender.forget(r)
        self.begin_life(r)

    def leave(self, r):
        self.running.remove(r)
        if r.offered:
            self.just_finished.append(r)
            return
        self.fleet.seen["V10 freed at the finish"] += 1
        self.free(r)
        r.blocks = []

    def free_held(self):
        """V10, after a later pass than that of the finish; in order of finishes."""
        freed = [r for r in self.keeping if not r.saves]
        for r in freed:
            self.free(r)
            r.blocks = []
        self.fleet.seen["V10 held blocks freed"] += len(freed)
        self.keeping = [r for r in self.keeping if r.saves] + self.just_finished
        self.fleet.seen["V10 held for a save"] += any(r.saves for r in self.keeping)
        self.just_finished = []
        return bool(freed)

    # ---------------------------------------------------------------- boundaries and passes

    def boundary(self, step):
        """V11. Which of V12's reasons for another pass there are."""
        if step and step.plan:
            self.ended_step = self.begun_step
            self.collect(step)
        self.sender.go_on()
        held = self.free_held()
        gets, self.receiver.ended = self.receiver.ended, []
        for get in gets:
            self.see_get(get)
        self.happened = False
        reasons = {"held": held, "get": bool(gets), "arrival": bool(self.inbox)}
        self.waiting.requests += self.inbox
        self.waiting.order()
        self.inbox = []
        self.check_blocks()
        return reasons

    def life(self):
        step = None
        while True:
            reasons = self.boundary(step)
            if step and not step.plan:                         # V12: behind an empty pass
                reasons["preempted"] = bool(step.preempted)
                if not any(reasons.values()):
                    yield None
                    step = None                                # woken: a boundary and a pass
                    continue
                for name in (name for name, is_so in reasons.items() if is_so):
                    self.fleet.seen["V12 another pass: " + name] += 1
            step, _ = self.schedule(self.fleet.now)
            self.totals["steps"] += bool(step.plan)            # A19
            self.begun_step += bool(step.plan)
            for get in step.loads:                             # V11: the pass puts them
                self.receiver.join(get)
            for r, computed, n, _samples in step.plan:
                self.offer(r, computed, n)
            if step.plan:
                yield from self.wait(self.compute_time(step))

    def news(self):
        return self.happened

    def go(self):
        seen = self.fleet.seen
        if self.wait_until is None:
            seen["V12 woken by a job"] += self.happened
            seen["V12 woken by a job and an arrival"] += self.happened and bool(self.inbox)
        seen["V13 a replica acts again"] += self.last_turn == self.fleet.now
        self.last_turn = self.fleet.now
        super().go()

    # ---------------------------------------------------------------- checks

    def check_blocks(self):
        """Every GPU block is free or held by who runs, loads, waits after a load, or finished."""
        held = [0] * self.cfg.N
        for r in self.requests:
            for b in r.blocks:
                held[b] += 1
        assert held == self.gpu.ref, "reference counts"
        assert len(self.gpu.free) + sum(c > 0 for c in held) == self.cfg.N - 1
        saves = Counter(save.request for save in self.sender.queue)
        if (save := self.sender.under_way) and save.life == save.request.life:
            saves[save.request] += 1
        assert all(r.saves == saves[r] for r in self.requests), "saves not ended"

    def check(self):
        super().check()
        assert not self.keeping and not self.just_finished and not self.happened
        for thread in (self.receiver, self.sender):
            assert not thread.queue and not thread.under_way


def run_fleet(path):
    cfg, requests = read(path, MooncakeConfig)
    fleet = MooncakeFleet(cfg, requests)
    fleet.run()
    return fleet


def links_of(fleet):
    """(name, link), of all replicas and all stores."""
    names = {ends: link["name"] for ends, link in fleet.cfg.link_specs.items()}
    memory, *ssds = (tier["name"] for tier in fleet.cfg.tiers)
    for replica in fleet.replicas:
        yield names["hbm", memory], replica.put_link
        yield names[memory, "hbm"], replica.get_link
    for shared in fleet.stores if ssds else ():
        yield names[memory, ssds[0]], shared.to_ssd
        yield names[ssds[0], "hbm"], shared.from_ssd


def simulate(path):
    fleet = run_fleet(path)
    tiers = [row for shared in fleet.stores for row in shared.totals()]
    return fleet.cfg, fleet.requests, totals(fleet, tiers, list(links_of(fleet)))


if __name__ == "__main__":
    fleet_module.main(simulate)
