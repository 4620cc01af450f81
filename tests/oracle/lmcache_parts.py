"""Passive parts of the LMCache oracles: chunks and their identities, eviction orders, the tiers in process.

Rules, sections and items are named as in fleet.py.
"""
from collections import Counter, OrderedDict, deque

from fleet import Counts, bytes_of, decimal
from parts import Job


class Chunk:
    def __init__(self, key, start, end, kv_bytes):
        self.key, self.start, self.end = key, start, end       # tokens [start, end)
        self.bytes = (end - start) * kv_bytes


def full_chunks(r, tokens, size, kv_bytes):
    """Rule 3: chunk k is tokens [k * size, (k + 1) * size), named by its last engine block."""
    assert size % r.B == 0
    return [Chunk((r.key(end // r.B - 1), size), end - size, end, kv_bytes)
            for end in range(size, tokens + 1, size)]


def partial_chunk(r, tokens, size, kv_bytes):
    """Rule 7: named by last block and token count; private if it ends inside a block."""
    start = tokens // size * size
    if tokens == start:
        return []
    if tokens % r.B:
        return [Chunk(("partial", r.id, tokens), start, tokens, kv_bytes)]
    return [Chunk((r.key(tokens // r.B - 1), tokens - start), start, tokens, kv_bytes)]


class Order:
    """An eviction order over keys: lru, mru, fifo, lfu (rule 9: lowest count, then longest at it)."""

    def __init__(self, kind):
        assert kind in ("lru", "mru", "fifo", "lfu")
        self.kind = kind
        self.serial = 0
        self.at = {}                                           # key -> (count, when it came to its place)

    def place(self, key, count):
        self.serial += 1
        self.at[key] = (count, self.serial)

    def insert(self, key):
        self.place(key, 1)

    def touch(self, key):
        count, _when = self.at[key]
        if self.kind == "lfu":
            self.place(key, count + 1)
        elif self.kind != "fifo":
            self.place(key, count)

    def remove(self, key):
        del self.at[key]

    def candidates(self):
        """Next victim first."""
        rank = {"lru": lambda k: self.at[k][1], "fifo": lambda k: self.at[k][1],
                "mru": lambda k: -self.at[k][1], "lfu": lambda k: self.at[k]}[self.kind]
        return sorted(self.at, key=rank)


class Buffer:
    """Memory of `dram`. `uses` counts copies and slower writes; `kept` says that a key names it."""

    def __init__(self, size):
        self.bytes, self.uses, self.kept = size, 1, False


class Dram(Counts):
    """Rules 4, 8, 9. Capacity is bytes, without alignment or fragmentation (rule 3)."""

    def __init__(self, spec, keeps):
        super().__init__()
        self.capacity, self.keeps = bytes_of(spec["capacity"]), keeps
        self.order = Order(spec.get("eviction", "lru"))
        self.keys, self.pins = {}, Counter()                   # key -> Buffer; key -> pins of look-ups
        self.used = 0

    def has(self, key):
        return key in self.keys

    def allocate(self, size):
        """Rule 9: until it fits, evict one victim of the policy, unpinned and unused. Else None."""
        while self.used + size > self.capacity:
            victim = next((k for k in self.order.candidates()
                           if not self.pins[k] and not self.keys[k].uses), None)
            if victim is None:
                return None
            self.used -= self.keys.pop(victim).bytes
            self.order.remove(victim)
            self.evictions += 1
        self.used += size
        return Buffer(size)

    def enter(self, key, buffer):
        """Rule 8: a key that is already there is left untouched. `local_cpu` false keeps nothing."""
        if self.keeps and key not in self.keys:
            self.keys[key] = buffer
            buffer.kept = True
            self.order.insert(key)
            self.stored += 1

    def use(self, buffer):
        buffer.uses += 1

    def release(self, buffer):
        buffer.uses -= 1
        assert buffer.uses >= 0
        if not buffer.uses and not buffer.kept:
            self.used -= buffer.bytes

    def check(self):
        assert self.used == sum(b.bytes for b in self.keys.values()) <= self.capacity
        assert not any(b.uses for b in self.keys.values())
        assert self.stored - self.evictions == len(self.keys)


class Nvme(Counts):
    """Rule 10."""

    def __init__(self, fleet, spec, links):
        super().__init__()
        self.fleet, self.capacity = fleet, bytes_of(spec["capacity"])
        self.order = Order(spec.get("eviction", "lru"))
        self.down, self.up = links
        self.idle_threads, self.queue = spec.get("put_threads", 4), deque()
        self.keys, self.pins, self.writing = {}, Counter(), set()
        self.used = 0                                          # what is being written included

    def has(self, key):
        return key in self.keys

    def make_space(self, size):
        while self.used + size > self.capacity:
            victim = next((k for k in self.order.candidates() if not self.pins[k]), None)
            if victim is None:
                return False
            self.used -= self.keys.pop(victim)
            self.order.remove(victim)
            self.evictions += 1
        return True

    def write(self, chunk, then):
        """True if a write was submitted; `then` is done when it ends."""
        if chunk.key in self.keys or chunk.key in self.writing:
            return False
        if not self.make_space(chunk.bytes):
            self.refused += 1
            return False
        self.used += chunk.bytes
        self.writing.add(chunk.key)
        self.queue.append((chunk, then))
        self.start_writes()
        return True

    def start_writes(self):
        """put_threads at once, first come first served, each at the link's full rate."""
        while self.queue and self.idle_threads:
            chunk, then = self.queue.popleft()
            self.idle_threads -= 1
            self.down.jobs += 1
            self.down.bytes += chunk.bytes

            def end(chunk=chunk, then=then):
                self.idle_threads += 1
                self.writing.remove(chunk.key)
                self.keys[chunk.key] = chunk.bytes             # the key appears when written, last in order
                self.order.insert(chunk.key)
                self.stored += 1
                then()
                self.start_writes()
            self.fleet.at_end(self.fleet.now + self.down.duration(chunk.bytes), end)

    def check(self):
        assert not self.queue and not self.writing
        assert self.used == sum(self.keys.values()) <= self.capacity
        assert self.stored - self.evictions == len(self.keys)


class Kv(Counts):
    """Rule 11. A put's keys appear at its end; nothing is pinned."""

    def __init__(self, fleet, spec, links):
        super().__init__()
        self.fleet, self.capacity = fleet, bytes_of(spec["capacity"])
        self.evicts = {"lru": True, "none": False}[spec.get("eviction", "lru")]
        self.down, self.up = links
        self.outages = [(decimal(o["from_s"]) * 10**9, decimal(o["to_s"]) * 10**9)
                        for o in spec.get("outages", [])]
        self.keys = OrderedDict()                              # key -> bytes, least recently used first
        self.used = 0

    def out(self):
        return any(start <= self.fleet.now < end for start, end in self.outages)             # L9

    def has(self, key):
        return key in self.keys and not self.out()

    def submit(self, link, chunks, then):
        """One job; `then` is done when it ends. The end."""
        job = Job(0, None, None, None, sum(c.bytes for c in chunks))
        link.submit(job, self.fleet.now)
        self.fleet.at_end(job.end, then)
        return job.end

    def appear(self, chunks):
        for c in chunks:
            if c.key in self.keys:
                self.keys.move_to_end(c.key)
                continue
            while self.evicts and self.used + c.bytes > self.capacity and self.keys:
                self.used -= self.keys.popitem(last=False)[1]
                self.evictions += 1
            if self.used + c.bytes > self.capacity:
                self.refused += 1
                continue
            self.keys[c.key] = c.bytes
            self.used += c.bytes
            self.stored += 1

    def touch(self, chunks):
        for c in chunks:
            if c.key in self.keys:
                self.keys.move_to_end(c.key)

    def check(self):
        assert self.used == sum(self.keys.values()) <= self.capacity
        assert self.stored - self.evictions == len(self.keys)
