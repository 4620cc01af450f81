#!/usr/bin/env python3
"""Plain reference simulation of vLLM v0 with --swap-space, for random small scenarios.

A slow transcription of engines/vllm-lmcache-llmd.md section 4 and of what that section cites (vllm/core/scheduler.py,
block_manager.py, block/{block_table,naive_block}.py, csrc/cache_kernels.cu @ db66e018ea). "U" marks what only upstream says;
"V3" is item 3 of the section on v0 in AMBIGUITIES.md. Block tables hold real block numbers. Times are integer nanoseconds.

    python3 v0.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import json
import math
import os
from collections import deque
from fractions import Fraction

from parts import Request, ceil_div, size_of
from results import lines_of, main


class EngineDead(Exception):
    pass


class Sequence(Request):
    """One request: in v0's words a group of one sequence."""

    def __init__(self, number, row, block_tokens, trace_block_tokens):
        super().__init__(number, row, block_tokens, trace_block_tokens)
        self.table = []            # block numbers, of one device
        self.device = None         # "gpu", "cpu", or None without a table
        self.slots = 0             # tokens in the table (num_full_slots, U)
        self.decoding = False      # its prompt (or what it computes again) is complete

    def unseen(self):
        return self.tokens - self.slots


class Pools:
    def __init__(self, block_tokens, gpu_blocks, cpu_blocks, watermark):
        self.B = block_tokens
        self.total = {"gpu": gpu_blocks, "cpu": cpu_blocks}
        self.free = {"gpu": set(range(gpu_blocks)), "cpu": set(range(cpu_blocks))}
        self.watermark = int(watermark * gpu_blocks)

    def take(self, device, count):
        assert count <= len(self.free[device]), "a pool ran out behind its checks"
        return [self.free[device].pop() for _ in range(count)]

    def touched_by_append(self, seq):
        """U: 1 + ceil((unseen - room in the last block) / B); a full last block has room B in the next one."""
        room = self.B - seq.slots % self.B
        return 1 + ceil_div(seq.unseen() - room, self.B)

    def can_allocate(self, seq):
        need = ceil_div(seq.tokens, self.B)
        if self.total["gpu"] - need < self.watermark:
            return "never"
        return "ok" if len(self.free["gpu"]) - need >= self.watermark else "later"

    def allocate(self, seq):
        assert seq.device is None
        seq.table = self.take("gpu", ceil_div(seq.tokens, self.B))
        seq.device, seq.slots = "gpu", seq.tokens

    def can_append(self, seq):
        return self.touched_by_append(seq) <= len(self.free["gpu"])

    def append(self, seq):
        assert seq.device == "gpu"
        while len(seq.table) * self.B < seq.tokens:
            seq.table += self.take("gpu", 1)
        seq.slots = seq.tokens

    def can_swap(self, seq, device):
        full = seq.slots // self.B                       # U: only full blocks, and what the append touches
        need = full + self.touched_by_append(seq)
        watermark = self.watermark if device == "gpu" else 0
        if self.total[device] < need:
            return "never"
        return "ok" if len(self.free[device]) - need >= watermark else "later"

    def swap(self, seq, device):
        moved = len(seq.table)
        self.free[seq.device].update(seq.table)
        seq.table, seq.device = self.take(device, moved), device
        return moved

    def release(self, seq):
        self.free[seq.device].update(seq.table)
        seq.table, seq.device, seq.slots = [], None, 0


class Lane:
    def __init__(self, spec):
        self.latency = Fraction(str(spec.get("latency_us", 0))) * 1000
        self.rate = size_of(spec["bandwidth"].removesuffix("/s"))
        self.submit = Fraction(str(spec.get("submit_us", 0))) * 1000
        self.jobs = self.bytes = 0

    def alone(self, nbytes):
        return math.ceil(self.latency + Fraction(nbytes) * 10**9 / self.rate)

    def copy(self, blocks, block_bytes, per_block):
        """All copies of a step one way: the link's time, or that of the thread that submits them one by one (V5)."""
        if not blocks:
            return 0
        self.jobs += 1
        self.bytes += blocks * block_bytes
        time = self.alone(blocks * block_bytes)
        if self.submit:
            each = math.ceil(self.submit)
            time = max(each + time, blocks * per_block * each + self.alone(max(1, block_bytes // per_block)))
        return time


class Engine:
    def __init__(self, scenario, requests):
        e = scenario["engine"]
        model = scenario["model"]
        self.B = e.get("block_tokens", 16)
        self.block_bytes = model["kv_bytes_per_token"] * self.B
        self.copies_per_block = 2 * model.get("layers", 1)
        self.chunked = e.get("enable_chunked_prefill", False)
        self.swaps = e.get("preemption_mode", "recompute") == "swap"
        cpu = math.floor(size_of(e.get("swap_space", "4GiB")) / self.block_bytes)
        self.pools = Pools(self.B, e["num_gpu_blocks"], cpu if self.swaps else 0, e.get("watermark", 0.01))
        self.max_seqs = e.get("max_num_seqs", 256)
        self.max_len = e.get("max_model_len")
        default = 2048 if self.chunked else max(self.max_len or 0, 2048)
        self.max_tokens = e.get("max_num_batched_tokens", default)
        c = scenario["compute"]
        self.step_ns = Fraction(str(c["step_us"])) * 1000
        self.token_ns, self.kv_token_ns = Fraction(str(c["token_ns"])), Fraction(str(c["kv_token_ns"]))
        self.out = self.back = None
        for link in scenario.get("links", []):
            if link["from"] == "hbm":
                self.out = Lane(link)
            else:
                self.back = Lane(link)
        self.requests = requests
        self.waiting, self.running, self.swapped = deque(), deque(), deque()
        self.dead = False
        self.totals = dict.fromkeys(("steps", "preemptions", "recomputed_tokens", "swapped_out", "swapped_in", "blocks_out",
                                     "blocks_in", "stall_ns", "peak_swapped"), 0)
        w = scenario["workload"]
        self.to_arrive, self.unsent = deque(), deque()
        if w.get("arrival") == "closed-loop":
            self.unsent.extend(requests)
            for _ in range(min(w["concurrency"], len(requests))):
                self.to_arrive.append((0, self.unsent.popleft()))
        else:
            times = [(math.floor(r.trace_ms * 10**6 / Fraction(str(w.get("speed", 1)))), r.id, r) for r in requests]
            self.to_arrive.extend((t, r) for t, _, r in sorted(times, key=lambda x: x[:2]))

    # ---------------------------------------------------------------- clock

    def run(self):
        now = self.to_arrive[0][0] if self.to_arrive else 0
        while True:
            self.arrive(now)
            try:
                self.schedule()
            except EngineDead:
                self.die(now)
            for r, reason in self.ignored:
                self.end(r, now, "rejected" if reason == "exceeds_pool" and r.tokens == r.prompt else "failed", reason)
            if self.plan or self.moved_out or self.moved_in:
                now = self.execute(now)
                continue
            if self.preempted or self.ignored:
                continue                                          # V6
            if not self.to_arrive:
                break
            now = max(now, self.to_arrive[0][0])
        for r in self.requests:
            if r.status is None:
                r.status, r.reason = "stuck", "deadlock"
        self.check()

    def arrive(self, now):
        while self.to_arrive and self.to_arrive[0][0] <= now:
            time, r = self.to_arrive.popleft()
            r.arrival = time
            if self.max_len is not None and r.prompt + r.output > self.max_len:
                self.end(r, time, "failed", "too_long")
            elif self.dead:
                self.end(r, time, "failed", "engine_dead")
            else:
                self.waiting.append(r)

    def end(self, r, now, status, reason=""):
        r.status, r.reason = status, reason
        r.finish = now if status == "completed" else None
        if self.unsent:
            self.to_arrive.append((now, self.unsent.popleft()))

    def execute(self, now):
        copies = 0
        if self.moved_out:
            copies += self.out.copy(self.moved_out, self.block_bytes, self.copies_per_block)
        if self.moved_in:
            copies += self.back.copy(self.moved_in, self.block_bytes, self.copies_per_block)
        self.totals["blocks_out"] += self.moved_out
        self.totals["blocks_in"] += self.moved_in
        self.totals["swapped_out"] += len(self.victims)
        self.totals["swapped_in"] += self.resumed
        self.totals["stall_ns"] += copies
        self.totals["peak_swapped"] = max(self.totals["peak_swapped"], len(self.swapped))
        compute = 0
        if self.plan:                                             # V4: copies alone take no forward
            self.totals["steps"] += 1
            new = sum(n for _, n in self.plan)
            context = sum(r.computed + n for r, n in self.plan)
            compute = math.ceil(self.step_ns + self.token_ns * new + self.kv_token_ns * context)
        for r, n in self.plan:
            if r.scheduled is None:
                r.scheduled = now
            self.totals["recomputed_tokens"] += max(0, min(r.most_computed - r.computed, n))
            r.computed += n
        now += copies + compute
        for r, _ in self.plan:
            if r.computed < r.tokens:
                continue
            r.decoding = True
            r.tokens += 1
            if r.first_token is None:
                r.first_token = now
            if r.tokens - r.prompt == r.output:
                self.running.remove(r)
                self.pools.release(r)
                self.end(r, now, "completed")
        return now

    def die(self, now):
        self.dead = True
        self.plan, self.ignored, self.preempted, self.moved_out, self.moved_in = [], [], [], 0, 0
        for r in self.everyone:
            if r.device:
                self.pools.release(r)
            self.end(r, now, "failed", "engine_dead")
        for queue in (self.running, self.waiting, self.swapped):
            queue.clear()

    # ---------------------------------------------------------------- scheduler

    def schedule(self):
        self.plan, self.ignored = [], []
        self.preempted, self.victims = [], []                     # to recompute, swapped out: in the order taken
        self.moved_out = self.moved_in = self.resumed = 0
        self.everyone = list(self.running) + list(self.swapped) + list(self.waiting)
        if self.chunked:
            self.chunked_policy()
        else:
            self.default_policy()
        self.waiting.extendleft(self.preempted)                   # U: the one taken last stands first
        self.swapped.extend(self.victims)

    def default_policy(self):
        self.seqs, self.tokens = len(self.running), 0
        prompts = self.walk_waiting() if not self.swapped else []
        if prompts:                                               # prefill and decode never mix
            self.running.extend(r for r, _ in prompts)
            self.plan = prompts
            return
        started, decodes = self.walk_running()
        assert not started
        back = []
        if not self.preempted and not self.victims:
            _, back = self.walk_swapped()
        self.running.extend(r for r, _ in decodes + back)
        self.plan = decodes + back

    def chunked_policy(self):
        self.seqs = self.tokens = 0
        prefills, decodes = self.walk_running(count=True)
        back_prefills, back_decodes = [], []
        if not self.preempted and not self.victims:
            back_prefills, back_decodes = self.walk_swapped()
        prompts = self.walk_waiting()                             # U: also after a preemption, and beside swapped ones
        for part in (back_decodes, back_prefills, decodes, prefills, prompts):
            self.running.extend(r for r, _ in part)               # U: behind those that the budget did not reach
        self.plan = prompts + prefills + back_prefills + decodes + back_decodes

    def new_tokens(self, r):
        n = r.tokens - r.computed
        return min(n, self.max_tokens - self.tokens) if self.chunked else n

    def fits(self, n):
        return n > 0 and self.tokens + n <= self.max_tokens and self.seqs + 1 <= self.max_seqs

    def walk_running(self, count=False):
        prefills, decodes = [], []
        while self.running:
            r = self.running[0]
            n = self.new_tokens(r)
            if n == 0:
                break
            self.running.popleft()
            alive = True
            while not self.pools.can_append(r):
                victim = self.running.pop() if self.running else r
                self.preempt(victim)
                if victim is r:
                    alive = False
                    break
            if not alive:
                continue
            self.pools.append(r)
            (decodes if r.decoding else prefills).append((r, n))
            self.tokens += n
            self.seqs += count
        return prefills, decodes

    def preempt(self, victim):
        if self.swaps:
            if self.pools.can_swap(victim, "cpu") != "ok":
                raise EngineDead()
            self.moved_out += self.pools.swap(victim, "cpu")
            self.victims.append(victim)
        else:
            self.pools.release(victim)
            victim.most_computed = max(victim.most_computed, victim.computed)
            victim.computed, victim.decoding = 0, False
            self.preempted.append(victim)
        victim.preemptions += 1
        self.totals["preemptions"] += 1

    def walk_swapped(self):
        prefills, decodes = [], []
        while self.swapped:
            r = self.swapped[0]
            status = self.pools.can_swap(r, "gpu")
            if status == "later":
                break
            if status == "never":
                self.swapped.popleft()
                self.pools.release(r)                             # V2
                self.ignored.append((r, "exceeds_pool"))
                continue
            n = self.new_tokens(r)
            if not self.fits(n):
                break
            self.swapped.popleft()
            self.moved_in += self.pools.swap(r, "gpu")
            self.resumed += 1
            self.pools.append(r)
            (decodes if r.decoding else prefills).append((r, n))
            self.tokens += n
            self.seqs += 1
        return prefills, decodes

    def walk_waiting(self):
        started = []
        while self.waiting:
            r = self.waiting[0]
            n = self.new_tokens(r)
            limit = self.max_len or math.inf
            if not self.chunked:
                limit = min(limit, self.max_tokens)               # U: _get_prompt_limit
            if n > limit:
                self.waiting.popleft()
                self.ignored.append((r, "too_long"))
                continue
            status = self.pools.can_allocate(r)
            if status == "later":
                break
            if status == "never":
                self.waiting.popleft()
                self.ignored.append((r, "exceeds_pool"))
                continue
            if not self.fits(n) or self.begins_for_ever(r):
                break
            self.waiting.popleft()
            self.pools.allocate(r)
            started.append((r, n))
            self.tokens += n
            self.seqs += 1
        return started

    def begins_for_ever(self, r):
        """V3: its prompt takes several steps and every block, the last one in part: it preempts itself in each second step."""
        whole = ceil_div(r.tokens, self.B) == self.pools.total["gpu"] and r.tokens % self.B
        return self.chunked and not self.swaps and whole and r.tokens > self.max_tokens

    def check(self):
        stuck = any(r.status == "stuck" for r in self.requests)
        for device, total in self.pools.total.items():
            assert stuck or len(self.pools.free[device]) == total, f"{device} blocks are missing"


def load(path):
    with open(path) as f:
        scenario = json.load(f)
    folder = os.path.dirname(os.path.abspath(path))
    w = scenario["workload"]
    with open(os.path.join(folder, w["trace"])) as f:
        rows = [json.loads(line) for line in f if line.strip()]
    block = scenario["engine"].get("block_tokens", 16)
    requests = [Sequence(i, row, block, w.get("block_tokens", 512)) for i, row in enumerate(rows)]
    for r in requests:
        r.most_computed = 0
    return scenario, requests


def totals_of(engine):
    t = {s: sum(r.status == s for r in engine.requests) for s in ("completed", "rejected", "failed", "stuck")}
    t.update(engine.totals)
    if engine.out is not None:
        t.update(out_jobs=engine.out.jobs, out_bytes=engine.out.bytes, in_jobs=engine.back.jobs, in_bytes=engine.back.bytes)
    t["dead"] = engine.dead
    return t


def simulate(path):
    engine = Engine(*load(path))
    engine.run()
    return lines_of(engine), totals_of(engine)


if __name__ == "__main__":
    main(simulate)
