"""The passive parts of the oracle: requests, GPU block pool, DRAM tier, links, jobs, steps.

A "§" in a comment is a section of engines/vllm-lmcache-llmd.md, "cli" is cli.md, "A7" is item 7 of
AMBIGUITIES.md beside this file. Times are integer nanoseconds; durations are exact fractions rounded up.
"""
import math
import re
from collections import OrderedDict, deque
from fractions import Fraction

UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
         "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "B": 1}


def ceil_div(a, b):
    return -(-a // b)


def size_of(text):
    """'25GB' -> 25 * 10^9."""
    number, unit = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]+)\s*", str(text)).groups()
    return Fraction(number) * UNITS[unit]


class Request:
    def __init__(self, number, row, block_tokens, trace_block_tokens):
        self.id = number
        self.trace_ms = Fraction(str(row["timestamp"]))
        self.prompt = int(row["input_length"])                 # P
        self.output = max(1, int(row["output_length"]))        # O; §10.14: 0 counts as 1
        self.ids = row["hash_ids"]
        self.B, self.trace_B = block_tokens, trace_block_tokens
        assert trace_block_tokens % block_tokens == 0
        assert len(self.ids) == ceil_div(self.prompt, trace_block_tokens), f"request {number}: hash_ids"
        # --- engine state
        self.tokens = self.prompt        # T, prompt + generated and known
        self.computed = 0                # C
        self.placeholders = 0            # sampled by a step in flight, value not known yet (§10.17)
        self.blocks = []                 # GPU blocks held, in sequence order
        self.registered = 0              # leading blocks of this request that carry their hash
        self.prefilling = False          # load in flight or unfinished prefill (§10.13)
        self.load_state = None           # None, "loading" or "loaded"
        self.in_flight_steps = 0         # steps not yet collected that hold tokens of this request
        self.jobs = set()                # transfers planned and not yet reported
        self.next_idx = 0                # first full block never offered for storing (§2)
        # --- results
        self.arrival = self.scheduled = self.first_token = self.finish = None
        self.cached_hbm = self.cached_dram = 0
        self.admitted_before = False
        self.preemptions = 0
        self.status, self.reason = None, ""

    def key(self, i):
        """Identity of full engine block i (cli, "Identity"): (trace id, index) inside the prompt, own
        chain after it. A block that the prompt does not fill belongs to the own chain (A1)."""
        if (i + 1) * self.B <= self.prompt:
            trace_block, offset = divmod(i * self.B, self.trace_B)
            return (self.ids[trace_block], offset // self.B)
        return ("output", self.id, i)

    def full_keys(self):
        return [self.key(i) for i in range(self.tokens // self.B)]


class GpuPool:
    """Blocks 1..N-1 (block 0 is the null block), reference counts, prefix map, free queue. §1"""

    def __init__(self, num_blocks, unhashed_front):
        self.unhashed_front = unhashed_front
        self.free = OrderedDict((b, None) for b in range(1, num_blocks))   # head = next victim
        self.ref = [0] * num_blocks
        self.hash = [None] * num_blocks
        self.map = {}                      # key -> {block: None}; the first entry wins, duplicates kept
        self.evictions = 0

    def lookup(self, keys):
        """Walk from block 0 and stop at the first miss."""
        found = []
        for key in keys:
            if key not in self.map:
                break
            found.append(next(iter(self.map[key])))
        return found

    def touch(self, blocks):
        for b in blocks:
            if self.ref[b] == 0:
                del self.free[b]
            self.ref[b] += 1

    def allocate(self, count):
        taken = []
        for _ in range(count):
            b, _none = self.free.popitem(last=False)
            assert self.ref[b] == 0
            if self.hash[b] is not None:                       # allocation drops the hash
                del self.map[self.hash[b]][b]
                if not self.map[self.hash[b]]:
                    del self.map[self.hash[b]]
                self.hash[b] = None
                self.evictions += 1
            self.ref[b] = 1
            taken.append(b)
        return taken

    def register(self, block, key):
        assert self.hash[block] is None
        self.hash[block] = key
        self.map.setdefault(key, {})[block] = None

    def release(self, blocks):
        """Free a request's blocks, walked in reverse (§1 Free queue, §10.9)."""
        unhashed = []
        for b in reversed(blocks):
            self.ref[b] -= 1
            assert self.ref[b] >= 0
            if self.ref[b] > 0:
                continue
            if self.hash[b] is None and self.unhashed_front:
                unhashed.append(b)                             # tail-most first
            else:
                self.free[b] = None
        for b in reversed(unhashed):                           # one list: its first element is the new head
            self.free[b] = None
            self.free.move_to_end(b, last=False)


class DramTier:
    """CPU tier of the OffloadingConnector with LRU. §2, §10.1"""

    def __init__(self, slots):
        self.slots = slots
        self.ref = {}                      # key -> -1 being written, 0 evictable, >0 pinned by loads
        self.lru = OrderedDict()           # the ref-0 keys, front = next victim
        self.peak = self.stored = self.evictions = self.failures = 0

    def touch(self, keys):
        for key in reversed(keys):         # in reverse, so that the sequence head is most recent
            if key in self.lru:
                self.lru.move_to_end(key)

    def prepare_store(self, offered):
        """Keys that get a slot now (ref -1), or None when the whole batch is refused."""
        new = [k for k in offered if k not in self.ref]
        need = len(new) - (self.slots - len(self.ref))
        if need > 0:
            protected = set(offered)
            victims = [k for k in self.lru if k not in protected][:need]
            if len(victims) < need:
                self.failures += 1
                return None
            for k in victims:
                del self.lru[k], self.ref[k]
                self.evictions += 1
        for k in new:
            self.ref[k] = -1
        assert len(self.ref) <= self.slots
        self.peak = max(self.peak, len(self.ref))
        return new

    def complete_store(self, keys):
        for k in keys:                     # §10.1: job order, sequence head oldest
            assert self.ref[k] == -1
            self.ref[k] = 0
            self.lru[k] = None
            self.stored += 1

    def prepare_load(self, keys):
        for k in keys:
            assert self.ref[k] >= 0
            if self.ref[k] == 0:
                del self.lru[k]
            self.ref[k] += 1

    def complete_load(self, keys):
        for k in keys:
            assert self.ref[k] > 0
            self.ref[k] -= 1
            if self.ref[k] == 0:
                self.lru[k] = None


class Link:
    """affine (cli): one job occupies its direction for latency + bytes / bandwidth, first come first served."""

    def __init__(self, spec):
        assert spec["kind"] == "affine"
        self.latency_ns = Fraction(str(spec["latency_us"])) * 1000
        self.bandwidth = size_of(spec["bandwidth"].removesuffix("/s"))
        self.free_at = 0
        self.queue = deque()               # submitted jobs, not reported yet
        self.jobs = self.bytes = 0

    def submit(self, job, not_before):
        start = max(not_before, self.free_at)
        job.end = start + math.ceil(self.latency_ns + job.bytes * 10**9 / self.bandwidth)
        self.free_at = job.end
        self.queue.append(job)
        self.jobs += 1
        self.bytes += job.bytes

    def finished(self, now):
        while self.queue and self.queue[0].end <= now:         # §10.2: ties included
            yield self.queue.popleft()


class Job:
    def __init__(self, number, request, keys, blocks, nbytes):
        self.number, self.request, self.keys, self.blocks, self.bytes = number, request, keys, blocks, nbytes
        self.end = None                    # None until submitted


class Step:
    def __init__(self):
        self.plan = []                     # (request, C before, n, samples a token), in schedule order
        self.preempted = []
        self.given = set()                 # blocks handed out in this step, for the fences (§10.8)
        self.loads = []                    # load jobs
        self.end = None
