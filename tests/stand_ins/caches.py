"""Plain caches, each as its publication describes it, to count hits with. Nothing is clever here.

Two ways to count, as in the published oracle: request by request (every block of a request is
looked up before the first one is inserted) and reference by reference.
"""
import heapq
from collections import OrderedDict, deque

NEVER = 1 << 60


class Lru:
    """The first in order is the next to leave."""

    def __init__(self, capacity):
        self.capacity, self.order = capacity, OrderedDict()

    def __contains__(self, block):
        return block in self.order

    def touch(self, block):
        self.order.move_to_end(block)

    def insert(self, block):
        if len(self.order) >= self.capacity:
            self.order.popitem(last=False)
        self.order[block] = True


class Fifo(Lru):
    def touch(self, block):
        pass


class Lfu:
    """The lowest count leaves, among equals the least recently touched; a count leaves with it."""

    def __init__(self, capacity):
        self.capacity, self.count, self.heap, self.clock = capacity, {}, [], 0

    def __contains__(self, block):
        return block in self.count

    def put(self, block, count):
        self.clock += 1
        self.count[block] = (count, self.clock)
        heapq.heappush(self.heap, (count, self.clock, block))

    def touch(self, block):
        self.put(block, self.count[block][0] + 1)

    def insert(self, block):
        if len(self.count) >= self.capacity:
            while True:
                count, clock, victim = heapq.heappop(self.heap)
                if self.count.get(victim) == (count, clock):
                    del self.count[victim]
                    break
        self.put(block, 1)


class Clock:
    def __init__(self, capacity):
        self.capacity, self.queue, self.used = capacity, deque(), {}

    def __contains__(self, block):
        return block in self.used

    def touch(self, block):
        self.used[block] = True

    def insert(self, block):
        if len(self.queue) >= self.capacity:
            while self.used[self.queue[0]]:
                self.used[self.queue[0]] = False
                self.queue.rotate(-1)
            del self.used[self.queue.popleft()]
        self.queue.append(block)
        self.used[block] = False


class Sieve:
    def __init__(self, capacity):
        self.capacity, self.queue, self.used, self.hand = capacity, [], {}, 0

    def __contains__(self, block):
        return block in self.used

    def touch(self, block):
        self.used[block] = True

    def insert(self, block):
        if len(self.queue) >= self.capacity:
            while self.used[self.queue[self.hand]]:
                self.used[self.queue[self.hand]] = False
                self.hand = (self.hand + 1) % len(self.queue)
            del self.used[self.queue.pop(self.hand)]
            self.hand %= max(1, len(self.queue))
        self.queue.append(block)
        self.used[block] = False


class Arc:
    """Megiddo and Modha, FAST 2003, figure 4, with a real-valued p. Oldest first in each list."""

    def __init__(self, capacity):
        self.c, self.p = capacity, 0.0
        self.t1, self.t2, self.b1, self.b2 = (OrderedDict() for _ in range(4))

    def __contains__(self, block):
        return block in self.t1 or block in self.t2

    def touch(self, block):
        self.t1.pop(block, None)
        self.t2.pop(block, None)
        self.t2[block] = True

    def replace(self, from_b2):
        if self.t1 and (len(self.t1) > self.p or (from_b2 and len(self.t1) == self.p)):
            self.b1[self.t1.popitem(last=False)[0]] = True
        else:
            self.b2[self.t2.popitem(last=False)[0]] = True

    def insert(self, block):
        if block in self.b1:
            self.p = min(self.c, self.p + max(1, len(self.b2) / len(self.b1)))
            self.replace(False)
            del self.b1[block]
            self.t2[block] = True
        elif block in self.b2:
            self.p = max(0, self.p - max(1, len(self.b1) / len(self.b2)))
            self.replace(True)
            del self.b2[block]
            self.t2[block] = True
        else:
            recent = len(self.t1) + len(self.b1)
            everything = recent + len(self.t2) + len(self.b2)
            if recent == self.c:
                if len(self.t1) < self.c:
                    self.b1.popitem(last=False)
                    self.replace(False)
                else:
                    self.t1.popitem(last=False)
            elif everything >= self.c:
                if everything == 2 * self.c:
                    self.b2.popitem(last=False)
                self.replace(False)
            self.t1[block] = True


class S3Fifo:
    """Yang et al., SOSP 2023, algorithm 1, as the published reference counts take it: small has a
    tenth, ghosts nine tenths; promoted from two uses on, counted up to three, anew in main."""

    def __init__(self, capacity):
        self.capacity, self.small_share = capacity, capacity // 10
        self.ghost_share = capacity * 9 // 10
        self.small, self.main, self.ghosts = deque(), deque(), OrderedDict()
        self.uses = {}

    def __contains__(self, block):
        return block in self.uses

    def touch(self, block):
        self.uses[block] = min(3, self.uses[block] + 1)

    def insert(self, block):
        returns = self.ghosts.pop(block, False)
        while len(self.uses) >= self.capacity:
            if len(self.main) > self.capacity - self.small_share or not self.small:
                self.evict_main()
            else:
                self.evict_small()
        (self.main if returns else self.small).append(block)
        self.uses[block] = 0

    def evict_main(self):
        while self.uses[self.main[0]]:
            self.uses[self.main[0]] -= 1
            self.main.rotate(-1)
        del self.uses[self.main.popleft()]

    def evict_small(self):
        while self.small:
            block = self.small.popleft()
            if self.uses[block] < 2:
                del self.uses[block]
                self.ghosts[block] = True
                if len(self.ghosts) > self.ghost_share:
                    self.ghosts.popitem(last=False)
                return
            self.uses[block] = 0
            self.main.append(block)


def by_request(make, capacity, chains, order):
    """(hits of any block, hits of leading blocks)."""
    cache, hits, leading = make(capacity), 0, 0
    for chain in chains:
        found = [block in cache for block in chain]
        hits += sum(found)
        leading += (found + [False]).index(False)
        for block in chain if order == "fwd" else reversed(chain):
            if block in cache:
                cache.touch(block)
            else:
                cache.insert(block)
    return hits, leading


def by_reference(make, capacity, chains):
    cache, hits = make(capacity), 0
    for chain in chains:
        for block in chain:
            if block in cache:
                hits += 1
                cache.touch(block)
            else:
                cache.insert(block)
    return hits


def next_uses(groups):
    """For each group of blocks, when each is in a group again."""
    upcoming, out = {}, [None] * len(groups)
    for i in range(len(groups) - 1, -1, -1):
        out[i] = [upcoming.get(block, NEVER) for block in groups[i]]
        for block in groups[i]:
            upcoming[block] = i
    return out


def optimum(groups, capacity, bypass):
    """Belady: what is used last leaves, the group just used only where it may be bypassed."""
    kept, heap, hits = {}, [], 0
    for group, uses in zip(groups, next_uses(groups)):
        hits += sum(block in kept for block in group)
        for block, use in zip(group, uses):
            kept.pop(block, None)
            if not bypass:
                while len(kept) >= capacity:
                    drop_last_used(kept, heap)
            kept[block] = use
            heapq.heappush(heap, (-use, block))
        while len(kept) > capacity:
            drop_last_used(kept, heap)
    return hits


def drop_last_used(kept, heap):
    while True:
        use, block = heapq.heappop(heap)
        if kept.get(block) == -use:
            del kept[block]
            return


CAPACITIES = (100, 300, 1000, 2500, 5000, "inf")
REFERENCE_CAPACITIES = (100, 500, 2000, 5000)
REFERENCE_POLICIES = {"lru": Lru, "fifo": Fifo, "clock": Clock, "lfu": Lfu, "sieve": Sieve,
                      "arc": Arc, "s3fifo": S3Fifo}


def oracles(chains, facts, trace):
    """The two documents of reference counts."""
    results, access = [], []
    for capacity in CAPACITIES:
        bound = NEVER if capacity == "inf" else capacity
        for name, make in (("lru", Lru), ("fifo", Fifo), ("lfu", Lfu)):
            for order in ("fwd", "rev"):
                hits, leading = by_request(make, bound, chains, order)
                results.append({"policy": name, "capacity_blocks": capacity, "touch_order": order,
                                "set_hits": hits, "prefix_hits": leading})
            access.append({"policy": name, "capacity_blocks": capacity,
                           "set_hits": by_reference(make, bound, chains)})
        results.append({"policy": "opt", "capacity_blocks": capacity, "touch_order": None,
                        "set_hits": optimum(chains, bound, True)})
    oracle = {"trace": trace, "requests": facts["requests"], "block_tokens": 512,
              "block_accesses": facts["references"], "unique_blocks": facts["unique_blocks"],
              "input_tokens": facts["input_tokens"], "results": results, "access_results": access}
    ones = [[block] for chain in chains for block in chain]
    policies = {name: [{"capacity_blocks": c, "hits": by_reference(make, c, chains)}
                       for c in REFERENCE_CAPACITIES]
                for name, make in REFERENCE_POLICIES.items()}
    policies["belady"] = [{"capacity_blocks": c, "hits": optimum(ones, c, False)}
                          for c in REFERENCE_CAPACITIES]
    reference = {"trace": trace, "accesses": facts["references"],
                 "unique_blocks": facts["unique_blocks"], "policies": policies}
    return oracle, reference
