"""The CPU tier of the OffloadingConnector: slots, pins, LRU and ARC, the store threshold. §2, §10.1

A key names a chunk (one engine block where blocks_per_chunk is 1). Not the scheduler's business: which
keys are offered, looked up and loaded is connector.py's.
"""
from collections import OrderedDict


class Lru:
    """Only evictable (ref 0) keys are kept, front = next victim."""

    def __init__(self, slots):
        self.order = OrderedDict()

    def insert(self, key):
        pass                               # being written: not evictable yet

    def evictable(self, key):
        self.order[key] = None             # appended at MRU

    def pinned(self, key):
        del self.order[key]

    def touch(self, keys, ref):
        for key in reversed(keys):         # in reverse, so that the sequence head is most recent
            if key in self.order:
                self.order.move_to_end(key)

    def evict(self, count, protected, ref):
        """`count` victims, or None: all or nothing."""
        victims = [k for k in self.order if k not in protected][:count]
        if len(victims) < count:
            return None
        for k in victims:
            del self.order[k]
        return victims

    def check(self, ref):
        assert set(self.order) == {k for k, v in ref.items() if v == 0}


class Arc:
    """vLLM's ARC: T1 and T2 hold every key, pinned and unwritten ones too; B1 and B2 are ghosts."""

    def __init__(self, slots):
        self.slots = slots
        self.t1, self.t2, self.b1, self.b2 = (OrderedDict() for _ in range(4))
        self.target = 0.0

    def insert(self, key):
        self.t1[key] = None
        self.b1.pop(key, None)
        self.b2.pop(key, None)

    def evictable(self, key):
        pass                               # places do not depend on pins

    def pinned(self, key):
        pass

    def touch(self, keys, ref):
        for key in reversed(keys):
            if key in self.t1:
                if ref[key] == -1:
                    self.t1.move_to_end(key)
                else:
                    del self.t1[key]
                    self.t2[key] = None
            elif key in self.t2:
                self.t2.move_to_end(key)
            elif key in self.b1:
                self.target = min(self.target + max(1, len(self.b2) / len(self.b1)), self.slots)
                self.b1.move_to_end(key)
            elif key in self.b2:
                self.target = max(self.target - max(1, len(self.b1) / len(self.b2)), 0)
                self.b2.move_to_end(key)

    def evict(self, count, protected, ref):
        t1 = [k for k in self.t1 if ref[k] == 0 and k not in protected]
        t2 = [k for k in self.t2 if ref[k] == 0 and k not in protected]
        size, victims = len(self.t1), []
        for _ in range(count):
            if size >= int(self.target) and t1:
                victims.append((t1.pop(0), self.t1, self.b1))
                size -= 1
            elif t2:
                victims.append((t2.pop(0), self.t2, self.b2))
            else:
                return None                # also while T1 still has candidates
        for key, real, ghost in victims:
            del real[key]
            ghost[key] = None
        for ghost in (self.b1, self.b2):
            while len(ghost) > self.slots:
                ghost.popitem(last=False)
        return [key for key, _real, _ghost in victims]

    def check(self, ref):
        assert sorted([*self.t1, *self.t2], key=str) == sorted(ref, key=str)
        assert not (set(self.b1) | set(self.b2)) & set(ref)


class CpuTier:
    def __init__(self, cfg):
        self.slots = cfg.slots
        self.ref = {}                      # key -> -1 being written, 0 evictable, >0 pinned by loads
        self.policy = {"lru": Lru, "arc": Arc}[cfg.eviction](cfg.slots)
        self.threshold = cfg.store_threshold
        self.count_offers = cfg.threshold_counts_offers
        self.tracker_size = cfg.max_tracker_size
        self.counts = OrderedDict()        # key -> times seen, oldest first; unused below threshold 2
        self.peak = self.stored = self.evictions = self.failures = self.skipped = 0

    def lookup(self, key):
        """The reference count, or None on a miss. One question of the walk: it counts (§2 store_threshold)."""
        if self.threshold >= 2 and not self.count_offers:
            if key in self.counts:
                self.counts.move_to_end(key)
                self.counts[key] += 1
            else:
                if len(self.counts) >= self.tracker_size:
                    self.counts.popitem(last=False)
                self.counts[key] = 1
        return self.ref.get(key)

    def count_offer(self, offered):
        """vLLM #52227: every offer counts; an offer never pushes its own keys out of the tracker (A36)."""
        known = [k for k in offered if k in self.counts]
        for key in known:
            self.counts.move_to_end(key)
            self.counts[key] += 1
        strangers = len(self.counts) - len(known)
        for key in offered:
            if key in known:
                continue
            if len(self.counts) >= self.tracker_size:
                if strangers == 0:
                    continue
                self.counts.popitem(last=False)
                strangers -= 1
            self.counts[key] = 1

    def touch(self, keys):
        self.policy.touch(keys, self.ref)

    def prepare_store(self, offered):
        """Keys that get a slot now (ref -1), or None when the whole batch is refused."""
        if self.threshold >= 2:
            if self.count_offers:
                self.count_offer(offered)
            counted = [k for k in offered if self.counts.get(k, 0) >= self.threshold]
            self.skipped += len(offered) - len(counted)
            offered = counted
        new = [k for k in offered if k not in self.ref]
        need = len(new) - (self.slots - len(self.ref))
        if need > 0:
            victims = None
            if need <= sum(v == 0 for v in self.ref.values()):
                victims = self.policy.evict(need, set(offered), self.ref)          # A35
            if victims is None:
                self.failures += 1
                return None
            for k in victims:
                del self.ref[k]
                self.evictions += 1
        for k in new:
            self.ref[k] = -1
            self.policy.insert(k)
        assert len(self.ref) <= self.slots
        self.peak = max(self.peak, len(self.ref))
        return new

    def complete_store(self, keys):
        for k in keys:                     # §10.1: job order, sequence head oldest
            assert self.ref[k] == -1
            self.ref[k] = 0
            self.policy.evictable(k)
            self.stored += 1

    def prepare_load(self, keys):
        for k in keys:
            assert self.ref[k] >= 0
            if self.ref[k] == 0:
                self.policy.pinned(k)
            self.ref[k] += 1

    def complete_load(self, keys):
        for k in keys:
            assert self.ref[k] > 0
            self.ref[k] -= 1
            if self.ref[k] == 0:
                self.policy.evictable(k)

    def check(self):
        assert all(v == 0 for v in self.ref.values()) and len(self.ref) <= self.slots
        assert self.stored - self.evictions == len(self.ref)
        self.policy.check(self.ref)
