#!/usr/bin/env python3
"""Clients of Mooncake Store, without an engine around them (`engine.preset` `mooncake-client`).

    python3 mooncake.py scenario.json [--requests rows.csv] [--totals totals.json]

Written from part B of engines/decisions-stores.md. "rule 9" in a comment is a rule of it, "M9" is
item 9 of AMBIGUITIES_MOONCAKE.md, a "§" is a section of engines/vllm-lmcache-llmd.md.
mooncake_store.py has the store.
"""
import heapq
import json
import math
import os
import re
from collections import deque
from fractions import Fraction

from fleet import bytes_of, decimal, main
from mooncake_store import MS, Settings, Store
from parts import Job, Link, Request


class Config:
    def __init__(self, scenario):
        engine, compute, w = scenario["engine"], scenario["compute"], scenario["workload"]
        assert engine["preset"] == "mooncake-client"
        assert compute["kind"] == "linear"
        self.B = engine["block_tokens"]
        self.block_bytes = scenario["model"]["kv_bytes_per_token"] * self.B
        self.step_ns = decimal(compute["step_us"]) * 1000
        self.token_ns = decimal(compute["token_ns"])
        self.kv_token_ns = decimal(compute["kv_token_ns"])
        self.tiers = scenario["tiers"]
        assert self.tiers[0]["kind"] == "kv" and len(self.tiers) <= 2
        self.links = {link["name"]: Link(link) for link in scenario["links"]}
        ends = {(link["from"], link["to"]): link["name"] for link in scenario["links"]}
        kv, *ssds = (tier["name"] for tier in self.tiers)
        self.put_link, self.get_link = self.links[ends["hbm", kv]], self.links[ends[kv, "hbm"]]
        self.write_link = self.read_link = None
        for ssd in ssds:                                       # M1
            self.write_link = self.links[ends[kv, ssd]]
            self.read_link = self.links[ends[ssd, "hbm"]]
        self.closed_loop = w.get("arrival", "trace") == "closed-loop"
        self.concurrency, self.speed = w.get("concurrency"), decimal(w.get("speed", 1))

    def step(self, computed, tokens):
        context = computed + tokens
        return math.ceil(self.step_ns + self.token_ns * tokens + self.kv_token_ns * context)


def read(path):
    with open(path) as f:
        text = re.sub(r"^\s*//.*$", "", f.read(), flags=re.M)
    scenario = json.loads(text, parse_float=str)               # decimals stay exact
    cfg, w = Config(scenario), scenario["workload"]
    with open(os.path.join(os.path.dirname(os.path.abspath(path)), w["trace"])) as f:
        rows = [json.loads(line, parse_float=str) for line in f if line.strip()]
    rows = [row for row in rows if "spillway_trace" not in row][:w.get("limit")]
    requests = []
    for i, row in enumerate(rows):
        r = Request(i, row, cfg.B, w.get("block_tokens", 512))
        r.soft, r.hard = row.get("soft_pin", False), row.get("hard_pin", False)
        interval, r.polls = row.get("poll_ms", (0, 0))
        r.poll_every = math.floor(decimal(interval) * MS)
        r.keys = [r.key(b) for b in range(r.prompt // cfg.B)]
        r.cached = {tier["name"]: 0 for tier in cfg.tiers}
        requests.append(r)
    return cfg, requests


class Client:
    """Rule 9, for all requests, and rule 10's order of one instant."""

    def __init__(self, cfg, requests):
        self.cfg, self.requests, self.now = cfg, requests, 0
        tier = cfg.tiers[0]
        ssd = bytes_of(cfg.tiers[1]["capacity"]) if len(cfg.tiers) == 2 else None
        self.store = Store(Settings(tier.get("store", {})), bytes_of(tier["capacity"]),
                           tier.get("segments", 1), ssd, self.write)
        self.transfers, self.submitted = [], 0       # heap of (end, order of submission, what then)
        self.write_end = None
        self.operations = []                         # heap of (time, request number, what)
        self.unfinished = len(requests)
        self.unsent = deque()
        if cfg.closed_loop:                                    # §10.15
            self.unsent.extend(requests)
            for _ in range(min(cfg.concurrency, len(requests))):
                self.send(0)
        else:
            for r in requests:
                self.at(math.floor(r.trace_ms * MS / cfg.speed), r, self.arrive)

    # ---------------------------------------------------------------- instants

    def at(self, time, r, what):
        heapq.heappush(self.operations, (time, r.id, what))

    def send(self, time):
        if self.unsent:
            self.at(time, self.unsent.popleft(), self.arrive)

    def submit(self, link, nbytes, then):
        job = Job(0, None, None, None, nbytes)
        link.submit(job, self.now)
        heapq.heappush(self.transfers, (job.end, self.submitted, then))
        self.submitted += 1
        return job.end

    def write(self, nbytes):
        job = Job(0, None, None, None, nbytes)
        self.cfg.write_link.submit(job, self.now)
        self.write_end = job.end

    def next_instant(self):
        times = [heap[0][0] for heap in (self.transfers, self.operations) if heap]
        times += [t for t in (self.write_end, self.store.next_timer()) if t is not None]
        if self.unfinished:                                    # M26
            every = self.store.set.check_every
            if self.store.wants_check():                       # the others do nothing
                times.append((self.now // every + 1) * every)
            times += [t for t in (self.store.next_beat,) if t is not None]
        elif not self.transfers and self.write_end is None:
            return None
        return min(times)

    def run(self):
        store = self.store
        if store.next_beat is not None:
            store.heartbeat(0)
        while (now := self.next_instant()) is not None:
            self.now = now
            while self.transfers and self.transfers[0][0] <= now:
                heapq.heappop(self.transfers)[2]()
            store.free_space(now)
            store.time_out_pins(now)
            if self.write_end is not None and self.write_end <= now:
                self.write_end = None
                store.written(now)
            if self.unfinished:
                if store.next_beat is not None and store.next_beat <= now:
                    store.heartbeat(now)
                if now % store.set.check_every == 0:
                    store.check(now)
            while self.operations and self.operations[0][0] <= now:
                _, number, what = heapq.heappop(self.operations)
                what(self.requests[number])
            store.verify()

    # ---------------------------------------------------------------- a request (rule 9)

    def arrive(self, r):
        r.arrival = self.now
        self.poll(r)

    def poll(self, r):
        if not r.polls:
            self.fetch(r)
            return
        r.polls -= 1                                           # M9
        self.store.exist(r.keys, self.now)
        self.at(self.now + r.poll_every, r, self.poll)

    def fetch(self, r):
        """`get` on what is there: one job a source."""
        store, now = self.store, self.now
        found = store.exist(r.keys, now)             # and `get` renews to the same instant
        r.sources = [bool(o.memory) for o in found]            # True: memory
        r.ends, expiry = {}, now + store.set.lease
        r.waits = 0
        for memory, link in ((True, self.cfg.get_link), (False, self.cfg.read_link)):
            count = r.sources.count(memory)
            if count:
                r.waits += 1
                end = self.submit(link, count * self.cfg.block_bytes, lambda: self.arrived(r))
                r.ends[memory] = end < expiry                  # rule 3: whether it succeeds
        if not r.waits:
            self.compute(r)

    def arrived(self, r):
        r.waits -= 1
        if not r.waits:
            self.compute(r)

    def compute(self, r):
        """The step begins; at its end the rest is put."""
        good = 0
        while good < len(r.sources) and r.ends[r.sources[good]]:
            good += 1
        names = [tier["name"] for tier in self.cfg.tiers]
        for memory in r.sources[:good]:
            r.cached[names[0 if memory else 1]] += self.cfg.B
        r.cached_hbm, r.scheduled, r.good = 0, self.now, good
        tokens = max(1, r.prompt - good * self.cfg.B)          # M7
        self.at(self.now + self.cfg.step(r.prompt - tokens, tokens), r, self.put)

    def put(self, r):
        r.first_token = self.now
        started = [self.store.put_start(key, self.cfg.block_bytes, r.soft, r.hard, self.now)
                   for key in r.keys[r.good:]]
        started = [o for o in started if o is not None]
        if not started:
            self.finish(r)
            return
        nbytes = sum(o.bytes * len(o.memory) for o in started)             # M8

        def end():
            for o in started:
                self.store.put_end(o, self.now)
            self.finish(r)
        self.submit(self.cfg.put_link, nbytes, end)

    def finish(self, r):
        r.finish, r.status = self.now, "completed"
        self.unfinished -= 1
        self.send(self.now)


def totals(client):
    t = {s: sum(r.status == s for r in client.requests)
         for s in ("completed", "failed", "rejected", "stuck")}
    store = client.store
    objects = store.objects.values()
    held = [(store.counts, sum(o.complete and bool(o.memory) for o in objects))]
    if store.ssd:
        held.append((store.ssd.counts, sum(bool(o.copies) for o in objects)))
    for spec, (counts, keys) in zip(client.cfg.tiers, held):
        for name in ("stored", "evictions", "refused"):
            t[f"{spec['name']}_{name}"] = getattr(counts, name)
        t[f"{spec['name']}_end_keys"] = keys
    for name, link in client.cfg.links.items():
        t[f"link_{name}_jobs"], t[f"link_{name}_bytes"] = link.jobs, link.bytes
    return t


def simulate(path):
    cfg, requests = read(path)
    client = Client(cfg, requests)
    client.run()
    return cfg, requests, totals(client)


if __name__ == "__main__":
    main(simulate)
