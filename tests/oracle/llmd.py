#!/usr/bin/env python3
"""Plain reference simulation of vLLM v1 with the llm-d FS connector: files straight on shared storage.

Rules 1 to 3 and 21 to 28 of engines/decisions-lmcache-llmd.md ("rule 22"), and of
engines/vllm-lmcache-llmd.md ("§") sections 1, 2, 6 and 10. "L5" is item 5 of AMBIGUITIES_LLMD.md,
"A7" item 7 of AMBIGUITIES.md. The scheduler and the store planning are those of oracle.py
(scheduler.py, connector.py). The storage, its threads and its evictor are in llmd_fs.py.

    python3 llmd.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import itertools
import math
from collections import deque
from fractions import Fraction

from connector import Connector
from llmd_fs import Store, Task, ThreadPool, Wire
from parts import ceil_div, size_of
from results import main, seconds
from scenario import Config, load
from scheduler import Scheduler

MOST_REPEATING = 100_000                   # A45; never reached without priorities


class LlmdConfig(Config):
    """The keys of oracle.py, and those of the table "Keys" with their defaults."""

    def __init__(self, scenario):
        super().__init__({**scenario, "tiers": []})
        engine = scenario["engine"]
        assert engine["offload_connector"] == "llmd-fs" and not self.is_async and self.store_defer_next_step
        llmd = engine.get("llmd", {})
        self.file_tokens = llmd.get("block_size", 256)
        assert self.file_tokens % self.B == 0
        self.k = self.file_tokens // self.B                    # engine blocks of a file
        self.file_bytes = self.k * self.block_bytes
        self.threads = llmd.get("threads_per_gpu", 64)
        self.read_ratio = Fraction(str(llmd.get("read_preferring_ratio", "0.75")))
        self.queued_seconds = Fraction(str(llmd.get("max_write_queued_seconds", 30)))
        self.async_lookup = llmd.get("async_lookup", False)

        (tier,) = scenario["tiers"]
        assert tier["kind"] == "fs"
        self.tier_name = tier["name"]
        capacity = tier["capacity"]
        self.capacity = capacity if isinstance(capacity, int) else size_of(capacity)       # bytes, rule 3
        self.shared = tier.get("scope", "instance") == "cluster"
        self.lookup_ns = Fraction(str(tier.get("lookup_us", 0))) * 1000
        self.atime = tier.get("atime", "relatime")
        assert self.atime in ("relatime", "strictatime", "noatime")
        self.evictor = None
        if tier.get("evictor") is not None:
            e = {"interval_s": "0.5", "cleanup_threshold": 85, "target_threshold": 70, "access_minutes": 60,
                 "queue_min": 1000, "queue_max": 10000, "deletion_batch_size": 100, **tier["evictor"]}
            e = {name: Fraction(str(value)) for name, value in e.items()}
            e["deletion_batch_size"] = int(e["deletion_batch_size"])
            e["interval_ns"] = e["interval_s"] * 10**9
            e["access_ns"] = e["access_minutes"] * 60 * 10**9
            self.evictor = e

        self.links = {}
        for link in scenario["links"]:
            assert link["kind"] == "affine"
            latency, bandwidth = Fraction(str(link["latency_us"])) * 1000, size_of(link["bandwidth"][:-2])
            self.links["write" if link["from"] == "hbm" else "read"] = (link, latency, bandwidth)
        self.replicas = scenario.get("fleet", {}).get("replicas", 1)


class Manager:
    """What OffloadingConnector asks its manager, here the file system: nothing is tracked (rule 21)."""

    def __init__(self, store):
        self.store = store
        self.asked = 0                     # keys asked in this pass
        self.verdicts = None               # of the request that looks up, if async_lookup

    def exists(self, key):
        self.asked += 1                    # rule 22: the miss included
        return key in self.store.files     # a file being written is a miss

    def lookup(self, key):
        """0 is a hit, None a miss, as CpuTier answers."""
        if self.verdicts is not None:
            return 0 if self.verdicts.get(key) else None       # never asked: a miss (L11)
        return 0 if self.exists(key) else None

    def touch(self, keys):
        pass

    def prepare_store(self, offered):
        return list(offered)               # all accepted, present ones too

    def prepare_load(self, keys):
        pass                               # nothing pinned


class LlmdConnector(Connector):
    """Walk, convoy, load planning, store planning and watched blocks are inherited (rule 21, L2)."""

    def __init__(self, cfg, store, wires, started):            # pylint: disable=super-init-not-called
        self.cfg, self.k = cfg, cfg.k
        self.tier = Manager(store)
        self.pool = ThreadPool(cfg, store, wires, started)
        self.just_finished, self.deferred_stores = [], []
        self.watched, self.being_loaded = {}, set()
        self.next_job = 0
        self.pending = []                  # submitted jobs, not reported yet
        self.verdicts = {}                 # request -> {key: found}
        self.answers_due = False           # an asynchronous look-up was begun in this pass

    # ---------------------------------------------------------------- look-up

    def lookup(self, r, local_blocks):
        if self.cfg.async_lookup and not r.jobs:
            keys = r.chunk_keys(self.k)
            something_to_gain = len(keys) * self.k - local_blocks >= self.k
            if something_to_gain and r not in self.verdicts:   # rule 22: the first attempt, once
                self.verdicts[r] = {key: self.tier.exists(key) for key in keys}
                self.answers_due = True
                return None
            self.tier.verdicts = self.verdicts.get(r, {})
        return super().lookup(r, local_blocks)

    def keys_asked(self):
        """Since the last call, that is in this pass."""
        asked, self.tier.asked = self.tier.asked, 0
        return asked

    # ---------------------------------------------------------------- worker

    def submit(self, job, is_write, now):
        """A task per file; the first file of a load may be wanted in part (rules 21, 23)."""
        job.is_write, job.left = is_write, len(job.keys)
        self.pending.append(job)
        sizes = [self.k] * len(job.keys)
        sizes[0] = len(job.blocks) - self.k * (len(job.keys) - 1)
        for key, blocks in zip(job.keys, sizes):
            self.pool.submit(Task(job, key, blocks * self.cfg.block_bytes, is_write), now)

    def begin_worker(self, step, stores, now):
        """Earlier stores and this step's flush (§10.8). Returns when loads and compute may start."""
        for job in self.deferred_stores:
            self.submit(job, True, now)
        flush = set()
        for r in step.preempted:
            flush |= r.jobs
        for blocks in step.given.values():
            for b in blocks:
                flush |= self.watched.get(b, set())
        for job in sorted(flush & set(stores), key=lambda j: j.number):
            self.submit(job, True, now)
        self.deferred_stores = [job for job in stores if job not in flush]
        return max([now] + self.pool.cancel(flush))            # rule 25

    def submit_loads(self, step, now):
        for job in step.loads:
            self.submit(job, False, now)

    def has_completions(self):
        return any(job.left == 0 for job in self.pending)

    def poll(self, _now=None):
        """Jobs whose tasks are all over become visible (§10.2, §10.5). True if any did."""
        done = [job for job in self.pending if job.left == 0]
        self.pending = [job for job in self.pending if job.left]
        for job in done:
            job.request.jobs.remove(job)
            if not job.is_write:
                self.being_loaded.difference_update(job.keys)
                job.request.load_state = "loaded"
                continue
            for b in job.blocks:
                if job in self.watched.get(b, ()):
                    self.watched[b].remove(job)
                    if not self.watched[b]:
                        del self.watched[b]
        return bool(done)

    def check(self):
        assert not self.deferred_stores and not self.just_finished and not self.pending
        assert not self.watched and not self.being_loaded
        assert not self.pool.busy and not self.pool.reads and not self.pool.writes


class Replica(Scheduler):
    """One engine. It waits for a point in time (`at`), or sleeps until an arrival or a completion."""

    def __init__(self, fleet, requests, store, wires):
        cfg = fleet.cfg
        super().__init__(cfg, requests, LlmdConnector(cfg, store, wires, fleet.started))
        self.fleet = fleet
        self.next_part, self.at = None, None                   # what goes on, and when
        self.arrived = []                                      # seen at the next boundary
        self.news = False                                      # an arrival, rejected ones included (L4)
        self.step = self.stores = None                         # the pass under way
        self.again = False                                     # §10.4: schedule again at once

    def ready(self, now):
        if self.next_part:
            return self.at <= now
        return self.news or self.connector.has_completions()

    def advance(self, now):
        part, self.next_part = self.next_part or self.boundary, None
        part(now)

    def then(self, part, at):
        self.next_part, self.at = part, at

    # ---------------------------------------------------------------- a pass

    def boundary(self, now):
        """§10.5: outputs and frees, store completions, load completions, arrivals, schedule."""
        if self.step and self.step.plan:
            self.collect(self.step, now)
        self.step = None
        completions = self.connector.poll()
        self.fleet.deliver(now)
        news, self.news = self.news, False
        self.waiting.requests += self.arrived
        self.arrived = []
        if not (self.again or completions or news):
            return                                             # sleeps
        self.step, self.stores = self.schedule(now)
        self.step.after_completions = completions
        self.step.submits = bool(self.connector.deferred_stores)
        self.totals["steps"] += bool(self.step.plan)
        assert self.repeating < MOST_REPEATING
        delay = math.ceil(self.connector.keys_asked() * self.cfg.lookup_ns)        # rules 4 and 22
        self.then(self.worker, now + delay)

    def worker(self, now):
        self.then(self.loads_and_compute, self.connector.begin_worker(self.step, self.stores, now))

    def loads_and_compute(self, now):
        step, cfg = self.step, self.cfg
        self.connector.submit_loads(step, now)
        answers, self.connector.answers_due = self.connector.answers_due, False
        if step.plan:
            tokens = sum(n for _, _, n, _ in step.plan)
            context = sum(c + n for _, c, n, _ in step.plan)
            now += math.ceil(cfg.step_ns + cfg.token_ns * tokens + cfg.kv_token_ns * context)
            self.again = True
        else:
            # §10.4 for an empty pass. Rule 2: a completion seen before a pass that then only looked up
            # does not repeat it (L3); an asynchronous look-up is answered at the pass's end (L10).
            self.again = bool(step.preempted or step.loads or self.connector.deferred_stores or answers
                              or (step.after_completions and step.submits))
        self.then(self.boundary, now)

    def collect(self, step, now):
        """End of a step: tokens appear, finished requests free their blocks, in schedule order."""
        self.collected()
        for r, _c, _n, samples in step.plan:
            r.in_flight_steps -= 1
            if not samples:
                continue
            r.tokens += 1
            r.placeholders -= 1
            if r.first_token is None:
                r.first_token = now
            if r.tokens - r.prompt < r.output:
                continue
            self.fleet.end_request(r, now, "completed")
            self.connector.finish(r)
            self.running.remove(r)
            self.free(r)                                       # r.blocks stays readable for the last offer
            self.connector.just_finished.append(r)


class Fleet:
    """Replicas, arrivals, storage and the order of one instant (rule 1)."""

    def __init__(self, cfg, requests):
        self.cfg, self.requests = cfg, requests
        self.started = itertools.count()
        wires = [Wire(*cfg.links[way]) for way in ("read", "write")]
        self.wires = wires                                     # counters are sums over replicas
        n = cfg.replicas
        self.stores = [Store(cfg) for _ in range(1 if cfg.shared else n)]
        self.replicas = [Replica(self, requests[i::n], self.stores[0 if cfg.shared else i], wires)
                         for i in range(n)]                    # round robin: request i to replica i mod N
        self.to_arrive = deque()           # (time, request)
        self.unsent = deque()
        if cfg.closed_loop:                # §10.15
            self.unsent.extend(requests)
            for _ in range(min(cfg.concurrency, len(requests))):
                self.to_arrive.append((0, self.unsent.popleft()))
        else:
            at = [(math.floor(r.trace_ms * 10**6 / cfg.speed), r.id, r) for r in requests]
            self.to_arrive.extend((time, r) for time, _, r in sorted(at, key=lambda x: x[:2]))
        self.unfinished = len(requests)
        self.ticks = 0                     # how many ticks are over

    def run(self):
        while (now := self.next_event()) is not None:
            self.tick_until(now, before=True)
            self.instant(now)
        for r in self.requests:                                # §10.6
            if r.status is None:
                r.status, r.reason = "stuck", "deadlock"
        self.check()

    def next_event(self):
        """Ticks keep nobody alive (L13)."""
        times = [x.at for x in self.replicas if x.next_part]
        times += [t.end for x in self.replicas for t in x.connector.pool.busy]
        times += [self.to_arrive[0][0]] if self.to_arrive else []
        return min(times, default=None)

    def instant(self, now):
        """Rule 1: transfers that end, ticks, replicas by number, each until it must wait."""
        pools = [x.connector.pool for x in self.replicas]
        over = [(t.start_number, t, p) for p in pools for t in p.busy if t.end <= now]
        for _number, task, pool in sorted(over, key=lambda x: x[0]):
            assert task.end == now
            pool.ends(task, now)
        for pool in pools:                                     # then idle threads go on (L5)
            pool.take(now)
        self.tick_until(now, before=False)
        progress = True
        while progress:                                        # a finish may let a request arrive elsewhere
            progress = False
            self.deliver(now)
            for replica in self.replicas:
                while replica.ready(now):
                    replica.advance(now)
                    progress = True

    def tick_until(self, now, before):
        """Ticks at multiples of the period while a request is unfinished (rule 1)."""
        if self.cfg.evictor is None:
            return
        while self.unfinished:
            at = math.ceil((self.ticks + 1) * self.cfg.evictor["interval_ns"])
            if at > now or (before and at == now):
                return
            self.ticks += 1
            for store in self.stores:
                store.evictor.tick(at)

    # ---------------------------------------------------------------- requests

    def deliver(self, now):
        """Arrivals that are due reach their replica, or are refused (§10.14)."""
        while self.to_arrive and self.to_arrive[0][0] <= now:
            time, r = self.to_arrive.popleft()
            r.arrival = time
            replica = self.replicas[r.id % self.cfg.replicas]
            replica.news = True
            if self.cfg.max_len is not None and r.prompt + r.output > self.cfg.max_len:    # A10
                self.end_request(r, time, "failed", "too_long")
            elif ceil_div(r.prompt + r.output - 1, self.cfg.B) > self.cfg.N - 1:
                self.end_request(r, time, "rejected", "exceeds_pool")
            else:
                replica.arrived.append(r)

    def end_request(self, r, now, status, reason=""):
        assert r.status is None
        r.status, r.reason = status, reason
        self.unfinished -= 1
        if status == "completed":
            r.finish = now
        if self.unsent:                                        # §10.15: successor at the finish instant
            self.to_arrive.append((now, self.unsent.popleft()))

    def check(self):
        for store in self.stores:
            store.check()
        for x in self.replicas:
            x.connector.check()
            count = [0] * self.cfg.N
            for r in x.requests:
                for b in r.blocks if r.status == "stuck" else ():
                    count[b] += 1
            assert count == x.gpu.ref and not x.running, "reference counts"

    # ---------------------------------------------------------------- results, rule 28

    def totals(self):
        t = {status: sum(r.status == status for r in self.requests)
             for status in ("completed", "failed", "rejected", "stuck")}
        for name in ("steps", "preemptions", "deferrals", "recomputed_tokens"):
            t[name] = sum(x.totals[name] for x in self.replicas)
        tier = self.cfg.tier_name
        for name in ("stored", "evictions", "refused"):
            t[f"{tier}_{name}"] = sum(getattr(s, name) for s in self.stores)
        t[f"{tier}_end_keys"] = sum(len(s.files) for s in self.stores)
        for wire in self.wires:
            t[f"link_{wire.name}_jobs"], t[f"link_{wire.name}_bytes"] = wire.jobs, wire.bytes
        return t

    def rows(self):
        yield ("request_id,arrival_s,scheduled_s,first_token_s,finish_s,input_tokens,output_tokens,"
               f"cached_tokens_hbm,cached_tokens_{self.cfg.tier_name},preemptions,status,reason")
        for r in self.requests:
            yield ",".join(str(x) for x in (
                r.id, seconds(r.arrival), seconds(r.scheduled), seconds(r.first_token), seconds(r.finish),
                r.prompt, r.output, r.cached_hbm, r.cached_dram, r.preemptions, r.status, r.reason))


def simulate(path):
    fleet = Fleet(*load(path, LlmdConfig))
    fleet.run()
    return fleet.rows(), fleet.totals()


if __name__ == "__main__":
    main(simulate)
