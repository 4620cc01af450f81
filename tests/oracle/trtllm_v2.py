#!/usr/bin/env python3
"""Plain reference simulation of TensorRT-LLM with the KV cache manager V2, for small scenarios.

A slow transcription of AMBIGUITIES_TRTLLM_V2.md: "W6" is its rule 6; "rule 4" is one of
engines/decisions-trtllm.md. Requests, instants and results are those of trtllm.py, which has V1.

    python3 trtllm_v2.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import copy
import math
from collections import Counter
from fractions import Fraction

import fleet
import trtllm
from parts import ceil_div
from trtllm_cache import common

GPU = 0


class Config(trtllm.Config):
    """W1."""

    def __init__(self, scenario):
        scenario = copy.deepcopy(scenario)
        e = scenario["engine"]
        assert e.pop("kv_cache_manager") == "v2"
        assert e.get("capacity_scheduler_policy", "MAX_UTILIZATION") == "MAX_UTILIZATION"
        assert not any(k in e for k in ("copy_on_partial_reuse", "secondary_offload_min_priority",
                                        "claim_before_onboard"))
        assert int(e.get("disk_prefetch_num_reqs", 0)) == 0
        tiers = scenario.pop("tiers")
        self.ways = {link["name"]: (link["from"], link["to"]) for link in scenario["links"]}
        super().__init__(scenario)
        self.tiers = tiers
        self.max_util = Fraction(str(e.get("max_util_for_resume", "0.95")))
        assert tiers[0]["kind"] == "dram" and all(t["kind"] == "nvme" for t in tiers[1:]) and len(tiers) <= 2
        self.slots = [self.N] + [self.slots_of(t) if "capacity" in t else self.N for t in tiers]
        names = ["hbm"] + [t["name"] for t in tiers]
        by_ends = {ends: self.links[name] for name, ends in self.ways.items()}
        # W16: the way of a copy from one level to another.
        self.way = {(0, 1): by_ends["hbm", names[1]], (1, 0): by_ends[names[1], "hbm"]}
        if len(tiers) == 2:
            self.way[1, 2] = by_ends[names[1], names[2]]
            self.way[2, 0] = by_ends[names[2], names[1]]


class Block:
    """A content that lies in a slot; what nobody needs any longer has none."""

    def __init__(self, level, slot):
        self.level, self.slot = level, slot
        self.active, self.suspended = set(), set()         # the requests that hold it
        self.parent, self.key, self.children = None, None, {}
        self.gone = False

    def locked(self):
        return bool(self.active)

    def held(self):
        return bool(self.suspended) and not self.active

    def droppable(self):
        return not self.active and not self.suspended


class Cache:
    def __init__(self, cfg):
        self.cfg = cfg
        self.root = Block(None, None)
        self.last = len(cfg.slots) - 1
        self.empties = [list(range(n)) for n in cfg.slots]  # W4: front first
        self.queues = [[] for _ in cfg.slots]
        self.blocks = set()
        self.copies = []
        self.stored = [0] * len(cfg.slots)
        self.evictions = [0] * len(cfg.slots)
        self.seen = Counter()

    # ---------------------------------------------------------------- states and queues (W3, W4)

    def belongs(self, b):
        """Whether the block stands in its level's queue."""
        return not b.locked() and (b.level != self.last or b.droppable())

    def settle(self, b):
        """Its holders have changed: it joins a queue, leaves it, or is emptied."""
        queue = self.queues[b.level]
        if b.droppable() and b.parent is None:
            if b in queue:
                queue.remove(b)
            self.empty(b)
        elif self.belongs(b):
            if b not in queue:
                queue.append(b)
        elif b in queue:
            queue.remove(b)

    def empty(self, b):
        self.empties[b.level].append(b.slot)
        self.blocks.remove(b)
        b.gone = True

    # ---------------------------------------------------------------- the tree (W5, W10, W14)

    def matches(self, r, tokens):
        found, node = [], self.root
        for i in range(tokens // self.cfg.B if self.cfg.reuse else 0):
            node = node.children.get(r.key(i))
            if node is None:
                break
            found.append(node)
        return found

    def partial(self, r, found, tokens):
        B = self.cfg.B
        wanted = r.part(len(found) * B, min((len(found) + 1) * B, tokens))
        parent = found[-1] if found else self.root
        if not self.cfg.reuse or not wanted:
            return None, 0
        if wanted in parent.children:
            return parent.children[wanted], len(wanted)
        best, most = None, 0
        if self.cfg.partial_reuse:
            for content, block in parent.children.items():
                same = common(wanted, content)
                if same > most:
                    best, most = block, same
        return best, most

    def store(self, r, tokens, partial):
        if not self.cfg.reuse:
            return
        B, node = self.cfg.B, self.root
        keys = [r.key(i) for i in range(tokens // B)]
        if partial and tokens % B:
            keys.append(r.part(tokens // B * B, tokens))
        for key, own in zip(keys, r.blocks, strict=False):
            if key not in node.children:
                assert own.parent is None and not own.children
                own.parent, own.key = node, key
                node.children[key] = own
            node = node.children[key]

    def drop(self, block):
        """W5."""
        del block.parent.children[block.key]
        out = [block]
        for b in out:
            out += b.children.values()
        for b in out:
            b.parent, b.key, b.children = None, None, {}
        for b in out:
            self.settle(b)
        self.seen["descendants dropped"] += len(out) - 1
        self.seen["descendants dropped in use"] += sum(not b.gone for b in out)

    # ---------------------------------------------------------------- slots (W6, W7)

    def held_below(self, level):
        return sum(b.level > level and b.held() for b in self.blocks)

    def make_empty(self, level):
        if self.empties[level]:
            return
        slots_below = sum(self.cfg.slots[level + 1:])
        if level == self.last or self.held_below(level) == slots_below:
            victim = next(b for b in self.queues[level] if b.droppable())
            self.seen["dropped above the last level"] += level != self.last
            self.evictions[level] += 1
            self.drop(victim)
            return
        victim = self.queues[level][0]
        self.make_empty(level + 1)
        if victim.gone:
            self.seen["victims emptied below themselves"] += 1
            return
        self.evictions[level] += victim.parent is not None
        self.stored[level + 1] += 1
        self.seen[f"held blocks moved to level {level + 1}"] += victim.held()
        self.queues[level].remove(victim)
        self.move(victim, level + 1)
        self.settle(victim)

    def move(self, b, level):
        slot = self.empties[level].pop(0)
        self.copies.append(((b.level, b.slot), (level, slot), self.cfg.block_bytes))
        self.empties[b.level].append(b.slot)
        b.level, b.slot = level, slot

    def fits(self, r, own, source, fresh):
        """W7."""
        if not r.active and sum(b.locked() for b in self.blocks) > self.cfg.max_util * self.cfg.N:
            self.seen["gates closed"] += 1
            return False
        ours = set(own) | ({source} - {None})
        on_gpu = [b for b in self.blocks if b.level == GPU and b not in ours]
        held = sum(b.held() for b in on_gpu)
        droppable = sum(b.droppable() for b in on_gpu)
        below = [b for b in self.blocks if b.level != GPU and (b.held() or b in ours)]
        room = len(self.empties[GPU]) + droppable + min(held, sum(self.cfg.slots[1:]) - len(below))
        return sum(b.level != GPU for b in own) + fresh <= room

    # ---------------------------------------------------------------- allocation (W8, W9)

    def allocate(self, r, own, source, tokens, fresh):
        everybody = list(own) + ([source] if source is not None else [])
        for b in everybody:
            b.suspended.add(r)
            self.settle(b)
        up = [b for b in own if b.level != GPU]
        for b in everybody:
            if b.level == GPU:
                b.suspended.remove(r)
                b.active.add(r)
                self.settle(b)
        for b in ([source] if source is not None else []) + up:
            if b.level != GPU and b in self.queues[b.level]:   # the last level's held ones are in none
                self.queues[b.level].remove(b)
                self.queues[b.level].append(b)
        for b in up:
            self.seen[f"blocks brought up from level {b.level}"] += 1
            self.make_empty(GPU)
            assert not b.gone and b.level != GPU
            if b in self.queues[b.level]:
                self.queues[b.level].remove(b)
            self.move(b, GPU)
            b.suspended.remove(r)
            b.active.add(r)
            self.settle(b)
        new = []
        for _ in range(fresh):
            self.make_empty(GPU)
            b = Block(GPU, self.empties[GPU].pop(0))
            b.active.add(r)
            self.blocks.add(b)
            new.append(b)
        r.blocks = list(own) + new
        if source is not None:
            self.seen[f"partial copies from level {source.level}"] += 1
            if source.level != GPU:
                self.copies.append(((source.level, source.slot), (GPU, new[0].slot),
                                    tokens * self.cfg.kv_bytes))
            self.let_go(r, source)
        r.active = True

    def let_go(self, r, b):
        b.active.discard(r)
        b.suspended.discard(r)
        self.settle(b)

    def suspend(self, r):
        for b in r.blocks:
            b.active.remove(r)
            b.suspended.add(r)
            self.settle(b)
        r.active = False

    def release(self, r):
        for b in reversed(r.blocks):
            self.let_go(r, b)
        r.blocks, r.active = [], False

    # ---------------------------------------------------------------- copies (W16)

    def run_copies(self, now):
        done = []
        for source, target, nbytes in self.copies:
            link = self.cfg.way[source[0], target[0]]
            start = max([now] + [end for ends, end in done if {source, target} & ends])
            self.seen["copies that waited for another way"] += start > max(now, link.free_at)
            job = Job(nbytes)
            link.submit(job, start)
            done.append(({source, target}, job.end))
        self.copies = []
        return max([now] + [end for _, end in done])

    # ---------------------------------------------------------------- checks

    def check(self, requests):
        for level, count in enumerate(self.cfg.slots):
            here = [b for b in self.blocks if b.level == level]
            assert sorted([b.slot for b in here] + self.empties[level]) == list(range(count))
            assert set(self.queues[level]) == {b for b in here if self.belongs(b)}
            assert len(set(self.queues[level])) == len(self.queues[level])
        for b in self.blocks:
            assert not b.gone and not (b.locked() and b.level != GPU)
            assert b.parent is not None or not b.droppable()
            assert b.parent is None or b.parent.children[b.key] is b
            for r in b.active | b.suspended:
                assert b in r.blocks and (r in b.active) == r.active
        for r in requests:
            assert all(r in (b.active if r.active else b.suspended) for b in r.blocks)
        assert not self.copies


class Job:
    def __init__(self, nbytes):
        self.bytes, self.end = nbytes, None


class Engine(trtllm.Engine):
    cache_of = Cache

    def __init__(self, cfg, requests):
        super().__init__(cfg, requests)
        for r in requests:
            r.active = False

    # ---------------------------------------------------------------- the end of a step (W14, W15)

    def collect(self, batch):
        for r, n in batch:
            was = r.computed
            r.computed += n
            assert r.computed <= r.tokens
            if was < r.context:
                self.cache.store(r, r.computed, r.computed == r.context)
        for r, _ in batch:
            if r.computed == r.tokens:
                r.tokens += 1
                if r.first_token is None:
                    r.first_token = self.now
        for r in [r for r in self.active if r.tokens - r.prompt == r.output]:
            self.cache.release(r)
            self.active.remove(r)
            self.end(r, self.now, "completed")

    def forward(self, batch):
        cfg = self.cfg
        for r, _ in batch:
            if r.scheduled is None:
                r.scheduled = self.now
        start = self.cache.run_copies(self.now)
        self.totals["steps"] += 1
        tokens = sum(n for _, n in batch)
        context = sum(r.computed + n for r, n in batch)
        return start + math.ceil(cfg.step_ns + cfg.token_ns * tokens + cfg.kv_token_ns * context)

    # ---------------------------------------------------------------- schedule (W11 to W13)

    def schedule(self):
        self.lost = False
        decodes, end = self.choose_decodes()
        prompts = self.choose_prompts(decodes, self.active[:end])
        unfinished = [(r, n) for r, n in prompts if r.computed + n < r.context]
        finished = [(r, n) for r, n in prompts if r.computed + n == r.context]
        batch = unfinished + finished + [(r, 1) for r in decodes]
        assert batch or not self.cache.copies
        return batch, self.lost

    def preempt(self, r):
        r.preemptions += 1
        self.totals["preemptions"] += 1
        self.lost = True

    def suspend(self, r):
        self.seen["suspended"] += 1
        self.cache.suspend(r)
        self.preempt(r)

    def give_up(self, r):
        self.seen["gave up"] += 1
        self.cache.release(r)
        r.computed, r.context = 0, r.tokens
        self.preempt(r)

    def choose_decodes(self):
        cfg, chosen, i, end = self.cfg, [], 0, len(self.active)
        while i < end:
            r = self.active[i]
            if not r.decodes():
                i += 1
                continue
            if len(chosen) == min(cfg.max_seqs, cfg.budget):
                return chosen, i
            fresh = ceil_div(r.tokens, cfg.B) - len(r.blocks)
            if self.cache.fits(r, r.blocks, None, fresh):
                self.seen["resumed"] += not r.active
                self.cache.allocate(r, r.blocks, None, 0, fresh) if not r.active else self.more(r, fresh)
                chosen.append(r)
                i += 1
                continue
            behind = range(len(self.active) - 1, i, -1)
            victim = next((j for j in behind if self.active[j].active), None)
            if victim is not None:
                self.suspend(self.active[victim])
                end = min(end, victim)
                continue
            victim = next((j for j in behind if self.active[j].blocks), None)
            if victim is not None and not chosen:
                self.give_up(self.active[victim])
                end = min(end, victim)
                continue
            if r.active:
                self.seen["suspended itself"] += 1
                self.suspend(r)
            return chosen, i
        return chosen, end

    def more(self, r, fresh):
        """New blocks for an active request: what it holds is locked already."""
        own = r.blocks
        self.cache.allocate(r, [], None, 0, fresh)
        r.blocks = own + r.blocks

    def next_block(self, r):
        tokens = r.context - 1
        count = len(self.cache.matches(r, tokens))
        if not self.cfg.reuse or count >= tokens // self.cfg.B:
            return None
        return r.part(0, (count + 1) * self.cfg.B)

    def chunk(self, rest, room):
        if rest <= room:
            return rest
        return room // self.cfg.B * self.cfg.B if self.cfg.chunked else 0

    def choose_prompts(self, decodes, candidates):
        cfg, chosen, contributed = self.cfg, [], set()
        room, ask_first = cfg.budget - len(decodes), True
        for r in candidates:
            if len(decodes) + len(chosen) == cfg.max_seqs or room < (cfg.B if cfg.chunked else 1):
                break
            if r.decodes() or (r.waits() and not ask_first):
                continue
            block = self.next_block(r)
            if r.under_way():
                n = self.prompt_under_way(r, room)
                if n == 0:
                    self.seen["prompts under way passed over"] += 1
                    continue
            else:
                if block is not None and block in contributed:
                    self.seen["delays"] += 1
                    continue
                n = self.first_chunk(r, room)
                if n == 0:
                    ask_first = False
                    continue
            if block is not None:
                contributed.add(block)
            room -= n
            chosen.append((r, n))
        return chosen

    def prompt_under_way(self, r, room):
        n = self.chunk(r.context - r.computed, room)
        fresh = ceil_div(r.computed + n, self.cfg.B) - len(r.blocks)
        if not self.cache.fits(r, r.blocks, None, fresh):
            return 0
        if r.active:
            self.more(r, fresh)
        else:
            self.seen["prompts resumed"] += 1
            self.cache.allocate(r, r.blocks, None, 0, fresh)
        return n

    def first_chunk(self, r, room):
        cfg = self.cfg
        found = self.cache.matches(r, r.context - 1)
        source, tokens = self.cache.partial(r, found, r.context - 1)
        for s, extra in ((source, tokens), (None, 0)):
            cached = cfg.B * len(found) + extra
            n = self.chunk(r.context - cached, room)
            fresh = ceil_div(cached + n, cfg.B) - len(found)
            if n > 0 and self.cache.fits(r, found, s, fresh):
                break
        else:
            return 0
        self.seen["partial match left out"] += source is not None and s is None
        where = [0] * len(cfg.slots)
        for b in found:
            where[b.level] += cfg.B
        if s is not None:
            where[s.level] += extra
        self.cache.allocate(r, found, s, extra, fresh)
        r.computed = cached
        if not r.admitted:
            r.admitted = True
            r.cached_hbm = where[0]
            r.cached = {tier["name"]: where[i + 1] for i, tier in enumerate(cfg.tiers)}
        return n


def totals_of(engine):
    cfg = engine.cfg
    t = {s: sum(r.status == s for r in engine.requests) for s in ("completed", "failed", "rejected", "stuck")}
    t.update(steps=engine.totals["steps"], preemptions=engine.totals["preemptions"])
    for i, tier in enumerate(cfg.tiers):
        t[tier["name"] + "_stored"] = engine.cache.stored[i + 1]
        t[tier["name"] + "_evictions"] = engine.cache.evictions[i + 1]
    for name, link in cfg.links.items():
        t[f"link_{name}_jobs"], t[f"link_{name}_bytes"] = link.jobs, link.bytes
    return t


def simulate(path):
    engine = Engine(*trtllm.load(path, Config))
    engine.run()
    return engine.cfg, engine.requests, totals_of(engine)


if __name__ == "__main__":
    fleet.main(simulate)
