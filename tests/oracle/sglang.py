#!/usr/bin/env python3
"""Plain reference simulation of the SGLang engine with HiCache.

"§3" is a section of engines/decisions-sglang.md, "§5.7" rule 7 of its section 5, "S3" item 3 of
AMBIGUITIES_SGLANG.md, "L4" rule L4 there; "§10.15" is item 15 of section 10 of
engines/vllm-lmcache-llmd.md. The tree is in sglang_tree.py, the forming of batches in sglang_batch.py,
storage behind host memory in sglang_storage.py, Mooncake Store as storage and several replicas in
sglang_mooncake.py. Times are integer nanoseconds.

    python3 sglang.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import math
import os
from collections import deque

from fleet import decimal, main, rows
from parts import Link, ceil_div, size_of
from scenario import load
from sglang_batch import NANO, EngineDead, Former
from sglang_mooncake import Fleet, Mooncake, Pool, is_mooncake
from sglang_storage import ISSUED_AT_PASS, Prefetcher, Storage, Write, nanoseconds
from sglang_tree import Tree

# S6: how many passes in a row form nothing before the engine sleeps, and the first of them after a sleep.
PASSES, AFTER_SLEEP = 2, 0
CHECK = bool(os.environ.get("SGLANG_CHECK"))                   # check all counts after every pass


class Config:
    """§1."""

    def __init__(self, scenario):
        e = scenario["engine"]
        assert e["preset"] == "sglang"
        self.p = self.B = e.get("page_size", 1)
        assert self.p & (self.p - 1) == 0 and self.p <= 512
        self.pages = e["max_total_tokens"] // self.p
        self.N = self.pages * self.p
        self.R = min(e.get("max_running_requests", 2048), self.N // 2)
        chunk = e.get("chunked_prefill_size", 8192)
        self.chunk = chunk if chunk > 0 else None
        assert chunk <= 0 or chunk % self.p == 0
        self.max_prefill = e.get("max_prefill_tokens", 16384)
        self.order = e.get("schedule_policy", "fcfs")
        assert self.order in ("fcfs", "lpm", "dfs-weight", "lof", "random")
        self.eviction = e.get("radix_eviction_policy", "lru")
        self.mixed = e.get("enable_mixed_chunk", False) and self.chunk is not None     # S36
        self.seed = scenario.get("seed", 1)
        self.max_new = e.get("max_new_tokens")
        self.overlap = e.get("async_scheduling", True)
        self.max_len = e.get("max_model_len")
        self.layerwise = {"layerwise": True, "blocking": False}[e.get("load", "layerwise")]
        self.hicache = bool(scenario.get("tiers"))
        self.policy = e.get("hicache_write_policy", "write_through") if self.hicache else "write_through"
        self.threshold = {"write_through": 1, "write_through_selective": 2, "write_back": None}[self.policy]
        # §3, last rule: integers in 10^-9.
        self.rho0 = min(NANO, math.floor(7 * 10**8 * decimal(e.get("schedule_conservativeness", 1))))
        self.rho_min = self.rho0 * 14 // 100
        self.delta = (self.rho0 - self.rho_min) // 600

        self.kv_bytes = scenario["model"]["kv_bytes_per_token"]
        self.layers = scenario["model"].get("layers", 1)
        c = scenario["compute"]
        assert c["kind"] == "linear"
        self.step_ns = decimal(c["step_us"]) * 1000
        self.token_ns, self.kv_token_ns = decimal(c["token_ns"]), decimal(c["kv_token_ns"])

        self.tiers = scenario.get("tiers", [])
        self.host_pages = 0
        self.link_names = [link["name"] for link in scenario.get("links", [])]
        if self.hicache:
            tier, *storage = self.tiers
            assert tier["name"] == "dram" and (self.policy != "write_back" or not storage)
            assert len(storage) <= 1 + is_mooncake(storage)    # L11
            self.host_pages = self.pages_of(tier, decimal(e.get("hicache_ratio", 2)))
            ends = {(link["from"], link["to"]): link for link in scenario["links"]}
            self.down, self.up = ends["hbm", "dram"], ends["dram", "hbm"]

        self.replicas = scenario.get("fleet", {}).get("replicas", 1)
        assert self.replicas == 1 or is_mooncake(self.tiers[1:])

        w = scenario["workload"]
        self.trace_B = w.get("block_tokens", 512)
        self.closed_loop = w.get("arrival", "trace") == "closed-loop"
        self.concurrency = w.get("concurrency")
        self.speed = decimal(w.get("speed", 1))

        self.prefetch_policy = e.get("hicache_storage_prefetch_policy", "timeout")           # L1
        assert self.prefetch_policy in ("best_effort", "wait_complete", "timeout")
        self.prefetch_threshold = e.get("prefetch_threshold", 256)
        assert self.prefetch_threshold >= 1
        self.timeout_base = nanoseconds(e.get("prefetch_timeout_base", 2))
        self.timeout_per_ki = nanoseconds(e.get("prefetch_timeout_per_ki_token", "0.1"))
        self.timeout_max = nanoseconds(e.get("prefetch_timeout_max", 30))

    def prefetch_timeout(self, tokens):
        return min(self.timeout_max, self.timeout_base + self.timeout_per_ki * tokens // 1024)

    def pages_of(self, tier, ratio):
        if "capacity" not in tier:
            return math.floor(self.N * ratio) // self.p + 1
        if str(tier["capacity"]).endswith("blocks"):
            return int(tier["capacity"][:-len("blocks")])
        return math.floor(size_of(tier["capacity"]) / (self.p * self.kv_bytes))

    def classify(self, r, tenant):
        pass


class Transfer:
    """A job on a link; it locks the paths of `nodes`. `keys`: the pages of a write (L3)."""

    def __init__(self, nodes, nbytes, keys=()):
        self.nodes, self.bytes, self.keys = nodes, nbytes, keys
        self.start = self.end = None


class Engine(Former, Prefetcher):
    def __init__(self, cfg, requests, numbers, pool=None):
        """`numbers`: page identity -> small number; `pool`: its Mooncake Store."""
        self.cfg, self.requests = cfg, requests
        self.now = 0
        self.tree = Tree(cfg, self)
        self.down = self.up = None
        if cfg.hicache:
            self.down, self.up = Link(cfg.down), Link(cfg.up)
        self.seen = self.tree.seen
        self.storage, self.revoked, self.occupied = None, [], 0        # L4: prefetches; tokens
        if pool:                                               # L11
            self.storage = Mooncake(pool, self.seen)
        for tier in cfg.tiers[1:] if not pool else ():
            capacity = None if tier.get("capacity", "inf") == "inf" else cfg.pages_of(tier, None)
            self.storage = Storage(tier["name"], capacity, tier["device"], cfg.p * cfg.kv_bytes, self.seen)
        self.running, self.waiting = [], []                    # §3, state
        self.chunked, self.full = None, False
        self.slots = 0                                         # held by unfinished requests
        self.rho = cfg.rho0
        self.last = None                                       # the batch that the last pass formed
        self.steps = 0
        for r in requests:
            r.numbers, r.page_keys = numbers, []
            r.out = r.kv = 0                                   # answers so far; tokens allocated
            r.node, r.own_from = None, 0                       # locked node, pages of its path
            r.prefetch, r.fetched = None, []                   # L6
            r.cached = {tier["name"]: 0 for tier in cfg.tiers}

    # ---------------------------------------------------------------- arrivals and ends

    def arrive(self):
        """§1, Arrival. The queue keeps the order of arrival; a rejection is of the arrival's instant."""
        cfg = self.cfg
        while self.to_arrive and self.to_arrive[0][0] <= self.now:
            r = self.next_arrival()
            lim = min(cfg.N, cfg.max_len or cfg.N) - 1
            bound = min(lim - r.prompt - 1, cfg.N - self.ceilp(r.prompt) - cfg.p - 1)
            if r.prompt >= lim - 5 or r.output > bound:
                self.seen["too_long"] += 1
                self.end(r, "rejected", "too_long", r.arrival)
                continue
            r.max_new = min(max(cfg.max_new or 0, r.output), bound)
            self.waiting.append(r)
            self.issue(r)

    def next_arrival(self):
        time, r = self.to_arrive.popleft()
        r.arrival = time
        return r

    def end(self, r, status, reason="", at=None):
        assert r.status is None
        r.status, r.reason = status, reason
        at = self.now if at is None else at
        if status == "completed":
            r.finish = at
        if self.unsent:                                        # §10.15: the successor arrives at that instant
            other = self.unsent.popleft()
            self.peers[other.id % len(self.peers)].to_arrive.append((at, other))

    # ---------------------------------------------------------------- transfers

    def submit(self, link, job):
        """§6: while a batch is formed, no sooner than the end of a prefill in flight."""
        start = max(self.now, self.gate)
        self.seen["transfer waits for a prefill"] += self.gate > self.now
        link.submit(job, start)
        job.start = job.end - link.duration(job.bytes)
        return job

    def submit_write(self, node):
        return self.submit(self.down, Transfer([node], len(node) * self.cfg.p * self.cfg.kv_bytes, node.keys))

    def submit_loads(self):
        """§5.6: all pending loads are one job."""
        pending, self.tree.pending = self.tree.pending, []
        if not pending:
            return None
        self.seen["loads of several requests in one job"] += len(pending) > 1
        pages = sum(n for _, n in pending)
        return self.submit(self.up, Transfer([node for node, _ in pending],
                                             pages * self.cfg.p * self.cfg.kv_bytes))

    def flush(self, jobs):
        """§5.3: the clock moves to the end of the last job."""
        self.now = max([self.now] + [job.end for job in jobs])
        done = list(self.down.finished(self.now))
        assert done == jobs and not self.down.queue

    def acknowledge(self):
        """§3 c. Writes, then loads, then storage."""
        for link in (self.down, self.up):
            for job in link.finished(self.now) if link else ():
                for node in job.nodes:
                    self.tree.unlock(node)
                    if self.storage and link is self.down:     # L3
                        node.guards += 1
                        self.storage.submit_write(Write(node, job.keys), self.now)
        if self.storage:
            self.settle_storage()

    # ---------------------------------------------------------------- running a batch

    def launch(self, batch, at):
        """§4, §5.7."""
        cfg = self.cfg
        n = sum(m.tokens for m in batch.members)
        c = sum(m.before for m in batch.members)
        compute = math.ceil(cfg.step_ns + cfg.token_ns * n + cfg.kv_token_ns * (c + n))
        job, layers = batch.loads, cfg.layers
        if job is None:
            batch.end = at + compute
        elif not cfg.layerwise:
            batch.end = max(at, job.end) + compute
        else:
            duration, done = job.end - job.start, at
            for layer in range(1, layers + 1):
                done = (max(done, job.start + duration * layer // layers)
                        + compute * layer // layers - compute * (layer - 1) // layers)
            batch.end = done
        self.seen["batch waits for loads"] += batch.end > at + compute
        self.steps += 1

    def results(self, batch):
        """Tokens appear, in batch order (§3, §7)."""
        self.gate = 0
        for m in batch.members:
            r = m.request
            if r.status is not None or r.preemptions != m.preemptions:
                self.seen["token of a leaver or retracted one lost"] += 1      # §6
                continue
            if m.middle:
                continue
            r.out += 1
            if r.first_token is None:
                r.first_token = self.now
            if r.out == r.output:
                self.leave(r, insert=True)
                self.end(r, "completed")
            elif batch.prefill and not m.decodes:              # S39
                self.stash(r, m.before + m.tokens, chunked=False)              # S9

    # ---------------------------------------------------------------- the loop

    def idle(self):
        """§4: nothing running, waiting or in flight."""
        if self.running or self.waiting or self.chunked or self.tree.pending:
            return
        if self.cfg.hicache and (self.down.queue or self.up.queue):            # S7
            return
        if self.storage and self.storage.busy():               # L8
            return
        self.seen["ratio reset"] += self.rho != self.cfg.rho0
        self.rho = self.cfg.rho0

    def next_event(self):
        times = [link.queue[0].end for link in (self.down, self.up) if link and link.queue]
        if self.to_arrive:
            times.append(self.to_arrive[0][0])
        if self.storage:
            times += self.storage_times()
        return min(times, default=None)

    def move_to(self, time):
        """L4: those who arrive before then do so at their own instants."""
        while not ISSUED_AT_PASS and self.to_arrive and self.to_arrive[0][0] < time:
            self.tick(self.to_arrive[0][0])
            self.arrive()
        self.tick(time)

    def tick(self, time):
        self.now = max(self.now, time)
        if self.storage:
            self.storage.advance(self.now)

    def life(self):
        """Yields the end of the batch that it awaits, or None: it sleeps until next_event()."""
        empty = 0
        try:
            while True:
                self.arrive()
                in_flight = self.last if self.cfg.overlap else None
                self.gate = in_flight.end if in_flight and in_flight.prefill else 0
                batch = self.form()
                if batch:
                    self.launch(batch, max(self.now, in_flight.end if in_flight else 0))
                elif not in_flight:
                    self.idle()
                done = in_flight if self.cfg.overlap else batch
                self.last = batch
                if done:                                       # §6: await and process
                    yield done.end
                    self.results(done)
                if CHECK:
                    self.tree.check(self.owned(), *self.storage_guards())
                empty = 0 if batch else empty + 1
                if empty >= PASSES:
                    yield None
                    empty = AFTER_SLEEP
        except EngineDead:
            self.steps -= in_flight is not None                # S5: it never ends
            self.die()

    def run(self):
        """The only engine."""
        for until in self.life():
            until = self.next_event() if until is None else until
            if until is None:
                break
            self.move_to(until)

    def close(self):
        for r in self.requests:
            if r.status is None:
                r.status, r.reason = "stuck", "deadlock"
                self.seen["stuck"] += 1
        self.tree.check(self.owned(), *self.storage_guards())
        if not self.seen["engine_dead"] and not self.seen["stuck"]:
            assert self.slots == 0 and not self.running and self.chunked is None
            assert all(n.locks == 0 and n.guards == 0 for n in self.tree.nodes)
            assert self.occupied == 0 and self.storage_guards() == ([], 0)
            assert self.tree.stored - self.tree.host_evictions == self.cfg.host_pages - self.tree.host_free

    def owned(self):
        return sum(ceil_div(r.kv, self.cfg.p) - r.own_from for r in self.requests if r.kv)

    def die(self):
        """S5: all that has arrived fails now, the others when they arrive."""
        self.seen["engine_dead"] += 1
        for r in self.requests:
            if r.arrival is not None and r.status is None:
                self.end(r, "failed", "engine_dead")
        while self.to_arrive:
            r = self.next_arrival()
            self.end(r, "failed", "engine_dead", r.arrival)


def engines_of(cfg, requests):
    """One for each replica, and their Mooncake Stores (L11)."""
    pools, numbers, count = [], {}, cfg.replicas
    if is_mooncake(cfg.tiers[1:]):
        shared = cfg.tiers[1].get("scope") == "cluster"
        pools = [Pool(cfg.tiers[1:], cfg.p * cfg.kv_bytes) for _ in range(1 if shared else count)]
    engines = [Engine(cfg, requests[i::count], numbers, pools[i % len(pools)] if pools else None) for i in range(count)]
    for pool in pools:
        pool.unfinished = lambda: any(r.status is None for r in requests)
    unsent = deque()
    if cfg.closed_loop:                                        # §10.15
        unsent = deque(requests)
        at = [(0, unsent.popleft()) for _ in range(min(cfg.concurrency, len(requests)))]
    else:
        at = sorted((math.floor(r.trace_ms * 10**6 / cfg.speed), r.id) for r in requests)
        at = [(time, requests[i]) for time, i in at]
    for engine in engines:
        engine.peers, engine.unsent, engine.to_arrive = engines, unsent, deque()
    for time, r in at:
        engines[r.id % count].to_arrive.append((time, r))
    return engines, pools


def totals(cfg, requests, engines, pools):
    def total(of):
        return sum(of(engine) for engine in engines)
    t = {s: sum(r.status == s for r in requests) for s in ("completed", "failed", "rejected", "stuck")}
    t["steps"] = total(lambda e: e.steps)
    t["preemptions"] = sum(r.preemptions for r in requests)
    if cfg.hicache:
        t["dram_stored"] = total(lambda e: e.tree.stored)
        t["dram_evictions"] = total(lambda e: e.tree.host_evictions)
        for tier in cfg.tiers[1:] if not pools else ():
            t[f"{tier['name']}_stored"] = total(lambda e: e.storage.stored)
            t[f"{tier['name']}_evictions"] = total(lambda e: e.storage.evictions)
        for name, counts, keys in (x for pool in pools for x in pool.totals()):              # L14
            for what, value in (*vars(counts).items(), ("end_keys", keys)):
                t[f"{name}_{what}"] = t.get(f"{name}_{what}", 0) + value
        for spec, link in ((cfg.down, lambda e: e.down), (cfg.up, lambda e: e.up)):
            t[f"link_{spec['name']}_jobs"] = total(lambda e: link(e).jobs)
            t[f"link_{spec['name']}_bytes"] = total(lambda e: link(e).bytes)
    return t


def simulate(path):
    cfg, requests = load(path, Config)
    engines, pools = engines_of(cfg, requests)
    if len(engines) == 1:
        engines[0].run()
    else:
        Fleet(engines).run()
    for engine in engines:
        engine.close()
    for pool in pools:
        pool.finish()
    return cfg, requests, totals(cfg, requests, engines, pools)


if __name__ == "__main__":
    main(simulate)
