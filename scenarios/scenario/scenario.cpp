#include "scenarios/scenario/scenario.hpp"

#include <algorithm>
#include <filesystem>

#include "models/compute/copy_interference.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/config/settings.hpp"
#include "scenarios/scenario/growth.hpp"
#include "scenarios/scenario/hardware.hpp"
#include "scenarios/scenario/measured/measured_facts.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/front_end.hpp"
#include "scenarios/scenario/sections/host.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/sweep.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "traces/catalogue.hpp"
#include "traces/generate/benchmarks/benchmark_workload.hpp"
#include "traces/reshape/session_inference.hpp"

namespace spillway {

namespace {

constexpr Key kTopKeys[] = {
    aside(text_key("$schema", "Where this schema lies, for editors. No command reads it.")),
    aside(text_key("name", "Name of the scenario, for reports.", "the file name")),
    aside(text_key("description", "One sentence for reports.")),
    aside(list_of(text_key(
        "assumed", "Values that nobody gave, as init writes them. Every result repeats them."))),
    aside(required(or_form(object_key("model", ScenarioKeys::kModel,
                                      "Model: a name from spillway list models, the path of its "
                                      "config.json, or an object."),
                           KeyForm::kText))),
    aside(or_form(
        object_key("gpu", ScenarioKeys::kGpu,
                   "GPU: a name from spillway list gpus, the path of a JSON file, or an object."),
        KeyForm::kText)),
    required(object_key("engine", ScenarioKeys::kEngine, "Serving engine and its settings.")),
    object_key("compute", ScenarioKeys::kCompute, "How long steps take.",
               "kind components, of the named model and gpu"),
    object_key("collectives", ScenarioKeys::kCollectives,
               "Exchanges between the ranks of an engine.", "of the GPUs' links"),
    list_of(object_key("tiers", ScenarioKeys::kTier,
                       "Tiers below HBM, nearest first. Secondary tiers need dram as the first.")),
    object_key("policies", ScenarioKeys::kPolicies, "Policies for whole requests."),
    list_of(object_key("links", ScenarioKeys::kLink, "Links between tiers, one for each direction.",
                       "the links of the gpu")),
    list_of(object_key("media", ScenarioKeys::kMedium,
                       "Paths that several links share, such as a root port or a NIC.")),
    object_key("host", ScenarioKeys::kHost, "The machine that runs the engine."),
    aside(text_key(
        "hardware",
        "Hardware profile of spillway calibrate: a name in scenarios/hardware, or a path.")),
    aside(text_key(
        "measured",
        "A run of this very system: a document of trace import, engine arguments, or a log.")),
    required(object_key("workload", ScenarioKeys::kWorkload, "Requests and when they arrive.")),
    list_of(object_key("slo", ScenarioKeys::kSlo, "Service level objectives.")),
    object_key("plan", ScenarioKeys::kPlan, "What spillway plan searches."),
    object_key("sweep", ScenarioKeys::kSweep, "What spillway sweep varies."),
    object_key("front_end", ScenarioKeys::kFrontEnd, "The API server before each instance.",
               "kind vllm; none where compute is linear"),
    object_key("fleet", ScenarioKeys::kFleet, "Identical instances of everything above."),
    integer_key("seed", 0, kMostAny, "Seed of every random stream.", "1")};

}  // namespace

const KeyTable ScenarioKeys::kTop = kTopKeys;

Scenario::Scenario()
    : model(ModelChoice{}),
      compute(ComputeChoice{}),
      workload(WorkloadChoice{}),
      fleet(FleetChoice{}),
      front_end(FrontEndChoice{}),
      settings(Settings{}) {}
Scenario::Scenario(const Scenario& other) = default;
Scenario::Scenario(Scenario&& other) noexcept = default;
Scenario& Scenario::operator=(const Scenario& other) = default;
Scenario& Scenario::operator=(Scenario&& other) noexcept = default;
Scenario::~Scenario() = default;

std::unique_ptr<LinkModel> LinkChoice::make() const {
  if (affine) {
    const auto rate =
        static_cast<std::int64_t>(static_cast<double>(bytes_per_second) * numa_penalty);
    const std::int64_t one = numa_penalty == 1 ? bytes_per_second : rate;
    return stripes.nics > 1 ? make_striped_link(latency, one, stripes)
                            : make_affine_link(latency, one);
  }
  const auto at_penalty = [&](RateTable rates) {
    for (double& rate : rates.gbs) rate *= numa_penalty;
    return rates;
  };
  auto link = make_table_link(at_penalty(table));
  return kernel_table ? link_with_kernel(std::move(link), at_penalty(*kernel_table))
                      : std::move(link);
}

std::unique_ptr<StepCost> Scenario::make_cost() const {
  if (compute->kind == ComputeChoice::Kind::kLinear) return make_linear_cost(compute->linear);
  ComponentsCost parameters;
  parameters.model = model->spec;
  parameters.gpu = gpu;
  parameters.kernels = kernel_coefficients(*gpu).kernels;
  parameters.host_overhead_us = compute->host_overhead_us;
  parameters.eager_overhead_us = compute->eager_overhead_us;
  parameters.launch_us = compute->launch_us;
  parameters.graph_tokens = compute->graph_tokens;
  parameters.sequence_us = compute->sequence_us;
  if (compute->profile) parameters.profile = &*compute->profile;
  if (model->weights) parameters.weights = model->weights->format;
  parameters.kv_bits = bits_of(model->kv_dtype);
  parameters.shards = shards();
  parameters.collectives = collectives_of_ranks();
  parameters.exchange = collectives_of_engines();
  return make_components_cost(parameters);
}

std::optional<Collectives> Scenario::collectives_of_ranks() const {
  if (engine.tensor_parallel == 1) return std::nullopt;
  return Collectives(*gpu, engine.tensor_parallel, compute->collectives);
}

std::optional<Collectives> Scenario::collectives_of_engines() const {
  if (!lockstep()) return std::nullopt;
  CollectiveSettings ways = compute->collectives;
  ways.gpus_per_node = std::max(1U, ways.gpus_per_node / engine.tensor_parallel);
  return Collectives(*gpu, engine.data_parallel, ways);
}

ModelShards Scenario::shards() const {
  return {engine.tensor_parallel, engine.pipeline_parallel, lockstep() ? engine.data_parallel : 1,
          engine.expert_parallel};
}

bool Scenario::lockstep() const {
  const bool mixture = model->spec != nullptr && model->spec->is_moe();
  return mixture && engine.data_parallel > 1 && engine.pipeline_parallel == 1;
}

std::uint32_t Scenario::engines() const {
  return fleet->replicas * engine.data_parallel;
}

bool Scenario::ranks_apart() const {
  return world() > 1 && (!media.empty() || !rank_links.empty());
}

std::uint32_t Scenario::tier_copies() const {
  // Ranks of an MLA model hold the same latents, of which one copy is enough where they share the
  // layers too (7eca0e1a64).
  const bool mla = model->spec != nullptr && model->spec->is_mla();
  return mla && engine.mla_single_copy && engine.pipeline_parallel == 1 ? 1 : world();
}

CopyInterference Scenario::copy_interference() const {
  CopyInterference out;
  if (!down || !up) return out;
  out.sm_share = {down->sm_share, up->sm_share};
  if (!interference) return out;
  out.memory_factor = interference->memory_factor;
  for (const auto& [lane, link] : {std::pair{0U, &*down}, std::pair{1U, &*up}}) {
    out.hbm_share[lane] = link->make()->capacity().value() / interference->hbm_bytes_per_s;
  }
  return out;
}

std::uint64_t Scenario::tier_blocks(const Capacity& capacity) const {
  const std::uint64_t k = engine.blocks_per_chunk;
  switch (capacity.kind) {
    case Capacity::Kind::kUnbounded:
      return ~std::uint64_t{0};
    case Capacity::Kind::kBlocks:
      return static_cast<std::uint64_t>(capacity.count) / k * k;
    case Capacity::Kind::kBytes:
      if (keeps_chunks(engine.connector) && engine.connector != ConnectorKind::kHybrid) {
        // bytes, without slots
        const std::int64_t block = tier_block_bytes().count();
        return static_cast<std::uint64_t>(
            std::max<std::int64_t>(capacity.count > 0 ? 1 : 0, capacity.count / block));
      }
      if (engine.simple_offload()) return block_pool_blocks(engine, capacity.count);
      if (engine.attached()) {  // without pages
        return static_cast<std::uint64_t>(capacity.count / tier_block_bytes().count());
      }
      break;
  }
  return static_cast<std::uint64_t>(capacity.count / tier_slot().count()) * k;
}

/// Slots of vLLM v1 are rounded up to pages (vllm/v1/kv_offload/cpu/spec.py); v0's are not
/// (vllm/worker/worker.py @ db66e018ea), nor SGLang's.
Bytes Scenario::tier_slot() const {
  const std::int64_t page = engine.family == EngineFamily::kVllmV1 ? 4096 : 1;
  const Bytes chunk = tier_block_bytes() * std::int64_t{engine.blocks_per_chunk};
  return Bytes(ceil_div(chunk.count(), page) * page);
}

namespace {

/// Once, where figures of a data sheet or of another machine decide.
void note_published(Scenario& s) {
  const auto has = [&](auto... codes) {
    return std::any_of(s.notes.begin(), s.notes.end(),
                       [&](const Note& note) { return ((note.code == codes) || ...); });
  };
  const bool links = has("link-default");
  const bool steps =
      has("host-overhead-default", "kernel-efficiencies", "kernel-efficiencies-of-another");
  if (links && steps) {
    s.notes.push_back(scenario_note("published-figures"));
  } else if (links) {
    s.notes.push_back(scenario_note("published-links"));
  } else if (steps) {
    s.notes.push_back(scenario_note("published-step-times"));
  }
}

}  // namespace

Scenario load_scenario(const JsonSource& source) {
  const ObjectReader top(source, "", "the scenario", ScenarioKeys::kTop);
  top.text("$schema");  // for editors; here only its type matters
  Scenario s;
  s.path = source.name();
  s.name = top.text("name").value_or(std::filesystem::path(s.path).stem().string());
  s.description = top.text("description").value_or("");
  // Told first, by every result: the answer is no better than these.
  if (const auto assumed = top.texts("assumed")) {
    s.notes.assign(assumed->begin(), assumed->end());
  }
  s.seed = static_cast<std::uint64_t>(top.integer("seed").value_or(1));
  read_gpu(top, s);
  read_hardware(top, s);
  read_measured(top, s);
  read_model(top, s);
  read_engine(top, s);
  read_compute(top, s);
  use_measured_overhead(top, s);
  read_media(top, s);
  read_tiers(top, s);
  check_simple(top, s);
  check_connector(top, s);
  read_links(top, s);
  use_measured_copies(s);
  use_small_page_kernel(s);
  check_ranks(top, s);
  read_streaming(top, s);
  check_interference(top, s);
  check_groups(top, s);
  read_policies(top, s);
  read_front_end(top, s);
  read_workload(top, s);
  read_slo(top, s);
  read_fleet(top, s);
  read_plan(top, s);
  read_sweep(top, s);
  read_host(top, s);
  check_v0(top, s);
  check_mooncake(top, s);
  s.settings = settings_of(source, ScenarioKeys::kTop);
  note_published(s);
  return s;
}

bool lies_here(const SourceRef& where, const std::string& path) {
  std::error_code none;
  return where.file.starts_with("--") && std::filesystem::exists(path, none);
}

std::string path_beside(const std::string& folder, const SourceRef& where,
                        const std::string& path) {
  if (std::filesystem::path(path).is_absolute() || path == "-" || lies_here(where, path)) {
    return path;
  }
  return (std::filesystem::path(folder) / path).string();
}

Workload open_workload(const Scenario& scenario, const ReadProgress& progress) {
  const WorkloadChoice& w = *scenario.workload;
  if (w.synthetic) {
    SyntheticConfig config = *w.synthetic;
    if (w.limit > 0) config.requests = std::min(config.requests, w.limit);
    Workload workload = generate_workload(config, scenario.seed);
    return w.growth.any() ? grown(workload, w.growth, scenario.seed) : std::move(workload);
  }
  if (w.benchmark) {
    Workload workload = benchmark_workload(*w.benchmark, w.limit);
    return w.growth.any() ? grown(workload, w.growth, scenario.seed) : std::move(workload);
  }
  OpenOptions options;
  options.reader = w.reader;
  options.lenient = w.lenient;
  options.limit = w.limit;
  options.progress = progress;
  // llm-d's files go by what the trace calls a block.
  std::vector<std::uint64_t> names;
  if (scenario.engine.connector == ConnectorKind::kLlmdFs) options.block_names = &names;
  Workload workload = open_trace(w.trace, options);
  workload.keep_block_names(std::move(names));
  if (w.arrival.wait && workload.columns().after_begin.empty()) {
    workload = infer_sessions(std::move(workload), {});
  }
  return w.growth.any() ? grown(workload, w.growth, scenario.seed) : std::move(workload);
}

}  // namespace spillway
