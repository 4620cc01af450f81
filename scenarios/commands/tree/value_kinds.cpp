#include "scenarios/commands/tree/value_kinds.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/catalogue/gpu_spec.hpp"
#include "models/catalogue/model_spec.hpp"
#include "models/engine/presets.hpp"
#include "policies/catalogue.hpp"
#include "reports/renderers/renderer.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/schemas.hpp"
#include "scenarios/planner/cells/recipes.hpp"
#include "scenarios/scenario/config/key_schema.hpp"
#include "scenarios/scenario/profiles/profile_json.hpp"
#include "scenarios/scenario/scenario.hpp"

namespace spillway {

namespace {

using Words = std::vector<std::string>;

template <class Row>
Words names(std::span<const Row> rows) {
  Words out;
  for (const Row& row : rows) out.emplace_back(row.name);
  return out;
}

/// Without a lambda of its own for each row of the table.
template <const char* kWords>
Words split() {
  Words out(1);
  for (const char* c = kWords; *c != 0; ++c) {
    if (*c == ' ') {
      out.emplace_back();
    } else {
      out.back() += *c;
    }
  }
  return out;
}

constexpr char kObjectives[] = "least-dram least-gpus least-cost most-load most-goodput-per-cost";
constexpr char kPlaces[] = "local slurm";
constexpr char kSchedulers[] = "k8s parallel slurm";
constexpr char kDtypes[] = "auto bf16 fp16 fp8 int8 fp4";
constexpr char kTraceForms[] = "mooncake aiperf native";
constexpr char kReuse[] = "none session-prefix shared-prefix:";
constexpr char kShellNames[] = "bash zsh fish";
constexpr char kMetrics[] =
    "mean_ttft_ms median_ttft_ms p90_ttft_ms p95_ttft_ms p99_ttft_ms mean_tpot_ms median_tpot_ms "
    "p90_tpot_ms p95_tpot_ms p99_tpot_ms mean_e2el_ms p99_e2el_ms request_throughput "
    "output_throughput goodput cached_share preemptions rejected_share";

/// "engine.max_num_seqs=", and where its values are known "engine.residency=streaming".
Words scenario_keys() {
  Words out;
  for (const DottedKey& key : dotted_keys(ScenarioKeys::kTop)) {
    if (key.name == "name" || key.name == "description" || key.name == "$schema") continue;
    const std::string set = key.name + "=";
    out.push_back(set);
    if (key.name.ends_with("eviction")) {
      for (const std::string& name : names(eviction_policies())) out.push_back(set + name);
    }
    if (key.name == "engine.preset") {
      for (const std::string& name : names(engine_presets())) out.push_back(set + name);
    }
    for (const std::string_view choice : key.key->choices) out.push_back(set + std::string(choice));
  }
  return out;
}

constexpr ValueKind kUnknown{"VALUE", ""};
constexpr ValueKind kFile{"FILE", "", Offer::kFiles};
constexpr ValueKind kFolder{"DIR", "", Offer::kFolders};
constexpr ValueKind kScenario{"SCENARIO", "", Offer::kScenarios};
constexpr ValueKind kCount{"N", "a whole number"};
constexpr ValueKind kTokens{"TOKENS", "a number of tokens"};
constexpr ValueKind kSeconds{"SECONDS", "a number of seconds, without a unit"};
constexpr ValueKind kHour{"HOUR", "hours after midnight, 0 to 24"};
constexpr ValueKind kDuration{"TIME", "a time with its unit: 30s, 5min, 2h"};
constexpr ValueKind kSize{"SIZE", "bytes with their unit: 64GiB is 2^36 bytes, 64GB 64e9 bytes"};
constexpr ValueKind kBlocks{"BLOCKS", "cache blocks with their unit: 1000blocks; inf: no limit"};
constexpr ValueKind kShare{"SHARE", "a share, 1 for all: 0.1 is a tenth"};
constexpr ValueKind kFactor{"X", "a number without a unit"};
constexpr ValueKind kRate{"RATE", "a number per second"};
constexpr ValueKind kName{"NAME", ""};
constexpr ValueKind kText{"TEXT", ""};
constexpr ValueKind kCommandLine{"COMMAND", "the engine's own command line, in quotes"};
constexpr ValueKind kRelease{"RELEASE", "a release of vLLM: 0.9.1"};
constexpr ValueKind kAssignment{
    "KEY=VALUE",
    "a key of the scenario by its path, and JSON or a word: engine.max_num_seqs=64, "
    "tiers.0.capacity=256GiB",
    Offer::kKeys, scenario_keys};
constexpr ValueKind kVariants{"KEY=A,B",
                              "a key of the scenario by its path, and the values to put there",
                              Offer::kKeys, scenario_keys};
/// As published, and without the organisation before it, which people leave out.
Words model_names() {
  Words out = names(model_specs());
  const std::size_t rows = out.size();
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string last = out[i].substr(out[i].rfind('/') + 1);
    for (const std::string& word : {last, last.substr(last.starts_with("Meta-") ? 5 : 0)}) {
      if (std::find(out.begin(), out.end(), word) == out.end()) out.push_back(word);
    }
  }
  return out;
}

constexpr ValueKind kModel{"MODEL", "", Offer::kWords, model_names};
constexpr ValueKind kGpu{"GPU", "", Offer::kWords, [] {
                           Words out;
                           for (std::string& name : names(gpu_specs())) {
                             if (name.find(' ') == std::string::npos) out.push_back(name);
                           }
                           return out;
                         }};
constexpr ValueKind kEngine{"ENGINE", "", Offer::kWords, [] { return names(engine_presets()); }};
constexpr ValueKind kPolicy{"POLICY", "", Offer::kWords, [] { return names(eviction_policies()); }};
constexpr ValueKind kFormat{"FORMAT", "", Offer::kWords, [] { return names(formats()); }};
constexpr ValueKind kRecipe{"RECIPE", "", Offer::kWords, [] { return names(plan_recipes()); }};
constexpr ValueKind kObjective{"OBJECTIVE", "", Offer::kWords, split<kObjectives>};
constexpr ValueKind kPlace{"WHERE", "", Offer::kWords, split<kPlaces>};
constexpr ValueKind kScheduler{"SCHEDULER", "", Offer::kWords, split<kSchedulers>};
constexpr ValueKind kDtype{"DTYPE", "", Offer::kWords, split<kDtypes>};
constexpr ValueKind kTraceForm{"FORM", "", Offer::kWords, split<kTraceForms>};
constexpr ValueKind kReuseModel{"REUSE", "", Offer::kWords, split<kReuse>};
constexpr ValueKind kSection{"SECTION", "", Offer::kWords, [] {
                               const auto sections = profile_sections();
                               return Words(sections.begin(), sections.end());
                             }};
/// The words are those of the option's own help line: they differ by verb.
constexpr ValueKind kOutput{"kind=KIND,path=FILE", "", Offer::kWords};
constexpr ValueKind kMetric{"METRIC", "", Offer::kWords, split<kMetrics>};
constexpr ValueKind kShell{"SHELL", "", Offer::kWords, split<kShellNames>};
constexpr ValueKind kCatalogue{"CATALOGUE", "", Offer::kWords, catalogue_names};
constexpr ValueKind kSchema{"KIND", "", Offer::kWords, [] { return names(schemas()); }};
constexpr ValueKind kTiers{"TIER=BLOCKS", "a tier's name and its size in blocks: dram=10000blocks"};
constexpr ValueKind kTenant{"NAME=FILE", ""};
constexpr ValueKind kOffset{"NAME=SECONDS", ""};
constexpr ValueKind kShard{"I/N", "the I-th of N parts: 17/200"};
constexpr ValueKind kMemory{"MEMORY", "as Slurm writes it: 4G is 4 GiB"};
constexpr ValueKind kWallTime{"HH:MM:SS", "as Slurm writes it: 00:30:00 is half an hour"};
constexpr ValueKind kWindow{"WINDOW", "a time, or start+length: 30s, 120s+30s"};
constexpr ValueKind kOption{"OPTION", ""};

struct Row {
  std::string_view verb;  ///< empty: any
  std::string_view option;
  const ValueKind* kind;
};

/// The first row that fits.
constexpr Row kRows[] = {
    // --out is a file where one thing is made.
    {"trace generate", "--out", &kFile},
    {"trace sample", "--out", &kFile},
    {"trace merge", "--out", &kFile},
    {"trace import", "--out", &kFile},
    {"calibrate", "--out", &kFile},
    {"fit", "--out", &kFile},
    {"validate", "--out", &kFile},
    {"init", "--out", &kFile},
    {"flags", "--engine", &kEngine},
    {"report", "--engine", &kEngine},
    {"list", "--engine", &kEngine},
    {"sweep run", "--runner", &kPlace},
    {"sweep emit", "--scheduler", &kScheduler},
    {"sweep emit", "--claim-path", &kText},
    {"", "--set", &kAssignment},
    {"", "--seed", &kCount},
    {"", "--threads", &kCount},
    {"", "--json", &kFile},
    {"", "--out", &kFolder},
    {"", "--output", &kOutput},
    {"", "--trace", &kFile},
    {"", "--policy", &kPolicy},
    {"", "--capacity", &kBlocks},
    {"", "--at", &kBlocks},
    {"", "--tiers", &kTiers},
    {"", "--kv-bytes-per-block", &kSize},
    {"", "--reuse", &kReuseModel},
    {"", "--session-interval", &kSeconds},
    {"", "--session-window", &kSeconds},
    {"", "--limit", &kCount},
    {"", "--points", &kCount},
    {"", "--problems", &kCount},
    {"", "--sample", &kShare},
    {"", "--share", &kShare},
    {"", "--max-difference", &kShare},
    {"", "--recipe", &kRecipe},
    {"", "--objective", &kObjective},
    {"", "--replications", &kCount},
    {"", "--max-runs", &kCount},
    {"", "--budget", &kDuration},
    {"", "--cache", &kFolder},
    {"", "--vary", &kVariants},
    {"", "--baseline", &kName},
    {"", "--metric", &kMetric},
    {"", "--campaign", &kFolder},
    {"", "--database", &kFile},
    {"", "--csv", &kFile},
    {"", "--file", &kFile},
    {"", "--jobs", &kCount},
    {"", "--shards", &kCount},
    {"", "--max-running", &kCount},
    {"", "--arrays", &kCount},
    {"", "--shard", &kShard},
    {"", "--partition", &kName},
    {"", "--mem", &kMemory},
    {"", "--time", &kWallTime},
    {"", "--sbatch", &kOption},
    {"", "--program", &kFile},
    {"", "--image", &kName},
    {"", "--claim", &kName},
    {"", "--memory", &kSize},
    {"", "--scratch", &kFolder},
    {"", "--only", &kSection},
    {"", "--harness", &kFile},
    {"", "--replay", &kFile},
    {"", "--verify", &kFile},
    {"", "--window", &kWindow},
    {"", "--trace-window", &kWindow},
    {"", "--trace-cap", &kSize},
    {"", "--sections", &kName},
    {"", "--data", &kFolder},
    {"", "--profiles", &kFolder},
    {"", "--format", &kFormat},
    {"", "--model", &kModel},
    {"", "--gpu", &kGpu},
    {"", "--vllm", &kCommandLine},
    {"", "--config", &kFile},
    {"", "--release", &kRelease},
    {"", "--pick", &kText},
    {"", "--matcher", &kText},
    {"", "--runbook-url", &kText},
    {"", "--preset", &kEngine},
    {"", "--kv-dtype", &kDtype},
    {"", "--gpu-memory-utilization", &kShare},
    {"", "--max-num-seqs", &kCount},
    {"", "--max-num-batched-tokens", &kTokens},
    {"", "--tier-size", &kSize},
    {"", "--to", &kTraceForm},
    {"", "--speed", &kFactor},
    {"", "--tenant", &kTenant},
    {"", "--offset", &kOffset},
    {"", "--like", &kFile},
    {"", "--rates", &kFile},
    {"", "--tp", &kCount},
    {"", "--first", &kCount},
    {"", "--scenario", &kScenario},
    {"", "--name", &kName},
    {"", "--source", &kText},
    {"", "--requests", &kCount},
    {"", "--tenants", &kCount},
    {"", "--system-prompts", &kCount},
    {"", "--turns", &kCount},
    {"", "--tokens", &kTokens},
    {"", "--user-quantiles", &kTokens},
    {"", "--answer-quantiles", &kTokens},
    {"", "--max-context", &kTokens},
    {"", "--sessions-per-s", &kRate},
    {"", "--answer-tokens-per-s", &kRate},
    {"", "--day-peak-hour", &kHour},
    {"", "--day-amplitude", &kShare},
    // Positionals.
    {"", "SCENARIO", &kScenario},
    {"", "EXPERIMENT", &kScenario},
    {"", "CAMPAIGN", &kFolder},
    {"", "CATALOGUE", &kCatalogue},
    {"", "KIND", &kSchema},
    {"", "SHELL", &kShell},
    {"", "VERB", &kName},
};

struct Suffix {
  std::string_view end;
  const ValueKind* kind;
};

/// trace generate names its parameters by their unit.
constexpr Suffix kSuffixes[] = {
    {"-tokens", &kTokens},  {"-s", &kSeconds},    {"-sigma", &kFactor},
    {"-zipf", &kFactor},    {"-cv", &kFactor},    {"-factor", &kFactor},
    {"-factors", &kFactor}, {"-scale", &kFactor}, {"-tail", &kFactor},
};

}  // namespace

const ValueKind& unknown_value() {
  return kUnknown;
}

const ValueKind& value_kind(std::string_view verb, std::string_view option) {
  for (const Row& row : kRows) {
    if (row.option == option && (row.verb.empty() || row.verb == verb)) return *row.kind;
  }
  if (!option.starts_with("--")) return kFile;  // positionals are what a verb reads or writes
  for (const Suffix& suffix : kSuffixes) {
    if (option.ends_with(suffix.end)) return *suffix.kind;
  }
  return kUnknown;
}

}  // namespace spillway
