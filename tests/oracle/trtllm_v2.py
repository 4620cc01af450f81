#!/usr/bin/env python3
"""Plain reference simulation of TensorRT-LLM with the KV cache manager V2, for small scenarios.

A slow transcription of AMBIGUITIES_TRTLLM_V2.md, written from its text alone: "W6" is its rule W6, "T1" an item of
AMBIGUITIES_TRTLLM.md, "rule 2" one of engines/decisions-trtllm.md. Requests, arrivals and the loop over instants
are those of trtllm.py. Times are integer nanoseconds.

    python3 trtllm_v2.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
from collections import Counter, OrderedDict, deque
from fractions import Fraction

import fleet
import trtllm
import trtllm_cache
from parts import ceil_div
from trtllm_cache import Copy, common

GPU, HOST, DISK = 0, 1, 2
MANAGER_V1_ONLY = ("copy_on_partial_reuse", "secondary_offload_min_priority", "claim_before_onboard")


class Config(trtllm.Config):
    """W1."""

    def __init__(self, scenario):
        super().__init__(scenario | {"tiers": []})         # V1 reads the rest
        e = scenario["engine"]
        assert e["kv_cache_manager"] == "v2" and not any(key in e for key in MANAGER_V1_ONLY)
        assert e.get("capacity_scheduler_policy", "MAX_UTILIZATION") == "MAX_UTILIZATION"
        assert int(e.get("disk_prefetch_num_reqs", 0)) == 0
        self.max_util = Fraction(str(e.get("max_util_for_resume", "0.95")))
        self.tiers = scenario["tiers"]
        assert self.tiers[0]["kind"] == "dram" and [t["kind"] for t in self.tiers[1:]] in ([], ["nvme"])
        names = ["hbm"] + [t["name"] for t in self.tiers]
        dram = self.tiers[0]
        self.sizes = [self.N, self.slots_of(dram) if "capacity" in dram or "blocks" in dram else self.N]
        self.sizes += [self.slots_of(t) for t in self.tiers[1:]]
        ends = {(link["from"], link["to"]): self.links[link["name"]] for link in scenario["links"]}
        # W16: the link of each way. Blocks come from the disk straight to the GPU.
        self.ways = {(GPU, HOST): ends[names[0], names[1]], (HOST, GPU): ends[names[1], names[0]]}
        if len(names) > 2:
            self.ways |= {(HOST, DISK): ends[names[1], names[2]], (DISK, GPU): ends[names[2], names[1]]}


class Block:
    """A content and the slot where it lies. Its state (W3) follows from who holds and who locks it."""

    def __init__(self, level, slot):
        self.level, self.slot = level, slot
        self.holders, self.lockers = set(), set()          # requests; those that lock it hold it
        self.parent, self.children = None, {}              # its place in the tree: tokens -> Block

    def in_tree(self):
        return self.parent is not None

    def held(self):
        return bool(self.holders) and not self.lockers

    def droppable(self):
        return not self.holders


class Level:
    def __init__(self, slots):
        self.slots = slots
        self.empty = deque(range(slots))                   # W4
        self.queue = OrderedDict()                         # its held and droppable Blocks, front first
        self.blocks = {}                                   # slot -> Block
        self.stored = self.evictions = 0                   # W17

    def count_held(self):
        return sum(b.held() for b in self.blocks.values())


class Cache:
    def __init__(self, cfg):
        self.cfg = cfg
        self.levels = [Level(slots) for slots in cfg.sizes]
        self.gpu, self.last = self.levels[GPU], len(self.levels) - 1
        self.root = Block(None, None)
        self.copies = []                                   # this step's, in order of decision
        self.seen = Counter()                              # which rules were exercised

    # ---------------------------------------------------------------- slots and queues (W3, W4)

    def put(self, block, level):
        """Into the front empty slot of the level. Gives the slot as copies name it."""
        block.level, block.slot = level, self.levels[level].empty.popleft()
        self.levels[level].blocks[block.slot] = block
        return level, block.slot

    def leave_slot(self, block):
        """Its slot becomes empty."""
        level = self.levels[block.level]
        level.queue.pop(block, None)
        del level.blocks[block.slot]
        level.empty.append(block.slot)
        at = (block.level, block.slot)
        block.level = block.slot = None
        return at

    def join_back(self, block):
        queue = self.levels[block.level].queue
        queue.pop(block, None)
        if block.level < self.last or block.droppable():
            queue[block] = None

    def unlock(self, r, block):
        """W9: `r` holds it on, but is not active any more."""
        block.lockers.discard(r)
        if not block.lockers:
            self.join_back(block)

    def let_go(self, r, block):
        was_locked = bool(block.lockers)
        block.holders.remove(r)
        block.lockers.discard(r)
        if block.lockers:
            return
        if block.droppable() and not block.in_tree():
            self.leave_slot(block)
        elif was_locked or (block.level == self.last and block.droppable()):
            self.join_back(block)

    def release(self, r):
        for block in reversed(r.blocks):
            self.let_go(r, block)
        r.blocks, r.active = [], False

    def expire(self, now):
        """Retention has no effect (W1)."""

    def suspend(self, r):
        for block in r.blocks:
            self.unlock(r, block)
        r.active = False

    # ---------------------------------------------------------------- the tree (W5, W10, W14)

    matches = trtllm_cache.Cache.matches

    def partial(self, r, found, tokens):
        """Rule 4, the block after the full ones: (Block, tokens in common) or (None, 0)."""
        start = len(found) * self.cfg.B
        wanted = r.part(start, min(start + self.cfg.B, tokens))
        children = (found[-1] if found else self.root).children
        if not wanted:
            return None, 0
        if wanted in children:                             # T4
            return children[wanted], len(wanted)
        best, most = None, 0
        if self.cfg.partial_reuse:
            for content, block in children.items():        # first stored first
                same = common(wanted, content)
                if same > most:
                    best, most = block, same
        return best, most

    def next_block(self, r):
        """W12: the content up to the first full block that is not in the tree."""
        count = len(self.matches(r, r.context - 1))
        return r.part(0, (count + 1) * self.cfg.B) if count < (r.context - 1) // self.cfg.B else None

    def store(self, r):
        """W14, rule 17."""
        if not self.cfg.reuse:
            return
        keys = [r.key(i) for i in range(r.computed // self.cfg.B)]
        if r.computed == r.context and r.context % self.cfg.B:
            keys.append(r.part(len(keys) * self.cfg.B, r.context))
        assert len(keys) <= len(r.blocks)
        node = self.root
        for key, own in zip(keys, r.blocks):
            if key not in node.children:
                assert not own.in_tree() and not own.children
                own.parent, node.children[key] = node, own
            elif node.children[key] is not own:
                self.seen["own copies private"] += 1
            node = node.children[key]

    def drop(self, block):
        """W5."""
        siblings = block.parent.children
        del siblings[next(key for key, child in siblings.items() if child is block)]
        entries = [block]
        for entry in entries:                              # breadth first
            entries += entry.children.values()
        for entry in entries:
            entry.parent, entry.children = None, {}
            self.seen["descendants dropped"] += entry is not block
            if entry.droppable():
                self.leave_slot(entry)
            else:
                self.seen["dropped in use"] += 1

    # ---------------------------------------------------------------- room (W6, W7)

    def make_empty(self, number):
        """W6: a slot of this level."""
        level, below = self.levels[number], self.levels[number + 1:]
        if level.empty:
            return
        if sum(x.count_held() for x in below) == sum(x.slots for x in below):      # also on the last level
            victim = next(b for b in level.queue if b.droppable())
            self.seen[f"dropped of level {number}"] += 1
            level.evictions += 1
            self.drop(victim)
            return
        victim = next(iter(level.queue))
        self.make_empty(number + 1)
        if victim.slot is None:
            self.seen["victims emptied by a drop below"] += 1
            return
        assert victim.level == number
        level.evictions += victim.in_tree()
        self.seen["held victims copied down"] += victim.held()
        source = self.leave_slot(victim)
        target = self.put(victim, number + 1)
        self.levels[number + 1].stored += 1
        self.join_back(victim)
        self.copy(source, target, self.cfg.block_bytes)

    def fits(self, r, x, match, new):
        """W7."""
        counted = set(x) | ({match} if match else set())
        locked = sum(bool(b.lockers) for b in self.gpu.blocks.values())
        if not r.active and locked > self.cfg.max_util * self.cfg.N:
            self.seen["kept out by max_util_for_resume"] += 1
            return False
        others = [b for b in self.gpu.blocks.values() if b not in counted]
        below = self.levels[HOST:]
        held_below = sum(b.held() or b in counted for level in below for b in level.blocks.values())
        room = len(self.gpu.empty) + sum(b.droppable() for b in others)
        room += min(sum(b.held() for b in others), sum(level.slots for level in below) - held_below)
        return sum(b.level > GPU for b in x) + new <= room

    # ---------------------------------------------------------------- allocation (W8)

    def hold(self, r, block):
        block.holders.add(r)
        if block.level == GPU:
            block.lockers.add(r)
        if block.level in (GPU, self.last):
            self.levels[block.level].queue.pop(block, None)

    def allocate(self, r, x, match, tokens, new):
        """`tokens` of the block `match` are copied into the first of the `new` ones."""
        for block in x + [match] * bool(match):
            self.hold(r, block)
        for block in [match] * bool(match) + x:
            if block in self.levels[block.level].queue:
                self.levels[block.level].queue.move_to_end(block)
        for block in x:
            if block.level > GPU:
                self.make_empty(GPU)
                source = self.leave_slot(block)
                self.copy(source, self.put(block, GPU), self.cfg.block_bytes)
                block.lockers.add(r)
                self.seen[f"brought up from level {source[0]}"] += 1
        r.blocks = list(x)
        for _ in range(new):
            self.make_empty(GPU)
            block = Block(None, None)
            self.put(block, GPU)
            block.holders.add(r)
            block.lockers.add(r)
            r.blocks.append(block)
        if match:
            self.seen[f"partial copied from level {match.level}"] += 1
            if match.level > GPU:
                self.copy((match.level, match.slot), (GPU, r.blocks[len(x)].slot), tokens * self.cfg.kv_bytes)
            self.let_go(r, match)
        r.active = True

    # ---------------------------------------------------------------- copies (W16)

    def copy(self, source, target, nbytes):
        self.copies.append(Copy(self.cfg.ways[source[0], target[0]], source, target, nbytes))

    def run_copies(self, now):
        """Gives the end of the step's last copy."""
        for i, c in enumerate(self.copies):
            slots = {c.source, c.target}
            start = max([now] + [d.end for d in self.copies[:i] if slots & {d.source, d.target}])
            self.seen["copies that waited for another way"] += start > max(now, c.link.free_at)
            c.link.submit(c, start)
        end = max([now] + [c.end for c in self.copies])
        self.copies = []
        return end

    # ---------------------------------------------------------------- checks

    def check(self, requests):
        holders = {}
        for r in requests:
            for b in r.blocks:
                assert b not in holders.setdefault(r, set())
                holders[r].add(b)
        for number, level in enumerate(self.levels):
            assert sorted([*level.empty, *level.blocks]) == list(range(level.slots))
            for slot, b in level.blocks.items():
                assert (b.level, b.slot) == (number, slot)
                assert b.holders == {r for r in holders if b in holders[r]}
                assert b.lockers == {r for r in b.holders if r.active}
                assert number == GPU or not b.lockers
                assert b.holders or b.in_tree()
                queued = not b.lockers and (number < self.last or b.droppable())
                assert (b in level.queue) == queued
            assert all(level.blocks.get(b.slot) is b for b in level.queue)
        entries = [self.root]
        for entry in entries:
            for key, child in entry.children.items():
                assert child.parent is entry and self.levels[child.level].blocks[child.slot] is child
                assert len(key) == self.cfg.B or not child.children
                entries.append(child)
        assert len(entries) - 1 == sum(b.in_tree() for level in self.levels for b in level.blocks.values())
        assert not self.copies


class Engine(trtllm.Engine):
    cache_of = Cache

    def __init__(self, cfg, requests):
        super().__init__(cfg, requests)
        for r in requests:
            r.active = False                               # W3

    # ---------------------------------------------------------------- the end of a step (W14, W15)

    def collect(self, batch):
        for r, n in batch:
            prompt = r.computed < r.context
            r.computed += n
            assert r.computed <= r.tokens
            if prompt:
                self.cache.store(r)
        for r, _ in batch:
            if r.computed == r.tokens:
                r.tokens += 1
                if r.first_token is None:
                    r.first_token = self.now
        for r in [r for r in self.active if r.tokens - r.prompt == r.output]:
            self.cache.release(r)
            self.active.remove(r)
            self.end(r, self.now, "completed")

    # ---------------------------------------------------------------- losing blocks (W9)

    def suspend(self, r):
        self.cache.suspend(r)
        self.lost(r, "suspended")

    def give_up(self, r):
        self.cache.release(r)
        r.computed, r.context = 0, r.tokens
        self.lost(r, "gave up")

    def lost(self, r, how):
        r.preemptions += 1
        self.totals["preemptions"] += 1
        self.seen[how] += 1
        self.paused = True

    # ---------------------------------------------------------------- schedule (W11 to W13)

    def schedule(self):
        """(batch as (request, tokens), whether something was paused)."""
        self.paused = False
        decodes, end = self.choose_decodes()
        prompts = self.choose_prompts(end, len(decodes))
        prompts.sort(key=lambda p: p[0].computed + p[1] >= p[0].context)           # stable
        self.seen["chunked prompts"] += sum(r.computed + n < r.context for r, n in prompts)
        return prompts + [(r, 1) for r in decodes], self.paused

    def choose_decodes(self):
        """W11: (chosen, the place in arrival order before which the walk ended)."""
        cfg, chosen, i, end = self.cfg, [], 0, len(self.active)
        while i < end:
            r = self.active[i]
            if r.computed < r.context:
                i += 1
                continue
            if len(chosen) == min(cfg.max_seqs, cfg.budget):
                return chosen, i
            new = ceil_div(r.tokens, cfg.B) - len(r.blocks)
            if self.cache.fits(r, r.blocks, None, new):
                self.seen["resumed"] += not r.active
                self.cache.allocate(r, r.blocks, None, 0, new)
                chosen.append(r)
                i += 1
                continue
            behind = range(len(self.active) - 1, i, -1)
            victim = next((j for j in behind if self.active[j].active), None)
            if victim is not None:                         # (a)
                self.suspend(self.active[victim])
            elif not chosen:                               # (b)
                victim = next((j for j in behind if self.active[j].blocks), None)
                if victim is not None:
                    self.give_up(self.active[victim])
            if victim is None:                             # (c)
                if r.active:
                    self.suspend(r)
                    self.seen["suspended itself"] += 1
                return chosen, i
            end = min(end, victim)
        return chosen, end

    def choose_prompts(self, end, decodes):
        """W12: (request, chunk) as chosen. Whoever is chosen has its blocks, and C of what was found."""
        cfg, cache = self.cfg, self.cache
        chosen, room, contributed, asking = [], cfg.budget - decodes, set(), True
        for r in self.active[:end]:
            if r.computed >= r.context:
                continue
            if decodes + len(chosen) == cfg.max_seqs or (cfg.chunked and room < cfg.B):
                break
            next_block = cache.next_block(r)
            if r.blocks:
                chunk = self.chunk(r, r.computed, room)
                if chunk is None or not self.try_prompt(r, r.blocks, None, 0, r.computed, chunk):
                    self.seen["prompts under way passed over"] += 1
                    continue
            else:
                if not asking:
                    continue
                if cfg.reuse and next_block is not None and next_block in contributed:   # T23
                    self.seen["delays"] += 1
                    continue
                chunk = self.first_chunk(r, room)
                if chunk is None:
                    asking = False
                    continue
            contributed.add(next_block)
            chosen.append((r, chunk))
            room -= chunk
        return chosen

    def chunk(self, r, computed, room):
        """None: over budget."""
        rest = r.context - computed
        if rest <= room:
            return rest
        return room // self.cfg.B * self.cfg.B if self.cfg.chunked else None

    def try_prompt(self, r, x, match, tokens, computed, chunk):
        new = ceil_div(computed + chunk, self.cfg.B) - len(x)
        if not self.cache.fits(r, x, match, new):
            return False
        self.cache.allocate(r, x, match, tokens, new)
        return True

    def first_chunk(self, r, room):
        """W10. None where it is over budget or does not fit."""
        x = self.cache.matches(r, r.context - 1)
        match, tokens = self.cache.partial(r, x, r.context - 1)
        for match, tokens in [(match, tokens)] * bool(match) + [(None, 0)]:
            computed = len(x) * self.cfg.B + tokens
            chunk = self.chunk(r, computed, room)
            if chunk is None:
                continue
            found = [(b.level, self.cfg.B) for b in x] + ([(match.level, tokens)] if match else [])
            if self.try_prompt(r, x, match, tokens, computed, chunk):
                r.computed = computed
                if not r.admitted:                         # rule 21
                    r.admitted = True
                    by_level = Counter()
                    for level, count in found:
                        by_level[level] += count
                    r.cached_hbm = by_level[GPU]
                    r.cached = {t["name"]: by_level[1 + i] for i, t in enumerate(self.cfg.tiers)}
                return chunk
            self.seen["matches left out"] += match is not None
        return None


def totals_of(engine):
    t = {s: sum(r.status == s for r in engine.requests) for s in ("completed", "failed", "rejected", "stuck")}
    t.update(steps=engine.totals["steps"], preemptions=engine.totals["preemptions"])
    for tier, level in zip(engine.cfg.tiers, engine.cache.levels[HOST:]):
        t[f"{tier['name']}_stored"], t[f"{tier['name']}_evictions"] = level.stored, level.evictions
    for name, link in engine.cfg.links.items():
        t[f"link_{name}_jobs"], t[f"link_{name}_bytes"] = link.jobs, link.bytes
    return t


def simulate(path):
    engine = Engine(*trtllm.load(path, Config))
    engine.run()
    return engine.cfg, engine.requests, totals_of(engine)


if __name__ == "__main__":
    fleet.main(simulate)
