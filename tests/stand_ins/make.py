#!/usr/bin/env python3
"""Makes every file of this folder: stand-ins for published traces, profiles and reference counts.

    python3 make.py            # writes them
    python3 make.py --check    # says which differ from what it would write; exit 1 where any does

Everything is drawn from fixed seeds, so that the files are the same whenever it runs, and their
facts are counted here, never by the program under test. Packed files are compared unpacked: packed
bytes depend on the version of zlib.
"""
import argparse
import gzip
import json
import os
import sys

sys.dont_write_bytecode = True         # the folder holds what is made here, and nothing else

import caches
import serving
import tables
import traces

HERE = os.path.dirname(os.path.abspath(__file__))
CONVERSATION = "mooncake_fast25_conversation.jsonl.gz"
LLAMA = "llmss_RTX4090_Llama-3.1-8B_tp1_"
RUN = "llmss_e2e_RTX4090_Llama-3.1-8B_"
GPUS = ("h100_sxm", "a100_sxm", "l40s")


def document(value):
    return json.dumps(value, indent=1) + "\n"


def trace_files(facts):
    rows = traces.conversation()
    facts["conversation"] = traces.conversation_facts(rows)
    yield f"traces/{CONVERSATION}", traces.lines(rows)
    oracle, reference = caches.oracles([row["hash_ids"] for row in rows], facts["conversation"],
                                       CONVERSATION)
    yield "oracle/mooncake_fast25_conversation.json", document(oracle)
    yield "oracle/reference_access_order.json", document(reference)
    rows = traces.retrieval()
    facts["retrieval"] = traces.retrieval_facts(rows)
    yield "traces/ragpulse_days1-4.jsonl.gz", traces.lines(rows, **traces.SHORT)
    sessions = traces.agents()
    facts["agents"] = traces.agents_facts(sessions)
    yield ("traces/kvcache_tester_agentic_0001-0080.jsonl.gz",
           traces.lines(sessions, **traces.SHORT))
    for name, make, count, file in (
            ("azure", traces.azure, traces.azure_facts, "azure_llm_2023_conv.csv.gz"),
            ("burst", traces.burst, traces.burst_facts, "burstgpt_1_head400.csv.gz"),
            ("rates", traces.rates, traces.rates_facts, "servegen_m-small_client_rates.csv.gz")):
        text, rows = make()
        facts[name] = count(rows)
        yield f"traces/{file}", text


def profile_files(facts):
    for gpu in GPUS:
        yield f"profiles/aic_{gpu}_gemm.csv.gz", tables.gemm(gpu)
        yield f"profiles/aic_{gpu}_attn_context.csv.gz", tables.attention_context(gpu)
        yield f"profiles/aic_{gpu}_attn_generation.csv.gz", tables.attention_generation(gpu)
    yield f"profiles/{LLAMA}dense.csv.gz", tables.layer_dense()
    yield f"profiles/{LLAMA}per_sequence.csv.gz", tables.layer_per_sequence()
    yield f"profiles/{LLAMA}attention.csv.gz", tables.layer_attention()
    yield f"profiles/{LLAMA}skew.csv.gz", tables.layer_skew()
    yield "profiles/vidur_a100_Meta-Llama-3-8B_mlp.csv.gz", tables.operations()
    yield "profiles/aic_silicon_e2e_b200_llama70b.csv.gz", tables.serving_points()
    yield "profiles/copy_reference.json", document(tables.copies())
    facts["copies"] = tables.copies_facts()
    run = serving.saturated_run()
    yield f"profiles/{RUN}requests.csv.gz", serving.request_log(run)
    yield f"profiles/{RUN}timeseries.csv.gz", serving.counters_text(serving.counters(run))
    yield f"profiles/{RUN}meta.json", document(serving.run_meta(run))
    facts["run"] = serving.run_facts(run)


def made():
    """Every file of the folder by its name in it, and its text."""
    facts = {}
    files = dict(trace_files(facts))
    files.update(profile_files(facts))
    for case in ("dram", "shared"):
        for file, text in serving.oracle_case(case).items():
            files[f"oracle/cases/{case}/{file}"] = text
    files["cli.md"] = serving.example_page()
    files["facts.json"] = document(facts)
    return {name: text.encode() for name, text in files.items()}


def unpacked(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return file.read()


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(gzip.compress(content, 9, mtime=0) if path.endswith(".gz") else content)


def there():
    """What the folder holds besides its programs."""
    for folder, folders, names in os.walk(HERE):
        folders[:] = [name for name in folders if name != "model_configs"]  # facts, by hand
        for name in names:
            if not name.endswith((".py", ".pyc")):
                yield os.path.relpath(os.path.join(folder, name), HERE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    files = made()
    wrong = [f"{name}: nothing makes it" for name in there() if name not in files]
    for name, content in files.items():
        path = os.path.join(HERE, name)
        if not check:
            write(path, content)
        elif not os.path.exists(path) or unpacked(path) != content:
            wrong.append(f"{name}: differs from what make.py makes")
    print("\n".join(wrong + [f"{len(files)} stand-ins, {len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
