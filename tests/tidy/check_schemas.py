#!/usr/bin/env python3
"""Checks the published JSON Schemas with an independent validator.

    python3 check_schemas.py --spillway BINARY --source PROJECT

The schemas are sound; the shipped scenarios and the documents of every verb satisfy them; the keys
they know are those the parser knows; and what they refuse, the parser refuses. Exit status 1 when
anything differs, one line each.
"""
import argparse
import copy
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
except ImportError:
    sys.exit(f"{sys.executable} has no jsonschema 4 or newer; install python3-jsonschema (apt) and "
             "run this with /usr/bin/python3, or: python3 -m pip install 'jsonschema>=4'")

PLANTED = "spillway_test_planted_key"
LINKS = [{"name": "d2h", "from": "hbm", "to": "dram", "kind": "affine", "latency_us": 10,
          "bandwidth": "25GB/s", "duplex_factor": 1, "method": "dma", "submit_us": 6,
          "numa_penalty": 0.9, "through": ["root"], "shared_by": 2},
         {"name": "h2d", "from": "dram", "to": "hbm", "kind": "table", "latency_us": 10,
          "per_copy_us": 1, "copy_bytes": ["4KiB", "2MiB"], "copies": [1], "gbs": [1, 20]}]
DEVICE = {"read_bandwidth": "7GB/s", "write_bandwidth": "5GB/s", "queue_depth": 64,
          "read_tail": {"p50_us": 80, "p90_us": 100, "p99_us": 400, "p999_us": 2000},
          "write_tail": {"p50_us": 20}, "write_cache": "1GiB", "endurance_tbw": 3500,
          "sustained_write_bandwidth": "2GB/s", "cache_drain_bandwidth": "1GB/s",
          "drive_capacity": "2TB", "chunk_tokens": 64, "direct": False}
MEDIA = [{"name": "root", "bandwidth": "100GB/s", "discipline": "fair"}]
# Two scenarios that hold every object of the schema, and between them all of its variants.
BASES = [
    {"name": "linear", "description": "by numbers", "seed": 1,
     "model": {"kv_bytes_per_token": 131072},
     "engine": {"preset": "vllm@0.23", "block_tokens": 16, "num_gpu_blocks": 2048,
                "interference": {"hbm_bandwidth": "3350GB/s", "factor": 1.1}},
     "compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},
     "tiers": [{"name": "ssd", "kind": "nvme", "capacity": "4GiB", "eviction": "lru",
                "write_admission": "second-hit", "device": DEVICE}],
     "policies": {"admission": "queue-limit:max_queue=100"},
     "links": [{**link, **{end: "host" for end in ("from", "to") if link[end] == "dram"}}
               for link in LINKS],
     "media": MEDIA,
     "workload": {"synthetic": {"requests": 20, "block_tokens": 64}, "arrival": "poisson",
                  "rate_per_s": 0.5},
     "slo": [{"metric": "p99_ttft_ms", "max": 5000}],
     "plan": {"tier": "ssd", "sizes": ["0GiB", "1GiB", "inf"], "demand": [{"name": "more"}]}},
    {"name": "shaped",
     "model": {"name": "Llama-3.1-8B", "kv_dtype": "fp8", "weight_dtype": "fp8"}, "gpu": "H100",
     "engine": {"preset": "vllm", "load": "barrier", "load_or_recompute": "break_even",
                "tensor_parallel_size": 1, "data_parallel_size": 1, "enforce_eager": False,
                "max_cudagraph_capture_size": 256,
                "interference": {"factor": 1}},
     "host": {"memory": "512GiB", "reserved": "32GiB", "instances": 2, "numa_nodes": 2},
     "compute": {"kind": "components", "host_overhead_us": 500, "sequence_us": 1,
                 "eager_overhead_us": 900},
     "tiers": [{"name": "dram", "kind": "dram", "capacity": "1000blocks", "scope": "instance"}],
     "policies": {"admission": "all-tiers:share=0.9"},
     "links": LINKS[::-1], "media": MEDIA,
     "workload": {"synthetic": {"requests": 20}, "arrival": "closed-loop", "concurrency": 2},
     "slo": [{"metric": "output_throughput", "min": 1}],
     "plan": {"sizes": ["1000blocks"], "replications": 1, "sensitivity": False}, "seed": 2},
]
# One more, whose engine keys exclude those above.
STREAMING = {"name": "streaming", "model": {"kv_bytes_per_token": 131072},
 "engine": {"preset": "vllm@0.23", "num_gpu_blocks": 512, "residency": "streaming",
            "cold": {"selected": 0.5, "page_cache_hit": 0.1, "buffers": 2, "efficiency": 0.9,
                     "overlap": "stream"}, "token_budget": 100000},
 "compute": {"kind": "linear", "step_us": 2000, "token_ns": 20000, "kv_token_ns": 5},
 "tiers": [{"name": "dram", "kind": "dram", "capacity": "4GiB"}],
 "links": [{"name": "d2h", "from": "hbm", "to": "dram", "kind": "constant",
            "bandwidth": "25GB/s"},
           {"name": "h2d", "from": "dram", "to": "hbm", "kind": "constant",
            "bandwidth": "25GB/s"}],
 "workload": {"synthetic": {"requests": 20}, "arrival": "poisson", "rate_per_s": 1}}

failures = []


def check(holds, message):
    if not holds:
        failures.append(message)
    return holds


def without_comments(text):
    """`//` comments cut off, strings left alone."""
    return re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*', lambda m: m.group(1) or "", text)


class Tool:
    def __init__(self, binary):
        self.binary = binary

    def call(self, *arguments):
        done = subprocess.run([self.binary, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def schema(self, name):
        code, out, err = self.call("schema", name)
        if code != 0:
            sys.exit(f"spillway schema {name}: exit {code}: {err.strip()}")
        return json.loads(out)

    def parse(self, scenario, folder):
        """Exit code and error of `spillway run`, whose first act is to parse."""
        path = os.path.join(folder, "probe.json")
        with open(path, "w") as f:
            json.dump(scenario, f)
        code, _, err = self.call("run", path, "--quiet")
        return code, err


def complain(validator, document, name):
    for error in sorted(validator.iter_errors(document), key=str)[:3]:
        where = "/".join(map(str, error.absolute_path))
        check(False, f"{name}: {where}: {error.message[:200]}")


def objects_of(schema, path=()):
    """(path, properties) of each object with named members; 0 stands for any array item."""
    for choice in schema.get("oneOf", [schema]):
        if "properties" in choice:
            yield path, choice["properties"]
            for key, part in choice["properties"].items():
                yield from objects_of(part, path + (key,))
        if isinstance(choice.get("items"), dict):
            yield from objects_of(choice["items"], path + (0,))


def at(document, path):
    for part, following in zip(path, path[1:] + (None,)):
        if isinstance(part, str):
            # An object, or a list of one, that only some scenarios may have.
            document.setdefault(part, [{}] if following == 0 else {})
            if not isinstance(document[part], (dict, list)):
                document[part] = {}  # given by name in this scenario
        document = document[part]
    return document


def changed(base, path, key, value):
    out = copy.deepcopy(base)
    at(out, path)[key] = value
    return out


def known_keys(error):
    return error.rpartition("known: ")[2].split(", ")


def check_keys(tool, schema, validator, folder):
    """The parser's known keys, as its error lists them, are the schema's properties."""
    for path, properties in objects_of(schema):
        name = "/".join(map(str, path)) or "top level"
        planted = changed(BASES[0], path, PLANTED, 1)
        check(not validator.is_valid(planted), f"{name}: the schema accepts an unknown key")
        code, err = tool.parse(planted, folder)
        if not check(code == 2 and PLANTED in err, f"{name}: the parser accepts an unknown key"):
            continue
        parser = set(known_keys(err.strip()))
        for key in parser ^ set(properties):
            owner = "the parser" if key in parser else "the schema"
            check(False, f"{name}: only {owner} knows the key {key}")


def check_refusals(tool, schema, validator, folder):
    """What the schema refuses, the parser refuses, in one of the scenarios where the key counts."""
    for path, properties in objects_of(schema):
        for key in properties:
            for value in ([[]], True, -1, ""):
                probes = [changed(base, path, key, value) for base in BASES]
                if any(validator.is_valid(probe) for probe in probes):
                    continue
                codes = [tool.parse(probe, folder)[0] for probe in probes]
                where = "/".join(map(str, path + (key,)))
                check(2 in codes, f"{where}: the schema refuses {value!r}, the parser takes it")
                check(set(codes) <= {0, 2, 4}, f"{where}: {value!r} ends in exit codes {codes}")


def write_case(folder, scenario):
    """A validation case beside its measured run, whose limits are exceeded."""
    with open(os.path.join(folder, "measured.csv"), "w") as f:
        f.write("input_toks,output_toks,arrival_s,queued_s,scheduled_s,first_token_s,last_token_s\n")
        for i in range(6):
            at = 0.1 * i
            f.write(f"600,5,{at:.3f},{at:.3f},{at + 0.001:.3f},{at + 0.017:.3f},{at + 0.039:.3f}\n")
    os.makedirs(os.path.join(folder, "cases"), exist_ok=True)
    path = os.path.join(folder, "cases", "case.json")
    with open(path, "w") as f:
        json.dump({"measured": ["../measured.csv"], "scenario": scenario,
                   "repeats": [["../measured.csv"]], "bar": {"means": 1},
                   "tolerance": {"percentiles": 1}}, f)
    return path


def check_documents(tool, validator, profile, source, folder):
    paths = []
    for base in BASES + [STREAMING]:
        paths.append(os.path.join(folder, base["name"] + ".json"))
        with open(paths[-1], "w") as f:
            json.dump(base, f)
    trace = os.path.join(source, "traces/samples/chat.jsonl.gz")
    copied = os.path.join(folder, "copy.csv")
    rates = os.path.join(folder, "rates.csv")
    with open(rates, "w") as f:
        f.write("client,start_s,rate_rps,cv,dist,param1,param2\n0,0,1.5,1,Gamma,1,0.5\n")
    log = os.path.join(folder, "log.csv")
    with open(log, "w") as f:
        f.write("input_toks,output_toks,arrival_s,queued_s,scheduled_s,first_token_s,last_token_s\n"
                "100,3,0,0,0.01,0.05,0.09\n200,5,1,1,1.01,1.06,1.14\n")
    counters = os.path.join(folder, "counters.csv")
    with open(counters, "w") as f:
        f.write("t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct\n"
                "1,100,3,1,0,2.5\n2,200,5,0,0,0\n")
    schedule = os.path.join(folder, "transfers.csv")
    products = os.path.join(folder, "products.csv")
    with open(products, "w") as f:
        f.write("dtype,m,n,k,latency_ms\n")
        for n in (1024, 2048, 4096, 8192):
            for m in (1, 64, 256, 1024, 4096):
                f.write(f"bfloat16,{m},{n},{n},{5e-3 + max(2 * m * n * n / 5e14, n * n / 1e12) * 1e3}\n")
    measured = os.path.join(folder, "profile.json")
    campaign = os.path.join(folder, "campaign")
    pair = [os.path.join(folder, name) for name in ("without.csv", "with.csv")]
    replay = ["replay", "--trace", trace, "--limit", "200", "--capacity", "10blocks,inf"]
    calls = [["run", path] for path in paths] + [["plan", path] for path in paths[:2]] + [
        ["run", paths[0], "--set", "engine.num_gpu_blocks=150"],  # rejects requests
        ["run", paths[0], "--output", "kind=transfers,path=" + schedule],
        ["calibrate", "--replay", schedule, "--harness",
         os.path.join(os.path.dirname(tool.binary), "fake_gpu_harness")],
        ["plan", paths[0], "--set", "slo.0.max=0.001"],  # no feasible size
        ["compare", paths[0], "--vary", "tiers.0.eviction=lru,fifo", "--replications", "5"],
        ["compare", paths[0], "--vary", "tiers.0.capacity=0GiB,1GiB", "--replications", "1"],
        ["sweep", "plan", paths[0], "-o", campaign, "--set",
         'sweep={"vary": {"engine.max_num_seqs": [64, 256]}}'],
        ["sweep", "run", campaign], ["sweep", "worker", campaign, "--shard", "1/2"],
        ["sweep", "status", campaign], ["sweep", "merge", campaign],
        ["sweep", "emit", campaign, "--scheduler", "k8s", "-o", campaign + ".yaml"],
        replay, replay + ["--semantics", "prefix"], replay + ["--bounds", "never"],
        replay[:-2] + ["--tiers", "hbm=10blocks,dram=50blocks/fifo,far=inf", "--inclusion",
                       "exclusive", "--kv-bytes-per-block", "1MiB"],
        ["mrc", "--trace", trace, "--limit", "200", "--at", "10"],
        ["mrc", "--trace", trace, "--semantics", "prefix", "--sample", "0.2"],
        ["trace", "stats", trace], ["trace", "stats", rates], ["trace", "check", trace],
        ["trace", "convert", trace, copied],
        ["trace", "generate", "--out", os.path.join(folder, "made.jsonl"), "--requests", "20"],
        ["trace", "sample", trace, "--out", os.path.join(folder, "s.bin"), "--share", "0.5",
         "--max-difference", "1", "--infer-sessions"],
        ["trace", "merge", trace, "--out", os.path.join(folder, "merged.bin")],
        ["trace", "import", log, counters, "--out", os.path.join(folder, "run.jsonl")],
        ["calibrate", "--dry-run", "--host-only", "--scratch", folder],
        ["calibrate", "--host-only", "--budget", "1s", "--memory", "32MiB", "--scratch", folder],
        ["calibrate", "--verify", measured, "--host-only", "--memory", "32MiB", "--scratch", folder],
        ["validate", write_case(folder, paths[0])],
        ["run", paths[0], "--set", "tiers.0.capacity=0GiB", "--output",
         "kind=requests,path=" + pair[0]],
        ["run", paths[0], "--output", "kind=requests,path=" + pair[1]],
        ["fit", "--pair", *pair, "--scenario", paths[0]],
        ["fit", products, "--gpu", "H100"], ["fit", products, "--gpu", "H100", "--explain"],
        ["init", "--vllm", "vllm serve Qwen3-14B"], ["flags", paths[0]], ["flags", paths[0], "--engine", "vllm@0.6"],
        ["kvsize", "--model", "Llama-3.1-8B", "--tokens", "1000", "--gpu", "H100"],
        ["completion", "bash"], ["man", "plan"]]
    calls += [["list", catalogue] for catalogue in
              ("policies", "parameters", "engines", "models", "gpus", "formats", "links", "scenarios")]
    kinds = set()
    for call in calls:
        name = " ".join(os.path.basename(word) for word in call)
        code, out, err = tool.call(*call, "--quiet", "--json", "-")
        verified = "--verify" in call and code == 99  # a busy machine: the document is the same
        if not check(code in (0, 4) or verified, f"{name}: exit {code}: {err.strip()[:200]}"):
            continue
        document = json.loads(out, parse_constant=lambda c, n=name: check(False, f"{n}: {c}"))
        kinds.add(document.get("kind"))
        complain(validator, document, name)
        if document["kind"] == "hardware-profile":
            complain(profile, document, name)
            with open(measured, "w") as f:
                f.write(out)
        check(not validator.is_valid({**document, PLANTED: 1}), f"{name}: takes an unknown member")
        if isinstance(document["results"], dict) and document["kind"] in (
                "run", "plan", "compare", "mrc", "trace-stats", "validation", "measured-run"):
            planted = changed(document, ("results",), PLANTED, 1)
            check(not validator.is_valid(planted), f"{name}: takes an unknown result")
    untried = set(validator.schema["properties"]["kind"]["enum"]) - kinds
    check(not untried, f"kinds of documents that nothing here writes: {sorted(untried)}")


def check_editors(source):
    """What people edit names its schema by a path that holds, for their editors."""
    for pattern, kind in (("library/*", "scenario"), ("claims/*", "scenario"),
                          ("library/prices/*", "prices")):
        for path in glob.glob(os.path.join(source, "scenarios", pattern + ".json")):
            with open(path) as f:
                named = json.loads(without_comments(f.read())).get("$schema", "")
            found = os.path.normpath(os.path.join(os.path.dirname(path), named))
            wanted = os.path.normpath(os.path.join(source, f"scenarios/schema/{kind}.schema.json"))
            check(found == wanted, f"{path}: $schema {named!r} is not {wanted}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--spillway", required=True)
    p.add_argument("--source", required=True)
    a = p.parse_args()
    tool = Tool(a.spillway)
    schemas = {name: tool.schema(name)
               for name in ("scenario", "result", "profile", "compute-profile", "prices")}
    for name, schema in schemas.items():
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            sys.exit(f"schema {name}: {error.message}")
    scenario, result = (Draft202012Validator(schemas[n]) for n in ("scenario", "result"))
    profile = Draft202012Validator(schemas["profile"])
    by_kind = {"hardware-profile": profile,
               "compute-profile": Draft202012Validator(schemas["compute-profile"])}

    check_editors(a.source)
    library = sorted(glob.glob(os.path.join(a.source, "scenarios/library/*.json")))
    check(library, "scenarios/library holds no scenario")
    for path in library:
        with open(path) as f:
            complain(scenario, json.loads(without_comments(f.read())), os.path.basename(path))
    for path in sorted(glob.glob(os.path.join(a.source, "scenarios/library/prices/*.json"))):
        with open(path) as f:
            prices = Draft202012Validator(schemas["prices"])
            complain(prices, json.loads(without_comments(f.read())), os.path.basename(path))
    for path in sorted(glob.glob(os.path.join(a.source, "scenarios/hardware/*.json"))):
        with open(path) as f:
            document = json.load(f)
        if check(document.get("kind") in by_kind, f"{os.path.basename(path)}: no known kind"):
            complain(by_kind[document["kind"]], document, os.path.basename(path))
    with tempfile.TemporaryDirectory() as folder:
        for base in BASES:
            complain(scenario, base, base["name"])
            code, err = tool.parse(base, folder)
            check(code == 0, f"{base['name']}: exit {code}: {err.strip()}")
        check_keys(tool, schemas["scenario"], scenario, folder)
        check_refusals(tool, schemas["scenario"], scenario, folder)
        check_documents(tool, result, profile, a.source, folder)
    print("\n".join(failures) or f"schemas agree with the tool; {len(library)} scenarios checked")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
