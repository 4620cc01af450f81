"""Mooncake Store's master and its SSD, after part B of engines/decisions-stores.md.

"rule 4" in a comment is a rule of that part, "M4" is item 4 of AMBIGUITIES_MOONCAKE.md. Times are
whole nanoseconds. The store has no clock: its owner calls it when it asks, in rule 10's order.
"""
import heapq
import math
from collections import deque
from fractions import Fraction

DEFAULTS = {
    "lease_ms": 10000, "soft_pin_ms": 1800000, "high_watermark": "0.90", "eviction_ratio": "0.05",
    "allow_evict_soft_pinned": True, "replicas": 1, "eviction_check_ms": 10, "put_discard_s": 30,
    "put_release_s": 600, "enable_offload": False, "offload_on_evict": False,
    "offload_force_evict": False, "offload_queue_limit": 50000, "offload_cap_ratio": "0.5",
    "bucket_bytes": 268435456, "bucket_keys": 500, "heartbeat_ms": 10000,
    "ssd_high_watermark": "0.90", "ssd_low_watermark": "0.80",
}                                                              # rule 1
MS, SECOND = 10**6, 10**9


def whole(ns):
    assert ns.denominator == 1, "a time that is no whole number of nanoseconds"
    return int(ns)


class Settings:
    def __init__(self, given):
        assert set(given) <= set(DEFAULTS), set(given) - set(DEFAULTS)
        for name, default in DEFAULTS.items():
            value = given.get(name, default)
            if not isinstance(value, bool):
                value = Fraction(str(value))
            setattr(self, name, value)
        self.lease, self.soft_pin = whole(self.lease_ms * MS), whole(self.soft_pin_ms * MS)
        self.discard = whole(self.put_discard_s * SECOND)
        self.release = whole(self.put_release_s * SECOND)
        self.check_every = whole(self.eviction_check_ms * MS)
        self.beat_every = whole(self.heartbeat_ms * MS)
        self.cap = math.floor(self.offload_queue_limit * self.offload_cap_ratio)   # M20
        self.on_evict = self.enable_offload and self.offload_on_evict                        # M17
        self.eager = self.enable_offload and not self.offload_on_evict


class Replica:
    def __init__(self, segment):
        self.segment, self.pinned = segment, False


class Object:
    """One put of a key. A later put of the same key is another object."""

    def __init__(self, key, start, order, nbytes):
        self.key, self.start, self.order, self.bytes = key, start, order, nbytes
        self.soft = self.hard = False
        self.memory = []                             # replicas, in the order that they were chosen
        self.complete = self.abandoned = self.gone = False
        self.lease = self.soft_until = None
        self.copies = 0                              # entries of it in buckets of the SSD
        self.queued = None                           # its entry, while the queue has one
        self.pin = None                              # the entry that pins a replica, if any


class Entry:
    """What the queue, the residue and buckets hold."""

    def __init__(self, obj):
        self.object = obj
        self.replica = self.pin_end = None           # while it pins one
        self.copied = False                          # its write made a copy


class Bucket:
    def __init__(self, entries):
        self.entries, self.bytes = entries, sum(e.object.bytes for e in entries)


class Counts:
    def __init__(self):
        self.stored = self.evictions = self.refused = 0


class Memory:
    """The segments: equal shares of the capacity, and what is taken of each."""

    def __init__(self, capacity, segments):
        self.total = Fraction(capacity)                        # M2
        self.share = self.total / segments
        self.used = [0] * segments

    def choose(self, nbytes, wanted):
        """Rule 2: most free bytes first, ties to the lower index."""
        order = sorted(range(len(self.used)), key=lambda i: (self.used[i], i))
        chosen = [i for i in order if self.used[i] + nbytes <= self.share][:wanted]
        for i in chosen:
            self.used[i] += nbytes
        return chosen

    def ratio(self):
        return sum(self.used) / self.total


class Ssd:
    """Buckets, oldest first."""

    def __init__(self, capacity):
        self.capacity = capacity if capacity == math.inf else Fraction(capacity)
        self.used = 0
        self.buckets = deque()
        self.counts = Counts()


class Store:
    def __init__(self, settings, capacity, segments, ssd_capacity, write):
        """`write(bytes)` submits a bucket to the SSD's link; written() is called at its end."""
        self.set = settings
        self.memory = Memory(capacity, segments)
        self.ssd = Ssd(ssd_capacity) if ssd_capacity is not None else None
        assert self.ssd or not settings.enable_offload
        self.write = write
        self.objects = {}                            # key -> the object that stands for it
        self.lost = []                               # objects without a key that still hold space
        self.counts = Counts()
        self.requested = False
        self.puts = 0
        self.releases, self.pins = [], []            # heaps of (time, serial, object or entry)
        self.serial = 0
        self.queue, self.residue, self.writing = [], [], deque()
        self.next_beat = 0 if settings.enable_offload else None
        self.queued_now = 0                                    # in this check

    # ---------------------------------------------------------------- operations (rules 2 and 3)

    def readable(self, key):
        o = self.objects.get(key)
        return o if o is not None and o.complete else None

    def exist(self, keys, now):
        """Leading keys that are there; renews the lease of each."""
        found = []
        for key in keys:
            o = self.readable(key)
            if o is None:
                break
            o.lease = now + self.set.lease
            found.append(o)
        return found

    def put_start(self, key, nbytes, soft, hard, now):
        """The object to be written, or None: it exists, or there is no space."""
        old = self.objects.get(key)
        if old is not None and (old.complete or now <= old.start + self.set.discard):
            return None
        if old is not None:
            self.abandon(old)                                  # rule 2: an older one is replaced
        chosen = self.memory.choose(nbytes, int(self.set.replicas))
        if not chosen:
            self.requested = True
            self.counts.refused += 1
            return None
        o = Object(key, now, self.puts, nbytes)
        o.soft, o.hard = soft, hard
        self.puts += 1
        o.memory = [Replica(i) for i in chosen]
        self.objects[key] = o
        self.later(self.releases, now + self.set.release, o)
        return o

    def put_end(self, o, now):
        if o.abandoned or o.gone:                              # M6
            return
        o.complete, o.lease = True, now
        if o.soft:
            o.soft_until = now + self.set.soft_pin
        self.counts.stored += 1
        if self.set.eager and not self.enqueue(o, o.memory[0], now):
            self.ssd.counts.refused += 1

    def abandon(self, o):
        """Nobody finds it any more; its space stays taken until rule 2 frees it."""
        o.abandoned = True
        del self.objects[o.key]
        self.lost.append(o)

    def later(self, heap, time, what):
        heapq.heappush(heap, (time, self.serial, what))
        self.serial += 1

    # ---------------------------------------------------------------- timers

    def next_timer(self):
        heads = [heap[0][0] for heap in (self.releases, self.pins) if heap]
        return min(heads, default=None)

    def free_space(self, now):
        """Rule 2: start + put_release_s."""
        while self.releases and self.releases[0][0] <= now:
            o = heapq.heappop(self.releases)[2]
            if o.complete or o.gone:
                continue
            if not o.abandoned:                                # M5
                self.abandon(o)
            self.lost.remove(o)
            self.drop(o, list(o.memory))
            o.gone = True

    def time_out_pins(self, now):
        while self.pins and self.pins[0][0] <= now:
            time, _, entry = heapq.heappop(self.pins)
            if entry.pin_end == time:
                self.unpin(entry.object)

    def pin(self, entry, replica, now):
        assert entry.object.pin is None and not replica.pinned
        entry.object.pin, entry.replica, replica.pinned = entry, replica, True
        entry.pin_end = now + self.set.release
        self.later(self.pins, entry.pin_end, entry)

    def unpin(self, o):
        if o.pin is not None:
            o.pin.replica.pinned = False
            o.pin.replica = o.pin.pin_end = o.pin = None

    # ---------------------------------------------------------------- eviction (rules 4 to 6)

    def drop(self, o, replicas):
        for replica in replicas:
            assert not replica.pinned
            o.memory.remove(replica)
            self.memory.used[replica.segment] -= o.bytes

    def vanish(self, o):
        """Without a copy anywhere the object is gone."""
        if not o.memory and not o.copies:
            o.gone = True
            del self.objects[o.key]

    def wants_check(self):
        return self.requested or self.memory.ratio() > self.set.high_watermark

    def check(self, now):
        if not self.wants_check():
            return
        s = self.set
        over = self.memory.ratio() - s.high_watermark
        target = max(s.eviction_ratio, over + s.eviction_ratio)
        least = max(target / 2, over)
        base = [o for o in self.objects.values()
                if o.complete and not o.hard and any(not r.pinned for r in o.memory)]
        if not base:
            self.requested = False
            return
        base.sort(key=lambda o: (o.lease, o.order))
        expired = [o for o in base if o.lease <= now]
        plain = [o for o in expired if o.soft_until is None or o.soft_until <= now]  # M12
        pinned = [o for o in expired if o.soft_until is not None and o.soft_until > now]
        self.queued_now = 0
        freed, left = self.first_pass(plain, math.ceil(len(base) * target), now)
        missing = math.ceil(len(base) * least) - freed
        for o in left + (pinned if s.allow_evict_soft_pinned else []):   # M14
            if missing <= 0:
                break
            done = self.evict(o, now)
            missing, freed = missing - done, freed + done
        if freed or self.queued_now:
            self.requested = False

    def first_pass(self, plain, wanted, now):
        """(how many were freed, those not tried)."""
        k = min(wanted, len(plain))
        if k == 0:
            return 0, plain
        freed = 0
        for i, o in enumerate(plain):
            if o.lease > plain[k - 1].lease and freed >= k:
                return freed, plain[i:]
            freed += self.evict(o, now)
        return freed, []

    def evict(self, o, now):
        """True if it frees anything."""
        unpinned = [r for r in o.memory if not r.pinned]
        if self.set.on_evict and not o.copies and o.pin is None:           # M18
            capped = self.set.offload_force_evict and self.queued_now >= self.set.cap
            if not capped and self.enqueue(o, unpinned[0], now):
                self.queued_now += 1
                return False
            if not self.set.offload_force_evict:
                return False
            self.ssd.counts.refused += 1
        self.drop(o, unpinned)
        self.counts.evictions += 1
        self.vanish(o)
        return True

    # ---------------------------------------------------------------- SSD (rules 7 and 8)

    def enqueue(self, o, replica, now):
        if len(self.queue) >= self.set.offload_queue_limit:
            return False
        if o.queued is None:                                   # M18
            o.queued = Entry(o)
            self.queue.append(o.queued)
        self.pin(o.queued, replica, now)
        return True

    def heartbeat(self, now):
        for entry in self.queue:
            entry.object.queued = None
        waiting, self.residue, self.queue = self.residue + self.queue, [], []
        full, size = [], 0                                     # of the open bucket
        for entry in waiting:
            if full and size + entry.object.bytes > self.set.bucket_bytes:
                self.writing.append(Bucket(full))
                full, size = [], 0
            full.append(entry)
            size += entry.object.bytes
            if size >= self.set.bucket_bytes or len(full) >= self.set.bucket_keys:
                self.writing.append(Bucket(full))
                full, size = [], 0
        self.residue = full                                    # rule 8: it stays, pinned
        self.next_beat = None
        if self.writing:
            self.write(self.writing[0].bytes)
        else:
            self.next_beat = now + self.set.beat_every

    def written(self, now):
        """The bucket being written is whole; the next one follows."""
        bucket, ssd = self.writing.popleft(), self.ssd
        while ssd.used + bucket.bytes > ssd.capacity and ssd.buckets:
            self.forget_oldest()
        fits = ssd.used + bucket.bytes <= ssd.capacity         # M24
        if fits:
            ssd.buckets.append(bucket)
            ssd.used += bucket.bytes
        for entry in bucket.entries:
            o = entry.object
            self.unpin(o)
            if fits and not o.gone:                            # M23
                entry.copied = True
                o.copies += 1
                ssd.counts.stored += 1
            else:
                ssd.counts.refused += 1
        if self.writing:
            self.write(self.writing[0].bytes)
            return
        self.next_beat = now + self.set.beat_every
        if ssd.used > self.set.ssd_high_watermark * ssd.capacity:
            while ssd.used > self.set.ssd_low_watermark * ssd.capacity:
                self.forget_oldest()

    def forget_oldest(self):
        bucket = self.ssd.buckets.popleft()
        self.ssd.used -= bucket.bytes
        for entry in bucket.entries:
            if entry.copied:
                entry.object.copies -= 1
                self.ssd.counts.evictions += 1
                self.vanish(entry.object)

    # ---------------------------------------------------------------- conservation

    def verify(self):
        """At every instant."""
        used, pinned = [0] * len(self.memory.used), []
        for o in list(self.objects.values()) + self.lost:
            assert len({r.segment for r in o.memory}) == len(o.memory) <= self.set.replicas
            assert not o.gone and (o.memory or o.copies)
            assert (o.pin.replica in o.memory) if o.pin else not any(r.pinned for r in o.memory)
            for replica in o.memory:
                used[replica.segment] += o.bytes
            pinned += [r for r in o.memory if r.pinned]
        assert used == self.memory.used and max(used) <= self.memory.share, "bytes of the segments"
        entries = self.queue + self.residue + [e for b in self.writing for e in b.entries]
        holding = {id(e.replica) for e in entries if e.replica is not None}
        assert holding == {id(r) for r in pinned}, "pins"
        assert all(e.object.queued is e for e in self.queue), "queued once"
        assert len(self.queue) <= self.set.offload_queue_limit
        if self.ssd:
            held = sum(o.copies for o in self.objects.values())
            assert self.ssd.used == sum(b.bytes for b in self.ssd.buckets) <= self.ssd.capacity
            assert held == self.ssd.counts.stored - self.ssd.counts.evictions, "SSD copies"
            assert len(self.residue) < self.set.bucket_keys
