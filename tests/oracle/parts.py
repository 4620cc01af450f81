"""The passive parts of the oracle: requests, GPU block pool, waiting queues, links, jobs, steps.

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
        self.next_idx = 0                # first full chunk never offered for storing (§2)
        self.priority, self.store_limit, self.never_asks = 0, None, False      # scenario.py sets them
        self.last_step = -1              # number of the last step that holds tokens of this request
        # --- results
        self.arrival = self.scheduled = self.first_token = self.finish = None
        self.cached_hbm = self.cached_dram = 0
        self.admitted_before = False
        self.lost = 0                    # most tokens ever computed before a preemption
        self.preemptions = 0
        self.status, self.reason = None, ""

    def key(self, i):
        """Identity of full engine block i (cli, "Identity"): (trace id, index) inside the prompt, own
        chain after it. A block that the prompt does not fill belongs to the own chain (A1)."""
        if (i + 1) * self.B <= self.prompt:
            trace_block, offset = divmod(i * self.B, self.trace_B)
            return (self.ids[trace_block], offset // self.B)
        return ("output", self.id, i)

    def chunk_keys(self, k):
        """Identities of the full chunks of k blocks: each is named by its last block (§2 Capacity)."""
        return [self.key((j + 1) * k - 1) for j in range(self.tokens // (self.B * k))]

    def rank(self):
        """Order of a priority queue: smaller values first, then the earlier one."""
        return (self.priority, self.arrival, self.id)


class GpuPool:
    """Blocks 1..N-1 (block 0 is the null block), reference counts, prefix map, free queue. §1"""

    def __init__(self, num_blocks, unhashed_front):
        self.unhashed_front = unhashed_front
        self.free = OrderedDict((b, None) for b in range(1, num_blocks))   # head = next victim
        self.ref = [0] * num_blocks
        self.hash = [None] * num_blocks
        self.map = {}                      # key -> {block: None}; the first entry wins, duplicates kept
        self.evictions = self.registered = 0
        self.peak = 0                      # most blocks ever in use

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
        self.peak = max(self.peak, len(self.ref) - 1 - len(self.free))
        return taken

    def register(self, block, key):
        assert self.hash[block] is None
        self.hash[block] = key
        self.map.setdefault(key, {})[block] = None
        self.registered += 1

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


class Queue:
    """A waiting queue: arrival order, or a heap's order by priority value, arrival and number. §1"""

    def __init__(self, by_priority):
        self.by_priority = by_priority
        self.requests = []

    def __bool__(self):
        return bool(self.requests)

    def head(self):
        return self.requests[0]

    def pop(self):
        return self.requests.pop(0)

    def remove(self, r):
        self.requests.remove(r)

    def append(self, r):
        self.requests.append(r)
        self.order()

    def put_back(self, rs):
        """In front, in the given order; a heap has no front."""
        self.requests = rs + self.requests
        self.order()

    def order(self):
        if self.by_priority:
            self.requests.sort(key=Request.rank)


class Link:
    """affine (cli): one job occupies its direction for latency + bytes / bandwidth, first come first served."""

    def __init__(self, spec):
        assert spec["kind"] == "affine"
        self.latency_ns = Fraction(str(spec["latency_us"])) * 1000
        self.bandwidth = size_of(spec["bandwidth"].removesuffix("/s"))
        self.free_at = 0
        self.queue = deque()               # submitted jobs, not reported yet
        self.jobs = self.bytes = 0

    def duration(self, nbytes):
        return math.ceil(self.latency_ns + nbytes * 10**9 / self.bandwidth)

    def submit(self, job, not_before):
        start = max(not_before, self.free_at)
        job.end = start + self.duration(job.bytes)
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
        self.given = {}                    # request -> blocks handed to it in this step, for the fences (§10.8)
        self.loads = []                    # load jobs
        self.end = None
