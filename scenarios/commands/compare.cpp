// `spillway compare`: variants of a scenario against each other, on the same workloads.
#include <fmt/format.h>

#include "reports/compare/compare_json.hpp"
#include "reports/compare/compare_report.hpp"
#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/outputs.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/strict.hpp"
#include "scenarios/experiment/compare/comparison.hpp"
#include "scenarios/experiment/engine_variants.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/digest.hpp"
#include "sim/run_metrics.hpp"

namespace spillway {

namespace {

constexpr ValueKind kVariants{"KEY=A,B",
                              "a key of the scenario by its path, and the values to put there",
                              Offer::kKeys, scenario_keys};
constexpr ValueKind kMetric{"METRIC", "", Offer::kWords, names_in<run_metrics>};

struct CompareVerbOptions {
  std::string scenario;
  std::vector<std::string> vary;
  std::vector<std::string> engines;
  std::vector<std::string> baseline;
  std::vector<std::string> outputs;
  CompareOptions compare;
  bool strict = false;
  bool details = false;
  CommonOptions common;
};

nlohmann::json inputs_json(const CompareOutcome& outcome, const std::vector<Varied>& varied) {
  nlohmann::json out = outcome.inputs;
  out["replications"] = outcome.result.replications;
  out["vary"] = nlohmann::json::array();
  for (const Varied& v : varied) out["vary"].push_back({{"key", v.key}, {"values", v.values}});
  out["workloads"] = nlohmann::json::array();
  for (const SharedWorkload& shared : outcome.workloads) {
    nlohmann::json entry = {{"variants", nlohmann::json::array()},
                            {"content_hashes", nlohmann::json::array()}};
    for (const std::size_t v : shared.variants) {
      entry["variants"].push_back(outcome.result.variants[v].name);
    }
    for (const std::uint64_t hash : shared.hashes) {
      entry["content_hashes"].push_back(hex16(hash));
    }
    out["workloads"].push_back(std::move(entry));
  }
  return out;
}

/// Engines are the values of their preset.
std::vector<Varied> varied_of(const CompareVerbOptions& options, std::vector<Varied> varied) {
  if (options.engines.empty()) return varied;
  return {{"engine.preset", options.engines}};
}

/// What all of them have alike.
Note engines_note(const VariantSet& set) {
  const Scenario& s = set.variants[set.baseline].scenario;
  const std::uint64_t tokens = std::uint64_t{s.engine.usable_blocks()} * s.engine.block_tokens;
  if (!s.tier) return study_note("engines-alike", {{"tokens", tokens}});
  const std::uint64_t blocks = s.tier_blocks(s.tier->capacity);
  if (s.tier->capacity.kind == Capacity::Kind::kUnbounded) {
    return study_note("engines-alike-unbounded", {{"tokens", tokens}, {"tier", s.tier->name}});
  }
  return study_note("engines-alike-below", {{"tokens", tokens},
                                            {"tier", s.tier->name},
                                            {"below_bytes", static_cast<std::int64_t>(blocks) *
                                                                s.tier_block_bytes().count()}});
}

int run(const CompareVerbOptions& options) {
  const CommonOptions& common = options.common;
  const std::vector<Output> outputs = parse_outputs(options.outputs, "compare", {}, common);
  if (options.vary.empty() == options.engines.empty()) {
    throw InputError(Fault::kUsage, {"compare", 0, ""},
                     "expected --vary KEY=A,B or --engines A,B: what to compare");
  }
  const std::vector<Varied> varied = parse_varied(options.vary);
  check_metric(options.compare.metric);
  check_writable(common, paths_of(outputs));
  const JsonSource source = open_scenario_source(options.scenario, common);
  VariantSet set = options.engines.empty() ? make_variants(source, varied, options.baseline)
                                           : make_engine_variants(source, options.engines);
  for (Variant& variant : set.variants) {
    check_hardware_here(variant.scenario, options.strict);
    refuse_own_inputs(common, {options.scenario, variant.scenario.workload->trace},
                      paths_of(outputs));
  }

  Progress reading("reading", "MB", !common.quiet);
  Progress comparing("comparing", "runs", !common.quiet);
  CompareOptions choice = options.compare;
  choice.threads = common.thread_count();
  choice.reading = reading.reader();
  choice.progress = [&](std::uint64_t done, std::uint64_t total) {
    reading.finish();
    comparing.update(done, total);
  };
  CompareOutcome outcome = compare(set, choice);
  if (!options.engines.empty()) outcome.warnings.push_back(engines_note(set));
  comparing.finish();

  Document document;
  document.kind = "compare";
  document.inputs = inputs_json(outcome, varied_of(options, varied));
  document.results = to_json(outcome.result);
  document.warnings = outcome.warnings;
  const std::string& scenario = set.variants[set.baseline].scenario.name;
  const Told told =
      options.details
          ? Told{compare_summary(outcome.result, scenario), document.warnings}
          : Told{compare_glance(outcome.result, scenario), document.warnings, glance_room()};
  write_results(document, compare_report(outcome.result, provenance_of(document, scenario)), told,
                outputs, common);
  return 0;
}

}  // namespace

void add_compare(Verb& program) {
  auto [command, options] = add_command<CompareVerbOptions>(
      program, "compare", "Compare variants of a scenario on the same workloads",
      "  spillway compare s.json --vary tiers.0.eviction=lru,fifo\n"
      "  spillway compare s.json --vary tiers.0.capacity=16GiB,64GiB --metric p99_tpot_ms\n"
      "  spillway compare s.json --vary engine.eviction=lru,fifo --replications 20 --out cmp\n"
      "  spillway compare s.json --engines vllm,sglang\n",
      run);
  options.common.takes_set = true;
  command.add("SCENARIO", options.scenario, kinds::kScenario, "Scenario file").require();
  auto& vary = command
                   .add("--vary", options.vary, kVariants,
                        "key.path=a,b[,c]: values to compare (repeatable)")
                   .one_each();
  auto& engines =
      command
          .add("--engines", options.engines, kinds::kEngine,
               "Engines to compare instead, e.g. vllm,sglang: with the same device pool and the "
               "same bytes of host memory")
          .commas()
          .excludes(vary);
  command
      .add("--baseline", options.baseline, kinds::kName,
           "VALUE or key.path=VALUE (default: the first)")
      .one_each()
      .excludes(engines);
  command
      .add("--replications", options.compare.replications, kinds::kCount,
           "Workloads that each variant runs on (default: 10)")
      .range(1U, kMostReplications);
  command.add("--metric", options.compare.metric, kMetric,
              "Metric to rank by (default: p99_ttft_ms)");
  add_output(command, options.outputs, "compare");
  add_details(command, options.details);
  add_strict(command, options.strict);
}

}  // namespace spillway
