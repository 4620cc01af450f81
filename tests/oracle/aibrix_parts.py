"""The two levels of the AIBrix oracle: the cache in host memory with its buffers, and the store behind it.

"A9" is rule A9 of AMBIGUITIES_AIBRIX.md. Times are integer nanoseconds. What may make the worker wait is a
generator: a write to L2 (A10) can come out of any change of L1.
"""
import math
from collections import OrderedDict

from fleet import Counts, bytes_of, decimal

SMALL, MAIN = "small", "main"                                  # A9: the queues of S3-FIFO
MOST_HOT = 3


class Level2(Counts):
    """A11. What L2 holds, the least recently used key first."""

    def __init__(self, cfg, spec, links):
        super().__init__()
        self.name = spec["name"]
        self.block_bytes, self.capacity = cfg.block_bytes, bytes_of(spec.get("capacity"))
        self.evicts = spec.get("eviction", "lru") != "none"
        self.lookup_ns = math.ceil(decimal(spec.get("lookup_us", 0)) * 1000)
        self.down, self.up = links
        self.keys = OrderedDict()

    def full(self):
        return (len(self.keys) + 1) * self.block_bytes > self.capacity

    def written(self, key):
        """A write's end."""
        if key in self.keys:
            self.keys.move_to_end(key)
            return
        if self.block_bytes > self.capacity or (not self.evicts and self.full()):
            self.refused += 1
            return
        while self.full():
            self.keys.popitem(last=False)
            self.evictions += 1
        self.keys[key] = None
        self.stored += 1

    def touch(self, keys):
        """Those that are still there."""
        for key in keys:
            if key in self.keys:
                self.keys.move_to_end(key)

    def leading(self, keys):
        """How many leading ones are there."""
        return next((i for i, key in enumerate(keys) if key not in self.keys), len(keys))


class Buffer:
    """A7. In use while anybody holds it: L1, a load or store under way, a write to L2."""

    def __init__(self):
        self.holders = 1


class Level1(Counts):
    """A7 and A9. `ingest(call, key, buffer)` is what A10 makes of the calls *put*, *hot* and *evict*.

    `lru` and `fifo` have one queue, which is called small here.
    """

    def __init__(self, cfg, spec, has_l2, ingest):
        super().__init__()
        self.ingest = ingest
        self.block_bytes, self.capacity = cfg.block_bytes, bytes_of(spec["capacity"])
        self.policy = spec.get("eviction", "s3fifo")
        self.promotes_at = cfg.promo_threshold
        self.small_share = math.floor(self.capacity * cfg.small_fifo_ratio)
        self.main_share = self.capacity - self.small_share
        self.queues = {SMALL: OrderedDict(), MAIN: OrderedDict()}              # key -> buffer, the oldest first
        self.ghost, self.hotness = set(), {}
        self.pool = math.floor(self.capacity / self.block_bytes)
        if has_l2:
            self.pool += 2 * cfg.chunk_blocks + (cfg.quota or cfg.chunk_blocks)
        self.in_use = 0

    def queue_of(self, key):
        return next((queue for queue in self.queues.values() if key in queue), None)

    def has(self, key):
        return self.queue_of(key) is not None

    def entries(self):
        return sum(len(queue) for queue in self.queues.values())

    def used(self):
        return self.entries() * self.block_bytes

    def bytes_in(self, name):
        return len(self.queues[name]) * self.block_bytes

    # ---------------------------------------------------------------- buffers, A7

    def ask(self, wanted):
        """At most `wanted` buffers; only if none is free, entries leave first."""
        while self.in_use == self.pool and self.used() > 0:
            yield from self.evict(wanted * self.block_bytes)
        given = min(wanted, self.pool - self.in_use)
        assert given >= 0
        self.in_use += given
        return [Buffer() for _ in range(given)]

    def hold(self, buffer):
        buffer.holders += 1

    def let_go(self, buffer):
        buffer.holders -= 1
        assert buffer.holders >= 0
        self.in_use -= not buffer.holders

    # ---------------------------------------------------------------- get and put, A9

    def get(self, key):
        """The buffer of an entry."""
        queue = self.queue_of(key)
        buffer = queue[key]
        if self.policy == "s3fifo":
            if queue is self.queues[SMALL] and self.hotness[key] == self.promotes_at - 1:
                yield from self.ingest("hot", key, buffer)
            self.hotness[key] = min(MOST_HOT, self.hotness[key] + 1)
            return buffer
        if self.hotness[key] == 0:
            yield from self.ingest("hot", key, buffer)
        self.hotness[key] = 1
        if self.policy == "lru":
            queue.move_to_end(key)
        return buffer

    def put(self, key, buffer):
        """L1 holds the buffer from now on."""
        queue = self.queue_of(key)
        if self.policy == "s3fifo" and key in self.ghost:
            self.ghost.remove(key)
            yield from self.enter(MAIN, "hot", key, buffer)
        elif queue is not None:
            self.replace(queue, key, buffer)
        else:
            yield from self.enter(SMALL, "put", key, buffer)
        if self.used() > self.capacity:
            yield from self.evict(1)

    def enter(self, name, call, key, buffer):
        self.queues[name][key] = buffer
        self.hotness[key] = 0
        self.stored += 1
        yield from self.ingest(call, key, buffer)

    def replace(self, queue, key, buffer):
        self.let_go(queue[key])
        queue[key] = buffer
        if self.policy != "fifo":
            queue.move_to_end(key)
        if self.policy != "s3fifo":
            self.hotness[key] = 0

    # ---------------------------------------------------------------- evict, A9

    def evict(self, nbytes):
        goal = max(0, min(self.used(), self.capacity) - nbytes)
        while self.used() > goal:
            if self.policy != "s3fifo":
                yield from self.drop(*self.queues[SMALL].popitem(last=False))
            elif self.bytes_in(SMALL) > self.small_share or not self.queues[MAIN]:
                yield from self.small_gives_one()
            else:
                yield from self.main_gives_one()

    def small_gives_one(self):
        key, buffer = self.queues[SMALL].popitem(last=False)
        if self.hotness[key] < self.promotes_at:
            yield from self.drop(key, buffer)
            self.ghost.add(key)
            return
        self.hotness[key] = 0
        self.queues[MAIN][key] = buffer
        while self.bytes_in(MAIN) > self.main_share:
            yield from self.main_gives_one()

    def main_gives_one(self):
        """The oldest leaves, or goes to the young end."""
        key, buffer = self.queues[MAIN].popitem(last=False)
        if self.hotness[key] >= 1:
            self.hotness[key] -= 1
            self.queues[MAIN][key] = buffer
        else:
            yield from self.drop(key, buffer)

    def drop(self, key, buffer):
        yield from self.ingest("evict", key, buffer)
        self.let_go(buffer)
        del self.hotness[key]
        self.evictions += 1

    def check(self):
        """At the end: only entries hold buffers."""
        assert self.in_use == self.entries(), (self.in_use, self.entries())
        assert self.used() <= self.capacity
