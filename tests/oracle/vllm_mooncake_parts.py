"""Passive parts of the oracle of vLLM with Mooncake Store: a store with its clock, and the two
threads of a replica's connector, one that gets and one that puts.

"V6" is a rule of AMBIGUITIES_VLLM_MOONCAKE.md, "rule 3" one of part B of
engines/decisions-stores.md, "M11" an item of AMBIGUITIES_MOONCAKE.md. Times are whole nanoseconds.
"""
from collections import deque

from fleet import bytes_of
from mooncake_store import Settings, Store
from parts import Job, Link


class SharedStore:
    """One Mooncake Store, what it does by its clock, and the two links of its SSD (V3)."""

    def __init__(self, fleet):
        cfg = fleet.cfg
        memory, *ssds = cfg.tiers
        self.fleet, self.names = fleet, [tier["name"] for tier in cfg.tiers]
        capacity = bytes_of(ssds[0].get("capacity")) if ssds else None
        self.store = Store(Settings(memory.get("store", {})), bytes_of(memory["capacity"]),
                           memory.get("segments", 1), capacity, self.write_bucket)
        self.to_ssd = self.from_ssd = None
        if ssds:
            self.to_ssd = Link(cfg.link_specs[memory["name"], ssds[0]["name"]])
            self.from_ssd = Link(cfg.link_specs[ssds[0]["name"], "hbm"])
        self.write_end = None
        if self.store.next_beat is not None:
            self.store.heartbeat(0)                            # rule 8

    def write_bucket(self, nbytes):
        job = Job(0, None, None, None, nbytes)
        self.to_ssd.submit(job, self.fleet.now)
        self.write_end = job.end

    def next_instant(self, now, unfinished):
        times = [t for t in (self.write_end, self.store.next_timer()) if t is not None]
        if unfinished:                                         # V13, M26
            every = self.store.set.check_every
            if self.store.wants_check():                       # other checks do nothing
                times.append((now // every + 1) * every)
            if self.store.next_beat is not None:
                times.append(self.store.next_beat)
        return min(times, default=None)

    def tick(self, now, unfinished):
        """Rule 10, between ends of transfers and operations."""
        store, seen = self.store, self.fleet.seen
        store.free_space(now)
        store.time_out_pins(now)
        if self.write_end is not None and self.write_end <= now:
            self.write_end = None
            store.written(now)
            seen["V13 a bucket is written"] += 1
        if not unfinished:
            return
        if store.next_beat is not None and store.next_beat <= now:
            store.heartbeat(now)
        if now % store.set.check_every == 0:
            before = store.counts.evictions
            store.check(now)
            seen["V13 a check evicts"] += store.counts.evictions > before

    def totals(self):
        """V14: (name of a tier, its counts, objects held at the end)."""
        objects = self.store.objects.values()
        yield self.names[0], self.store.counts, sum(o.complete and bool(o.memory) for o in objects)
        if self.store.ssd:
            yield self.names[1], self.store.ssd.counts, sum(bool(o.copies) for o in objects)


class Get:
    """Blocks first..end-1 of a request that is parked."""

    def __init__(self, request, first, end):
        self.request, self.first, self.end = request, first, end
        self.sources = []                                      # of those found: True for memory
        self.in_time = {}                                      # source -> whether it comes
        self.jobs = 0                                          # not ended yet

    def asked(self):
        return self.end - self.first

    def came(self):
        """a of V6: leading blocks that came."""
        for number, source in enumerate(self.sources):
            if not self.in_time[source]:
                return number
        return len(self.sources)


class Receiver:
    """V6: one get after the other."""

    def __init__(self, replica):
        self.replica, self.fleet = replica, replica.fleet
        self.queue, self.under_way = deque(), None
        self.ended = []                                        # not seen by a boundary yet

    def join(self, get):
        self.fleet.seen["V6 get queues"] += self.under_way is not None
        self.queue.append(get)
        self.go_on()

    def go_on(self):
        while self.queue and self.under_way is None:
            self.begin(self.queue.popleft())

    def begin(self, get):
        now, store = self.fleet.now, self.replica.shared.store
        keys = [get.request.key(i) for i in range(get.first, get.end)]
        found = store.exist(keys, now)                         # up to the first that is not there
        get.sources = [bool(o.memory) for o in found]
        links = {True: self.replica.get_link, False: self.replica.shared.from_ssd}
        for source in (True, False):                           # memory, then the SSD
            if count := get.sources.count(source):
                waits = links[source].free_at > now            # V3: for another replica's read
                self.fleet.seen["V6 read waits"] += waits
                end = self.replica.submit(links[source], count, lambda: self.job_ended(get))
                get.in_time[source] = end < now + store.set.lease             # M11
                get.jobs += 1
        self.count(get)
        if get.jobs:
            self.under_way = get
        else:
            self.end_get(get)

    def count(self, get):
        seen = self.fleet.seen
        seen["V6 get"] += 1
        seen["V6 object gone since the look-up"] += len(get.sources) < get.asked()
        seen["V6 none is there"] += not get.sources
        seen["V6 of both sources"] += len(get.in_time) == 2
        seen["V6 of the SSD"] += False in get.in_time
        seen["V6 memory too late"] += get.in_time.get(True) is False
        seen["V6 SSD too late"] += get.in_time.get(False) is False
        seen["V6 some came, not all"] += 0 < get.came() < get.asked()

    def job_ended(self, get):
        get.jobs -= 1
        if not get.jobs:                                       # V13: the next begins when all ended
            self.under_way = None
            self.end_get(get)

    def end_get(self, get):
        self.ended.append(get)
        self.replica.happened = True
        self.replica.count_loaded(get)


class Save:
    """Blocks up to `end` of a request, computed in step number `step`."""

    def __init__(self, request, end, step):
        self.request, self.life, self.end, self.step = request, request.life, end, step
        self.before = request.offered                          # by earlier saves of this life
        self.missing = self.refused = False                    # whether any block was
        self.puts = []


class Sender:
    """V8: one save after the other."""

    def __init__(self, replica):
        self.replica, self.fleet = replica, replica.fleet
        self.queue, self.under_way = deque(), None
        self.pressure, self.marked = False, set()

    def go_on(self):
        ended = self.replica.ended_step                        # V11: whose boundary has come
        while self.queue and self.under_way is None and self.queue[0].step <= ended:
            self.begin(self.queue.popleft())

    def begin(self, save):
        r, seen = save.request, self.fleet.seen
        seen["V8 save"] += 1
        if self.pressure and r in self.marked:                 # (1): nothing is asked
            seen["V8 skipped under pressure"] += 1
            r.saves -= 1
            return
        now, store = self.fleet.now, self.replica.shared.store
        keys = [r.key(i) for i in range(r.saved, save.end)]
        seen["V8 asks again for what was refused"] += r.saved < save.before
        missing = [key for key in keys if not store.exist([key], now)]         # (2)
        save.missing = bool(missing)
        for key in missing:                                    # (3)
            self.start_put(save, key)
        seen["V8 all there"] += not missing
        seen["V8 some there, some missing"] += 0 < len(missing) < len(keys)
        seen["V8 none started of those missing"] += bool(missing) and not save.puts
        seen["V8 some started, some refused"] += bool(save.puts) and save.refused
        if not save.puts:                                      # (4)
            self.end_save(save)
            return
        replicas = sum(len(o.memory) for o in save.puts)
        seen["V8 several replicas"] += replicas > len(save.puts)
        self.under_way = save
        self.replica.submit(self.replica.put_link, replicas, lambda: self.job_ended(save))

    def start_put(self, save, key):
        store = self.replica.shared.store
        refused = store.counts.refused
        put = store.put_start(key, self.replica.cfg.block_bytes, False, False, self.fleet.now)
        if put is not None:
            save.puts.append(put)
        elif store.counts.refused > refused:
            save.refused = True
            self.fleet.seen["V8 refused"] += 1
        else:
            self.fleet.seen["V8 unfinished elsewhere"] += 1

    def job_ended(self, save):
        self.under_way = None
        for put in save.puts:
            self.fleet.seen["V8 put abandoned"] += put.abandoned
            self.replica.shared.store.put_end(put, self.fleet.now)
        self.end_save(save)
        self.replica.happened = True                           # V12: a save with a job

    def end_save(self, save):
        r, seen = save.request, self.fleet.seen
        if save.life != r.life:                                # V9: it goes on without the request
            seen["V9 a save ends without its request"] += 1
            seen["V9 such a save had a block refused"] += save.refused
            seen["V9 such a save ends pressure"] += self.pressure and not save.refused
            if not save.refused:
                self.end_pressure()
            return
        r.saves -= 1
        if save.refused:
            self.marked.add(r)
            self.pressure = True
            return
        r.saved = save.end
        if save.missing:
            seen["V8 pressure ends"] += self.pressure
            self.end_pressure()

    def end_pressure(self):
        self.pressure = False
        self.marked.clear()

    def forget(self, r):
        """V9: a preemption."""
        left = [save for save in self.queue if save.request is not r]
        self.fleet.seen["V9 saves dropped"] += len(left) < len(self.queue)
        self.fleet.seen["V9 mark gone"] += r in self.marked
        self.queue = deque(left)
        self.marked.discard(r)
