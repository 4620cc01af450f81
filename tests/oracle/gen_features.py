"""The newer engine keys, drawn on top of a classic scenario from a random stream of their own."""


def blocks_of(capacity, block_bytes):
    """Engine blocks of a capacity as gen.py writes it, rounded down; enough to keep sizes in range."""
    for unit, size in (("blocks", 0), ("MiB", 2**20), ("MB", 10**6), ("GiB", 2**30)):
        if capacity.endswith(unit):
            number = int(capacity[:-len(unit)])
            return number * size // block_bytes if size else number
    raise ValueError(capacity)


def add_priority(rng, scenario, rows):
    scenario["engine"]["scheduling_policy"] = "priority"
    add_classes(rng, scenario, rows, priorities=True)
    if rng.random() < 0.5:
        crowd(rng, scenario, rows)


def crowd(rng, scenario, rows):
    """Several prefills in flight in a pool too small for them: victims that the step has already served."""
    shrink_pool(rng, scenario, rows)
    engine = scenario["engine"]
    engine["reserve_full_isl"] = False
    engine["max_num_seqs"] = rng.choice([4, 8, 16, 64])
    engine["max_num_batched_tokens"] = rng.choice([40, 64, 100, 200, 512])
    if rng.random() < 0.7:
        engine["long_prefill_token_threshold"] = rng.choice([8, 16, 30, 64])
    if rng.random() < 0.4:
        engine["async_scheduling"] = True


def add_classes(rng, scenario, rows, priorities=False):
    """Tenants on the rows and classes for most of them."""
    names = ["a", "b", "c", "d"][:rng.choice([2, 2, 3, 4])]
    absent = rng.choice([0.0, 0.0, 0.3])                # rows that name no tenant
    for row in rows:
        if rng.random() >= absent:
            row["tenant"] = rng.choice(names)
    classes = []
    limited = rng.random() < (0.3 if priorities else 1.0) and "tiers" in scenario
    for name in names[:len(names) - (rng.random() < 0.2)]:
        own = {"tenant": name}
        if priorities or rng.random() < 0.2:            # without the policy a priority means nothing
            own["priority"] = rng.choice([0, 1, 1, 2, 3, 7])
        if limited and rng.random() < 0.3:
            own["offload"] = rng.random() < 0.2
        elif limited and rng.random() < 0.5:
            own["max_offload_tokens"] = a_limit(rng, scenario)
        classes.append(own)
    scenario["workload"]["classes"] = classes


def a_limit(rng, scenario):
    block = scenario["engine"]["block_tokens"]
    return rng.choice([0, block - 1, block * 3, block * 7 + 5, 512, 2000])


def add_limit(rng, scenario, rows):
    scenario["engine"]["max_offload_tokens"] = a_limit(rng, scenario)


def add_whole_prefills(rng, scenario, rows):
    """enable_chunked_prefill false. A prompt above the budget then waits for ever: rare, but wanted."""
    engine = scenario["engine"]
    engine["enable_chunked_prefill"] = False
    longest = max(r["input_length"] + r["output_length"] for r in rows)
    engine["max_num_batched_tokens"] = rng.choice(
        [longest, longest, longest + 64, 2 * longest, max(r["input_length"] for r in rows)])
    engine.pop("max_num_scheduled_tokens", None)


def add_budget(rng, scenario, rows):
    engine = scenario["engine"]
    most = engine["max_num_batched_tokens"]
    engine["max_num_scheduled_tokens"] = rng.choice([most, most // 2, most * 3 // 4, max(1, most // 7)])


def add_chunks(rng, scenario, rows):
    engine, tier = scenario["engine"], scenario["tiers"][0]
    k = rng.choice([2, 2, 3, 4, 8])
    if rng.random() < 0.3:
        engine["offload_block_tokens"] = engine["block_tokens"] * k
    else:
        engine["blocks_per_chunk"] = k
    kv_block = scenario["model"]["kv_bytes_per_token"] * engine["block_tokens"]
    if blocks_of(tier["capacity"], -(-kv_block // 4096) * 4096) < k:
        tier["capacity"] = f"{k * rng.randint(1, 4) + rng.randrange(k)}blocks"


def add_arc(rng, scenario, rows):
    scenario["tiers"][0]["eviction"] = "arc"


def add_threshold(rng, scenario, rows):
    engine = scenario["engine"]
    engine["store_threshold"] = rng.choice([1, 2, 2, 3, 5])
    if rng.random() < 0.8:
        engine["threshold_counts_offers"] = rng.random() < 0.5
    if rng.random() < 0.6:
        engine["max_tracker_size"] = rng.choice([1, 5, 20, 60, 200])


def add_deferred_frees(rng, scenario, rows):
    scenario["engine"].update(async_scheduling=True, defer_block_free=True)
    if rng.random() < 0.7:
        shrink_pool(rng, scenario, rows)


def add_async(rng, scenario, rows):
    scenario["engine"]["async_scheduling"] = True


def shrink_pool(rng, scenario, rows):
    """Preemptions: room for the largest request and little else."""
    block = scenario["engine"]["block_tokens"]
    need = max(-(-(r["input_length"] + max(1, r["output_length"]) - 1) // block) for r in rows)
    scenario["engine"]["num_gpu_blocks"] = need + 1 + rng.choice([0, 0, 1, 3, need // 4, need // 2])


def add_deadlock(rng, scenario, rows):
    """Small pool, slow loads, no reservation: finished loads stranded behind a head that does not fit."""
    shrink_pool(rng, scenario, rows)
    engine = scenario["engine"]
    engine["max_num_seqs"] = rng.choice([4, 16, 64])
    engine["async_load_reservation"] = rng.random() < 0.1
    engine["reserve_full_isl"] = rng.random() < 0.5
    scenario["tiers"][0]["capacity"] = f"{engine['num_gpu_blocks'] * rng.choice([4, 10, 40])}blocks"
    scenario["links"][1].update(bandwidth=rng.choice(["0.2GB/s", "1GB/s"]), latency_us=rng.choice([10, 1000]))


FEATURES = [  # (draw, needs a tier, weight)
    (add_priority, False, 4), (add_classes, True, 2), (add_limit, True, 2), (add_whole_prefills, False, 2),
    (add_budget, False, 1), (add_chunks, True, 4), (add_arc, True, 4), (add_threshold, True, 3),
    (add_deferred_frees, True, 3), (add_deadlock, True, 3),
]
EXTRAS = [(shrink_pool, 0.3), (add_async, 0.15)]               # beside a new key: what makes it matter


def extend(rng, scenario, rows):
    """Adds one to four new keys to about half of the scenarios."""
    if rng.random() < 0.5:
        return
    usable = [(f, w) for f, tier, w in FEATURES if not tier or "tiers" in scenario]
    for extra, chance in EXTRAS:
        if rng.random() < chance:
            extra(rng, scenario, rows)
    for _ in range(rng.choice([1, 1, 2, 3, 4])):
        if not usable:
            break
        feature = rng.choices([f for f, _ in usable], [w for _, w in usable])[0]
        usable = [(f, w) for f, w in usable if f is not feature
                  and (feature, f) not in ((add_priority, add_classes), (add_classes, add_priority))]
        feature(rng, scenario, rows)
    if "classes" in scenario["workload"]:                     # a class of a tenant that no row names is refused
        seen = {row.get("tenant") for row in rows[:scenario["workload"].get("limit", len(rows))]}
        scenario["workload"]["classes"] = [c for c in scenario["workload"]["classes"] if c["tenant"] in seen]
        if not scenario["workload"]["classes"]:
            del scenario["workload"]["classes"]
    engine = scenario["engine"]
    if not engine.get("enable_chunked_prefill", True):        # else the engine refuses to start, as vLLM does
        engine["max_num_batched_tokens"] = max(engine["max_num_batched_tokens"], engine.get("max_model_len", 0))
        if engine.get("max_num_scheduled_tokens", 0) < engine.get("max_model_len", 0):
            engine.pop("max_num_scheduled_tokens", None)
    if "max_num_scheduled_tokens" in engine:                  # refused above the batch
        engine["max_num_scheduled_tokens"] = min(engine["max_num_scheduled_tokens"], engine["max_num_batched_tokens"])
