#!/usr/bin/env python3
"""Write the traces of the cases again (deterministic; the files beside the scenarios are its output).

    python3 make_traces.py [--cases DIR]
"""
import argparse
import datetime
import json
import math
import pathlib
import random


def jsonl(path, rows, header=None):
    lines = [json.dumps(header)] if header else []
    lines += [json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n")


def row(at_s, tokens, answer, ids=None):
    out = {"timestamp": round(at_s * 1000, 1), "input_length": tokens, "output_length": answer}
    if ids is not None:
        out["hash_ids"] = ids
    return out


class Ids:
    """Block names that no other request has."""

    def __init__(self):
        self.next = 0

    def of(self, tokens, block=512):
        count = -(-tokens // block)
        self.next += count
        return list(range(self.next - count, self.next))


def free_flag(folder):
    """Poisson: 2/s chats (64 tokens in, 300 out) and 0.8/s documents (8,192 in, 3 out)."""
    draw = random.Random(3)
    at, rows, ids = 0.0, [], Ids()
    for _ in range(900):
        at += draw.expovariate(2.8)
        tokens, answer = (8192, 3) if draw.random() < 0.8 / 2.8 else (64, 300)
        rows.append(row(at, tokens, answer, ids.of(tokens)))
    jsonl(folder / "trace.jsonl", rows)


def free_flag_70b(folder):
    """As Azure's code trace: long prompts (median 1.6k, at most 7.4k), short answers (median 10), no block
    identities. Poisson at 15/s."""
    draw = random.Random(12)
    at, lines = 0.0, ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    start = datetime.datetime(2023, 11, 16, 18, 0, 0)
    for _ in range(2500):
        at += draw.expovariate(15)
        tokens = max(32, min(7400, round(1600 * math.exp(draw.gauss(0, 0.8)))))
        answer = max(2, min(300, round(10 * math.exp(draw.gauss(0, 1.0)))))
        when = start + datetime.timedelta(microseconds=round(at * 1e6))
        lines.append(f"{when:%Y-%m-%d %H:%M:%S.%f}0,{tokens},{answer}")
    (folder / "trace.csv").write_text("\n".join(lines) + "\n")


def no_identity(folder):
    """Prompts of 8,192 tokens, one every 20 s, without hash_ids."""
    draw = random.Random(5)
    rows = [row(20 * i + draw.random(), 8192, 8) for i in range(300)]
    jsonl(folder / "trace.jsonl", rows, {"spillway_trace": 1, "block_tokens": 512})


def too_long(folder):
    """One prompt every 0.5 s: two of 25 (8%) have 12,000 tokens, the rest 1,024."""
    rows, ids = [], Ids()
    for i in range(600):
        tokens = 12000 if i % 25 in (7, 19) else 1024
        rows.append(row(0.5 * i, tokens, 4, ids.of(tokens)))
    jsonl(folder / "trace.jsonl", rows)


def not_binding(folder):
    """One request every 2 s, of 20 to 150 answer tokens (0.5 to 3.2 s): two in flight, three at
    most."""
    draw = random.Random(7)
    rows, ids = [], Ids()
    for i in range(400):
        rows.append(row(2.0 * i + 0.2 * draw.random(), 512, draw.randint(20, 150), ids.of(512)))
    jsonl(folder / "trace.jsonl", rows)


def short_trace(folder):
    """60 requests: 15 sessions of four turns; each turn repeats the prompt before it and adds 1,024
    tokens to it."""
    draw = random.Random(9)
    rows, ids = [], Ids()
    start = 0.0
    for session in range(15):
        start += draw.expovariate(1 / 5.0)
        at, blocks = start, ids.of(4096)
        for _ in range(4):
            rows.append(dict(row(at, 512 * len(blocks), 4, list(blocks)), session_id=session))
            blocks += ids.of(1024)
            at += 10 + 5 * draw.random()
    rows.sort(key=lambda r: r["timestamp"])
    jsonl(folder / "trace.jsonl", rows)


TRACES = {
    "free-flag": free_flag,
    "free-flag-70b": free_flag_70b,
    "no-identity": no_identity,
    "too-long-prompts": too_long,
    "non-binding-search": not_binding,
    "undecided-short-trace": short_trace,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default=pathlib.Path(__file__).parent / "cases")
    cases = pathlib.Path(parser.parse_args().cases)
    for name, write in TRACES.items():
        (cases / name).mkdir(parents=True, exist_ok=True)
        write(cases / name)
