"""Mooncake Store behind HiCache's host pool: rules L11 to L14 of AMBIGUITIES_SGLANG.md.

mooncake_store.py has the master and its SSD, sglang_storage.py the two threads of an engine. "rule 10" is a rule of
part B of engines/decisions-stores.md, "M26" an item of AMBIGUITIES_MOONCAKE.md.
"""
import os

from fleet import bytes_of
from mooncake_store import Settings, Store
from sglang_storage import Batch, Device, Threads

CHECK = bool(os.environ.get("SGLANG_CHECK"))                   # count the store's bytes at every instant


def is_mooncake(tiers):
    """L11, of the tiers behind `dram`."""
    return bool(tiers) and tiers[0]["kind"] == "kv" and ("segments" in tiers[0] or "store" in tiers[0])


class Pool:
    """The store that engines share: its clock, its devices, their threads by number of the engine."""

    def __init__(self, tiers, page_bytes):
        kv, *ssds = tiers
        self.names = [tier["name"] for tier in tiers]
        self.devices = [Device(tier["device"]) for tier in tiers]
        self.page_bytes, self.now, self.write_end = page_bytes, 0, None
        self.store = Store(Settings(kv.get("store", {})), bytes_of(kv["capacity"]), kv.get("segments", 1),
                           bytes_of(ssds[0]["capacity"]) if ssds else None, self.write_bucket)
        self.threads, self.submitted = [], 0
        self.drive_free = 0                                    # the SSD reads for one engine at a time, MC2
        self.unfinished = lambda: True                         # whether a request of the simulation is
        if self.store.next_beat is not None:
            self.store.heartbeat(0)

    def write_bucket(self, nbytes):
        """L11. The store has it at the head of those to be written."""
        pages = len(self.store.writing[0].entries)
        self.write_end = self.now + self.devices[1].duration("write", pages, nbytes)

    def read_end(self, tier, pages, now):
        if not pages:
            return now
        duration = self.devices[tier].duration("read", pages, pages * self.page_bytes)
        if tier == 0 or len(self.threads) == 1:
            return now + duration
        assert self.devices[1].speed["read"][0] == 0, "a shared drive with a latency"
        self.drive_free = max(self.drive_free, now) + duration
        return self.drive_free

    def next_instant(self):
        times = [batch.end for threads in self.threads for batch in threads.busy()]
        times += [t for t in (self.write_end, self.store.next_timer()) if t is not None]
        if self.unfinished():                                  # M26
            every = self.store.set.check_every
            if self.store.wants_check():                       # the others do nothing
                times.append((self.now // every + 1) * every)
            if self.store.next_beat is not None:
                times.append(self.store.next_beat)
        return min(times, default=None)

    def advance(self, now):
        """L14: all until the engines act at `now`."""
        while (at := self.next_instant()) is not None and at <= now:
            self.now = at
            self.move_pages(at)
            self.tick(at)
            if CHECK:
                self.store.verify()
        self.now = now

    def move_pages(self, at):
        """L2: reads end, writes end, reads begin, writes begin. Writes end as they were submitted (M27)."""
        read, written = ([t for t in self.threads if batch(t) and batch(t).end <= at]
                         for batch in (lambda t: t.reading, lambda t: t.writing))
        for threads in read:
            threads.end_read(threads.reading)
        for threads in sorted(written, key=lambda t: t.order):
            threads.end_write(threads.writing)
        for threads in read:
            threads.next_read(at)
        for threads in written:
            threads.next_write(at)

    def tick(self, at):
        """Rule 10, between ends of transfers and operations."""
        store = self.store
        store.free_space(at)
        store.time_out_pins(at)
        if self.write_end is not None and self.write_end <= at:
            self.write_end = None
            store.written(at)
        if self.unfinished():
            if store.next_beat is not None and store.next_beat <= at:
                store.heartbeat(at)
            if at % store.set.check_every == 0:
                store.check(at)

    def finish(self):
        """M26: buckets of the last heartbeat are all written."""
        while self.write_end is not None:
            self.advance(self.write_end)
        self.store.verify()

    def totals(self):
        """L14: (name of a tier, its counts, objects held at the end)."""
        objects = self.store.objects.values()
        yield self.names[0], self.store.counts, sum(o.complete and bool(o.memory) for o in objects)
        if self.store.ssd:
            yield self.names[1], self.store.ssd.counts, sum(bool(o.copies) for o in objects)


class Mooncake(Threads):
    """One engine's threads. Keys are the numbers of pages, which all engines share."""

    def __init__(self, pool, seen):
        super().__init__(seen)
        self.pool, self.store = pool, pool.store
        pool.threads.append(self)
        self.started = self.sources = self.in_time = None      # objects of the write; what the read brings
        self.order = None                                      # of submission, of the write

    def advance(self, now):
        self.pool.advance(now)

    def leading(self, keys):
        """L12: the query."""
        return len(self.store.exist(keys, self.pool.now))

    # ---------------------------------------------------------------- L13

    def begin_write(self, op, keys, now):
        store = self.store
        refused = store.counts.refused
        started = [store.put_start(key, self.pool.page_bytes, False, False, now) for key in keys]
        self.started = [o for o in started if o is not None]
        refused = store.counts.refused - refused
        self.seen["put without space"] += refused
        self.seen["put left out"] += len(keys) - len(self.started) - refused
        if not self.started:
            self.seen["write: nothing left"] += 1
            return None
        replicas = sum(len(o.memory) for o in self.started)
        self.seen["put of fewer replicas"] += replicas < len(self.started) * store.set.replicas
        duration = self.pool.devices[0].duration("write", len(self.started), replicas * self.pool.page_bytes)
        self.order = self.pool.submitted
        self.pool.submitted += 1
        return Batch(op, [o.key for o in self.started], now + duration)

    def end_write(self, batch):
        for o in self.started:
            self.seen["put abandoned"] += o.abandoned
            self.store.put_end(o, batch.end)
        self.seen["write batch"] += 1

    # ---------------------------------------------------------------- L12

    def begin_read(self, op, keys, now):
        """One read a source; a page comes if its read ends before the lease."""
        found, pool = self.store.exist(keys, now), self.pool   # `get` renews as `exist` does
        op.early = len(found) < len(keys)
        self.seen["read: fewer than the batch"] += op.early
        if not found:
            return None
        self.sources = [0 if o.memory else 1 for o in found]
        ends = [pool.read_end(tier, self.sources.count(tier), now) for tier in (0, 1)]
        self.in_time = [end < now + self.store.set.lease for end in ends]
        self.seen["read of both sources"] += len(set(self.sources)) == 2
        self.seen["read of the SSD"] += 1 in self.sources
        return Batch(op, keys[:len(found)], max(ends))

    def came(self, batch):
        """The names of the tiers that the leading pages have come from."""
        good = next((i for i, tier in enumerate(self.sources) if not self.in_time[tier]), len(batch.keys))
        self.seen["read: lease lost"] += good < len(batch.keys)
        self.seen["read: lease lost of some"] += 0 < good < len(batch.keys)
        batch.op.early |= good < len(batch.keys)
        return [self.pool.names[tier] for tier in self.sources[:good]]

    def verify(self):
        """Its pool does."""


class Fleet:
    """Several engines on one clock (L14). Those that sleep wake at their own events."""

    def __init__(self, engines):
        self.engines = engines
        self.lives = [engine.life() for engine in engines]
        self.until = [None] * len(engines)                     # ends of the batches awaited; None: asleep
        self.woken = [True] * len(engines)                     # at this instant

    def wakes(self, i):
        return self.engines[i].next_event() if self.until[i] is None else self.until[i]

    def run(self):
        now = 0
        while now is not None:
            for engine in self.engines:
                engine.tick(now)
            while any([self.act(i, now) for i in range(len(self.engines))]):       # a finish may send a request back
                pass
            wakes = [self.wakes(i) for i in range(len(self.engines))]
            arrivals = [e.to_arrive[0][0] for e in self.engines if e.to_arrive]
            now = min([t for t in wakes if t is not None] + arrivals, default=None)
            self.woken = [t is not None and t == now for t in wakes]

    def act(self, i, now):
        """Whether the engine had anything to do."""
        engine = self.engines[i]
        arrives = bool(engine.to_arrive) and engine.to_arrive[0][0] <= now
        if self.woken[i] or (arrives and self.until[i] is None):
            self.until[i] = next(self.lives[i])
            self.woken[i] = self.until[i] is not None and self.until[i] <= now
            return True
        if arrives:
            engine.arrive()
        return arrives
