#include "scenarios/run/measured_warnings.hpp"

#include <algorithm>
#include <cmath>

#include "models/catalogue/gpu_spec.hpp"
#include "models/link/defaults.hpp"
#include "models/releases/presets.hpp"
#include "reports/notes/run_notes.hpp"
#include "scenarios/scenario/measured/measured_facts.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/compute.hpp"
#include "scenarios/scenario/sections/link.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"

namespace spillway {

namespace {

constexpr double kTolerance = 0.02;

/// (value - other) / other.
double off_by(double value, double other) {
  return other == 0 ? (value == 0 ? 0 : 1) : (value - other) / other;
}

struct MeanLengths {
  double input = 0;
  double output = 0;
};

MeanLengths mean_lengths(const Workload& workload) {
  MeanLengths out;
  const WorkloadColumns& c = workload.columns();
  for (const std::uint32_t n : c.input_tokens) out.input += n;
  for (const std::uint32_t n : c.output_tokens) out.output += n;
  const auto count = static_cast<double>(std::max<std::size_t>(1, c.input_tokens.size()));
  return {out.input / count, out.output / count};
}

/// Of a pool with `used` blocks, where another count was expected.
Note pool_note(const Scenario& s, const char* used_how, double other, const std::string& other_how,
               const MeanLengths& mean) {
  const double used = s.engine.num_gpu_blocks;
  const double tokens = std::round(std::abs(used - other) * s.engine.block_tokens);
  const double length = mean.input + mean.output;
  NoteFigures figures = {
      {"used_blocks", s.engine.num_gpu_blocks},  {"used_how", used_how},
      {"other_blocks", std::llround(other)},     {"other_how", other_how},
      {"off_share", off_by(used, other)},        {"tokens", std::llround(tokens)},
      {"fewer", used < other ? "fewer" : "more"}};
  if (length > 0) {
    figures.emplace_back("requests", tokens / length);
    figures.emplace_back("mean_tokens", std::llround(length));
  }
  return run_note("pool-differs", std::move(figures));
}

void warn_of_pool(const Scenario& s, const MeanLengths& mean, Notes& out) {
  const auto measured = measured_blocks(s);
  const double used = s.engine.num_gpu_blocks;
  if (measured && s.pool_given && std::abs(off_by(used, *measured)) > kTolerance) {
    out.push_back(pool_note(s, "given", *measured, "measured in " + s.measured->source, mean));
  }
  if (!s.budget) return;
  const std::int64_t estimate = s.budget->kv / s.engine.block_bytes;
  if (estimate <= 0 || (!measured && !s.pool_given)) return;
  if (std::abs(off_by(used, static_cast<double>(estimate))) <= kTolerance) return;
  out.push_back(pool_note(s, s.pool_given ? "given" : "measured", static_cast<double>(estimate),
                          "estimated from model and GPU", mean));
}

/// A decode step of one request in the middle of its answer.
double decode_us(const Scenario& s, const MeanLengths& mean) {
  StepShape shape;
  shape.decodes = shape.sampled = 1;
  shape.decode_context = static_cast<std::uint64_t>(mean.input + mean.output / 2) + 1;
  return static_cast<double>(s.make_cost()->step_time(shape).count()) / 1e3;
}

void warn_of_host(const Scenario& s, const MeanLengths& mean, Notes& out) {
  if (s.compute->kind == ComputeChoice::Kind::kLinear) return;
  const double used = s.compute->host_overhead_us;
  const auto& fact = s.measured ? s.measured->host_overhead_us : std::nullopt;
  const bool from_fact = fact && std::abs(off_by(used, *fact)) <= kTolerance;
  const bool profile = s.compute->kind == ComputeChoice::Kind::kProfile;
  const char* what = from_fact ? "measured" : profile ? "of the profile or given" : "given";
  const auto say = [&](double other, const std::string& which) {
    if (std::abs(off_by(used, other)) <= kTolerance) return;
    const double step = decode_us(s, mean);
    const double without = step - used + other;  // the step with the other value
    out.push_back(run_note("host-overhead-differs", {{"used_us", used},
                                                     {"used_how", what},
                                                     {"other_us", other},
                                                     {"other_how", which},
                                                     {"off_share", off_by(used, other)},
                                                     {"tpot_share", (step - without) / without},
                                                     {"step_ms", step / 1e3}}));
  };
  if (fact) say(*fact, fmt::format("measured in {}", s.measured->source));
  say(kDefaultHostOverheadUs, "by default");
}

/// How long a prefix of 10,000 tokens takes over a link, against the rate of the run.
void warn_of_copies(const Scenario& s, Notes& out) {
  if (!s.measured) return;
  constexpr std::uint32_t kPrefix = 10'000;
  const std::int64_t blocks = ceil_div(kPrefix, s.engine.block_tokens);
  const double bytes =
      static_cast<double>(s.rank_block_bytes().count()) * static_cast<double>(blocks);
  const auto say = [&](const Boxed<LinkChoice>& lane, const std::optional<double>& gbs,
                       const char* verb) {
    if (!lane || !gbs || *gbs <= 0) return;
    const bool scaled = lane->source.find("; scaled to the ") != std::string::npos;
    double model = lane->make()->capacity().value() / 1e9;
    if (scaled) {  // what it would have been
      const HostLinkDefault defaults = default_host_link(
          *s.gpu, s.engine.family == EngineFamily::kVllmV0 ? CopyMethod::kDma : CopyMethod::kBatch);
      model =
          make_table_link(lane->from == "hbm" ? defaults.down : defaults.up)->capacity().value() /
          1e9;
    }
    const double off = off_by(*gbs, model);
    if (std::abs(off) <= kTolerance) return;
    out.push_back(run_note("copy-rate-differs", {{"from", lane->from},
                                                 {"to", lane->to},
                                                 {"measured_bytes_per_s", *gbs * 1e9},
                                                 {"model_bytes_per_s", model * 1e9},
                                                 {"off_share", off},
                                                 {"verb", verb},
                                                 {"prefix_bytes", bytes},
                                                 {"measured_ms", bytes / *gbs / 1e6},
                                                 {"model_ms", bytes / model / 1e6},
                                                 {"used", scaled ? "measured" : "link's own"}}));
  };
  say(s.down, s.measured->d2h_gbs, "store");
  say(s.up, s.measured->h2d_gbs, "load");
}

/// The model of this name, or null where the catalogue does not have it.
const ModelSpec* known_model(const std::string& name) {
  try {
    return &find_model(name, {});
  } catch (const InputError&) {
    return nullptr;
  }
}

/// Settings under which the measured engine was another one.
void warn_of_settings(const Scenario& s, Notes& out) {
  if (!s.measured) return;
  const MeasuredFacts& f = *s.measured;
  const auto differ = [&](const char* key, std::uint32_t used,
                          const std::optional<std::uint32_t>& fact, const char* consequence) {
    if (!fact || *fact == 0 || *fact == used) return;
    out.push_back(run_note("setting-differs", {{"key", key},
                                               {"used", used},
                                               {"measured", *fact},
                                               {"source", f.source},
                                               {"consequence", consequence}}));
  };
  differ("max_num_seqs", s.engine.max_num_seqs, f.max_num_seqs,
         "Queueing differs: another number of requests runs at once.");
  differ("max_num_batched_tokens", s.engine.max_num_batched_tokens, f.max_num_batched_tokens,
         "Prompts are cut into other steps, and the measured block count left other room.");
  differ("tensor_parallel_size", s.engine.tensor_parallel, f.tensor_parallel_size,
         "Steps and pool are of another number of GPUs.");
  differ("data_parallel_size", s.engine.data_parallel, f.data_parallel_size,
         "Requests are divided among another number of engines.");
  const bool mixture = s.model->spec != nullptr && s.model->spec->is_moe();
  if (mixture &&
      f.enable_expert_parallel.value_or(s.engine.expert_parallel) != s.engine.expert_parallel) {
    out.push_back(
        run_note("setting-differs", {{"key", "enable_expert_parallel"},
                                     {"used", s.engine.expert_parallel ? "true" : "false"},
                                     {"measured", s.engine.expert_parallel ? "false" : "true"},
                                     {"source", f.source},
                                     {"consequence", "Ranks hold other parts of experts."}}));
  }
  if (f.model && s.model->spec != nullptr) {
    const ModelSpec* ran = known_model(*f.model);
    const NoteFigures figures = {
        {"source", f.source}, {"measured", *f.model}, {"model", s.model->spec->name}};
    if (ran == nullptr) {
      out.push_back(run_note("measured-model-unknown", figures));
    } else if (ran != s.model->spec) {
      out.push_back(run_note("measured-model-differs", figures));
    }
  }
}

}  // namespace

Notes measured_warnings(const Scenario& scenario, const Workload& workload) {
  Notes out;
  const MeanLengths mean = mean_lengths(workload);
  warn_of_pool(scenario, mean, out);
  warn_of_host(scenario, mean, out);
  warn_of_copies(scenario, out);
  warn_of_settings(scenario, out);
  return out;
}

}  // namespace spillway
