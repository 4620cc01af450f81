#!/usr/bin/env python3
"""Hold `spillway init` to inputs whose right scenario is known from the engine's documentation.

    python3 check_init.py --spillway build/spillway [--source DIR] [-v] [NAME...]

cases.json: inputs, and what a scenario of each must say. `expect` holds keys of the scenario (null:
absent), `resolved` keys of what `spillway run` made of it, `near` [value, share] of such keys;
`assumed`, `not_modelled` and `unknown` name what these lists must hold. Every flag of the engine's own
command, found here in the raw text, must stand in exactly one list. `flags` gives the full names of
abbreviated flags, `hidden_flags` those that only a variable holds, `no_flags` marks inputs without any,
and `region` has the texts around the command in files with more than one.
refused.json: inputs that must end with one line of error and write nothing; `as` names the file.
Round trip: `spillway flags` of the library's scenarios, read by `scenario from`, gives the same engine,
the same tiers, and the same keys of an attached store. A client of Mooncake Store is code and has no
flags: of mooncake-client only the store comes back, from its master's command line.
Exit 1 where anything is wrong; NAME is a part of the names of cases.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

LISTS = ("used", "assumed", "not_modelled", "unknown", "no_effect")
# Short forms as vLLM's vllm/engine/arg_utils.py and vllm/entrypoints/openai/cli_args.py have them.
SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-dpl": "--data-parallel-size-local",
    "-ep": "--enable-expert-parallel",
    "-asc": "--api-server-count",
    "-q": "--quantization",
    "-cc": "--compilation-config",
    "-sc": "--speculative-config",
    "-O": "--optimization-level",
}
NOT_OF_ENGINE = {"-c", "-lc", "-m"}  # of shells and of python
NOT_FLAGS = {"model", "model_tag", "subparser", "dispatch_function"}  # of a log's arguments
OF_VALUES = {"extraArgs", "v0", "v1"}
SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)")
UNIT = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNIT.update({"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40})
IMAGE = re.compile(r"[\w.-]*(/[\w.-]+)*/?[\w.-]*vllm[\w.-]*(:[\w.-]+)?")
RUN_LIMIT = 40
ALONE = "mooncake-client"
SIZES = ("size of tier", "size and the eviction of tier", "capacity of")  # of what flags do not cover
MOONCAKE = [
    {"name": "dram", "kind": "dram", "capacity": "64GB"},
    {"name": "store", "kind": "kv", "capacity": "64GiB", "scope": "cluster", "segments": 1, "store": {}},
]
MOONCAKE_KEYS = {
    "lease_ms": 5000, "soft_pin_ms": 60000, "high_watermark": 0.85, "eviction_ratio": 0.1, "allow_evict_soft_pinned": False,
    "put_discard_s": 20, "put_release_s": 300, "enable_offload": True, "offload_on_evict": True, "offload_force_evict": True,
    "offload_queue_limit": 1000, "offload_cap_ratio": 0.25, "bucket_bytes": 134217728, "bucket_keys": 100, "heartbeat_ms": 5000,
    "ssd_high_watermark": 0.95, "ssd_low_watermark": 0.7,
}  # fmt: skip
MOONCAKE_SSD = [
    MOONCAKE[0],
    {**MOONCAKE[1], "segments": 2, "store": MOONCAKE_KEYS},
    {"name": "ssd", "kind": "nvme", "capacity": "1TiB"},
]
# Changes of a library scenario that flags can say: what comes back must be the same.
ROUND_TRIPS = [
    ("quickstart", ["engine.enable_prefix_caching=false", "engine.gpu_memory_utilization=0.85"]),
    ("quickstart", ["engine.block_tokens=32", "engine.offload_block_tokens=64", "engine.store_threshold=3"]),
    ("quickstart", ["engine.scheduling_policy=priority", "engine.long_prefill_token_threshold=512"]),
    ("quickstart", ["engine.enforce_eager=true", "engine.async_scheduling=false"]),
    ("quickstart", ["engine.enable_chunked_prefill=false", "engine.max_model_len=8192"]),
    ("quickstart", ["tiers.0.eviction=vllm-arc", "engine.offload_prompt_only=false"]),
    ("quickstart", ["tiers.0.capacity=0GiB", "engine.max_cudagraph_capture_size=64"]),
    ("agentic-sessions", ["engine.tensor_parallel_size=2", "engine.max_num_seqs=77"]),
    ("sglang-hicache", ["engine.tensor_parallel_size=2", "engine.hicache_write_policy=write_back"]),
    ("sglang-hicache", ["engine.async_scheduling=false", "engine.schedule_policy=lpm", "engine.chunked_prefill_size=0"]),
    ("sglang-hicache", ["engine.enable_mixed_chunk=true", "engine.schedule_policy=dfs-weight", "engine.radix_eviction_policy=lfu"]),
    ("trtllm-host-cache", ["engine.tensor_parallel_size=2", "engine.capacity_scheduler_policy=MAX_UTILIZATION"]),
    ("trtllm-host-cache", ["engine.max_tokens=160000", "engine.enable_chunked_prefill=false", "tiers.0.capacity=0GB"]),
    ("trtllm-host-cache", ["engine.block_tokens=64", "engine.max_model_len=16384", "model.kv_dtype=fp8"]),
    ("sglang-hicache", ["tiers=" + json.dumps(MOONCAKE)]),
    ("sglang-hicache", ["tiers=" + json.dumps(MOONCAKE_SSD), "engine.tensor_parallel_size=2"]),
    ("mooncake-store", ["tiers.0.store=" + json.dumps(MOONCAKE_KEYS)]),
    ("mooncake-store", ["tiers.0.segments=1", "tiers.0.store.replicas=1", "tiers.0.store.lease_ms=500"]),
    ("aibrix-l2", ["engine.tensor_parallel_size=2", "tiers.0.eviction=lru", "engine.aibrix.ingestion=evicted"]),
    (
        "aibrix-l2",
        ['engine.aibrix={"chunk_tokens": 256, "small_fifo_ratio": 0.2, "promo_threshold": 2, "ingestion": "all", '
         '"max_inflight_tokens": 0, "per_token_timeout_ms": 5, "double_get_blocks": 8, "double_get_ratio": 0.25}'],
    ),  # fmt: skip
    ("flexkv-tiers", ["tiers.0.eviction=slru", "tiers.1.eviction=slru", "engine.flexkv.slru_protected_threshold=3"]),
    ("flexkv-tiers", ["engine.tensor_parallel_size=2", 'engine.flexkv={"evict_start_threshold": 1, "evict_ratio": 0, "hit_reward_seconds": 10}']),
    ("agentic-sessions", ["engine.pipeline_parallel_size=2", "engine.data_parallel_size=2"]),
    ("agentic-sessions", ["model={\"name\": \"Qwen3-32B\", \"weight_dtype\": \"fp8\", \"kv_dtype\": \"fp8\"}"]),
    ("agentic-sessions", ["model=gpt-oss-20b", "engine.hybrid_kv_cache=true"]),
    ("agentic-sessions", ["model=gpt-oss-20b", "engine.hybrid_kv_cache=false", "engine.preset=vllm@0.19"]),
]


def plain(name, full):
    """A flag as vLLM's parser knows it: dashes, no value, no key behind a dot, no negation."""
    name = name.split("=")[0].split(".")[0].rstrip("+")
    if name.startswith("--"):
        name = "--" + name[2:].replace("_", "-")
    if re.fullmatch(r"-O\d", name):
        name = "-O"
    if name.startswith("--no-"):
        name = "--" + name[5:]
    return SHORT.get(name, full.get(name, name))


def is_flag(word):
    return re.match(r"--?[A-Za-z]", word) is not None and word not in NOT_OF_ENGINE


def commands_of(text):
    """Commands of a script, as lists of words."""
    text = re.sub(r"\\[ \t]*(?:[ \t]#[^\n]*)?\n", " ", text)
    pending = ""
    out = []
    for line in text.split("\n"):
        pending += line
        lexer = shlex.shlex(pending, posix=True, punctuation_chars=";&|()<>")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:  # a quote that goes on
            pending += " "
            continue
        pending = ""
        out.append([])
        for word in words:
            if set(word) <= set(";&|"):
                out.append([])
            else:
                out[-1].append(word)
    return out


def behind_start(words):
    """The engine's arguments; nothing where the command starts none."""
    for i, word in enumerate(words):
        if word.endswith("vllm") and words[i + 1 : i + 2] == ["serve"]:
            return words[i + 2 :]
        starts = ("vllm.entrypoints", "dynamo.vllm", "sglang.launch_server")
        if word.startswith(starts) or word.endswith("trtllm-serve"):
            return words[i + 1 :]
    if words[:2] in (["docker", "run"], ["podman", "run"]):
        for i, word in enumerate(words[2:], 2):
            image = IMAGE.fullmatch(word) and "/" in word and not words[i - 1].startswith("--name")
            if image:
                return words[i + 1 :]
    return None


def flags_of_command(text):
    starts = [found for found in map(behind_start, commands_of(text)) if found is not None]
    first = [words for words in starts if "--headless" not in words] or starts
    return [word for word in first[0] if is_flag(word)] if first else []


def flags_of_manifest(text, region):
    if region:
        at = text.index(region[0])
        end = text.find(region[1], at + len(region[0])) if region[1] else len(text)
        text = text[at:end]
    text = re.sub(r"(^|\s)#[^\n]*", r"\1", text)
    out = [word for word in re.findall(r"(?<![\w$./{-])--?[A-Za-z][\w.+-]*", text) if is_flag(word)]
    depth = None
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        key = re.match(r"\s*(\w+):", line)
        if depth is not None and line.strip() and indent <= depth:
            depth = None
        if depth is not None and key and key[1] not in OF_VALUES:
            out.append("--" + re.sub(r"(?=[A-Z])", "-", key[1]).lower())
        if key and key[1] == "vllmConfig":
            depth = indent
    return out


def flags_of_log(text):
    found = re.search(r"non-default args: \{|args: Namespace\(", text)
    if not found:
        return []
    named = "Namespace" in found[0]
    out = []
    depth, word, quote, at = 1, "", "", found.end()
    entries = []
    while at < len(text) and depth and text[at] != "\n":
        c = text[at]
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{<":
            depth += 1
        elif c in ")]}>":
            depth -= 1
        if depth == 1 and c == "," and not quote:
            entries.append(word)
            word = ""
        else:
            word += c
        at += 1
    entries.append(word.rstrip(")}"))
    for entry in entries:
        key, _, value = entry.strip().partition("=" if named else ":")
        key, value = key.strip().strip("'"), value.strip()
        if key in NOT_FLAGS or value in ("None", "''", "[]", "{}") or (named and value == "False"):
            continue
        out.append("--" + key.replace("_", "-"))
    return out


def scenario_of(text):
    """JSON without the comments that a scenario may have."""
    return json.loads(re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*', lambda m: m[1] or "", text))


def at_key(document, path):
    for part in path.split("."):
        if isinstance(document, list):
            document = document[int(part)] if int(part) < len(document) else None
        else:
            document = document.get(part) if isinstance(document, dict) else None
    return document


def bytes_of(value):
    match = SIZE.fullmatch(value) if isinstance(value, str) else None
    return float(match[1]) * UNIT[match[2]] if match else None


def same(found, wanted):
    if bytes_of(wanted) is not None:
        return bytes_of(found) == bytes_of(wanted)
    return type(found) is type(wanted) and found == wanted


class Program:
    def __init__(self, binary, here):
        self.binary = str(pathlib.Path(binary).resolve())
        self.here = here

    def call(self, *args, folder=None):
        found = subprocess.run([self.binary, *map(str, args)], capture_output=True, cwd=folder or self.here, timeout=50)
        return found.returncode, found.stdout.decode(errors="replace"), found.stderr.decode(errors="replace")

    def inputs(self, scenario, *more, limit=RUN_LIMIT):
        """What a run read in a scenario: (inputs, error)."""
        code, out, err = self.call("run", scenario, "--set", f"workload.limit={limit}", *more, "--quiet", "--json", "-")
        if code != 0:
            return None, f"run ended with {code}: {err.strip()[:200]}"
        return json.loads(out)["inputs"], ""

    def configuration(self, scenario, *more, limit=RUN_LIMIT):
        """What a run made of a scenario: (configuration, error)."""
        inputs, error = self.inputs(scenario, *more, limit=limit)
        return (inputs["configuration"] if inputs else None), error


def check_case(program, case, folder):
    faults = []
    text = (program.here / case["file"]).read_text()
    options = case.get("options", [])
    code, out, err = program.call("init", case["file"], *options, "--json", "-")
    if code != 0:
        return [f"expected a scenario, found exit {code}: {err.strip()[:300]}"]
    results = json.loads(out)["results"]
    scenario = results["scenario"]
    for key, wanted in case["expect"].items():
        found = at_key(scenario, key)
        if not same(found, wanted):
            faults.append(f"scenario {key}: expected {json.dumps(wanted)}, found {json.dumps(found)}")
    if case.get("model_assumed", results["model_assumed"]) != results["model_assumed"]:
        faults.append(f"model_assumed: expected {case['model_assumed']}, found {results['model_assumed']}")
    for name in ("assumed", "not_modelled", "unknown"):
        have = [f"{one['what']}: {one['why']}" for one in results[name]]
        for wanted in case.get(name, []):
            if not any(wanted in (text if name == "assumed" else text.split(" ")[0]) for text in have):
                listed = "; ".join(text[:60] for text in have) or "nothing"
                faults.append(f"{name}: expected {wanted}, found {listed}")
    faults += check_flags(case, text, options, results)
    faults += check_written(program, case, folder, out, scenario)
    return faults


def check_flags(case, text, options, results):
    full = case.get("flags", {})
    kind = pathlib.Path(case["file"]).suffix
    if kind == ".yaml":
        words = flags_of_manifest(text, case.get("region"))
    elif kind == ".log":
        words = flags_of_log(text)
    else:
        words = flags_of_command(text) if kind == ".sh" else []
    for value in options:
        words += flags_of_command(value) if value.startswith("vllm serve") else []
    faults = []
    for flag in sorted({plain(word, full) for word in [*words, *case.get("hidden_flags", [])]}):
        if flag == "--model" and any(one["why"].startswith("model.name") for one in results["used"]):
            continue  # listed by its value
        if flag == "--model" and any(one["what"].startswith("model") for one in results["assumed"]):
            continue
        lists = [
            name
            for name in LISTS
            if any(plain(one["what"].split(" ")[0], full) == flag for one in results[name])
        ]
        if len(lists) != 1:
            faults.append(f"flag {flag}: expected in one list, found in {' and '.join(lists) or 'none'}")
    if kind in (".sh", ".yaml") and not words and not case.get("no_flags"):
        faults.append("check_init.py: no flag was found in the input")
    return faults


def check_written(program, case, folder, first, scenario):
    faults = []
    path = folder / "scenario.json"
    code, out, err = program.call("init", case["file"], *case.get("options", []), "--out", path, "--json", "-")
    if code != 0 or not path.exists():
        return [f"--out: expected a file, found exit {code}: {err.strip()[:200]}"]
    if out != first:
        faults.append("expected the same output twice, found two")
    if scenario_of(path.read_text()) != scenario:
        faults.append("expected the written scenario to be that of --json, found another")
    configuration, error = program.configuration(path)
    if error:
        return faults + [f"expected that the scenario runs, found: {error}"]
    for key, wanted in case.get("resolved", {}).items():
        found = at_key(configuration, key)
        if not same(found, wanted):
            faults.append(f"resolved {key}: expected {json.dumps(wanted)}, found {json.dumps(found)}")
    for key, (wanted, share) in case.get("near", {}).items():
        found = at_key(configuration, key)
        if found is None or abs(found - wanted) > share * wanted:
            faults.append(f"resolved {key}: expected {wanted:g} within {share:.0%}, found {found}")
    return faults


def check_refused(program, case, folder):
    arguments = []
    if "text" in case or "binary" in case:
        content = bytes.fromhex(case["binary"]) if "binary" in case else case["text"].encode()
        name = case.get("as", "input")
        (folder / name).write_bytes(content)
        arguments.append(name)
    arguments += [str(program.here / name) for name in case.get("files", [])]
    config = str(program.here / "cases" / "dense-float32.json")
    arguments += [value.replace("{config}", config) for value in case["options"]]
    target = folder / "out.json"
    if case.get("out_folder"):
        target.mkdir()
    elif "out" in case:
        target.write_text(case["out"])
    before = sorted(folder.rglob("*"))
    code, out, err = program.call("init", *arguments, "--out", "out.json", folder=folder)
    faults = []
    wanted = case["exit"] if isinstance(case["exit"], list) else [case["exit"]]
    if code not in wanted:
        faults.append(f"expected exit {' or '.join(map(str, wanted))}, found {code}: {' '.join((err or out).split())[:160]}")
    lines = err.strip().split("\n")
    if len(lines) != 1 or not lines[0]:
        count = len([line for line in lines if line])
        faults.append(f"expected one line of error, found {count}: {err.strip()[:200]!r}")
    for part in case["says"]:
        if part not in err:
            faults.append(f"error: expected \"{part}\", found: {err.strip()[:260]}")
    if out and code != 0:
        faults.append(f"expected nothing on standard output, found {out[:80]!r}")
    if sorted(folder.rglob("*")) != before or ("out" in case and target.read_text() != case["out"]):
        faults.append("expected that nothing is written, found a changed folder")
    return faults


def check_stores(name, wanted, found, not_covered):
    """(faults, notes): the keys of an attached store, as scenarios have them."""
    faults, notes = [], []
    pairs = []
    for part in ("aibrix", "flexkv", "kvbm"):
        sides = [side["settings"]["engine"].get(part, {}) for side in (wanted, found)]
        pairs += [(f"engine.{part}.{key}", key, sides[0].get(key), sides[1].get(key)) for key in sides[0]]
    for i, tier in enumerate(wanted["settings"]["tiers"]):
        tiers = found["settings"]["tiers"]
        other = tiers[i] if i < len(tiers) else {}
        store = other.get("store", {})
        pairs += [(f"tiers.{i}.store.{key}", key, value, store.get(key)) for key, value in tier.get("store", {}).items()]
        if "store" in tier:
            pairs.append((f"tiers.{i}.segments", "segments", tier["segments"], other.get("segments")))
            sizes = [side["configuration"]["tiers"][i]["capacity"] for side in (wanted, found)]
            # Without the other processes and instances only the memory of one is there.
            parts = 1
            if any(text.startswith("segments") for text in not_covered):
                parts = tier["segments"] // other.get("segments", 1)
            if bytes_of(sizes[0]) != parts * bytes_of(sizes[1]):
                faults.append(f"tiers.{i}.capacity: expected {sizes[0]}, found {parts} x {sizes[1]}")
        if f"tiers.{i}.eviction" in wanted["origins"]:
            pairs.append((f"tiers.{i}.eviction", f"eviction of tier {tier['name']}", tier["eviction"], other.get("eviction")))
    for label, key, one, other in pairs:
        if one == other or (isinstance(one, dict) and not one):
            continue
        if any(re.search(rf"\b{re.escape(key)}\b", text) for text in not_covered):
            notes.append(f"{name}: {label} is not covered by flags")
        else:
            faults.append(f"{label}: expected {json.dumps(one)}, found {json.dumps(other)}")
    return faults, notes


def check_round_trip(program, source, name, changes, folder):
    """(faults, notes): the engine of the command that `flags` prints is the scenario's."""
    scenario = source / "scenarios" / "library" / f"{name}.json"
    sets = [part for change in changes for part in ("--set", change)]
    code, out, err = program.call("flags", scenario, *sets, "--json", "-", "--quiet")
    if code != 0:
        return [f"expected flags, found exit {code}: {err.strip()[:200]}"], []
    document = json.loads(out)
    flags, wanted = document["results"], document["inputs"]["configuration"]
    preset = flags["preset"]
    if wanted["engine"].get("swap_space") or "gpu" not in wanted or "name" not in wanted["model"]:
        why = "v0" if wanted["engine"].get("swap_space") else "names no model and GPU"
        return [], [f"{name}: left out, {why}"]
    ran, error = program.configuration(scenario, *sets, limit=5)
    if ran is not None and ran["engine"] != wanted["engine"]:
        return ["expected the engine of flags in a run, found another"], []
    command = flags["command"].replace("$MODEL", wanted["model"]["name"])
    command = re.sub(r"BACKEND_OF_\w+", "INFINISTORE", command)  # as flags says
    path = folder / "again.json"
    given = ["--vllm", command, "--gpu", wanted["gpu"]]
    if preset == ALONE:
        given += ["--model", wanted["model"]["name"]]
    if "@" in preset:
        given += ["--release", preset.split("@")[1]]
    code, out, err = program.call("scenario", "from", *given, "--out", path, "--json", "-")
    if code != 0:
        return [f"expected that it reads what flags prints, found exit {code}: {err.strip()[:300]}"], []
    made, error = program.inputs(path, limit=5)
    if error:
        return [f"expected that it runs, found: {error}"], []
    found = made["configuration"]
    uncovered = " ".join(flags["not_covered"])
    faults, notes = check_stores(name, document["inputs"], made, flags["not_covered"])
    if preset == ALONE:  # a client is code, without flags: only the store comes back
        unknown = json.loads(out)["results"]["unknown"]
        return faults + [f"expected that init knows what flags prints, found unknown {one['what']}" for one in unknown], notes
    keys = [("engine", key) for key in sorted({*wanted["engine"], *found["engine"]})]
    for part, key in [*keys, ("model", "kv_bits"), ("model", "kv_bytes_per_token")]:
        label, one, other = f"{part}.{key}", wanted[part], found[part]
        if one.get(key) == other.get(key):
            continue
        if key in uncovered or key.replace("_", " ") in uncovered:
            notes.append(f"{name}: {label} is not covered by flags")
            continue
        faults.append(f"{label}: expected {json.dumps(one.get(key))}, found {json.dumps(other.get(key))}")
    for i, tier in enumerate(wanted["tiers"]):
        attached = preset.startswith(("aibrix", "flexkv", "kvbm")) or "processes" in flags
        if f"tier {tier['name']}" in uncovered and tier["kind"] not in ("dram", "fs") and not attached:
            notes.append(f"{name}: tier {tier['name']} is not covered by flags")
            continue
        other = found["tiers"][i] if i < len(found["tiers"]) else {}
        if any(f"{size} {tier['name']}" in uncovered for size in SIZES):
            notes.append(f"{name}: the size of tier {tier['name']} is not covered by flags")
            other = {**tier, "kind": other.get("kind")}
        of_store = "store" in document["inputs"]["settings"]["tiers"][i]  # check_stores has its size
        for key in ("kind", "eviction") if of_store else ("kind", "capacity", "eviction"):
            if tier.get(key) != other.get(key):
                faults.append(f"tiers.{i}.{key}: expected {tier.get(key)}, found {other.get(key)}")
    for one in json.loads(out)["results"]["unknown"]:
        faults.append(f"expected that init knows what flags prints, found unknown {one['what']}")
    return faults, notes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spillway", required=True, help="the program")
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument("--source", default=str(here.parent.parent), help="the project's folder")
    parser.add_argument("-v", "--verbose", action="store_true", help="every check, and what round trips leave out")
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases; all unless given")
    options = parser.parse_args()
    source = pathlib.Path(options.source).resolve()
    program = Program(options.spillway, source / "tests" / "init")
    cases = json.loads((program.here / "cases.json").read_text())
    refused = json.loads((program.here / "refused.json").read_text())
    trips = [(path.stem, []) for path in sorted((source / "scenarios" / "library").glob("*.json"))] + ROUND_TRIPS
    work = [("case", " ".join([one["file"], *one.get("options", [])[:2]]), one) for one in cases]
    work += [("refused", one["name"], one) for one in refused]
    work += [("round trip", " ".join([name, *changes]), (name, changes)) for name, changes in trips]
    read = {pathlib.Path(one["file"]).name for one in cases}
    missing = {path.name for path in (program.here / "cases").iterdir()} - read
    if missing:
        sys.exit(f"no case reads {', '.join(sorted(missing))}")

    def judge(one):
        kind, name, what = one
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            try:
                if kind == "case":
                    return check_case(program, what, folder), []
                if kind == "refused":
                    return check_refused(program, what, folder), []
                return check_round_trip(program, source, *what, folder)
            except subprocess.TimeoutExpired as slow:
                return [f"expected an end within {slow.timeout:g} s, found none"], []

    chosen = [one for one in work if not options.names or any(part in one[1] for part in options.names)]
    if not chosen:
        sys.exit(f"no such case: {', '.join(options.names)}")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(judge, chosen))
    right = {}
    for (kind, name, _), (faults, notes) in zip(chosen, found):
        counts = right.setdefault(kind, [0, 0])
        counts[0] += not faults
        counts[1] += 1
        if faults or options.verbose:
            print(f"{'WRONG' if faults else 'right'} {kind} {name}")
        for text in faults:
            print(f"  {text}")
        for text in notes:
            print(f"  {text}")
    print("; ".join(f"{kind}: {good} of {all_of} right" for kind, (good, all_of) in right.items()))
    sys.exit(0 if all(good == all_of for good, all_of in right.values()) else 1)


if __name__ == "__main__":
    main()
