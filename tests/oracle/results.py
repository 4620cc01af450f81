"""Reporting: expected.csv rows and expected.json totals. Floats appear here only, never in timing."""
import argparse
import json
from fractions import Fraction


def seconds(ns):
    return "" if ns is None else f"{ns // 10**9}.{ns % 10**9:09d}"


def summary(values_ns):
    """mean and linearly interpolated percentiles in ms (cli, numpy's default)."""
    if not values_ns:
        return {"mean": 0.0, "p50": 0.0, "p90": 0.0, "p99": 0.0}
    v = sorted(float(Fraction(x) / 10**6) for x in values_ns)  # reporting only: never used for timing
    out = {"mean": sum(v) / len(v)}
    for p in (50, 90, 99):
        position = p / 100 * (len(v) - 1)
        low = int(position)
        out[f"p{p}"] = v[low] + (position - low) * (v[min(low + 1, len(v) - 1)] - v[low])
    return {k: round(x, 6) for k, x in out.items()}


def totals_of(engine):
    done = [r for r in engine.requests if r.status == "completed"]
    t = {s: sum(r.status == s for r in engine.requests) for s in ("completed", "rejected", "stuck")}
    t["steps"] = engine.totals["steps"]
    t["end_s"] = seconds(engine.end)
    t["preemptions"] = engine.totals["preemptions"]
    t["ttft_ms"] = summary([r.first_token - r.arrival for r in done])
    t["tpot_ms"] = summary([Fraction(r.finish - r.first_token, r.output - 1) for r in done if r.output > 1])
    t["e2el_ms"] = summary([r.finish - r.arrival for r in done])
    for k in ("gpu_hit_tokens", "gpu_hit_tokens_resumed"):
        t[k] = engine.totals[k]
    t["gpu_evictions"] = engine.gpu.evictions
    for k in ("dram_hit_tokens", "dram_hit_tokens_resumed"):
        t[k] = engine.totals[k]
    t["gpu_queries"], t["gpu_stores"] = engine.totals["gpu_queries"], engine.gpu.registered
    t["gpu_peak_blocks"] = engine.gpu.peak
    for tier in ("gpu", "dram"):
        for kind in ("", "_resumed"):
            t[f"{tier}_hits{kind}"] = engine.totals[f"{tier}_hit_tokens{kind}"] // engine.cfg.B
    if engine.connector:
        c, k = engine.connector, engine.connector.k            # counts are in engine blocks (cli)
        t.update(dram_slots=c.tier.slots * k, dram_peak_blocks=c.tier.peak * k,
                 dram_peak_bytes=c.tier.peak * k * engine.cfg.block_bytes,
                 dram_stored_blocks=c.tier.stored * k, dram_evictions=c.tier.evictions * k,
                 dram_store_failures=c.tier.failures, dram_stores_skipped=c.tier.skipped * k,
                 dram_queries=engine.totals["dram_queries"], deferrals=engine.totals["deferrals"],
                 store_jobs=c.d2h.jobs, load_jobs=c.h2d.jobs, d2h_bytes=c.d2h.bytes, h2d_bytes=c.h2d.bytes,
                 flushes=c.flushes, flush_stall_ns=c.flush_stall_ns)
    t["failed"] = sum(r.status == "failed" for r in engine.requests)
    t["empty_steps"] = engine.totals["empty_steps"]
    t["recomputed_tokens"] = engine.totals["recomputed_tokens"]
    return t


def header():
    return ("request_id,arrival_s,scheduled_s,first_token_s,finish_s,input_tokens,output_tokens,"
            "cached_tokens_hbm,cached_tokens_dram,preemptions,status,reason,due_s")


def row_of(r):
    return ",".join(str(x) for x in (
        r.id, seconds(r.arrival), seconds(r.scheduled), seconds(r.first_token), seconds(r.finish), r.prompt,
        r.output, r.cached_hbm, r.cached_dram, r.preemptions, r.status, r.reason,
        seconds(r.arrival)))                                   # due_s: there are no sessions to wait for


def lines_of(engine):
    return [header()] + [row_of(r) for r in engine.requests]


def main(simulate):
    """An oracle's command line. `simulate` takes a path and gives (lines of expected.csv, totals)."""
    p = argparse.ArgumentParser()
    p.add_argument("scenario")
    p.add_argument("--requests")
    p.add_argument("--totals")
    a = p.parse_args()
    lines, totals = simulate(a.scenario)
    text = json.dumps(totals, indent=1) + "\n"
    if a.requests:
        with open(a.requests, "w") as f:
            f.writelines(line + "\n" for line in lines)
    if a.totals:
        with open(a.totals, "w") as f:
            f.write(text)
    else:
        print(text, end="")
