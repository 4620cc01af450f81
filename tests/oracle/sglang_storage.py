"""The storage behind HiCache's host pool: its pages, its two threads, prefetches.

"L3" is rule L3 of AMBIGUITIES_SGLANG.md. Pages go by the numbers of their identities, as in the tree.
"""
import math
from collections import OrderedDict, deque

from fleet import decimal
from parts import size_of

BATCH = 128                                                    # pages, L3 and L5
ISSUED_AT_PASS = False                                         # L4: not when it arrives, but at the next pass


def nanoseconds(seconds):
    """L1: the nearest."""
    return math.floor(decimal(seconds) * 10**9 + decimal("0.5"))


class Write:
    """L3. An operation of the writer: `keys` of which `done` have been in a batch."""

    def __init__(self, node, keys):
        self.node, self.keys, self.done = node, keys, 0


class Prefetch:
    """L4, L5. An operation of the reader: `keys` are the n pages taken, of which `hits` are there."""

    def __init__(self, anchor, keys, issued):
        self.anchor, self.keys, self.issued = anchor, keys, issued
        self.hits = self.completed = 0
        self.sources = []                                      # tiers that the completed pages come from
        self.deadline = None
        self.early = self.left = self.stopped = False          # fewer pages than the batch; the reader's done; L6


class Batch:
    def __init__(self, op, keys, end):
        self.op, self.keys, self.end = op, keys, end


class Device:
    """L10."""

    def __init__(self, spec):
        self.speed = {way: (decimal(spec[f"{way}_latency_us"]) * 1000,
                            size_of(spec[f"{way}_bandwidth"].removesuffix("/s"))) for way in ("read", "write")}

    def duration(self, way, pages, nbytes):
        latency, bandwidth = self.speed[way]
        return math.ceil(pages * latency) + math.ceil(nbytes * 10**9 / bandwidth)


class Threads:
    """An engine's reader and writer. A storage adds what they find, and how long it takes."""

    def __init__(self, seen):
        self.seen = seen
        self.writes, self.reads = deque(), deque()             # operations, the first one is under way
        self.writing = self.reading = None                     # batches
        self.ended, self.due = [], 0                           # for L7: writes, host pages

    def busy(self):
        return [batch for batch in (self.writing, self.reading) if batch]

    # ---------------------------------------------------------------- L3: writing

    def submit_write(self, op, now):
        self.writes.append(op)
        if not self.writing:
            self.next_write(now)

    def next_write(self, now):
        self.writing = None
        while self.writes:
            op = self.writes[0]
            if op.done == len(op.keys):
                self.ended.append(self.writes.popleft())
                continue
            batch = op.keys[op.done:op.done + BATCH]
            op.done += len(batch)
            self.writing = self.begin_write(op, batch, now)
            if self.writing:
                return

    # ---------------------------------------------------------------- L5: reading

    def submit_read(self, op, now):
        self.reads.append(op)
        if not self.reading:
            self.next_read(now)
        else:
            self.seen["read queued"] += 1

    def next_read(self, now):
        self.reading = None
        while self.reads:
            op = self.reads[0]
            batch = op.keys[op.completed:min(op.completed + BATCH, op.hits)]
            self.reading = self.begin_read(op, batch, now)
            if self.reading:
                return
            self.seen["read: none there"] += 1
            self.leave(op)

    def end_read(self, batch):
        op, came = batch.op, self.came(batch)
        self.seen["read batch"] += 1
        self.seen["read: second batch"] += op.completed > 0
        self.seen["read: useless first batch"] += op.stopped and not op.completed
        self.seen["read: useless later batch"] += op.stopped and op.completed > 0
        if not op.stopped:
            op.completed += len(came)
            op.sources += came
        if op.stopped or op.early or op.completed == op.hits:
            self.leave(op)

    def leave(self, op):
        self.reads.popleft()
        op.left = True
        self.due += op.hits - op.completed


class Storage(Threads):
    """L2."""

    def __init__(self, name, capacity, device, page_bytes, seen):
        super().__init__(seen)
        self.name, self.capacity, self.page_bytes = name, capacity, page_bytes       # capacity None: inf
        self.device = Device(device)
        self.pages = OrderedDict()                             # the least recently used first
        self.stored = self.evictions = 0

    def duration(self, way, pages):
        return self.device.duration(way, pages, pages * self.page_bytes)

    def leading(self, keys):
        """How many leading ones are there."""
        return next((i for i, key in enumerate(keys) if key not in self.pages), len(keys))

    def advance(self, now):
        """All ends by now. At one instant (L2): a read, then a write, then what begins, reads first."""
        while ending := [batch for batch in self.busy() if batch.end <= now]:
            at = min(batch.end for batch in ending)
            read, write = ([batch for batch in ending if batch is way and batch.end == at]
                           for way in (self.reading, self.writing))
            for batch in read:
                self.end_read(batch)
            for batch in write:
                self.end_write(batch)
            if read:
                self.next_read(at)
            if write:
                self.next_write(at)

    # ---------------------------------------------------------------- L2, L3: writing

    def begin_write(self, op, batch, now):
        new = [key for key in batch if key not in self.pages]           # nothing is being written: one thread
        self.seen["write: pages left out"] += len(new) < len(batch)
        self.seen["write: nothing left"] += not new
        if new and self.make_room(len(new)):
            return Batch(op, new, now + self.duration("write", len(new)))
        return None

    def make_room(self, pages):
        if self.capacity is None:
            return True
        short = len(self.pages) + pages - self.capacity
        read = set(self.reading.keys) if self.reading else ()
        leaving = [key for key in self.pages if key not in read] if short > 0 else []
        if short > len(leaving):
            self.seen["write without room"] += 1
            return False
        self.seen["storage eviction"] += short > 0
        self.seen["storage eviction beside a read"] += short > 0 and bool(read)
        for key in leaving[:max(short, 0)]:
            del self.pages[key]
            self.evictions += 1
        return True

    def end_write(self, batch):
        for key in batch.keys:
            self.pages[key] = None
        self.stored += len(batch.keys)
        self.seen["write batch"] += 1
        self.seen["write: second batch"] += batch.op.done > BATCH

    # ---------------------------------------------------------------- L5: reading

    def begin_read(self, op, batch, now):
        there = self.leading(batch)
        op.early = there < len(batch)
        self.seen["read: fewer than the batch"] += op.early
        return Batch(op, batch[:there], now + self.duration("read", there)) if there else None

    def came(self, batch):
        for key in batch.keys:
            self.pages.move_to_end(key)
        return [self.name] * len(batch.keys)

    def verify(self):
        assert self.capacity is None or len(self.pages) <= self.capacity
        assert self.stored - self.evictions == len(self.pages)


class Prefetcher:
    """The engine's part of it."""

    def issue(self, r):
        """L4, L5. `r` has joined the waiting queue."""
        tree, p, storage = self.tree, self.cfg.p, self.storage
        if not storage:
            return
        assert r.prefetch is None
        total = r.prompt + r.out
        device, host, device_node, anchor = tree.match(self.keys(r, (total - 1) // p))
        if not device_node.host:
            self.seen["prefetch: no copy"] += 1
            return
        assert anchor.host
        wanted = self.keys(r, total // p)[device + host:]
        if len(wanted) * p < self.cfg.prefetch_threshold:
            return
        if self.occupied >= self.cfg.host_pages * p // 2:
            self.seen["prefetch: occupied limit"] += 1
            return
        anchor.guards += 1
        if tree.host_free < len(wanted):
            before = tree.host_evictions
            tree.evict_host(len(wanted))
            self.seen["prefetch: host eviction"] += tree.host_evictions > before
        self.seen["prefetch: shortened"] += tree.host_free < len(wanted)
        wanted = wanted[:tree.host_free]
        if len(wanted) * p < self.cfg.prefetch_threshold:
            self.seen["prefetch: no host pages"] += 1
            anchor.guards -= 1
            return
        tree.host_free -= len(wanted)
        self.occupied += len(wanted) * p
        op = Prefetch(anchor, wanted, self.now)
        op.hits = storage.leading(wanted)
        self.seen["prefetch issued"] += 1
        self.seen["prefetch issued after a retraction"] += r.preemptions > 0
        if op.hits * p < self.cfg.prefetch_threshold:
            self.seen["prefetch revoked"] += 1
            self.seen["prefetch revoked with hits"] += op.hits > 0
            storage.due += len(wanted)
            self.revoked.append(op)
            return
        self.seen["prefetch of a retracted request"] += r.preemptions > 0
        storage.due += len(wanted) - op.hits
        op.deadline = self.now + self.cfg.prefetch_timeout(op.hits * p)
        r.prefetch = op
        storage.submit_read(op, self.now)

    def settle(self, r):
        """L6. False: the request is passed over."""
        op, policy = r.prefetch, self.cfg.prefetch_policy
        if op is None:
            return True
        late = policy == "timeout" and self.now >= op.deadline
        if not (op.left or late or policy == "best_effort"):
            self.seen["passed over"] += 1
            return False
        self.seen["stopped: complete" if op.completed == op.hits else "stopped: left early" if op.left else
                  "stopped: partway" if op.completed else "stopped: no batch yet"] += 1
        self.seen["stopped: time-out"] += late and not op.left
        op.stopped, r.prefetch = True, None
        new = self.tree.insert_host(op.anchor, op.keys[:op.completed])
        r.fetched = op.sources[op.completed - new:]
        self.occupied -= len(op.keys) * self.cfg.p
        op.anchor.guards -= 1
        return True

    def settle_storage(self):
        """L7."""
        for op in self.revoked:
            op.anchor.guards -= 1
            self.occupied -= len(op.keys) * self.cfg.p
        for op in self.storage.ended:
            op.node.guards -= 1
        self.revoked, self.storage.ended = [], []
        self.tree.host_free += self.storage.due
        self.storage.due = 0

    def storage_times(self):
        """L8."""
        times = [batch.end for batch in self.storage.busy()]
        if self.cfg.prefetch_policy == "timeout":
            times += [r.prefetch.deadline for r in self.waiting if r.prefetch and r.prefetch.deadline > self.now]
        return times

    def storage_guards(self):
        """For the checks: every guarded node, and the host pages outside the tree."""
        if not self.storage:
            return [], 0
        storage, live = self.storage, [r.prefetch for r in self.waiting if r.prefetch]
        assert self.occupied == sum(len(op.keys) for op in live + self.revoked) * self.cfg.p
        storage.verify()
        taken = storage.due + sum(op.completed for op in live) + sum(op.hits - op.completed for op in storage.reads)
        return [op.anchor for op in live + self.revoked] + [op.node for op in [*storage.writes, *storage.ended]], taken
