#!/usr/bin/env python3
"""Plain reference simulation of vLLM v1 with version 2 of Dynamo's KVBM: preset kvbm@2.0.

What differs from kvbm.py, after AMBIGUITIES_KVBM_V2.md. "W3" is a rule of that page, "rule 4" one of part A of
engines/decisions-stores.md, "K8" item 8 of AMBIGUITIES_KVBM.md. Its assertions run at every instant.

    python3 kvbm_v2.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import fleet as fleet_module
from kvbm import COPY_DOWN, LOWER_WRITE, ONBOARDING, CopyDown, KvbmConfig, KvbmReplica, simulate
from kvbm_parts import Hop
from kvbm_v2_parts import Gate, Lineage, LowerTierV2, Lru, MultiLru, OrderedPool, UseCounts, cut

KEYS = {"host_policies", "disk_policies", "min_lfu_count", "lfu_entries", "max_batch_size", "inactive_pool",
        "multi_lru_thresholds"}


class KvbmV2Config(KvbmConfig):
    """W1."""
    preset = "kvbm@2.0"

    def read_options(self, o):
        assert not o.keys() - KEYS
        self.host_policies = o.get("host_policies") or ["presence"]           # an empty list is the default
        self.disk_policies = o.get("disk_policies") or ["presence_lfu"]
        self.least = o.get("min_lfu_count", 8)
        self.lfu_entries = o.get("lfu_entries", 2097152)
        self.batch = o.get("max_batch_size", 64)
        self.inactive_pool = o.get("inactive_pool", "lineage")
        self.thresholds = o.get("multi_lru_thresholds", [3, 8, 15])
        assert 1 <= self.least <= 15 and self.batch >= 1 and self.lfu_entries >= 1
        assert len(self.thresholds) == 3 and sorted(set(self.thresholds)) == self.thresholds
        assert 1 <= self.thresholds[0] and self.thresholds[-1] <= 15

    def hop(self, source, target):
        return Hop(self.link_specs[(source, target)], 1)       # W3, W7: the affine link


class KvbmV2Replica(KvbmReplica):

    def __init__(self, fleet, number):
        cfg = fleet.cfg
        self.counts = UseCounts(cfg.lfu_entries)
        self.parent = {}                                       # W6: the block before it in the chain
        self.gate = Gate(cfg.host_policies, cfg.least, self.counts)
        self.checked = 0
        for r in fleet.requests[number::cfg.replicas]:
            above = None
            for i in range((r.prompt + r.output) // cfg.B):
                assert self.parent.setdefault(r.key(i), above) == above, "a block with two parents"
                above = r.key(i)
        super().__init__(fleet, number)

    # ---------------------------------------------------------------- pools, W6

    def make_order(self):
        kind = self.cfg.inactive_pool
        if kind == "lru":
            return Lru()
        if kind == "multi_lru":
            return MultiLru(self.cfg.thresholds, self.counts)
        assert kind == "lineage"
        return Lineage(self.parent)

    def make_host(self, spec):
        return OrderedPool(self.cfg.slots(spec), self.make_order())

    def make_lower(self, spec, hop):
        cfg = self.cfg
        policies = cfg.disk_policies if spec["kind"] == "nvme" else ["presence"]
        gate = Gate(policies, cfg.least, self.counts)
        return LowerTierV2(cfg.slots(spec), self.make_order(), hop, cfg.block_bytes, gate)

    # ---------------------------------------------------------------- onboarding, W5 (b) and W7

    def start_load(self, r, local_blocks, external):
        for _tier, keys in r.found:
            for key in keys:
                self.counts.use(key)
        return super().start_load(r, local_blocks, external)

    def next_load(self):
        if self.loading or not self.loads:
            return
        job = self.loading = self.loads.popleft()
        end = self.up[job.tier].carry(self.fleet.now, len(job.keys) * self.cfg.block_bytes)
        self.at_end(end, ONBOARDING, 0, self.load_ended)

    # ---------------------------------------------------------------- copy-down, W3

    def offer(self, r, computed, n, step_end):
        first, end = max(r.offered, computed // self.cfg.B), (computed + n) // self.cfg.B
        if end <= first:
            return
        assert end <= len(r.blocks)
        r.offered = end                                        # refused ones, too
        passed = self.gate.admit([r.key(i) for i in range(first, end)], self.host)
        for keys in cut(passed, self.cfg.batch):
            r.copy_downs += 1
            self.copies.append(CopyDown(r, keys, step_end))

    def next_copy(self):
        """At another's end. A job whose step ends at this very instant waits for that: W8."""
        self.begin_copies(self.fleet.now - 1)

    def collect(self, step):
        self.begin_copies(self.fleet.now)                      # W8: a step has ended, its outputs come next
        super().collect(step)

    def begin_copies(self, latest):
        """The head begins, if its step ended at `latest` at the latest; only then it asks for its slots."""
        while self.copies and not self.copying and self.copies[0].step_end <= latest:
            job = self.copies.popleft()
            if not self.host.take(len(job.keys)):
                self.host.refused += len(job.keys)
                job.request.copy_downs -= 1
                self.gate.done(job.keys)
                continue
            self.copying = job
            self.at_end(self.down.carry(self.fleet.now, len(job.keys) * self.cfg.block_bytes), COPY_DOWN, 0,
                        self.copy_ended)

    def copy_ended(self):
        job, self.copying = self.copying, None
        job.request.copy_downs -= 1
        for key in job.keys:
            if not any(tier.has(key) for tier in self.tiers):  # W5 (a): use, then register
                self.counts.use(key)
            self.host.register(key)
        self.gate.done(job.keys)
        for tier in self.lower:                                # W4: nearest first
            tier.offer(job.keys, self.cfg.batch)
        self.happened = True
        self.move_queues()
        self.next_copy()                                       # W8: before other ends of this instant

    # ---------------------------------------------------------------- lower tiers, W4

    def move_queues(self):
        for number in range(len(self.lower)):
            self.move_queue(number)

    def move_queue(self, number):
        self.lower[number].move(self.host, self.fleet.now, lambda end: self.at_end(
            end, LOWER_WRITE, number, lambda: self.job_written(number)))

    def job_written(self, number):
        self.lower[number].written(self.host)
        self.happened = True
        self.move_queue(number)

    # ---------------------------------------------------------------- checks

    def check_pools(self):
        loads = list(self.loads) + ([self.loading] if self.loading else [])
        pins = {tier: sum(len(job.keys) for job in loads if job.tier is tier) for tier in self.tiers}
        pins[self.host] += sum(len(tier.job or ()) for tier in self.lower)
        self.host.check(len(self.copying.keys) if self.copying else 0, pins[self.host])
        for tier in self.lower:
            tier.check(len(tier.job or ()), pins[tier])
            assert tier.job or not tier.queue, "a head that could move"
        assert self.copying or not self.copies or self.copies[0].step_end >= self.fleet.now
        assert self.loading or not self.loads
        self.checked += 1
        if self.checked % 16 == 0:                             # slow ones
            self.check_slowly()

    def check_slowly(self):
        copies = list(self.copies) + ([self.copying] if self.copying else [])
        self.gate.check([job.keys for job in copies])
        for tier in self.lower:
            tier.gate.check(list(tier.queue) + ([tier.job] if tier.job else []))
        for tier in self.tiers:
            tier.order.check(tier.resting)
        self.counts.check()

    def check(self):
        fleet_module.Replica.check(self)
        self.check_pools()
        self.check_slowly()
        assert not self.keeping and not self.just_finished and not self.copying and not self.loading
        assert not any(r.copy_downs or r.onboardings for r in self.requests)
        assert not any(tier.queue or tier.job for tier in self.lower)


if __name__ == "__main__":
    fleet_module.main(lambda path: simulate(path, KvbmV2Config, KvbmV2Replica))
