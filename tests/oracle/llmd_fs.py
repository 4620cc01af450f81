"""The storage side of llm-d FS: files with their times, the PVC evictor, a GPU's pool of I/O threads.

"rule 23" is a numbered rule of engines/decisions-lmcache-llmd.md, "§" a section of
engines/vllm-lmcache-llmd.md, "L5" item 5 of AMBIGUITIES_LLMD.md beside this file. llmd.py is the engine.
Times are integer nanoseconds.
"""
import math
from collections import deque
from fractions import Fraction

MASK = 2**64 - 1
DAY = 24 * 3600 * 10**9


def splitmix64(x):
    """The standard mixer (L1)."""
    z = (x + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def name_of(key):
    """Name of a file in the evictor's walk: its last engine block decides (rules 3 and 26)."""
    if key[0] == "output":
        _output, request, last_block = key
        return splitmix64(2**60 + request * 2**24 + last_block)
    trace_id, block = key
    return splitmix64(trace_id * 2**12 + block)


class File:
    def __init__(self, now):
        self.atime = self.mtime = now


class Store:
    """One file system: shared by all replicas (scope cluster) or one for each."""

    def __init__(self, cfg):
        self.cfg = cfg
        self.files = {}                    # key -> File; complete files only (rule 22)
        self.used = 0
        self.stored = self.evictions = self.refused = 0
        self.evictor = Evictor(cfg, self) if cfg.evictor is not None else None

    def read_starts(self, key, now):
        """Rule 27: what a read does to the access time."""
        file = self.files[key]
        if self.cfg.atime == "noatime":
            return
        if self.cfg.atime == "relatime" and file.atime > file.mtime and now - file.atime < DAY:
            return
        file.atime = now

    def write_ends(self, key, now):
        """Rules 25 and 27: the file appears now, or does not fit."""
        if key in self.files:              # somebody else wrote it meanwhile: it is replaced (L8)
            self.files[key] = File(now)
        elif self.used + self.cfg.file_bytes > self.cfg.capacity:
            self.refused += 1
        else:
            self.files[key] = File(now)
            self.used += self.cfg.file_bytes
            self.stored += 1

    def delete(self, key):
        del self.files[key]
        self.used -= self.cfg.file_bytes
        self.evictions += 1

    def check(self):
        assert self.stored - self.evictions == len(self.files)
        assert self.used == len(self.files) * self.cfg.file_bytes <= self.cfg.capacity


class Evictor:
    """Rule 26."""

    def __init__(self, cfg, store):
        self.cfg, self.store = cfg, store
        self.on = False
        self.queue, self.queued = deque(), set()

    def tick(self, now):
        e, store = self.cfg.evictor, self.store
        if store.used * 100 >= e["cleanup_threshold"] * self.cfg.capacity:
            self.on = True
        elif store.used * 100 <= e["target_threshold"] * self.cfg.capacity:
            self.on = False
        room = e["queue_max"] if self.on else e["queue_min"]
        for key in sorted(store.files, key=name_of):           # by (name, rank); there is one rank
            if len(self.queue) >= room:
                break
            unread = now - store.files[key].atime
            if unread >= e["access_ns"] and key not in self.queued:
                self.queue.append(key)
                self.queued.add(key)
        if self.on:
            for _ in range(min(e["deletion_batch_size"], len(self.queue))):
                key = self.queue.popleft()                     # unchecked: it may have been read since
                self.queued.remove(key)
                store.delete(key)


class Task:
    """One file of a job (rule 23)."""

    def __init__(self, job, key, nbytes, is_write):
        self.job, self.key, self.bytes, self.is_write = job, key, nbytes, is_write
        self.thread = self.start_number = self.end = None      # set when it occupies a thread


class Wire:
    """Cost and counters of one direction; nothing queues on it, the threads do (rule 23)."""

    def __init__(self, spec, latency_ns, bandwidth):
        self.name, self.latency_ns, self.bandwidth = spec["name"], latency_ns, bandwidth
        self.jobs = self.bytes = 0

    def time_of(self, nbytes):
        return math.ceil(self.latency_ns + nbytes * 10**9 / self.bandwidth)


class ThreadPool:
    """The I/O threads of one GPU (rules 23 to 25). `started` gives tasks their order of start."""

    def __init__(self, cfg, store, wires, started):
        self.cfg, self.store = cfg, store
        self.wires = wires                                     # (read, write)
        self.started = started                                 # a counter shared by all pools (rule 1)
        self.idle = set(range(cfg.threads))
        self.readers = max(1, math.floor(cfg.read_ratio * cfg.threads))
        self.reads, self.writes = deque(), deque()             # queued tasks
        self.busy = []                                         # running tasks
        self.average_us = None

    def submit(self, task, now):
        if task.is_write and self.over_limit():
            self.store.refused += 1                            # dropped, reported done
            self.settle(task)
            return
        (self.writes if task.is_write else self.reads).append(task)
        self.take(now)                                         # an idle thread takes it at once (L5)

    def over_limit(self):
        """Rule 24."""
        if not self.average_us:                                # no sample yet, or one below 1 us (L6)
            return False
        limit = math.floor(Fraction(self.cfg.threads) * self.cfg.queued_seconds * 10**6 / self.average_us)
        return 0 < limit <= len(self.writes)

    def sample(self, ns):
        us = ns // 1000
        self.average_us = us if self.average_us is None else (19 * self.average_us + us) // 20

    def take(self, now):
        """Idle threads, lowest first, take tasks; one without time leaves its thread idle."""
        while self.idle and (self.reads or self.writes):
            thread = min(self.idle)
            first, second = (self.reads, self.writes) if thread < self.readers else (self.writes, self.reads)
            self.start((first or second).popleft(), thread, now)

    def start(self, task, thread, now):
        exists = task.key in self.store.files
        if task.is_write and exists:                           # rule 25: existing file, no time
            self.store.files[task.key].atime = now
            return self.settle(task)
        if not task.is_write and not exists:                   # rule 25: gone, the request goes on
            return self.settle(task)
        if not task.is_write:
            self.store.read_starts(task.key, now)
        wire = self.wires[task.is_write]
        wire.jobs += 1
        wire.bytes += task.bytes
        task.end = now + wire.time_of(task.bytes)
        task.thread, task.start_number = thread, next(self.started)
        self.idle.remove(thread)
        self.busy.append(task)

    def ends(self, task, now):
        """A running task is over. Its thread takes the next one when all ends of this instant are seen."""
        self.busy.remove(task)
        self.idle.add(task.thread)
        if task.is_write:
            self.sample(self.wires[1].time_of(task.bytes))     # failed ones too (L7)
            self.store.write_ends(task.key, now)
        self.settle(task)

    def settle(self, task):
        task.job.left -= 1

    def cancel(self, jobs):
        """Rule 25, flush: queued tasks of these jobs go; returns the ends of their started ones."""
        for task in [t for t in self.writes if t.job in jobs]:
            self.writes.remove(task)
            self.store.refused += 1                            # L9
            self.settle(task)
        return [t.end for t in self.busy if t.job in jobs]
