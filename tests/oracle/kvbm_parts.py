"""Passive parts of the KVBM oracle: slots of a tier, links with a window, the disk filter, lower tiers.

"rule 6" is a numbered rule of part A of engines/decisions-stores.md, "K3" item 3 of AMBIGUITIES_KVBM.md.
Times are integer nanoseconds.
"""
import math
from collections import OrderedDict, deque

from fleet import Counts
from parts import Link


class Pool(Counts):
    """Rule 6. A slot is empty, held (being written), pinned or resting; the last two hold a registered block."""

    def __init__(self, slots):
        super().__init__()
        self.slots = self.empty = slots
        self.held = 0
        self.resting = OrderedDict()                           # key -> None, longest resting first
        self.pinned = {}                                       # key -> number of copies that read it

    def has(self, key):
        return key in self.resting or key in self.pinned

    def take(self, count):
        """`count` slots to write into, or none at all: empty ones, then the longest resting."""
        if count > self.empty + len(self.resting):
            return False
        for _ in range(count):
            if self.empty:
                self.empty -= 1
            else:
                self.leave(self.victim())
                self.evictions += 1
            self.held += 1
        return True

    def victim(self):
        return next(iter(self.resting))

    def rest(self, key):
        """It begins to rest, as the youngest."""
        assert not self.has(key)
        self.resting[key] = None

    def leave(self, key):
        """It rests no more."""
        del self.resting[key]

    def register(self, key):
        """A held slot has been written. True if the block is not pinned now."""
        self.held -= 1
        if not self.has(key):
            self.rest(key)
            self.stored += 1
            return True
        self.empty += 1                                        # present: the new slot is empty again
        return self.touch(key)

    def touch(self, key):
        """Youngest now, unless pinned: then when it returns. True if not pinned."""
        if key in self.pinned:
            return False
        self.leave(key)
        self.rest(key)
        return True

    def pin(self, key):
        if key in self.resting:
            self.leave(key)
            self.pinned[key] = 0
        self.pinned[key] += 1

    def unpin(self, key):
        self.pinned[key] -= 1
        if not self.pinned[key]:
            del self.pinned[key]
            self.rest(key)

    def keys(self):
        return len(self.resting) + len(self.pinned)

    def check(self, held, pins):
        """`held` slots and `pins` are what the copies under way account for."""
        assert self.empty + self.held + self.keys() == self.slots and self.empty >= 0, "slots"
        assert self.held == held, "held slots"
        assert sum(self.pinned.values()) == pins and all(n > 0 for n in self.pinned.values()), "pins"
        assert not self.resting.keys() & self.pinned.keys(), "a block in two slots"
        assert self.stored - self.evictions == self.keys(), "registered blocks"


class Hop(Link):
    """Rule 7: batch i starts at max(submission, end of batch i - window), ends latency or batch i - 1 later."""

    def __init__(self, spec, window):
        super().__init__(spec)
        self.latency = math.ceil(self.latency_ns)              # K13
        self.last_ends = deque(maxlen=window)

    def carry(self, not_before, nbytes):
        """One batch. Its end."""
        full = len(self.last_ends) == self.last_ends.maxlen
        start = max(not_before, self.last_ends[0] if full else 0)
        previous = self.last_ends[-1] if self.last_ends else 0
        end = max(start + self.latency, previous) + math.ceil(nbytes * 10**9 / self.bandwidth)
        self.last_ends.append(end)
        self.jobs += 1                                         # K14: each batch is a transfer
        self.bytes += nbytes
        return end

    def carry_blocks(self, not_before, blocks, batch, block_bytes):
        """A job of several blocks. The end of its last batch."""
        end = None
        for first in range(0, blocks, batch):
            end = self.carry(not_before, min(batch, blocks - first) * block_bytes)
        return end


class Filter:
    """Rule 9. Decay is caught up with when somebody looks: nothing else depends on it."""

    def __init__(self, least, period_ns, limit):
        self.least, self.period, self.limit = least, period_ns, limit
        self.counts = {}
        self.next_decay = period_ns                            # at 0 there is nothing to lose

    def decay(self):
        self.counts = {key: n - 1 for key, n in self.counts.items() if n > 1}

    def passes(self, key, now):
        """One sighting; the limit is looked at after the answer (K10)."""
        while self.next_decay <= now:
            if not self.counts:                                # idle periods at once
                self.next_decay += -(-(now + 1 - self.next_decay) // self.period) * self.period
                break
            self.decay()
            self.next_decay += self.period
        self.counts[key] = self.counts[key] * 2 if key in self.counts else 1
        answer = self.counts[key] >= self.least
        if len(self.counts) > self.limit:
            while len(self.counts) > self.limit:
                self.decay()
            self.next_decay = now + self.period
        return answer


class LowerTier(Pool):
    """Rule 8: one tier below G2, with its queue and at most `window` single-block writes under way."""

    def __init__(self, slots, hop, window, block_bytes, disk_filter):
        super().__init__(slots)
        self.hop, self.window, self.block_bytes = hop, window, block_bytes
        self.filter = disk_filter                              # None: all pass
        self.queue = deque()
        self.writing = 0

    def move(self, host, now, submitted):
        """While there is room, deal with the head. `submitted(end, key)` learns of each write."""
        while self.queue and self.writing < self.window:
            key = self.queue.popleft()
            if not host.has(key):
                continue                                       # gone from G2
            if self.has(key):
                self.touch(key)                                # present below: youngest there
                continue
            if self.filter and not self.filter.passes(key, now):
                continue
            if not self.take(1):
                self.refused += 1
                continue
            host.pin(key)
            self.writing += 1
            submitted(self.hop.carry(now, self.block_bytes), key)

    def written(self, host, key):
        self.writing -= 1
        self.register(key)
        host.unpin(key)
