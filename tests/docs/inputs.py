"""The files that documents and examples name and no earlier command makes: small stand-ins."""

import gzip
import json
import math
import random
import shutil

SCENARIO = {
    "model": {"kv_bytes_per_token": 131072},
    "engine": {"preset": "vllm@0.23", "num_gpu_blocks": 2048, "max_num_seqs": 64},
    "compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},
    "tiers": [{"name": "dram", "kind": "dram", "capacity": "4GiB"}],
    "links": [{"name": "d2h", "from": "hbm", "to": "dram", "bandwidth": "25GB/s", "kind": "affine",
               "latency_us": 10},
              {"name": "h2d", "from": "dram", "to": "hbm", "bandwidth": "25GB/s", "kind": "affine",
               "latency_us": 10}],
    "workload": {"trace": "t.jsonl.gz"},
    "slo": [{"metric": "p99_ttft_ms", "max": 60000}],
    "plan": {"sizes": ["0GiB", "4GiB"], "replications": 5, "sensitivity": False},
}

ENGINE = {"model": "Qwen3-14B", "gpu": "H100", "engine": {"preset": "vllm"},
          "workload": {"trace": "t.jsonl.gz"}}

MODEL = {"model_type": "llama", "hidden_size": 5120, "num_hidden_layers": 40,
         "num_attention_heads": 40, "intermediate_size": 13824, "vocab_size": 32000,
         "max_position_embeddings": 4096}
# In order: values of production-stack, a script, and the settings that it names.
VALUES = """servingEngineSpec:
  modelSpec:
  - name: chat
    repository: lmcache/vllm-openai
    tag: latest
    modelURL: Qwen/Qwen3-8B
    replicaCount: 1
    vllmConfig: {maxModelLen: 16384, enablePrefixCaching: true}
    lmcacheConfig: {enabled: true, cpuOffloadingBufferSize: "16"}
"""
SERVE = """LMCACHE_CONFIG_FILE=lmcache.yaml vllm serve Qwen/Qwen3-8B --max-model-len 16384 \\
  --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
"""
LMCACHE = "chunk_size: 256\nlocal_cpu: true\nmax_local_cpu_size: 16\n"
DEPLOYMENT = """kind: Deployment
metadata: {name: chat}
spec:
  replicas: 2
  template:
    spec:
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.19.0
          args: ["--model", "Qwen/Qwen3-14B", "--max-num-seqs", "128"]
"""
CASE = {"name": "case", "measured": ["requests.csv"], "scenario": "s.json",
        "tolerance": {"means": 1000},
        "parameters": [{"name": n, "from": "a test"} for n in
                       ("model", "gpu", "engine", "compute", "tiers", "links", "slo", "plan")]}

# Traces by name: all of one generated trace. It also stands for a public one of that name.
TRACES = ["t.jsonl.gz", "t.jsonl", "t.bin", "mine.jsonl.gz", "requests.jsonl.gz", "chat.jsonl.gz",
          "agents.jsonl.gz", "a.jsonl", "b.jsonl", "huge.jsonl.zst", "conversation_trace.jsonl"]


def requests():
    """As an engine logs them: (tokens in, tokens out, arrival, first, last token) of 60 requests."""
    draw = random.Random(1)
    rows, at = [], 0.0
    for _ in range(60):
        at += draw.uniform(0.05, 0.4)
        tokens, answer = draw.randrange(100, 2000), draw.randrange(2, 80)
        first = at + 0.012 + tokens * 6e-5
        rows.append((tokens, answer, at, first, first + 0.011 * (answer - 1)))
    return rows


def request_csv():
    out = "request_id,input_toks,output_toks,arrival_s,queued_s,scheduled_s,first_token_s,last_token_s\n"
    for i, (tokens, answer, at, first, last) in enumerate(requests()):
        out += f"{i},{tokens},{answer},{at:.6f},{at + 1e-4:.6f},{at + 1e-3:.6f},{first:.6f},{last:.6f}\n"
    return out


def request_lines():
    out = ""
    for i, (tokens, answer, at, first, last) in enumerate(requests()):
        out += json.dumps({"request_id": i, "input_toks": tokens, "output_toks": answer,
                           "arrival_time": at, "queued_ts": at + 1e-4, "scheduled_ts": at + 1e-3,
                           "first_token_ts": first, "last_token_ts": last}) + "\n"
    return out


def counters():
    rows = requests()
    out = "t,running,waiting,kv_cache_pct\n"
    for second in range(int(rows[-1][4]) + 2):
        running = sum(1 for r in rows if r[2] <= second < r[4])
        out += f"{second},{running},0,{running / 100:.4f}\n"
    return out


def bench_result():
    rows = requests()
    return json.dumps({
        "completed": len(rows), "duration": rows[-1][4],
        "input_lens": [r[0] for r in rows], "output_lens": [r[1] for r in rows],
        "ttfts": [r[3] - r[2] for r in rows],
        "itls": [[(r[4] - r[3]) / (r[1] - 1)] * (r[1] - 1) for r in rows],
        "start_times": [r[2] for r in rows], "errors": [""] * len(rows)})


def products():
    """Matrix products of a GPU with half an H100's rate and bandwidth."""
    out = "dtype,m,n,k,latency_ms\n"
    for width in (1024, 2048, 4096, 8192, 12288):
        for rows in (1, 16, 128, 512, 2048, 8192):
            compute = 2 * rows * width * width / (0.5 * 989e12)
            memory = 2 * (width * width + 2 * rows * width) / (0.5 * 3350e9)
            out += f"bfloat16,{rows},{width},{width},{5e-3 + 1e3 * math.hypot(compute, memory):.6f}\n"
    return out


def attention():
    out = "batch_size,ctx,num_heads,num_key_value_heads,head_dim,kv_cache_dtype,window_size,latency_ms\n"
    for batch in (1, 4, 16, 64):
        for held in (128, 512, 2048, 8192, 32768):
            out += (f"{batch},{held},32,8,128,bfloat16,0,"
                    f"{6e-3 + batch * held * 4096 / (0.6 * 3350e9) * 1e3:.6f}\n")
    return out


LLAMA_8B = (("qkv_proj", 4096, 6144), ("o_proj", 4096, 4096), ("gate_up_proj", 4096, 28672),
            ("down_proj", 14336, 4096))
QWEN3_14B = (("qkv_proj", 5120, 7168), ("o_proj", 5120, 5120), ("gate_up_proj", 5120, 34816),
             ("down_proj", 17408, 5120))


def layer(products_of_layer, flop_per_us, bytes_per_us, constant_us):
    """A layer's products of a model, as a profiler of engines writes them."""
    out = "layer,tokens,time_us\n"
    for tokens in (1, 16, 64, 256, 1024):
        for name, inputs, outputs in products_of_layer:
            values = 2 * inputs * outputs
            time = constant_us + tokens * values / flop_per_us + values / bytes_per_us
            out += f"{name},{tokens},{time}\n"
    return out


def make(sandbox):
    root = sandbox.root
    (root / "traces").mkdir()
    shutil.copytree(sandbox.source / "scenarios", root / "scenarios",
                    ignore=shutil.ignore_patterns("*.cpp", "*.hpp"))
    shutil.copytree(sandbox.source / "traces/samples", root / "traces/samples")
    shutil.copytree(sandbox.source / "tests/init/documented", root / "tests/init/documented")
    sandbox.run(f"spillway trace generate --out {TRACES[0]} --requests 160 --sessions-per-s 2 --turns 4 "
                "--system-tokens 2000 --user-tokens 400")
    for name in TRACES[1:]:
        sandbox.run(f"spillway trace convert {TRACES[0]} {name}")
    texts = {
        "s.json": json.dumps(SCENARIO), "engine.json": json.dumps(ENGINE),
        "case.json": json.dumps(CASE),
        "requests.csv": request_csv(), "requests.jsonl": request_lines(),
        "counters.csv": counters(), "timeseries.csv": counters(),
        "args.json": json.dumps({"model": "Llama-3.1-8B", "vllm_version": "0.23.0",
                                 "num_gpu_blocks": 2048, "engine_kwargs": {}}),
        "meta.json": json.dumps({"engine_kwargs": {}, "num_requests": 60}),
        "bench.json": bench_result(),
        "values.yaml": VALUES, "serve.sh": SERVE, "lmcache.yaml": LMCACHE,
        "deployment.yaml": DEPLOYMENT, "config.json": json.dumps(MODEL),
        "server.log": "INFO 08-01 10:00:00 vLLM API server version 0.23.0\n"
                      "INFO 08-01 10:00:01 GPU KV cache size: 32,768 tokens\n",
    }
    for name, text in texts.items():
        (root / name).write_text(text)
    sandbox.run("spillway run s.json --json result.json")
    # Two runs of one server, and the scenario of the one with the tier.
    shutil.copy(root / "s.json", root / "offload.json")
    for name, capacity in (("without", "0GiB"), ("with", "16GiB")):
        sandbox.run(f"spillway run s.json --set tiers.0.capacity={capacity} "
                    f"--output kind=requests,path={name}.csv")
    sandbox.run("spillway plan s.json --json plan.json")
    packed = {"h100_gemm.csv.gz": products(), "h100_attn_decode.csv.gz": attention(),
              "RTX4090_tp1_dense.csv.gz": layer(LLAMA_8B, 0.5 * 165e6, 0.5e6, 5),
              "requests.csv.gz": request_csv()}
    for name, text in packed.items():
        (root / name).write_bytes(gzip.compress(text.encode(), mtime=0))
    # For mine.json, an H100's: decode steps a little shorter than those of requests.csv.
    (root / "4090_tp1_dense.csv").write_text(layer(QWEN3_14B, 0.5 * 989e6, 0.85 * 3.35e6, 2))
    shutil.copy(sandbox.source / "scenarios/hardware/h100-sxm-kernels.json", root / "my-h100.json")
