"""Passive parts of the oracle of KVBM v2: counts of uses, policies of a hop, the three inactive pools, lower tiers.

"W2" is a rule of AMBIGUITIES_KVBM_V2.md, "rule 6" one of part A of engines/decisions-stores.md, which holds where
no W rule differs.
"""
from collections import Counter, OrderedDict, deque

from kvbm_parts import Pool


class UseCounts:
    """W5: one count a block, for all tiers of a replica."""
    HIGHEST = 15

    def __init__(self, entries):
        self.limit = 10 * entries
        self.counts = Counter()
        self.size = 0

    def of(self, key):
        return self.counts[key]

    def use(self, key):
        if self.counts[key] == self.HIGHEST:
            return
        self.counts[key] += 1
        self.size += 1
        if self.size >= self.limit:
            odd = sum(count % 2 for count in self.counts.values())
            self.counts = Counter({k: count // 2 for k, count in self.counts.items()})
            self.size = max(0, self.size // 2 - odd)

    def check(self):
        assert all(0 <= count <= self.HIGHEST for count in self.counts.values())
        assert self.size < self.limit


class Gate:
    """W2: the policies of one hop, and the blocks that have passed and are on their way."""

    def __init__(self, policies, least, counts):
        assert policies and set(policies) <= {"pass_all", "presence", "presence_lfu"}
        self.policies, self.least, self.counts = policies, least, counts
        self.pending = Counter()                               # with pass_all alone a block may be in it twice

    def passes(self, key, target):
        for policy in self.policies:                           # all of them must let it pass
            if policy == "pass_all":
                continue
            if target.has(key) or self.pending[key]:
                return False
            if policy == "presence_lfu" and self.counts.of(key) <= self.least:
                return False
        return True

    def admit(self, keys, target):
        """Those that pass; each is pending before the next one is evaluated."""
        passed = []
        for key in keys:
            if self.passes(key, target):
                self.pending[key] += 1
                passed.append(key)
        return passed

    def done(self, keys):
        for key in keys:
            self.pending[key] -= 1
            assert self.pending[key] >= 0

    def check(self, jobs):
        assert +self.pending == Counter(key for job in jobs for key in job), "pending blocks"


def cut(keys, size):
    """W3: jobs in block order, the last one smaller."""
    return [keys[first:first + size] for first in range(0, len(keys), size)]


# ---------------------------------------------------------------- W6: which resting block goes first


class Lru:
    """The longest resting."""

    def begins(self, key):
        pass

    def stops(self, key):
        pass

    def victim(self, resting):
        return next(iter(resting))

    def check(self, resting):
        pass


class MultiLru(Lru):
    """Levels by counts. A block has that of the moment when it began to rest."""

    def __init__(self, thresholds, counts):
        self.thresholds, self.counts = thresholds, counts
        self.levels = [OrderedDict() for _ in range(len(thresholds) + 1)]      # longest resting first

    def begins(self, key):
        level = sum(t <= self.counts.of(key) for t in self.thresholds)
        self.levels[level][key] = None

    def stops(self, key):
        (level,) = (level for level in self.levels if key in level)
        del level[key]

    def victim(self, resting):
        return next(iter(next(level for level in self.levels if level)))

    def check(self, resting):
        assert Counter(key for level in self.levels for key in level) == Counter(resting.keys())


class Lineage(Lru):
    """Leaves first. What has stopped resting, but has children, stays among its parent's as a ghost."""

    def __init__(self, parent):
        self.parent = parent                                   # key -> key of the block before it, or None
        self.children = {}                                     # key -> set; no empty sets
        self.rests = set()

    def begins(self, key):
        self.rests.add(key)
        above = self.parent[key]
        if above is not None:
            self.children.setdefault(above, set()).add(key)

    def stops(self, key):
        self.rests.remove(key)
        while key not in self.children and key not in self.rests:
            above = self.parent[key]
            if above is None or key not in self.children.get(above, ()):
                return
            self.children[above].remove(key)
            if self.children[above]:
                return
            del self.children[above]
            key = above                                        # its set is empty; it goes, too, unless it rests

    def victim(self, resting):
        return next(key for key in resting if key not in self.children)

    def check(self, resting):
        assert self.rests == resting.keys()
        assert all(key in self.rests or key in self.children for kids in self.children.values() for key in kids)
        assert not resting or any(key not in self.children for key in resting), "no leaf"


class OrderedPool(Pool):
    """Rule 6, with one of the orders above."""

    def __init__(self, slots, order):
        super().__init__(slots)
        self.order = order

    def victim(self):
        return self.order.victim(self.resting)

    def rest(self, key):
        super().rest(key)
        self.order.begins(key)

    def leave(self, key):
        super().leave(key)
        self.order.stops(key)


class LowerTierV2(OrderedPool):
    """W4: one tier below G2. Jobs of several blocks, one at a time."""

    def __init__(self, slots, order, hop, block_bytes, gate):
        super().__init__(slots, order)
        self.hop, self.block_bytes, self.gate = hop, block_bytes, gate
        self.queue = deque()
        self.job = None                                        # blocks of the write under way

    def offer(self, keys, batch):
        """Evaluated at the end of their copy-down, pinned ones and duplicates too."""
        self.queue.extend(cut(self.gate.admit(keys, self), batch))

    def move(self, host, now, submitted):
        """While idle, deal with the head. `submitted(end)` learns of the write."""
        while self.queue and not self.job:
            keys = self.queue.popleft()
            left = [key for key in keys if host.has(key)]
            self.gate.done([key for key in keys if not host.has(key)])
            if not left:
                continue                                       # all are gone from G2
            if not self.take(len(left)):
                self.refused += len(left)                      # W9
                self.gate.done(left)
                continue
            for key in left:
                host.pin(key)
            self.job = left
            submitted(self.hop.carry(now, len(left) * self.block_bytes))

    def written(self, host):
        keys, self.job = self.job, None
        for key in keys:
            self.register(key)
        self.gate.done(keys)
        for key in keys:
            host.unpin(key)
