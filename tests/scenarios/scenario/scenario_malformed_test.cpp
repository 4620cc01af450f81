// Malformed scenarios: each case breaks one line of a good one, and the message must name that
// line, the field, and what was expected.
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/sim/input_error.hpp"

namespace spillway::test {
namespace {

std::string whole(std::int64_t least, std::int64_t most) {
  return fmt::format("expected a whole number from {} to {}, found ", least, most);
}

constexpr std::int64_t kInt32Max = 2'147'483'647;

/// The engine line with one more key, or with one that replaces its namesake.
std::string engine_with(const std::string& field) {
  return fmt::format(R"("engine": {{"preset": "vllm@0.23", {}}},)", field);
}

TEST_CASE("the scenarios that the cases break are good", "[scenarios]") {
  CHECK_NOTHROW(scenario_of(joined(reference_lines())));
  CHECK_NOTHROW(scenario_of(joined(gpu_lines())));
}

TEST_CASE("malformed top level", "[scenarios]") {
  CHECK_THAT(error_of([] { scenario_of("\n[1]"); }).what(),
             ContainsSubstring("s.json:2: expected an object for the scenario, found [1]"));
  CHECK_THAT(error_of([] { scenario_of("5"); }).what(), ContainsSubstring("expected an object"));
  refused(reference_lines(),
          {{kNameLine, R"("name": 5,)", "name: expected a string, found 5"},
           {kNameLine, R"("nam": "x",)",
            "nam: unknown key of the scenario \"nam\"; did you mean \"name\"?"},
           {kNameLine, R"("description": ["x"],)", "description: expected a string, found [\"x\"]"},
           {kGpuLine, R"(, "gpus": "H100")",
            "gpus: unknown key of the scenario \"gpus\"; did you mean \"gpu\"?"}});
}

TEST_CASE("a key of another section is told where it belongs", "[scenarios]") {
  refused(reference_lines(),
          {{kGpuLine, R"(, "max_num_seqs": 8)",
            "max_num_seqs: unknown key of the scenario \"max_num_seqs\"; it is a key of engine"},
           {kTierLine, R"("tiers": [{"name": "dram", "kind": "dram", "read_bandwidth": "1GB/s"}],)",
            "tiers.0.read_bandwidth: unknown key of tiers[] \"read_bandwidth\"; it is a key of "
            "tiers[].device"},
           {kWorkloadLine, R"("workload": {"trace": "t.jsonl", "seed": 2},)",
            "workload.seed: unknown key of workload \"seed\"; it is a key of "
            "workload.benchmark and of the top level"},
           {kWorkloadLine, R"("workload": {"trace": "t.jsonl", "turns": 2},)",
            "workload.turns: unknown key of workload \"turns\"; it is a key of workload.synthetic"},
           {kComputeLine, R"("compute": {"kind": "linear", "memory_bandwidth": "1GB/s"},)",
            "compute.memory_bandwidth: unknown key of compute \"memory_bandwidth\"; it is a key of "
            "gpu and of host"},
           {kEngineLine, R"("engine": {"preset": "vllm", "name": "a"},)",  // of many sections
            "engine.name: unknown key of engine \"name\"; "}});
}

TEST_CASE("missing sections stand where the scenario starts", "[scenarios]") {
  const auto without = [](int line) {
    return std::string(
        error_of([&] { scenario_of(with_line(reference_lines(), line, "")); }).what());
  };
  CHECK(without(kModelLine) ==
        "s.json:2: model: missing; expected a model name, or {\"kv_bytes_per_token\": ...}");
  CHECK(without(kEngineLine) ==
        "s.json:2: engine: missing; expected an object with at least a preset");
  CHECK(without(kComputeLine) ==
        "s.json:2: compute: missing; expected a compute model, or a named model and a gpu to "
        "derive one from");
  CHECK(without(kWorkloadLine) ==
        "s.json:2: workload: missing; expected an object with a trace, a synthetic workload or "
        "a benchmark");
}

TEST_CASE("malformed models", "[scenarios]") {
  const std::string bytes = "model.kv_bytes_per_token: " + whole(1, std::int64_t{1} << 40);
  refused(reference_lines(),
          {{kModelLine, R"("model": 5,)", "model: expected an object for model, found 5"},
           {kModelLine, R"("model": {},)",
            "model.name: missing; expected a model name or kv_bytes_per_token"},
           {kModelLine, R"("model": {"kv_bytes": 1},)", "model.kv_bytes: unknown key of model"},
           {kModelLine, R"("model": {"kv_bytes_per_token": 0},)", bytes + "0"},
           {kModelLine, R"("model": {"kv_bytes_per_token": -1},)", bytes + "-1"},
           {kModelLine, R"("model": {"kv_bytes_per_token": 9223372036854775808},)",
            bytes + "9223372036854775808"},
           {kModelLine, R"("model": {"kv_bytes_per_token": "128KiB"},)", bytes + "\"128KiB\""},
           {kModelLine, R"("model": {"kv_bytes_per_token": 1, "kv_dtype": "fp9"},)",
            "model.kv_dtype: unknown kv_dtype \"fp9\"; did you mean \"fp8\"? known: auto, bf16"},
           {kModelLine, R"("model": {"name": 8},)", "model.name: expected a string, found 8"},
           {kModelLine, R"("model": "Llama-3.1-9B",)",
            "model: unknown model \"Llama-3.1-9B\"; did you mean "},
           {kModelLine, R"("model": {"name": ""},)",
            "model.name: unknown model \"\"; spillway list models lists all"}});
}

TEST_CASE("malformed GPUs", "[scenarios]") {
  refused(gpu_lines(),
          {{kGpuLine, R"(, "gpu": 100)", "gpu: expected a string, found 100"},
           {kGpuLine, R"(, "gpu": "H1OO")", "gpu: unknown GPU \"H1OO\"; did you mean \"H100\"?"},
           {kGpuLine, R"(, "gpu": "")", "gpu: unknown GPU \"\"; "},
           {kGpuLine, R"(, "gpu": "24GB")", "gpu: GPU \"24GB\" could mean any of: L4-24GB, A10"}});
}

TEST_CASE("malformed engines", "[scenarios]") {
  refused(
      reference_lines(),
      {{kEngineLine, R"("engine": "vllm",)",
        "engine: expected an object for engine, found \"vllm\""},
       {kEngineLine, engine_with(R"("num_gpu_block": 9)"),
        "engine.num_gpu_block: unknown key of engine \"num_gpu_block\"; did you mean "
        "\"num_gpu_blocks\"?"},
       {kEngineLine, R"("engine": {"preset": "vllm@024"},)",
        "engine.preset: unknown engine preset \"vllm@024\"; did you mean \"vllm@0."},
       {kEngineLine, R"("engine": {"preset": "tgi"},)",
        "engine.preset: unknown engine preset \"tgi\"; known: " + known_presets()},
       {kEngineLine, R"("engine": {"preset": 23},)", "engine.preset: expected a string, found 23"},
       {kEngineLine, R"("engine": {},)",
        "engine.num_gpu_blocks: missing; expected a number of blocks, or a model and a gpu"},
       {kEngineLine, engine_with(R"("num_gpu_blocks": 1)"),
        "engine.num_gpu_blocks: " + whole(2, 268'435'456) + "1"},
       {kEngineLine, engine_with(R"("num_gpu_blocks": 2.0)"),
        "engine.num_gpu_blocks: " + whole(2, 268'435'456) + "2.0"},
       {kEngineLine, engine_with(R"("block_tokens": 0)"),
        "engine.block_tokens: " + whole(1, 65536) + "0"},
       {kEngineLine, engine_with(R"("max_num_seqs": 0)"),
        "engine.max_num_seqs: " + whole(1, 1'048'576) + "0"},
       {kEngineLine, engine_with(R"("max_num_batched_tokens": -1)"),
        "engine.max_num_batched_tokens: " + whole(1, 16'777'216) + "-1"},
       {kEngineLine, engine_with(R"("max_model_len": 0)"),
        "engine.max_model_len: " + whole(1, 67'108'864) + "0"},
       {kEngineLine, engine_with(R"("long_prefill_token_threshold": "off")"),
        "engine.long_prefill_token_threshold: " + whole(0, 16'777'216) + "\"off\""},
       {kEngineLine, engine_with(R"("watermark": 1)"),
        "engine.watermark: expected a number from 0 to 0.99, found 1"},
       {kEngineLine, engine_with(R"("gpu_memory_utilization": 1.5)"),
        "engine.gpu_memory_utilization: expected a number from 0.01 to 1, found 1.5"},
       {kEngineLine, engine_with(R"("cuda_graph_memory": 5)"),
        "engine.cuda_graph_memory: expected a size with its unit, e.g. \"64GiB\", found 5"},
       {kEngineLine, engine_with(R"("cuda_graph_memory": "5")"),
        "engine.cuda_graph_memory: expected a size with a unit"},
       {kEngineLine, engine_with(R"("convoy": 1)"),
        "engine.convoy: expected true or false, found 1"},
       {kEngineLine, engine_with(R"("enable_prefix_caching": "yes")"),
        "engine.enable_prefix_caching: expected true or false, found \"yes\""},
       {kEngineLine, engine_with(R"("eviction": "lruu")"),
        "engine.eviction: unknown eviction policy \"lruu\"; did you mean \"lru\"?"},
       {kEngineLine, engine_with(R"("kv_layout": "paged")"),
        "engine.kv_layout: unknown kv_layout \"paged\"; known: contiguous, per_layer"},
       {kEngineLine, engine_with(R"("kv_layout": "per_layer")"),
        "engine.kv_layout: per_layer needs a named model, whose layers it counts"},
       {kEngineLine, engine_with(R"("load": "layer-wise")"),
        "engine.load: unknown load \"layer-wise\"; did you mean \"layerwise\"? known: "
        "async, blocking, barrier, layerwise"},
       {kEngineLine, engine_with(R"("load": "layerwise")"),
        "engine.load: layerwise needs the number of layers: expected a named model, or "
        "model.layers beside kv_bytes_per_token"},
       {kEngineLine, engine_with(R"("interference": {"factor": 0.5, "hbm_bandwidth": "2TB/s"})"),
        "engine.interference.factor: expected a number from 1 to 10, found 0.5"},
       {kEngineLine, engine_with(R"("interference": {})"),
        "engine.interference.hbm_bandwidth: missing; expected a rate, or a gpu to take it from"},
       {kEngineLine,
        engine_with(R"("num_gpu_blocks": 9, "interference": {"hbm_bandwidth": "50GB/s"})"),
        "engine: interference: copies both ways would take 100% of HBM's bandwidth"},
       {kEngineLine, engine_with(R"("load_or_recompute": "never")"),
        "engine.load_or_recompute: unknown load_or_recompute \"never\"; known: always_load, "
        "break_even"}});
}

TEST_CASE("malformed compute models", "[scenarios]") {
  const auto compute = [](const std::string& fields) {
    return fmt::format(R"("compute": {{{}}},)", fields);
  };
  refused(reference_lines(),
          {{kComputeLine, R"("compute": "linear",)",
            "compute: expected an object for compute, found \"linear\""},
           {kComputeLine, compute(""), "compute.kind: missing; expected a string"},
           {kComputeLine, compute(R"("kind": "linaer")"),
            "compute.kind: unknown kind \"linaer\"; did you mean \"linear\"?"},
           {kComputeLine, compute(R"("kind": "components")"),
            "compute.kind: components needs a named model and a gpu"},
           {kComputeLine, compute(R"("kind": "linear", "step_us": 1, "token_ns": 1)"),
            "compute.kv_token_ns: missing; expected a number from 0 to 1000000000"},
           {kComputeLine,
            compute(R"("kind": "linear", "step_us": -1, "token_ns": 1, "kv_token_ns": 1)"),
            "compute.step_us: expected a number from 0 to 1000000000, found -1"},
           {kComputeLine,
            compute(R"("kind": "linear", "step_us": 1, "token_ns": 1e-12, "kv_token_ns": 1)"),
            "compute.kind: expected times of at most nine decimals of a nanosecond"},
           {kComputeLine, compute(R"("kind": "linear", "step_ms": 1)"),
            "compute.step_ms: unknown key of compute \"step_ms\"; did you mean \"step_us\"?"},
           {kComputeLine,
            compute(R"("kind": "linear", "step_us": 1, "token_ns": 1, "kv_token_ns": 1, )"
                    R"("sequence_us": 1)"),
            "compute.sequence_us: expected only with kind components"}});
  std::vector<std::string> lines = gpu_lines();
  refused(lines, {{kComputeLine, compute(R"("kind": "components", "step_us": 1)"),
                   "compute.step_us: expected only with kind linear"},
                  {kComputeLine, compute(R"("kind": "components", "host_overhead_us": -1)"),
                   "compute.host_overhead_us: expected a number from 0 to 1000000, found -1"}});
}

TEST_CASE("malformed workloads", "[scenarios]") {
  const auto workload = [](const std::string& fields) {
    return fmt::format(R"("workload": {{{}}},)", fields);
  };
  const auto more = [&](const std::string& field) {
    return workload(R"("trace": "t.jsonl", )" + field);
  };
  const std::string either = "workload: expected one of trace, synthetic and benchmark";
  refused(reference_lines(),
          {{kWorkloadLine, R"("workload": "t.jsonl",)",
            "workload: expected an object for workload, found \"t.jsonl\""},
           {kWorkloadLine, workload(""), either},
           {kWorkloadLine, more(R"("synthetic": {})"), either},
           {kWorkloadLine, workload(R"("trace": 5)"), "workload.trace: expected a string, found 5"},
           {kWorkloadLine, workload(R"("tracr": "t")"),
            "workload.tracr: unknown key of workload \"tracr\"; did you mean \"trace\"?"},
           {kWorkloadLine, more(R"("arrival": "poison")"),
            "workload.arrival: unknown arrival \"poison\"; did you mean \"poisson\"? known: trace"},
           {kWorkloadLine, more(R"("arrival": "poisson")"),
            "workload.rate_per_s: missing; expected a number from 1e-06 to 1000000"},
           {kWorkloadLine, more(R"("arrival": "closed-loop")"),
            "workload.concurrency: missing; expected a whole number from 1 to 1073741824"},
           {kWorkloadLine, more(R"("rate_per_s": 5)"),
            "workload.rate_per_s: expected only with \"arrival\": \"poisson\""},
           {kWorkloadLine, more(R"("concurrency": 0)"),
            "workload.concurrency: " + whole(1, 1 << 30) + "0"},
           {kWorkloadLine, more(R"("sessions": "wiat")"),
            "workload.sessions: unknown sessions \"wiat\"; did you mean \"wait\"?"},
           {kWorkloadLine, more(R"("sessions": true)"),
            "workload.sessions: expected a string, found true"},
           {kWorkloadLine, more(R"("warmup_s": -1)"),
            "workload.warmup_s: expected a number from 0 to 300000000, found -1"},
           {kWorkloadLine, more(R"("horizon_s": 0)"),
            "workload.horizon_s: expected a number from 1e-09 to 300000000, found 0"},
           {kWorkloadLine, more(R"("warmup_s": 60, "horizon_s": 60)"),
            "workload.horizon_s: expected more than warmup_s: nothing would be measured"},
           {kWorkloadLine, more(R"("speed": 0)"),
            "workload.speed: expected a number from 1e-06 to 1000000, found 0"},
           {kWorkloadLine, more(R"("speed": -0.5)"),
            "workload.speed: expected a number from 1e-06 to 1000000, found -0.5"},
           {kWorkloadLine, more(R"("limit": 0)"), "workload.limit: " + whole(1, kInt32Max) + "0"},
           {kWorkloadLine, more(R"("block_tokens": 65537)"),
            "workload.block_tokens: " + whole(1, 65536) + "65537"},
           {kWorkloadLine, more(R"("session_interval_s": -1)"), "workload.session_interval_s: "},
           {kWorkloadLine, workload(R"("synthetic": {}, "session_interval_s": 9)"),
            "workload.session_interval_s: expected only with a trace"},
           {kWorkloadLine, workload(R"("synthetic": {}, "block_tokens": 16)"),
            "workload.block_tokens: expected only with a trace"},
           {kWorkloadLine, workload(R"("synthetic": {}, "reuse": "none")"),
            "workload.reuse: expected only with a trace"},
           {kWorkloadLine, more(R"("reuse": "prefix")"),
            "workload.reuse: unknown reuse model \"prefix\"; known: none, session-prefix"},
           {kWorkloadLine, more(R"("reuse": "shared-prefix:0")"),
            "workload.reuse: expected shared-prefix:TOKENS with 1 to 16777216 tokens, found "
            "\"shared-prefix:0\""},
           {kWorkloadLine, workload(R"("synthetic": [])"),
            "workload.synthetic: expected an object for synthetic, found []"},
           {kWorkloadLine, workload(R"("synthetic": {"turn": 4})"),
            "workload.synthetic.turn: unknown key of synthetic \"turn\"; did you mean \"turns\"?"},
           {kWorkloadLine, workload(R"("synthetic": {"requests": 0})"),
            "workload.synthetic.requests: " + whole(1, 1'000'000'000) + "0"},
           {kWorkloadLine, workload(R"("synthetic": {"turns": 0.5})"),
            "workload.synthetic.turns: expected a number from 1 to 1000000, found 0.5"},
           {kWorkloadLine, workload(R"("synthetic": {"burst_every_s": 10, "burst_length_s": 11})"),
            "workload.synthetic.burst_length_s: expected a number from 0 to 10, found 11"},
           {kWorkloadLine, workload(R"("synthetic": {"arrivals": "gama"})"),
            "workload.synthetic.arrivals: unknown arrivals \"gama\""},
           {kWorkloadLine, workload(R"("synthetic": {"arrivals": "rates"})"),
            "workload.synthetic.rates: expected the path of a rate table with arrivals rates"},
           {kWorkloadLine, workload(R"("synthetic": {"user_quantiles": [3, 2]})"),
            "workload.synthetic.user_quantiles: expected two or more values in ascending order"},
           {kWorkloadLine, workload(R"("synthetic": {"day_factors": [1]})"),
            "workload.synthetic.day_factors: expected 24 values, one above 0, found 1"}});
}

TEST_CASE("malformed targets", "[scenarios]") {
  const auto slo = [](const std::string& fields) {
    return fmt::format(R"("slo": [{{{}}}],)", fields);
  };
  refused(
      reference_lines(),
      {{kSloLine, R"("slo": {"metric": "p99_ttft_ms", "max": 1},)",
        "slo: expected an array of objects, found {"},
       {kSloLine, slo(R"("max": 1)"), "slo.0.metric: missing; expected a string"},
       {kSloLine, slo(R"("metric": "p99_tttf_ms", "max": 1)"),
        "slo.0.metric: unknown metric \"p99_tttf_ms\"; did you mean \"p99_ttft_ms\"?"},
       {kSloLine, slo(R"("metric": "p99_ttft_ms")"),
        "slo.0.max: missing; expected a number from 0 to 1000000000000000"},
       {kSloLine, slo(R"("metric": "p99_ttft_ms", "min": 1)"),
        "slo.0.min: expected max for p99_ttft_ms"},
       {kSloLine, slo(R"("metric": "goodput", "max": 1)"), "slo.0.max: expected min for goodput"},
       {kSloLine, slo(R"("metric": "p99_ttft_ms", "max": -1)"),
        "slo.0.max: expected a number from 0 to 1000000000000000, found -1"},
       {kSloLine, slo(R"("metric": "p99_ttft_ms", "maximum": 1)"),
        "slo.0.maximum: unknown key of slo[] \"maximum\"; known: metric, max, min"}});
}

TEST_CASE("malformed plans", "[scenarios]") {
  const auto sizes = [](const std::string& list) {
    return fmt::format(R"("plan": {{"sizes": {}}},)", list);
  };
  refused(
      reference_lines(),
      {{kPlanLine, R"("plan": [],)", "plan: expected an object for plan, found []"},
       {kPlanLine, sizes("[]"), "plan.sizes: missing; expected sizes to try"},
       {kPlanLine, sizes("[64]"),
        "plan.sizes: expected an array, each item a size with its unit, e.g. \"64GiB\", found 64"},
       {kPlanLine, sizes(R"(["64"])"), "plan.sizes: expected a size with a unit"},
       {kPlanLine, sizes(R"(["4GiB", "4GiB"])"),
        "plan.sizes: expected ascending sizes, found 4GiB after 4GiB"},
       {kPlanLine, sizes(R"(["inf", "4GiB"])"),
        "plan.sizes: expected ascending sizes, found 4GiB after inf"},
       {kPlanLine, R"("plan": {"tier": "ssd", "sizes": ["4GiB"]},)",
        "plan.tier: unknown tier \"ssd\"; known: dram"},
       {kPlanLine, R"("plan": {"tiers": "dram", "sizes": ["4GiB"]},)",
        "plan.tiers: unknown key of plan \"tiers\"; did you mean \"tier\"?"}});
}

TEST_CASE("malformed seeds", "[scenarios]") {
  const std::string says = "seed: " + whole(0, std::numeric_limits<std::int64_t>::max());
  refused(reference_lines(),
          {{kSeedLine, R"("seed": -1)", says + "-1"},
           {kSeedLine, R"("seed": 1.5)", says + "1.5"},
           {kSeedLine, R"("seed": "1")", says + "\"1\""},
           {kSeedLine, R"("seed": 9223372036854775808)", says + "9223372036854775808"}});
}

}  // namespace
}  // namespace spillway::test
