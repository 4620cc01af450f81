"""How SGLang forms a batch: §3 and §4 of engines/decisions-sglang.md. "S3": AMBIGUITIES_SGLANG.md.

ρ and all budgets are exact: rem and off are integers in nano-tokens.
"""
from collections import defaultdict

from parts import ceil_div

NANO = 10**9
CLIP = 4096                                    # min(max_new, 4096)
RETRACT_TOKENS = 20
IN_BATCH = 32                                  # lpm's both thresholds
NO_TOKEN, STOP, GO = "NO_TOKEN", "stop", "go"


# S33
BITS = 2**64 - 1
GOLDEN = 0x9e3779b97f4a7c15


def mix(x):
    x &= BITS
    x ^= x >> 30
    x = x * 0xbf58476d1ce4e5b9 & BITS
    x ^= x >> 27
    x = x * 0x94d049bb133111eb & BITS
    return x ^ x >> 31


def first_word(seed, text):
    h = 0xcbf29ce484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001b3 & BITS
    y = mix((mix(seed + GOLDEN) ^ h) + GOLDEN)
    first, last = mix(y + GOLDEN), mix(y + 4 * GOLDEN)
    total = first + last & BITS
    return (total << 23 | total >> 41) + first & BITS


class EngineDead(Exception):
    """§3: an allocation failed."""


class Member:
    """One request of a batch: `tokens` computed after `before`; the middle chunk gives no answer."""

    def __init__(self, request, tokens, middle=False, decodes=False):
        self.request, self.tokens, self.middle, self.decodes = request, tokens, middle, decodes
        self.before = request.kv
        self.preemptions = request.preemptions                 # as many as when it was formed


class Batch:
    def __init__(self, prefill, members):
        self.prefill, self.members = prefill, members
        self.loads = self.end = None


class Budget:
    """rem, off, cur, inp and chk of one prefill."""

    def __init__(self, engine):
        cfg = engine.cfg
        self.tree, self.p, self.ceilp = engine.tree, cfg.p, engine.ceilp
        self.off = engine.rho * sum(min(r.max_new - r.out, CLIP) for r in engine.running)
        self.cur, self.inp, self.chk = 0, cfg.max_prefill, cfg.chunk
        if cfg.mixed:                                          # S36
            decodes = len(engine.running)
            self.off += decodes * NANO
            self.cur = decodes
            self.inp -= decodes
            self.chk = max(self.chk - decodes, cfg.p)

    def have(self):
        return (self.tree.free + self.tree.evictable) * self.p

    def rem(self):
        return self.have() * NANO - self.off

    def charge(self, x, m):
        x = self.ceilp(x)
        self.off += (x + m + self.p) * NANO
        self.cur += x + self.p
        self.inp -= x
        if self.chk is not None:
            self.chk -= x

    def verdict(self):
        if self.rem() <= 0 or self.have() - self.cur <= 0:
            return NO_TOKEN
        if self.inp <= 0 or (self.chk is not None and self.chk <= 0):
            return STOP
        return GO


class Former:
    """The scheduler's half of the engine."""

    def ceilp(self, tokens):
        return ceil_div(tokens, self.cfg.p) * self.cfg.p

    # ---------------------------------------------------------------- a request's pages (§1, §2.5)

    def keys(self, r, pages):
        while len(r.page_keys) < pages:
            i = len(r.page_keys)
            r.page_keys.append(r.numbers.setdefault(r.key(i), len(r.numbers)))
        return r.page_keys[:pages]

    def stash(self, r, computed, chunked):
        """Insert what was computed, free the duplicates, match again, move the lock there."""
        keys = self.keys(r, computed // self.cfg.p)
        there = self.tree.insert(keys, chunked)
        assert there >= r.own_from
        self.tree.free += there - r.own_from
        self.seen["duplicates freed"] += there > r.own_from
        device, host, node, _ = self.tree.match(keys)
        assert device == len(keys) and host == 0
        self.tree.unlock(r.node)
        self.tree.lock(node)
        r.node, r.own_from = node, device

    def leave(self, r, insert):
        """A finish inserts; a retracted or failed request frees its pages uninserted."""
        kept = there = r.own_from
        if insert:
            kept = min(r.prompt + r.out, r.kv) // self.cfg.p
            self.seen["finished after one more decode"] += r.kv == r.prompt + r.out
            there = self.tree.insert(self.keys(r, kept), chunked=False)
            assert there >= r.own_from
        self.tree.free += (there - r.own_from) + (ceil_div(r.kv, self.cfg.p) - kept)
        self.tree.unlock(r.node)
        r.node, r.own_from, r.kv = None, 0, 0
        self.slots -= 1

    # ---------------------------------------------------------------- §3, a to d

    def form(self):
        last = self.last
        if self.chunked:                                       # a
            self.stash(self.chunked, self.chunked.kv, chunked=True)
        if last and last.prefill:                              # b
            rest = [m.request for m in last.members if not m.middle and m.request.status is None]
            if len(rest) < len(last.members) or not self.running:
                self.full = False
            self.running += rest
        self.acknowledge()                                     # c
        return self.prefill() or self.decode()                 # d

    # ---------------------------------------------------------------- §3: prefill

    def prefill(self):
        if self.chunked is None and (self.full or not self.waiting):
            return None
        left = min(self.cfg.R - len(self.running), self.cfg.R - self.slots)
        if left <= 0 and self.chunked is None:
            self.full = True
            self.seen["no seat"] += 1
            return None
        self.sort_queue()
        budget, members = Budget(self), []
        if self.chunked:
            self.continue_chunk(budget, members)
        for r in list(self.waiting):
            if len(members) >= left:
                self.full = True
            if self.full:
                break
            if not self.settle(r):                             # L6
                continue
            verdict = self.admit(r, budget, members)
            if verdict == NO_TOKEN:
                self.seen["NO_TOKEN"] += 1
                self.full = bool(members or self.running) if self.cfg.hicache else True
                self.seen["NO_TOKEN, nothing running"] += not (members or self.running)
            if verdict != GO:
                break
        if not members:
            self.seen["prefill empty"] += 1
            return None
        return self.start(members)

    def sort_queue(self):
        """S30"""
        order = self.cfg.order
        if order == "lpm" and len(self.waiting) <= 128:
            self.order_by_prefix()
        elif order == "dfs-weight":
            self.order_by_weight()
        elif order == "lof":                                   # S31
            self.waiting.sort(key=lambda r: -r.max_new)
        elif order == "random":                                # S33
            word = mix(first_word(self.cfg.seed, "schedule policy") + self.steps)
            self.waiting.sort(key=lambda r: -(mix(word ^ r.id) >> 1))

    def order_by_weight(self):
        """S32"""
        before = list(self.waiting)
        at, weights, order = defaultdict(list), {}, []
        for r in self.waiting:
            node = self.tree.match(self.keys(r, (r.prompt + r.out) // self.cfg.p))[2]
            at[node].append(r)

        def weigh(node):
            weights[node] = len(at[node]) + sum(weigh(child) for child in node.children.values())
            return weights[node]

        def walk(node):
            for child in sorted(node.children.values(), key=lambda child: -weights[child]):
                walk(child)
            order.extend(at[node])

        weigh(self.tree.root)
        walk(self.tree.root)
        self.waiting = order
        self.seen["dfs-weight reordered"] += order != before

    def order_by_prefix(self):
        """lpm. The order persists."""
        before = list(self.waiting)
        first, rank = [], {}
        for r in self.waiting:
            device, host, _, _ = self.tree.match(self.keys(r, (r.prompt + r.out) // self.cfg.p))
            rank[r] = (0, -min((device + host) * self.cfg.p, r.prompt + r.out - 1))
            if device * self.cfg.p <= IN_BATCH:
                if any(self.shared(r, other) >= IN_BATCH for other in first):
                    rank[r] = (1, 0)
                    self.seen["lpm put last"] += 1
                else:
                    first.append(r)
        self.waiting.sort(key=rank.get)
        self.seen["lpm reordered"] += self.waiting != before

    def shared(self, a, b):
        """Leading tokens under equal trace ids."""
        blocks = 0
        while blocks < min(len(a.ids), len(b.ids)) and a.ids[blocks] == b.ids[blocks]:
            blocks += 1
        return min(blocks * self.cfg.trace_B, a.prompt, b.prompt)

    def continue_chunk(self, budget, members):
        r = self.chunked
        rest = r.prompt + r.out - r.kv
        most = min(budget.chk, budget.rem() // NANO)
        if most <= 0:
            most = budget.chk
            self.seen["chunk forced"] += 1
        tokens = min(rest, most)
        self.seen["chunk not whole pages"] += tokens < rest and tokens % self.cfg.p != 0
        members.append(Member(r, tokens, middle=tokens < rest))
        budget.charge(tokens, min(r.max_new, CLIP) if tokens == rest else 0)
        if tokens == rest:
            self.chunked = None

    def admit(self, r, budget, members):
        """One waiting request. Its lock on the device node lasts until it has its own, or is refused."""
        tree, p = self.tree, self.cfg.p
        total = r.prompt + r.out
        device, host, device_node, deepest = tree.match(self.keys(r, (total - 1) // p))
        need = (total - device * p + min(r.max_new - r.out, CLIP) + p) * NANO
        if need >= budget.rem():
            return NO_TOKEN
        if budget.chk is None and members and self.ceilp(total - (device + host) * p) >= budget.inp:      # S2
            self.seen["stop: max_prefill_tokens"] += 1
            return STOP
        tree.lock(device_node)
        verdict = STOP
        if need >= budget.rem():
            self.seen["NO_TOKEN after the lock"] += 1
            verdict = NO_TOKEN
        else:
            prefix, node, loaded = device, device_node, 0
            if host and tree.load(deepest):
                prefix, node, loaded = device + host, deepest, host
            rest = total - prefix * p
            x = self.ceilp(rest)
            if budget.chk is None and members and x >= budget.inp:
                self.seen["stop: max_prefill_tokens after the load"] += 1
                tokens = 0
            elif budget.chk is None or x <= budget.chk:
                tokens = rest
                budget.charge(x, min(r.max_new, CLIP))
            else:
                tokens = max(budget.chk // p * p, 0)           # S36: it may be overdrawn
                if tokens:
                    self.chunked = r
                    budget.charge(tokens, 0)
                    self.seen["chunked"] += 1
                else:
                    self.seen["loaded behind a full chunk"] += bool(loaded)
            if tokens:
                tree.lock(node)
                r.node, r.own_from, r.kv = node, prefix, prefix * p
                r.found = (device * p, loaded * p)
                members.append(Member(r, tokens, middle=tokens < rest))
                verdict = budget.verdict()
        tree.unlock(device_node)
        return verdict

    def start(self, members):
        """The batch is chosen: loads, room, pages."""
        p = self.cfg.p
        batch = Batch(True, members)
        batch.loads = self.submit_loads()
        self.tree.room(sum(m.tokens for m in members) + (len(members) * p if p > 1 else 0))
        pages = sum(ceil_div(m.before + m.tokens, p) - ceil_div(m.before, p) for m in members)
        if pages > self.tree.free:
            raise EngineDead
        self.tree.free -= pages
        if self.cfg.mixed and self.running:                    # S37
            self.running = [r for r in self.running if r.status is None]
            decodes = self.decode_all()
            if decodes is None:
                self.seen["mixed: no room to decode"] += 1
                self.tree.free += pages
                raise EngineDead
            self.seen["mixed"] += bool(decodes)
            batch.members = members + decodes
            self.running = []
        chosen = {m.request for m in members}
        self.slots += sum(r in chosen for r in self.waiting)
        self.waiting = [r for r in self.waiting if r not in chosen]
        for m in members:
            r = m.request
            r.kv += m.tokens
            if r.scheduled is None:
                r.scheduled = self.now                         # §7: flushes included
                r.cached_hbm, loaded = r.found
                fetched = r.fetched[:loaded // p]              # L9; L14: the first ones of the new node
                for name in fetched:
                    r.cached[name] += p
                loaded -= len(fetched) * p
                self.seen["cached tokens of storage"] += bool(fetched)
                self.seen["cached tokens of several tiers"] += len(set(fetched)) > 1
                if self.cfg.tiers:
                    r.cached["dram"] = loaded
        self.seen["prefill"] += 1
        return batch

    # ---------------------------------------------------------------- §4: decode and retraction

    def decode(self):
        before = len(self.running)
        self.running = [r for r in self.running if r.status is None]
        if not self.running:
            assert before or not self.full                     # S8
            self.full = False
            return None
        if self.fits(self.running):
            self.rho = max(self.rho - self.cfg.delta, self.cfg.rho_min)
        else:
            self.retract()
        if len(self.running) < before:
            self.seen["full cleared by a decode"] += self.full
            self.full = False
        if not self.running:
            return None
        members = self.decode_all()
        assert members is not None
        return Batch(False, members)

    def decode_all(self):
        """All that run decode, or None where their pages are not there."""
        p = self.cfg.p
        self.tree.room(len(self.running) * p)
        pages = sum(r.kv % p == 0 for r in self.running)
        if pages > self.tree.free:
            return None
        self.tree.free -= pages
        members = [Member(r, 1, decodes=True) for r in self.running]
        for r in self.running:
            r.kv += 1
        return members

    def fits(self, requests):
        need = self.cfg.p * sum(r.kv % self.cfg.p == 0 for r in requests)
        self.tree.room(need)
        return self.tree.free * self.cfg.p >= need

    def retract(self):
        order = sorted(self.running, key=lambda r: (r.out, -r.prompt), reverse=True)     # equal ones keep theirs
        back = []
        while len(order) > 1 and not (back and self.fits(order)):
            r = order.pop()
            self.leave(r, insert=False)
            r.preemptions += 1
            back.append(r)
            self.tree.room(RETRACT_TOKENS * len(order))
        if len(order) == 1 and not self.fits(order):
            r = order.pop()
            self.leave(r, insert=False)
            self.end(r, "failed", "out_of_memory")
            self.seen["out_of_memory"] += 1
        self.running = order
        answers = sum(r.out for r in order) + RETRACT_TOKENS * len(order)
        self.rho = min(NANO, answers * NANO // (sum(r.max_new for r in order) + 1))
        self.waiting += back
        for r in back:                                         # L4
            self.issue(r)
        self.seen["retraction"] += len(back)
