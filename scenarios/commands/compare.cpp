// `spillway compare`: variants of a scenario against each other, on the same workloads.
#include <fmt/format.h>

#include "reports/compare/compare_json.hpp"
#include "reports/compare/compare_report.hpp"
#include "reports/format.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/outputs.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/strict.hpp"
#include "scenarios/experiment/compare/comparison.hpp"
#include "sim/digest.hpp"

namespace spillway {

namespace {

struct CompareVerbOptions {
  std::string scenario;
  std::vector<std::string> vary;
  std::vector<std::string> baseline;
  std::vector<std::string> outputs;
  CompareOptions compare;
  bool strict = false;
  bool details = false;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
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

int run(const CompareVerbOptions& options) {
  const CommonOptions& common = *options.common;
  const std::vector<Output> outputs = parse_outputs(options.outputs, "compare", {}, common);
  const std::vector<Varied> varied = parse_varied(options.vary);
  check_metric(options.compare.metric);
  check_writable(common, paths_of(outputs));
  VariantSet set =
      make_variants(open_scenario_source(options.scenario, common), varied, options.baseline);
  for (Variant& variant : set.variants) {
    check_hardware_here(variant.scenario, options.strict);
    refuse_own_inputs(common, {options.scenario, variant.scenario.workload.trace},
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
  const CompareOutcome outcome = compare(set, choice);
  comparing.finish();

  Document document;
  document.kind = "compare";
  document.inputs = inputs_json(outcome, varied);
  document.results = to_json(outcome.result);
  document.warnings = outcome.warnings;
  const std::string& scenario = set.variants[set.baseline].scenario.name;
  const Told told = options.details
                        ? Told{compare_summary(outcome.result, scenario), document.warnings}
                        : Told{compare_glance(outcome.result, scenario),
                               first_notes(document.warnings, kMostNotes, answer_room().columns)};
  write_results(document, compare_report(outcome.result, provenance_of(document, scenario)), told,
                outputs, common);
  return 0;
}

}  // namespace

void add_compare(CLI::App& app, CommandList& commands) {
  auto options = std::make_shared<CompareVerbOptions>();
  options->common->takes_set = true;
  CLI::App* command = add_command(
      app, commands, "compare", "Compare variants of a scenario on the same workloads",
      "  spillway compare s.json --vary tiers.0.eviction=lru,fifo\n"
      "  spillway compare s.json --vary tiers.0.capacity=16GiB,64GiB --metric p99_tpot_ms\n"
      "  spillway compare s.json --vary engine.eviction=lru,fifo --replications 20 --out cmp\n",
      options->common, [options] { return run(*options); });
  command->add_option("SCENARIO", options->scenario, "Scenario file")->required();
  command->add_option("--vary", options->vary, "key.path=a,b[,c]: values to compare (repeatable)")
      ->required()
      ->allow_extra_args(false);
  command
      ->add_option("--baseline", options->baseline, "VALUE or key.path=VALUE (default: the first)")
      ->allow_extra_args(false);
  command
      ->add_option("--replications", options->compare.replications,
                   "Workloads that each variant runs on (default: 10)")
      ->check(CLI::Range(1U, kMostReplications));
  command->add_option("--metric", options->compare.metric,
                      "Metric to rank by (default: p99_ttft_ms)");
  command->add_option("--output", options->outputs, output_help("compare"));
  add_details(*command, options->details);
  add_strict(*command, options->strict);
}

}  // namespace spillway
