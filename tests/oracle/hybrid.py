#!/usr/bin/env python3
"""Plain reference simulation of a reference scenario on vLLM's MultiConnector: native offload, then LMCache MP.

The native connector is connector.py's over tier 0, LMCache's is lmcache_mp.py's over the tiers behind it. The
links of hbm and tier 0 are one path for both. What is decided here is MultiConnector's: who is asked, who loads,
and in which order the two submit. "MC" in a comment is vllm/distributed/kv_transfer/kv_connector/v1/
multi_connector.py; rules, sections and items are named as in fleet.py.

    python3 hybrid.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
from collections import deque

import fleet as fleet_module
import lmcache_mp
from connector import Connector
from fleet import Counts
from lmcache_mp import MpConfig, MpReplica
from parts import Link
from scenario import Config

FENCES_BEFORE_LOADS = True                 # H1: LMCache's loads, too, wait for native's fences
NATIVE_STORES_FIRST = True                 # H2: of stores that both submit when compute ends


class HybridConfig(MpConfig):
    name = "hybrid"

    def __init__(self, scenario):
        super().__init__(scenario)
        assert self.replicas == 1
        self.l1_tier, self.l2_tiers = self.tiers[1], self.tiers[2:]
        assert self.l1_tier["kind"] == "dram"
        hbm = [link for link in scenario["links"] if "hbm" in (link["from"], link["to"])]
        self.native = Config({**scenario, "tiers": self.tiers[:1], "links": hbm})

    def near(self, tier):
        return "hbm" if tier is self.tiers[0] else self.l1_tier["name"]

    def links_of(self, tier):
        """hbm joins tier 0, for both connectors; L1 joins each later tier."""
        return (Link(self.link_specs[(self.near(tier), tier["name"])]),
                Link(self.link_specs[(tier["name"], self.near(tier))]))

    def link_names_of(self, tier):
        return (self.link_specs[(self.near(tier), tier["name"])]["name"],
                self.link_specs[(tier["name"], self.near(tier))]["name"])


class NativeEnd:
    """What the native connector sees of a shared link: its own jobs. Every end is an instant."""

    def __init__(self, fleet, link):
        self.fleet, self.link = fleet, link
        self.queue = deque()

    def submit(self, job, not_before):
        assert not_before == self.fleet.now
        self.link.submit(job, not_before)
        self.queue.append(job)
        self.fleet.at_end(job.end, lambda: None)

    def ended(self):
        return bool(self.queue) and self.queue[0].end <= self.fleet.now

    def finished(self, _now):
        while self.ended():
            yield self.queue.popleft()


class HybridReplica(MpReplica):
    def __init__(self, fleet, number, make_tier):
        super().__init__(fleet, number, make_tier)
        self.native = Connector(fleet.cfg.native)
        self.native_name = fleet.cfg.tiers[0]["name"]
        self.native.d2h, self.native.h2d = NativeEnd(fleet, self.down), NativeEnd(fleet, self.up)
        self.operations, self.operating = deque(), False       # LMCache's one FIFO (rule 15)
        for r in self.requests:
            r.native_tokens = 0                                # what native found at the last look-up

    # ---------------------------------------------------------------- MC get_num_new_matched_tokens

    def lookup(self, r, local_blocks):
        """Both are asked, even when the first has tokens; whoever cannot tell yet ends it."""
        native = self.native.lookup(r, local_blocks)
        if native is None:
            return None
        other = super().lookup(r, local_blocks)
        if other is None:
            return None
        r.native_tokens = native
        return native or other                                 # the first with tokens loads them

    # ---------------------------------------------------------------- MC update_state_after_alloc

    def admitted(self, r, gpu, external, first):
        if r.native_tokens:                                    # LMCache is told 0
            if first:
                r.cached[self.native_name] += external
            external = 0
        super().admitted(r, gpu, external, first)

    def start_load(self, r, local_blocks, external):
        if r.native_tokens:
            return self.native.start_load(r, local_blocks, external)
        return super().start_load(r, local_blocks, external)

    # ---------------------------------------------------------------- transfers

    def operate(self, link, job, then):
        """LMCache's operation reaches the shared link once its server has done the ones before it."""
        self.operations.append((link, job, then))
        self.next_operation()

    def next_operation(self):
        if self.operating or not self.operations:
            return
        self.operating = True
        link, job, then = self.operations.popleft()
        link.submit(job, self.fleet.now)

        def end():
            then()
            self.ended_ops.append((link is self.up, job.request))
            self.operating = False
            self.next_operation()
        self.fleet.at_end(job.end, end)

    def plan_stores(self, step):
        return self.native.plan_stores(step)

    def worker(self, step, stores):
        """Deferred stores and fences (MC handle_preemptions), loads, compute, stores (MC wait_for_save)."""
        native, now = self.native, self.fleet.now
        mine = [job for job in step.loads if job.blocks is not None]
        others = sorted((job for job in step.loads if job.blocks is None), key=lambda j: j.request.preemptions > 0)
        if not FENCES_BEFORE_LOADS:
            self.load(others)
        step.loads = []                                        # native would submit them behind its fence itself
        start, _flushed = native.before_compute(step, stores, now)
        step.loads = mine + others
        yield from self.wait(start - now)
        for job in mine:
            native.h2d.submit(job, self.fleet.now)
        if FENCES_BEFORE_LOADS:
            self.load(others)
        if step.plan:
            yield from self.wait(self.compute_time(step))
        if NATIVE_STORES_FIRST:
            native.after_compute(stores, self.fleet.now)
        for r, c, n, _samples in step.order if step.plan else ():
            self.store(r, c + n)
        if not NATIVE_STORES_FIRST:
            native.after_compute(stores, self.fleet.now)

    def load(self, jobs):
        for job in jobs:
            self.operate(self.up, job, lambda keys=job.keys: [self.l1.unlock(k) for k in keys])

    # ---------------------------------------------------------------- ends

    def leave(self, r):
        """Native does not hold a finished request's blocks (§2), LMCache does (rule 18)."""
        super().leave(r)
        self.native.finish(r)
        self.native.just_finished.append(r)

    def poll(self):
        seen = self.native.poll(self.fleet.now)
        return super().poll() or seen

    def news(self):
        return super().news() or self.native.d2h.ended() or self.native.h2d.ended()

    def again(self, step, seen):
        native = self.native
        return super().again(step, seen) or native.deferred_stores or native.just_finished

    # ---------------------------------------------------------------- results

    def counted(self):
        counts, tier = Counts(), self.native.tier
        counts.stored, counts.evictions, counts.refused = tier.stored, tier.evictions, tier.failures
        return [(self.native_name, counts, len(tier.ref)), *super().counted()]

    def check(self):
        super().check()
        assert not self.operations and not self.operating
        self.native.check()


def simulate(path):
    return lmcache_mp.simulate(path, HybridConfig, HybridReplica)


if __name__ == "__main__":
    fleet_module.main(simulate)
