"""Several engines on one clock: instants, transfers, ticks, arrivals, replicas. Used by the LMCache oracles.

"rule 1" in a comment is a numbered rule of engines/decisions-lmcache-llmd.md, a "§" a section of
engines/vllm-lmcache-llmd.md, "cli" is cli.md, "L3" is item 3 of AMBIGUITIES_LMCACHE.md and "A7" item 7 of
AMBIGUITIES.md. Times are integer nanoseconds. Nothing here knows a connector.

A replica is a Python generator. It yields the instant until which it must wait, or None to sleep.
"""
import heapq
import math
from collections import deque
from fractions import Fraction

import results
from parts import Link, ceil_div, size_of
from results import seconds
from scenario import Config, load
from scheduler import Scheduler

SECOND = 10**9


def bytes_of(capacity):
    """A plain number is bytes; "inf" and nothing at all are no limit."""
    if capacity is None or capacity == "inf":
        return math.inf
    if str(capacity).isdigit():
        return int(capacity)
    return size_of(capacity)


def decimal(value):
    """Exactly the decimal that the scenario spells."""
    return Fraction(str(value))


class FleetConfig(Config):
    """The reference scenario's keys, a list of tiers, links by the tiers that they join, replicas."""

    def __init__(self, scenario):
        super().__init__({**scenario, "tiers": []})
        self.engine = scenario["engine"]
        self.connector = self.engine["offload_connector"]
        assert not self.is_async
        self.kv_bytes = scenario["model"]["kv_bytes_per_token"]
        self.layers = scenario["model"].get("layers", 1)
        self.tiers = scenario["tiers"]
        self.link_specs = {(link["from"], link["to"]): link for link in scenario["links"]}
        self.link_names = [link["name"] for link in scenario["links"]]
        self.replicas = scenario.get("fleet", {}).get("replicas", 1)
        routing = scenario.get("policies", {}).get("routing", "round_robin")
        assert routing == "round_robin" or self.replicas == 1

    def links_of(self, tier):
        """(down, up): hbm joins the first tier, the first tier joins each later one."""
        near = "hbm" if tier is self.tiers[0] else self.tiers[0]["name"]
        return (Link(self.link_specs[(near, tier["name"])]), Link(self.link_specs[(tier["name"], near)]))

    def link_names_of(self, tier):
        near = "hbm" if tier is self.tiers[0] else self.tiers[0]["name"]
        return (self.link_specs[(near, tier["name"])]["name"], self.link_specs[(tier["name"], near)]["name"])


class Counts:
    """What a tier counts: keys that entered, keys that its policy took, keys that it could not take."""

    def __init__(self):
        self.stored = self.evictions = self.refused = 0


class Fleet:
    """Rule 1: at one instant transfers that end, ticks, then replicas by number, each until it must wait."""

    def __init__(self, cfg, requests):
        self.cfg, self.requests = cfg, requests
        self.now = 0
        self.transfers, self.submitted = [], 0                 # heap of (end, order of submission, what then)
        self.settle = []                                       # once all transfers of an instant ended
        self.ticks = []                                        # done once a second
        self.replicas = []
        self.to_arrive = deque()                               # (time, request)
        self.unfinished = len(requests)
        if cfg.closed_loop:                                    # §10.15
            self.unsent = deque(requests)
            for _ in range(min(cfg.concurrency, len(requests))):
                self.to_arrive.append((0, self.unsent.popleft()))
        else:
            at = [(math.floor(r.trace_ms * 10**6 / cfg.speed), r.id, r) for r in requests]
            self.to_arrive.extend((time, r) for time, _, r in sorted(at, key=lambda x: x[:2]))

    # ---------------------------------------------------------------- transfers

    def at_end(self, end, then):
        """A transfer was submitted; `then` is done when it ends."""
        assert end > self.now
        heapq.heappush(self.transfers, (end, self.submitted, then))
        self.submitted += 1

    # ---------------------------------------------------------------- instants

    def next_instant(self):
        times = [r.wait_until for r in self.replicas if r.wait_until is not None]
        if self.transfers:
            times.append(self.transfers[0][0])
        if self.to_arrive:
            times.append(self.to_arrive[0][0])
        if not times:
            return None                                        # §10.6: only ticks would be left
        if self.ticks and self.unfinished:                     # rule 1: ticks while a request is unfinished
            times.append((self.now // SECOND + 1) * SECOND)
        return min(times)

    def run(self):
        while (now := self.next_instant()) is not None:
            self.now = now
            while self.transfers and self.transfers[0][0] <= now:
                heapq.heappop(self.transfers)[2]()
            for then in self.settle:                           # L15: all that has ended holds already
                then()
            if now > 0 and now % SECOND == 0 and self.unfinished:
                for tick in self.ticks:
                    tick()
            self.arrive()
            self.turns()
        for r in self.requests:                                # §10.6
            if r.status is None:
                r.status, r.reason = "stuck", "deadlock"
        for replica in self.replicas:
            replica.check()

    def turns(self):
        acted = True
        while acted:                                           # a finish may send a request back
            acted = False
            for replica in self.replicas:
                if replica.ready():
                    replica.go()
                    acted = True

    # ---------------------------------------------------------------- requests

    def arrive(self):
        """Request i goes to replica i mod N. Rejections are of the arrival's instant."""
        cfg = self.cfg
        while self.to_arrive and self.to_arrive[0][0] <= self.now:
            r = self.to_arrive.popleft()[1]
            r.arrival = self.now
            if cfg.max_len is not None and r.prompt + r.output > cfg.max_len:                # A10
                self.end_request(r, "failed", "too_long")
            elif ceil_div(r.prompt + r.output - 1, cfg.B) > cfg.N - 1:                       # §10.14
                self.end_request(r, "rejected", "exceeds_pool")
            else:
                self.replicas[r.id % cfg.replicas].inbox.append(r)

    def end_request(self, r, status, reason=""):
        assert r.status is None
        r.status, r.reason = status, reason
        self.unfinished -= 1
        if status == "completed":
            r.finish = self.now
        if self.cfg.closed_loop and self.unsent:               # §10.15: successor at the finish instant
            self.to_arrive.append((self.now, self.unsent.popleft()))
            self.arrive()


class ReplicaEnds(Exception):
    """Rule 9: upstream hangs here."""


class WholeInstants(Fleet):
    """Outputs and frees of all replicas come before any of them schedules (rule 10 of KVBM's page)."""

    def turns(self):
        while ready := [r for r in self.replicas if r.ready()]:
            for replica in ready:
                replica.outputs()
            for replica in self.replicas:
                if replica.paused or replica.ready():
                    replica.go()


PAUSE = object()                                               # between a boundary's outputs and its schedule


class Replica(Scheduler):
    """One engine. A connector's replica adds worker(), poll(), again(), news() and admitted()."""

    def __init__(self, fleet, number):
        super().__init__(fleet.cfg, fleet.requests[number::fleet.cfg.replicas], self)
        self.fleet, self.number = fleet, number
        self.inbox = []                                        # arrived, not yet seen by the scheduler
        self.wait_until, self.ended = None, False
        self.paused = False
        self.life_line = self.life()

    def ready(self):
        if self.ended:
            return False
        if self.wait_until is not None:
            return self.wait_until <= self.fleet.now
        return bool(self.inbox) or self.news()

    def outputs(self):
        at = next(self.life_line)
        self.paused = at is PAUSE
        if not self.paused:
            self.wait_until = at

    def go(self):
        self.paused = False
        while (at := next(self.life_line)) is PAUSE:
            pass
        self.wait_until = at
        assert self.wait_until is None or self.wait_until > self.fleet.now

    def wait(self, duration):
        if duration:
            yield self.fleet.now + duration

    def life(self):
        step = None
        while True:
            # §10.5: outputs and frees, store completions, load completions, arrivals, schedule.
            if step and step.plan:
                self.collect(step)
            seen = self.poll()
            yield PAUSE
            self.waiting.requests += self.inbox
            self.waiting.order()
            self.inbox = []
            before = set(self.running)
            step, stores = self.schedule(self.fleet.now)
            self.totals["steps"] += bool(step.plan)            # A19
            # Rule 6: new, running, resumed, in schedule order each.
            step.order = ([e for e in step.plan if e[0] not in before and not e[0].preemptions]
                          + [e for e in step.plan if e[0] in before]
                          + [e for e in step.plan if e[0] not in before and e[0].preemptions])
            step.running = before
            try:
                yield from self.worker(step, stores)
            except ReplicaEnds:
                self.ended = True
                yield None
            if step.plan or step.preempted or self.again(step, seen):      # §10.4
                continue
            yield None                                         # rule 2: until an arrival or a completion

    def compute_time(self, step):
        tokens = sum(n for _, _, n, _ in step.plan)
        context = sum(c + n for _, c, n, _ in step.plan)
        return math.ceil(self.cfg.step_ns + self.cfg.token_ns * tokens + self.cfg.kv_token_ns * context)

    def collect(self, step):
        """End of a step: tokens appear, in schedule order."""
        self.collected()
        for r, _c, _n, samples in step.plan:
            r.in_flight_steps -= 1
            if self.spoilt(r) or not samples:
                continue
            r.tokens += 1
            r.placeholders -= 1
            if r.first_token is None:
                r.first_token = self.fleet.now
            if r.tokens - r.prompt == r.output:
                self.fleet.end_request(r, "completed")
                self.leave(r)

    def leave(self, r):
        self.running.remove(r)
        self.free(r)

    def count_hits(self, r, local, external):
        """At each admission, after the look-up."""
        first = not r.admitted_before
        if first:                                              # §10.16
            r.cached_hbm = local * self.cfg.B
            r.admitted_before = True
        self.admitted(r, local * self.cfg.B, external, first)

    # ---------------------------------------------------------------- what a connector may leave as it is

    def poll(self):
        return False

    def news(self):
        return False

    def again(self, step, seen):
        return False

    def spoilt(self, r):
        return False

    def plan_stores(self, step):
        return []

    def check(self):
        held = [0] * self.cfg.N
        for r in self.requests:
            for b in r.blocks if r.status == "stuck" else ():
                held[b] += 1
        assert held == self.gpu.ref, "reference counts"
        assert len(self.gpu.free) + sum(c > 0 for c in held) == self.cfg.N - 1
        assert self.ended or not self.running


# ---------------------------------------------------------------- reading and reporting


def read(path, config):
    cfg, requests = load(path, config)
    for r in requests:
        r.cached = {tier["name"]: 0 for tier in cfg.tiers}
    return cfg, requests


def rows(cfg, requests):
    """Rule 28."""
    tiers = [tier["name"] for tier in cfg.tiers]
    yield ",".join(["request_id,arrival_s,scheduled_s,first_token_s,finish_s,input_tokens,output_tokens,"
                    "cached_tokens_hbm", *("cached_tokens_" + t for t in tiers), "preemptions,status,reason"])
    for r in requests:
        yield ",".join(str(x) for x in (
            r.id, seconds(r.arrival), seconds(r.scheduled), seconds(r.first_token), seconds(r.finish),
            r.prompt, r.output, r.cached_hbm, *(r.cached[t] for t in tiers),
            r.preemptions, r.status, r.reason))


def totals(fleet, tiers, links):
    """`tiers`: (name, counts, keys held at the end); `links`: (name, link). Names may repeat: sums."""
    t = {s: sum(r.status == s for r in fleet.requests) for s in ("completed", "failed", "rejected", "stuck")}
    for key in ("steps", "preemptions", "deferrals", "recomputed_tokens"):
        t[key] = sum(replica.totals[key] for replica in fleet.replicas)
    for spec in fleet.cfg.tiers:
        mine = [(counts, keys) for name, counts, keys in tiers if name == spec["name"]]
        for key in ("stored", "evictions", "refused"):
            t[f"{spec['name']}_{key}"] = sum(getattr(counts, key) for counts, _ in mine)
        t[f"{spec['name']}_end_keys"] = sum(keys for _, keys in mine)
    for wanted in fleet.cfg.link_names:
        mine = [link for name, link in links if name == wanted]
        t[f"link_{wanted}_jobs"] = sum(link.jobs for link in mine)
        t[f"link_{wanted}_bytes"] = sum(link.bytes for link in mine)
    return t


def main(simulate):
    """`simulate` takes a path and gives (cfg, requests, totals)."""
    def run(path):
        cfg, requests, result = simulate(path)
        return rows(cfg, requests), result
    results.main(run)
