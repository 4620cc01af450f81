#include "scenarios/experiment/doubts/slo_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/compute/step_cost.hpp"
#include "reports/format.hpp"
#include "reports/notes/run_notes.hpp"
#include "scenarios/experiment/replicates.hpp"
#include "scenarios/experiment/target_meaning.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/plan_result.hpp"
#include "traces/generate/benchmarks/benchmark_tools.hpp"

namespace spillway {

namespace {

using Figure = TargetMeaning::Figure;

/// An SLO below this share of what an idle server takes is out of reach by far more than a step
/// model is wrong.
constexpr double kOutOfReach = 1.0 / 20;

/// The largest figures that people write in seconds, by what they bound.
constexpr double kMostTtftS = 30;
constexpr double kMostTokenS = 1;

/// Blocks of the prompt that no earlier request named, in tokens.
std::uint32_t fresh_tokens(const Workload& workload, RequestId r, std::vector<bool>& seen) {
  std::uint32_t known = 0;
  bool prefix = true;
  for (const TraceBlockId id : workload.full_chain(r)) {
    prefix = prefix && seen[raw(id)];
    if (prefix) known += workload.block_tokens();
  }
  for (const TraceBlockId id : workload.full_chain(r)) seen[raw(id)] = true;
  const std::uint32_t input = workload.input_tokens(r);
  return std::max<std::uint32_t>(1, input - std::min(known, input));
}

double milliseconds(Duration d) {
  return seconds_of(d) * 1e3;
}

/// A prompt alone on the engine, in steps of what it computes at once.
double prefill_ms(const Scenario& s, StepCost& cost, std::uint32_t fresh, std::uint32_t cached) {
  const std::uint32_t most = std::max(1U, s.engine.max_num_batched_tokens);
  double out = 0;
  while (fresh > 0) {
    const PrefillChunk chunk{std::min(fresh, most), cached};
    StepShape shape;
    shape.prefills = {&chunk, 1};
    shape.sampled = chunk.tokens == fresh ? 1 : 0;
    out += milliseconds(cost.step_time(shape));
    fresh -= chunk.tokens;
    cached += chunk.tokens;
  }
  return out;
}

/// "4" as people write it.
std::string plain(double value) {
  return fmt::format("{:.6g}", value);
}

SourceRef place(const SloTarget& target, const char* key) {
  SourceRef out = target.where;
  out.field += fmt::format("{}{}", out.field.empty() ? "" : ".", key);
  return out;
}

/// Requests that the target is about.
std::uint64_t judged(const TargetMeaning& meaning, const Workload& workload) {
  const bool gaps = meaning.figure() == Figure::kItl;
  std::uint64_t out = 0;
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const RequestId r{i};
    if (gaps && workload.output_tokens(r) < 2) continue;
    out += meaning.is_about(r) ? 1 : 0;
  }
  return out;
}

/// Whether a plan judges replicates whose length the scenario gives.
bool replicated(const Scenario& s) {
  return s.plan && s.plan->replications > 1 && s.workload->replication.requests > 0;
}

/// What makes a benchmark longer: not every tool is told a number of requests.
std::string longer_benchmark(const BenchmarkConfig& config, std::uint64_t needed) {
  const auto keys = tool_of(config).keys;
  if (std::ranges::count(keys, "requests") > 0) {
    return fmt::format("Set workload.benchmark.requests to {} or more", needed);
  }
  return fmt::format("Set workload.benchmark.{} higher, for {} requests or more",
                     std::ranges::count(keys, "seconds") > 0 ? "seconds" : "users", needed);
}

}  // namespace

IdleTimes::IdleTimes(const Scenario& scenario, const Workload& workload) : s_(scenario) {
  std::vector<bool> seen(workload.unique_blocks(), false);
  prompts_.reserve(workload.size());
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const std::uint32_t fresh = fresh_tokens(workload, RequestId{i}, seen);
    prompts_.push_back({fresh, workload.input_tokens(RequestId{i}) - fresh});
  }
  std::sort(prompts_.begin(), prompts_.end(), [](const Prompt& a, const Prompt& b) {
    return a.fresh != b.fresh ? a.fresh < b.fresh : a.cached < b.cached;
  });
  const Prompt& median = prompts_[prompts_.size() / 2];
  StepShape shape;
  shape.decodes = shape.sampled = 1;
  shape.decode_context = std::uint64_t{median.fresh} + median.cached + 1;
  step_ms_ = milliseconds(scenario.make_cost()->step_time(shape));
}

double IdleTimes::ttft_ms(double share) const {
  const auto last = static_cast<double>(prompts_.size() - 1);
  const auto at = static_cast<std::size_t>(std::clamp(std::floor(share * last), 0.0, last));
  const auto cost = s_.make_cost();
  return prefill_ms(s_, *cost, prompts_[at].fresh, prompts_[at].cached);
}

std::optional<Note> slo_in_seconds(const SloTarget& target, const IdleTimes& idle) {
  if (target.at_least || target.target <= 0) return std::nullopt;
  double fastest = 0;
  double most_s = 0;
  if (target.name.ends_with("_ttft_ms") || target.name.ends_with("_e2el_ms")) {
    // Half of the requests where the figure is no percentile.
    fastest = idle.ttft_ms(target.name.starts_with("p99_")   ? 0.99
                           : target.name.starts_with("p95_") ? 0.95
                           : target.name.starts_with("p90_") ? 0.9
                                                             : 0.5);
    most_s = kMostTtftS;
  } else if (target.name.ends_with("_tpot_ms") || target.name.ends_with("_itl_ms")) {
    fastest = idle.step_ms();
    most_s = kMostTokenS;
  }
  const bool out_of_reach = target.target < kOutOfReach * fastest;
  const bool meant_in_seconds = target.target <= most_s && 1e3 * target.target >= fastest;
  if (!out_of_reach || !meant_in_seconds) return std::nullopt;
  return run_note("slo-unit", {{"where", place(target, "max").prefix()},
                               {"metric", target.name},
                               {"limit", plain(target.target)},
                               {"idle_ms", fastest},
                               {"meant", plain(1e3 * target.target)}});
}

Notes slo_in_seconds(const Scenario& scenario, const Workload& workload) {
  Notes out;
  if (workload.empty() || scenario.slo.empty()) return out;
  const IdleTimes idle(scenario, workload);
  for (const SloTarget& target : scenario.slo) {
    if (auto note = slo_in_seconds(target, idle)) out.push_back(*std::move(note));
  }
  return out;
}

void check_slo_applies(const Scenario& scenario, const Workload& workload) {
  for (const SloTarget& target : scenario.slo) {
    const TargetMeaning meaning(target, workload);
    const Figure figure = meaning.figure();
    if (figure == Figure::kCold && scenario.engine.residency != Residency::kStreaming) {
      throw InputError(Fault::kUsage, place(target, "metric"),
                       fmt::format("{} counts cold reads, and this engine makes none; expected "
                                   "another metric, or engine.residency \"streaming\"",
                                   target.name));
    }
    if (figure == Figure::kRate || judged(meaning, workload) > 0) continue;
    if (!target.tenant.empty()) {
      throw InputError(Fault::kUsage, place(target, "tenant"),
                       fmt::format("{} is about no request: tenant \"{}\" sends none that has it; "
                                   "expected a tenant of this workload, or no such target",
                                   target.name, target.tenant));
    }
    throw InputError(Fault::kUsage, place(target, "metric"),
                     fmt::format("{} is about no request: every answer is one token; expected "
                                 "another metric, e.g. p99_ttft_ms, or a trace with the lengths of "
                                 "answers",
                                 target.name));
  }
}

std::optional<Note> few_for_percentile(const Scenario& scenario, const Workload& workload) {
  const SloTarget* worst = nullptr;
  std::uint64_t fewest = 0;
  double above = 0;
  for (const SloTarget& target : scenario.slo) {
    const TargetMeaning meaning(target, workload);
    if (!meaning.percentile()) continue;
    std::uint64_t count = judged(meaning, workload);
    if (replicated(scenario)) {
      count = std::min<std::uint64_t>(count, scenario.workload->replication.requests);
    }
    const double over = meaning.limit() * static_cast<double>(count);
    if (over >= 1 || (worst != nullptr && over >= above)) continue;
    worst = &target;
    fewest = count;
    above = over;
  }
  if (worst == nullptr) return std::nullopt;
  const std::uint64_t needed = requests_needed({*worst});
  std::string longer = fmt::format("Record {} requests or more", format_count(needed));
  if (replicated(scenario) && fewest == scenario.workload->replication.requests) {
    longer = fmt::format("Set workload.replication.requests to {} or more", needed);
  } else if (scenario.workload->synthetic) {
    longer = fmt::format("Set workload.synthetic.requests to {} or more", needed);
  } else if (scenario.workload->benchmark) {
    longer = longer_benchmark(*scenario.workload->benchmark, needed);
  }
  return run_note("few-for-percentile", {{"metric", target_label(worst->name, worst->tenant)},
                                         {"requests", fewest},
                                         {"needed", needed},
                                         {"longer", longer}});
}

}  // namespace spillway
