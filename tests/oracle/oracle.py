#!/usr/bin/env python3
"""Plain reference simulation of one "reference scenario" (cli.md) on a vLLM-v1-like engine.

A slow, direct transcription of engines/vllm-lmcache-llmd.md sections 1, 2, 9 and 10; a "§" in a
comment is a section of that file, "cli" is cli.md, "A7" is item 7 of AMBIGUITIES.md beside this file.
Every time is an integer number of nanoseconds; durations are exact fractions rounded up.
Standard library only. Here is the engine's loop; scenario.py reads the keys, scheduler.py is section 1,
connector.py and cpu_tier.py are section 2, parts.py the data structures, results.py the output formats.

    python3 oracle.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import math
from collections import deque

from connector import Connector
from parts import ceil_div
from results import lines_of, main, totals_of
from scenario import load
from scheduler import Scheduler


MOST_REPEATING = 100_000      # steps in a row that only compute again what preemptions took


class Engine(Scheduler):
    def __init__(self, cfg, requests):
        super().__init__(cfg, requests, Connector(cfg) if cfg.tier else None)
        self.to_arrive = deque()           # (time, request)
        if cfg.closed_loop:                # §10.15
            self.unsent = deque(requests)
            for _ in range(min(cfg.concurrency, len(requests))):
                self.to_arrive.append((0, self.unsent.popleft()))
        else:
            at = [(math.floor(r.trace_ms * 10**6 / cfg.speed), r.id, r) for r in requests]
            self.to_arrive.extend((time, r) for time, _, r in sorted(at, key=lambda x: x[:2]))
        self.in_flight = deque()           # steps scheduled and not collected: at most 1, or 2 if async
        self.gpu_busy_until = 0
        self.end = 0

    # ---------------------------------------------------------------- main loop

    def run(self):
        depth = 2 if self.cfg.is_async else 1
        now = self.to_arrive[0][0] if self.to_arrive else 0
        idle_at, idle_count = -1, 0
        while True:
            # §10.5: outputs and frees, store completions, load completions, arrivals, schedule.
            while self.in_flight and self.in_flight[0].end <= now:
                self.collect(self.in_flight.popleft(), now)
            completions = self.connector.poll(now) if self.connector else False
            self.arrive(now)
            step, stores = self.schedule(now)
            self.start_worker(step, stores, now)
            if step.plan:
                self.totals["steps"] += 1                      # A19: empty steps are not counted
                self.in_flight.append(step)
                if self.repeating >= MOST_REPEATING:           # A45: a livelock ends the run
                    while self.in_flight:
                        now = self.in_flight[0].end
                        self.collect(self.in_flight.popleft(), now)
                    self.arrive(float("inf"))
                    break
                if len(self.in_flight) == depth:
                    now = self.in_flight[0].end
                continue                                       # §10.17: else fill the second place at once
            self.totals["empty_steps"] += 1
            if self.in_flight:                                 # A20: an executing step is awaited
                now = self.in_flight[0].end
                continue
            idle_count = idle_count + 1 if idle_at == now else 0
            idle_at = now
            assert idle_count < 10, "empty steps without end at one instant"
            now = max(now, step.end)                           # an empty step lasts as long as its flush
            if step.preempted or step.loads or completions or self.connector_has_work():
                continue                                       # §10.4
            wake = self.connector.next_end() if self.connector else []
            if self.to_arrive:
                wake.append(self.to_arrive[0][0])
            if not wake:
                break
            now = min(wake)
        self.end = now
        for r in self.requests:                                # §10.6
            if r.status is None:
                r.status, r.reason = "stuck", "deadlock"
        self.check_invariants()

    def connector_has_work(self):
        return self.connector and (self.connector.deferred_stores or self.connector.just_finished)

    def arrive(self, now):
        while self.to_arrive and self.to_arrive[0][0] <= now:
            time, r = self.to_arrive.popleft()
            r.arrival = time
            if self.cfg.max_len is not None and r.prompt + r.output > self.cfg.max_len:      # A10
                self.end_request(r, time, "failed", "too_long")
            elif ceil_div(r.prompt + r.output - 1, self.cfg.B) > self.cfg.N - 1:             # §10.14
                self.end_request(r, time, "rejected", "exceeds_pool")
            else:
                self.waiting.append(r)

    def end_request(self, r, now, status, reason=""):
        assert r.status is None
        r.status, r.reason = status, reason
        if status == "completed":
            r.finish = now
        if self.cfg.closed_loop and self.unsent:               # §10.15: successor at the finish instant
            self.to_arrive.append((now, self.unsent.popleft()))

    def collect(self, step, now):
        """End of a step: tokens appear, finished requests free their blocks, in schedule order."""
        self.collected()
        for r, _c, _n, samples in step.plan:
            r.in_flight_steps -= 1
            if not samples:
                continue
            r.tokens += 1
            if r.placeholders:                                 # 0 if preempted meanwhile (A21)
                r.placeholders -= 1
                if self.cfg.is_async:                          # decode blocks enter once their tokens are known
                    self.register_upto(r, r.computed - r.placeholders)
            if r.first_token is None:
                r.first_token = now
            if r.tokens - r.prompt < r.output:
                continue
            self.end_request(r, now, "completed")
            if self.connector:
                self.connector.finish(r)
            if r not in self.running:                          # preempted with its last token in flight:
                self.waiting.remove(r)                         # holds no blocks, offers none (A23)
                continue
            self.running.remove(r)
            self.free(r)                                       # r.blocks stays readable for the last offer
            if self.connector:
                self.connector.just_finished.append(r)

    def start_worker(self, step, stores, now):
        queued = max(now, self.gpu_busy_until)                 # transfers wait for compute already queued
        compute_start, flushed = queued, False
        if self.connector:
            compute_start, flushed = self.connector.before_compute(step, stores, queued)
        step.end = compute_start if flushed else now
        if step.plan:
            tokens = sum(n for _, _, n, _ in step.plan)
            context = sum(c + n for _, c, n, _ in step.plan)
            cfg = self.cfg
            step.end = compute_start + math.ceil(
                cfg.step_ns + cfg.token_ns * tokens + cfg.kv_token_ns * context)
        self.gpu_busy_until = max(self.gpu_busy_until, step.end)
        if self.connector:
            self.connector.after_compute(stores, max(step.end, queued))

    # ---------------------------------------------------------------- checks

    def check_invariants(self):
        alive = [r for r in self.requests if r.status == "stuck"]
        count = [0] * self.cfg.N
        for r in alive:
            for b in r.blocks:
                count[b] += 1
        assert count == self.gpu.ref, "reference counts"
        assert len(self.gpu.free) + sum(c > 0 for c in count) == self.cfg.N - 1
        assert all(self.gpu.ref[b] == 0 for b in self.gpu.free)
        assert all(r.status is not None for r in self.requests)
        if self.repeating >= MOST_REPEATING:                   # stopped in the middle of things
            return
        assert not self.running and not self.in_flight and not self.deferred_frees
        assert self.scheduled_steps == self.collected_steps == self.totals["steps"]
        assert not any(r.jobs for r in self.requests)
        if self.connector:
            self.connector.check()
        for key, blocks in self.gpu.map.items():
            assert blocks and all(self.gpu.hash[b] == key for b in blocks)


def simulate(path):
    engine = Engine(*load(path))
    engine.run()
    return lines_of(engine), totals_of(engine)


if __name__ == "__main__":
    main(simulate)
