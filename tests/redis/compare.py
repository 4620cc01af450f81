#!/usr/bin/env python3
"""Measures a real Redis server and compares each point with a simulation of it.

Starts redis-server on a free port without persistence, calibrates it with `spillway calibrate
--redis`, then runs a small scenario per point through `spillway run`: a tier of kind kv whose values
have the measured size, read and written by as many connections as there were clients. The rate is
the link's bytes over its busy time. With --profile, a recorded profile is compared instead and no
server is started. Exits 1 where a point is off by more than 15%.
"""

import argparse
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

MOST_PERCENT = 15
CHUNK_TOKENS = 256
# A prompt of some values per connection, so that the last ones, which go alone, hardly count.
VALUES = 64 * 16


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class RedisServer:
    def __init__(self, folder):
        self.port = free_port()
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
             "--appendonly", "no", "--dir", folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                self.command("PING")
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("redis-server does not answer")

    def command(self, *words):
        with socket.create_connection(("127.0.0.1", self.port), 2) as s:
            s.sendall((" ".join(words) + "\r\n").encode())
            return s.recv(4096).decode()

    def end(self):
        self.process.terminate()
        self.process.wait()


def write_trace(path, tokens):
    """One prompt, another that pushes it out of HBM, and the first one again."""
    rows = []
    for i, which in enumerate((1, 2, 1)):
        ids = [which * 100_000 + k for k in range(tokens // 512)]
        rows.append(json.dumps({"timestamp": 600_000 * i, "input_length": tokens,
                                "output_length": 2, "hash_ids": ids}))
    path.write_text("\n".join(rows) + "\n")


def simulated_gbs(spillway, folder, profile, cell):
    tokens = VALUES * CHUNK_TOKENS
    blocks = tokens // CHUNK_TOKENS  # an engine block is a value
    write_trace(folder / "trace.jsonl", tokens)
    scenario = {
        "name": "point", "gpu": "H100", "hardware": str(profile),
        "model": {"kv_bytes_per_token": cell["bytes"] // CHUNK_TOKENS},
        "engine": {"preset": "vllm", "block_tokens": CHUNK_TOKENS, "num_gpu_blocks": blocks + 16,
                   "max_num_seqs": 4, "max_num_batched_tokens": tokens,
                   "max_model_len": tokens + 4096},
        "compute": {"kind": "linear", "step_us": 2000, "token_ns": 20, "kv_token_ns": 0},
        "tiers": [{"name": "redis", "kind": "kv", "capacity": "inf",
                   "device": {"connections": cell["clients"], "chunk_tokens": CHUNK_TOKENS}}],
        "workload": {"trace": "trace.jsonl", "arrival": "trace"}}
    path = folder / "scenario.json"
    path.write_text(json.dumps(scenario))
    document = json.loads(subprocess.run(
        [spillway, "run", str(path), "--quiet", "--json", "-"], check=True, capture_output=True,
        text=True).stdout)
    results = document["results"]
    link = next(l for l in results["links"] if l["name"] == "redis-" + cell["op"])
    assert link["bytes"] > 0, f"no bytes over {link['name']}"
    return link["bytes"] / (link["busy_fraction"] * results["duration_s"]) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spillway", required=True)
    parser.add_argument("--profile", type=pathlib.Path, help="compare this one; start no server")
    parser.add_argument("--budget", default="40s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        profile = options.profile.resolve() if options.profile else folder / "redis.json"
        if not options.profile:
            server = RedisServer(name)
            try:
                subprocess.run([options.spillway, "calibrate", "--redis",
                                f"127.0.0.1:{server.port}", "--only", "kv", "--budget",
                                options.budget, "--out", str(profile), "--quiet"],
                               check=True, stdout=subprocess.DEVNULL)
                left = server.command("DBSIZE").strip()
            finally:
                server.end()
            assert left == ":0", f"keys stayed on the server: {left}"
        cells = json.loads(profile.read_text())["results"]["kv"]
        points = [c for c in cells if c["op"] in ("read", "write")]
        points.sort(key=lambda c: (c["op"], c["bytes"], c["clients"]))
        worst = 0
        print(f"{'op':6}{'value':>7}{'clients':>9}{'measured':>10}{'simulated':>11}{'off':>8}")
        for cell in points:
            gbs = simulated_gbs(options.spillway, folder, profile, cell)
            off = 100 * (gbs / cell["gbs"] - 1)
            worst = max(worst, abs(off))
            print(f"{cell['op']:6}{cell['bytes'] >> 20:>3} MiB{cell['clients']:>9}"
                  f"{cell['gbs']:>10.3f}{gbs:>11.3f}{off:>+7.1f}%")
    print(f"{len(points)} points of {points[0]['server']}, worst {worst:.1f}% off")
    return 0 if len(points) == 18 and worst < MOST_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main())
