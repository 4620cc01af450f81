"""Blocks, queues, reuse tree and copies of TensorRT-LLM's KV cache manager V1. Used by trtllm.py.

"rule 9" in a comment is a numbered rule of engines/decisions-trtllm.md, "T5" is item 5 of
AMBIGUITIES_TRTLLM.md beside this file. Times are integer nanoseconds.

A Block is a content and the slot where it lies. An empty slot holds an empty Block. A content that loses its
slot is gone: its `slot` is None.
"""
from collections import Counter, OrderedDict
from fractions import Fraction

from parts import ceil_div

GPU, HOST = "hbm", "dram"
DEFAULT = 35                                               # the priority of whoever has none


class Block:
    def __init__(self, level, slot, priority=DEFAULT, duration=None, used=False):
        self.level, self.slot = level, slot
        self.priority, self.duration = priority, duration  # duration in ns, None: for ever
        self.used = used                                   # rule 9: ever held tokens (T5)
        self.ref = 0
        self.queued = None                                 # the priority in whose queue it stands
        self.released = self.expiry = None                 # number of its last release; end of its timer
        self.parent, self.children = None, {}              # its place in the tree: tokens -> Block

    def in_tree(self):
        return self.parent is not None

    def is_free_leaf(self):
        return self.ref == 0 and not self.children


class Copy:
    def __init__(self, link, source, target, nbytes):
        self.link, self.source, self.target, self.bytes = link, source, target, nbytes
        self.end = None


class Cache:
    def __init__(self, cfg):
        self.cfg = cfg
        self.root = Block(None, None)
        self.queues = {GPU: {}, HOST: {}}                  # level -> priority -> Blocks, front first
        self.free = {GPU: 0, HOST: 0}                      # unreferenced blocks of a level
        self.timers = {}                                   # Blocks with a running timer
        self.releases = 0
        self.copies = []                                   # this step's, in order of decision
        self.stored = self.evictions = 0                   # totals dram_stored, dram_evictions
        self.seen = Counter()                              # which rules were exercised
        for level, count in ((GPU, cfg.N), (HOST, cfg.slots)):
            for slot in range(count):                      # rule 8: unused blocks start in 35, by index
                self.enqueue(Block(level, slot))

    # ---------------------------------------------------------------- queues (rules 7, 8, 17, 18)

    def enqueue(self, block):
        block.queued = block.priority
        self.queues[block.level].setdefault(block.priority, OrderedDict())[block] = None
        self.free[block.level] += 1

    def dequeue(self, block):
        if block.queued is None:
            return
        del self.queues[block.level][block.queued][block]
        block.queued = None
        self.free[block.level] -= 1

    def victim(self, level):
        """Rule 8: the front of the lowest priority that has any."""
        queues = self.queues[level]
        return next(iter(queues[min(p for p in queues if queues[p])]))

    def let_go(self, block, now):
        """Its last reference went (rules 17, 18): the back of its queue, perhaps with a timer."""
        self.releases += 1
        block.released = self.releases
        self.enqueue(block)
        if block.duration is not None and block.priority != DEFAULT:
            block.expiry = now + block.duration
            self.timers[block] = None
            self.seen["timers started"] += 1

    def stop_timer(self, block):
        self.timers.pop(block, None)
        block.expiry = None

    def expire(self, now):
        """Rule 18, after a step's allocation."""
        due = [b for b in self.timers if b.expiry <= now]
        for block in sorted(due, key=lambda b: (b.expiry, b.released)):
            self.stop_timer(block)
            self.dequeue(block)
            block.priority = DEFAULT
            self.enqueue(block)
            self.seen["timers expired"] += 1

    def claim(self, block, retention):
        """Rule 7. `retention` is (priority, duration) of the range, or None."""
        self.dequeue(block)
        self.stop_timer(block)
        old = (block.priority, block.duration)
        if retention is not None:
            block.priority = retention[0]
        block.duration = retention[1] if retention is not None else None
        if old[0] != DEFAULT and old[1] is not None and retention is None:
            self.seen["reuse made a priority permanent"] += 1

    # ---------------------------------------------------------------- the tree (rules 3, 4, 9, 17)

    def matches(self, r, tokens):
        """Leading full blocks of the first `tokens` tokens, exactly."""
        found, node = [], self.root
        for i in range(tokens // self.cfg.B):
            node = node.children.get(r.key(i))
            if node is None:
                break
            found.append(node)
        return found

    def partial(self, r, found, tokens):
        """Rule 4, the block after the full matches: (Block, tokens in common) or (None, 0)."""
        wanted = r.part(len(found) * self.cfg.B, min((len(found) + 1) * self.cfg.B, tokens))
        parent = found[-1] if found else self.root
        if not wanted or not parent.children:
            return None, 0
        if wanted in parent.children:
            assert len(wanted) < self.cfg.B                # else it were a full match
            return parent.children[wanted], len(wanted)
        best, most = None, 0
        if self.cfg.partial_reuse:
            for content, block in parent.children.items(): # first stored first
                if not self.cfg.copy_partial and not block.is_free_leaf():
                    continue
                same = common(wanted, content)
                if same > most:
                    best, most = block, same
        return best, most

    def drop(self, block):
        """The entry and all its descendants leave the tree, wherever they lie, in use or not (rule 9)."""
        if not block.in_tree():
            return
        for key, child in block.parent.children.items():
            if child is block:
                del block.parent.children[key]
                break
        block.parent = None
        below = [block]
        while below:
            entry = below.pop()
            for child in entry.children.values():
                child.parent = None
                below.append(child)
                self.seen["descendants dropped"] += 1
                self.seen["descendants dropped in use"] += child.ref > 0
                self.seen["descendants dropped on " + child.level] += 1
            entry.children = {}

    def store(self, r, tokens, partial):
        """Rule 17."""
        if not self.cfg.reuse:
            return
        keys = [r.key(i) for i in range(tokens // self.cfg.B)]
        if partial and tokens % self.cfg.B:
            keys.append(r.part(len(keys) * self.cfg.B, tokens))
        node = self.root
        for key, block in zip(keys, r.blocks, strict=False):
            if key not in node.children:
                assert not block.in_tree() and not block.children
                block.parent = node
                node.children[key] = block
            elif node.children[key] is not block:
                self.seen["own copies private"] += 1
            node = node.children[key]
        assert len(keys) <= len(r.blocks)

    def release(self, r, now):
        """Rule 17: tail first."""
        for block in reversed(r.blocks):
            block.ref -= 1
            assert block.ref >= 0
            if block.ref == 0:
                self.let_go(block, now)
        r.blocks = []

    # ---------------------------------------------------------------- taking blocks (rules 9, 10)

    def take(self, priority, duration):
        """Rule 9: the content of the front GPU block goes, a new one comes."""
        out = self.victim(GPU)
        assert out.ref == 0
        slot = out.slot
        self.dequeue(out)
        self.stop_timer(out)
        if self.cfg.reuse and out.used and out.priority >= self.cfg.threshold and self.free[HOST]:
            lost = self.victim(HOST)
            self.dequeue(lost)
            self.copy(self.cfg.down, (GPU, slot), (HOST, lost.slot), self.cfg.block_bytes)
            self.stored += 1
            self.seen["offloads"] += 1
            self.seen["offloads of what is not in the tree"] += not out.in_tree()
            self.evictions += lost.in_tree()
            out.level, out.slot, out.duration = HOST, lost.slot, None
            self.enqueue(out)
            if lost.in_tree():
                self.seen["host victims in the tree"] += 1
                self.seen["subtrees dropped with a host victim"] += bool(lost.children)
                self.drop(lost)
                self.seen["offloaded below its own host victim"] += not out.in_tree()
            lost.slot = None
        else:
            self.seen["GPU victims dropped in the tree"] += out.in_tree()
            self.seen["subtrees dropped with a GPU victim"] += bool(out.children)
            self.seen["below the threshold"] += out.used and out.priority < self.cfg.threshold
            self.drop(out)
            out.slot = None
        return Block(GPU, slot, priority, duration, used=True)

    def onboard(self, block):
        """Rule 10."""
        if block.level == GPU:
            return
        assert block.queued is None and block.slot is not None
        new, left = self.take(DEFAULT, None), block.slot
        self.copy(self.cfg.up, (HOST, left), (GPU, new.slot), self.cfg.block_bytes)
        self.seen["onboardings"] += 1
        block.level, block.slot = GPU, new.slot
        self.enqueue(Block(HOST, left))

    def copy(self, link, source, target, nbytes):
        self.copies.append(Copy(link, source, target, nbytes))

    # ---------------------------------------------------------------- allocation (rules 4 to 7)

    def allocate_prompt(self, r):
        """The first chunk. Gives the tokens found, or None where the prompt is left out (rule 15)."""
        cfg = self.cfg
        blocks = ceil_div(r.context, cfg.B)
        found = self.matches(r, r.context - 1)
        if blocks - sum(b.ref > 0 for b in found) > self.free[GPU]:
            return None
        cached = {GPU: 0, HOST: 0}
        if cfg.claim_first:
            self.claim_then_onboard(r, found, cached)
        else:
            self.claim_and_onboard(r, len(found), cached)
        self.seen["full matches"] += bool(found)
        for i in range(len(r.blocks), blocks):
            priority, duration = r.retention(i * cfg.B) or (DEFAULT, None)
            r.blocks.append(self.take(priority, duration))
        for block in r.blocks:
            assert block.level == GPU and block.slot is not None and block.queued is None
            block.ref += 1
        if not r.admitted:                                 # rule 21
            r.admitted = True
            r.cached_hbm = cached[GPU]
            r.cached = {tier: cached[HOST] for tier in r.cached}
        return sum(cached.values())

    def claim_then_onboard(self, r, found, cached):
        """Rule 6: all claims, then all onboardings; a copy source is searched again after them (T8)."""
        for i, block in enumerate(found):
            cached[block.level] += self.cfg.B
            self.claim(block, r.retention(i * self.cfg.B))
        part, tokens = self.partial(r, found, r.context - 1)
        r.blocks = list(found)
        if part is not None and part.is_free_leaf():
            self.take_over(r, part, tokens, cached)
        for block in r.blocks:
            self.onboard(block)
        if part is not None and len(r.blocks) == len(found):
            self.partial_now(r, cached)

    def claim_and_onboard(self, r, expected, cached):
        """Rule 6, `claim_before_onboard: false`: the tree changes under the walk."""
        node, r.blocks = self.root, []
        while len(r.blocks) < (r.context - 1) // self.cfg.B:
            node = node.children.get(r.key(len(r.blocks)))
            if node is None:
                break
            cached[node.level] += self.cfg.B
            self.claim(node, r.retention(len(r.blocks) * self.cfg.B))
            self.onboard(node)
            r.blocks.append(node)
        self.seen["onboarding lost the rest of its prefix"] += len(r.blocks) < expected
        self.partial_now(r, cached)

    def partial_now(self, r, cached):
        """Rule 5 for the block after r.blocks, found in the tree as it is now."""
        part, tokens = self.partial(r, r.blocks, r.context - 1)
        if part is None:
            return
        if part.is_free_leaf():
            self.seen["copy source became a leaf"] += self.cfg.claim_first
            self.take_over(r, part, tokens, cached)
            self.onboard(part)
            return
        was = part.level
        new = self.take(part.priority, part.duration)
        r.blocks.append(new)
        if part.slot is None and was == HOST:              # T9: the copy down overwrote it
            self.seen["copy source overwritten"] += 1
            return
        self.seen["copy source moved or evicted"] += part.slot is None or part.level != was
        cached[part.level] += tokens
        if part.level == HOST:
            self.copy(self.cfg.up, (HOST, part.slot), (GPU, new.slot), tokens * self.cfg.kv_bytes)
        self.seen["partial copied from " + part.level] += 1

    def take_over(self, r, block, tokens, cached):
        self.drop(block)
        cached[block.level] += tokens
        self.seen["partial taken over on " + block.level] += 1
        self.claim(block, r.retention(len(r.blocks) * self.cfg.B))
        r.blocks.append(block)

    def allocate_decode(self, r):
        """Gives False where there is no block for the next token."""
        if len(r.blocks) < ceil_div(r.tokens, self.cfg.B):
            if not self.free[GPU]:
                return False
            block = self.take(*r.decode_retention)
            block.ref = 1
            r.blocks.append(block)
        assert len(r.blocks) == ceil_div(r.tokens, self.cfg.B)
        return True

    # ---------------------------------------------------------------- copies (rule 19)

    def run_copies(self, now):
        """Gives the end of the step's last copy."""
        done = []
        for c in self.copies:
            start = max([now] + [d.end for d in done
                                 if d.target in (c.source, c.target) or d.source == c.target])
            self.seen["copies that waited for the other direction"] += start > max(now, c.link.free_at)
            c.link.submit(c, start)
            done.append(c)
        self.copies = []
        return max([now] + [c.end for c in done])

    # ---------------------------------------------------------------- checks

    def check(self, requests):
        held = Counter()
        blocks = {}
        for r in requests:
            for b in r.blocks:
                held[b] += 1
                blocks[id(b)] = b
        for level, count in ((GPU, self.cfg.N), (HOST, self.cfg.slots)):
            queued = [b for q in self.queues[level].values() for b in q]
            assert len(queued) == self.free[level]
            for b in queued:
                assert b.level == level and b.ref == 0 and b.queued == b.priority and held[b] == 0
            used = [b for b in held if b.level == level and held[b]]
            assert level == GPU or not used
            slots = sorted([b.slot for b in queued] + [b.slot for b in used])
            assert slots == list(range(count)), f"{level} slots"
            for b in queued + used:
                blocks[id(b)] = b
        for b in blocks.values():
            assert b.ref == held[b]
            assert (b.ref > 0) == (b.queued is None)
            assert b.expiry is None or (b in self.timers and b.queued not in (None, DEFAULT))
        below, entries = [self.root], 0
        while below:
            entry = below.pop()
            for key, child in entry.children.items():
                assert child.parent is entry and id(child) in blocks and child.used
                assert 0 < len(key) <= self.cfg.B and (len(key) == self.cfg.B or not child.children)
                entries += 1
                below.append(child)
        assert entries == sum(b.in_tree() for b in blocks.values())
        assert not self.copies


def common(a, b):
    n = 0
    for x, y in zip(a, b):
        if x != y:
            break
        n += 1
    return n


def milliseconds(value):
    return None if value is None else Fraction(str(value)) * 10**6
