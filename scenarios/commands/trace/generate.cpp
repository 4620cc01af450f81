// `spillway trace generate`: a synthetic trace, or the requests of a benchmark tool.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "reports/fields/write.hpp"
#include "reports/notes/study_notes.hpp"
#include "scenarios/commands/trace/trace_fields.hpp"
#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/generate/benchmarks/benchmark_tools.hpp"
#include "traces/generate/benchmarks/benchmark_workload.hpp"
#include "traces/generate/synthetic.hpp"

namespace spillway {

namespace {

struct GenerateOptions {
  SyntheticConfig config;
  LikeOptions like;
  std::string benchmark;  ///< JSON, or a file of it
  const Verb* command = nullptr;
  CommonOptions common;
};

/// "--max-context" for max_context.
std::string flag_of(std::string_view key) {
  std::string out = "--" + std::string(key);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

constexpr ValueKind kHour{"HOUR", "hours after midnight, 0 to 24"};
constexpr ValueKind kRate{"RATE", "a number per second"};

/// By the unit that a parameter's name ends with.
const ValueKind& kind_of(const SyntheticKey& key) {
  constexpr std::pair<std::string_view, const ValueKind*> kEnds[] = {
      {"_tokens", &kinds::kTokens},  {"_quantiles", &kinds::kTokens},
      {"_context", &kinds::kTokens}, {"_per_s", &kRate},
      {"_s", &kinds::kSeconds},      {"_hour", &kHour},
      {"_amplitude", &kinds::kShare}};
  for (const auto& [end, kind] : kEnds) {
    if (key.name.ends_with(end)) return *kind;
  }
  if (!key.choices.empty()) return kinds::kChoice;
  if (std::holds_alternative<std::string SyntheticConfig::*>(key.target)) return kinds::kFile;
  if (std::holds_alternative<std::uint32_t SyntheticConfig::*>(key.target)) return kinds::kCount;
  return key.name == "turns" ? kinds::kCount : kinds::kFactor;
}

/// The option of one parameter.
struct AddOption {
  Verb& command;
  const SyntheticKey& key;
  SyntheticConfig& config;

  template <class T>
  Option& add(T& target) const {
    // Lists have no default: they replace another parameter.
    std::string help(key.help);
    if constexpr (!std::is_same_v<T, std::vector<double>>) {
      const std::string text = fmt::format("{}", target);
      if (!text.empty()) help += fmt::format(" (default: {})", text);
    }
    return command.add(flag_of(key.name), target, kind_of(key), help);
  }
  void operator()(std::uint32_t SyntheticConfig::*member) const {
    add(config.*member)
        .range(static_cast<std::int64_t>(key.least), static_cast<std::int64_t>(key.most));
  }
  void operator()(double SyntheticConfig::*member) const {
    add(config.*member).range(key.least, key.most);
  }
  void operator()(std::vector<double> SyntheticConfig::*member) const {
    add(config.*member).commas().range(key.least, key.most);
  }
  void operator()(std::string SyntheticConfig::*member) const {
    Option& option = add(config.*member);
    if (!key.choices.empty()) option.one_of({key.choices.begin(), key.choices.end()});
  }
};

void refuse_beside_like(const Verb& command) {
  for (const SyntheticKey& key : synthetic_keys()) {
    const bool of_both = key.name == "requests" || key.name == "block_tokens";
    if (of_both || !command.given(flag_of(key.name))) continue;
    throw InputError(Fault::kUsage, {"", 0, flag_of(key.name)},
                     "is fitted to the trace with --like; expected one or the other");
  }
}

void refuse_beside_benchmark(const GenerateOptions& options) {
  const auto refuse = [&](const std::string& flag) {
    if (!options.command->given(flag)) return;
    throw InputError(
        Fault::kUsage, {"", 0, flag},
        "expected not with --benchmark, whose settings are those of the scenario: --set "
        "workload.benchmark.KEY=VALUE");
  };
  refuse("--like");
  refuse("--seed");
  for (const SyntheticKey& key : synthetic_keys()) refuse(flag_of(key.name));
}

/// Of a scenario only the benchmark is read: other values would change nothing.
void refuse_other_values(const std::vector<std::string>& set) {
  constexpr std::string_view kPlace = "workload.benchmark";
  for (const std::string& assignment : set) {
    const bool of_benchmark =
        assignment.starts_with(kPlace) && assignment.size() > kPlace.size() &&
        (assignment[kPlace.size()] == '.' || assignment[kPlace.size()] == '=');
    if (of_benchmark) continue;
    throw InputError(Fault::kUsage, {"--set", 0, ""},
                     fmt::format("expected {}.KEY=VALUE with the scenario of --benchmark, found "
                                 "\"{}\"",
                                 kPlace, assignment));
  }
}

/// The object itself, or a scenario that has it.
BenchmarkConfig benchmark_of(const std::string& given, const std::vector<std::string>& set) {
  const bool inline_text = given.starts_with("{");
  JsonSource source =
      inline_text ? JsonSource::from_text("--benchmark", given) : JsonSource::from_file(given);
  const bool scenario = source.root().contains(nlohmann::json::json_pointer("/workload/benchmark"));
  if (scenario) refuse_other_values(set);
  for (const std::string& assignment : set) source.set(assignment);
  return read_benchmark(ObjectReader(source, scenario ? "/workload/benchmark" : "", "benchmark",
                                     ScenarioKeys::kBenchmark),
                        inline_text ? "" : std::filesystem::path(given).parent_path().string());
}

/// Rows to standard output as they are drawn: as many as one likes, in constant memory.
int stream(const SyntheticConfig& config, std::uint64_t seed, const CommonOptions& common) {
  const auto reader = make_synthetic_reader(config, seed);
  TextTraceWriter writer("-", {TextForm::kNative, config.block_tokens});
  TraceRow row;
  WrittenTrace written;
  written.path = "-";
  written.requests = config.requests;
  while (reader->next(row)) {
    written.references += row.blocks.size();
    writer.add(row);
  }
  writer.finish();
  Document document;
  document.kind = "trace-generate";
  document.results = to_document(written);
  write_document(document, common, "trace-generate");
  return 0;
}

int generate(const GenerateOptions& options) {
  const std::uint64_t seed = seed_of(options.common).value_or(1);
  CommonOptions quiet_out = options.common;
  quiet_out.out.clear();  // here --out names the trace
  check_trace_output(quiet_out, {options.like.trace, options.config.rates}, options.common.out);
  if (!options.benchmark.empty()) {
    refuse_beside_benchmark(options);
    const BenchmarkConfig config = benchmark_of(options.benchmark, options.common.set);
    const Workload workload = benchmark_workload(config);
    write_trace(workload, options.common.out);
    say_written(workload, options.common.out, "trace-generate", quiet_out);
    const BenchmarkLoad load = tool_of(config).load(config);
    if (!load.closed_loop) {
      if (load.turns) print_notes({study_note("turns-not-in-trace", {})}, quiet_out);
      return 0;
    }
    NoteFigures figures;
    if (load.turns) figures.emplace_back("turns", "wait");
    if (load.concurrency) figures.emplace_back("clients", *load.concurrency);
    if (load.end_s) figures.emplace_back("end_seconds", *load.end_s);
    print_notes({study_note("loop-not-in-trace", std::move(figures))}, quiet_out);
    return 0;
  }
  if (!options.common.set.empty()) refuse_set(*options.command);
  if (!options.like.trace.empty()) {
    LikeOptions like = options.like;
    refuse_beside_like(*options.command);
    if (options.command->given("--requests")) like.requests = options.config.requests;
    if (options.command->given("--block-tokens")) like.block_tokens = options.config.block_tokens;
    return generate_like(like, options.common.out, seed, quiet_out);
  }
  if (const auto fault = fault_of(options.config)) {
    throw InputError(Fault::kUsage, {"", 0, flag_of(fault->key)}, fault->message);
  }
  if (options.common.out == "-") return stream(options.config, seed, quiet_out);
  const Workload workload = generate_workload(options.config, seed);
  write_trace(workload, options.common.out);
  say_written(workload, options.common.out, "trace-generate", quiet_out);
  return 0;
}

}  // namespace

void add_trace_generate(Verb& trace) {
  auto [command, g] = add_command<GenerateOptions>(
      trace, "generate", "Make a synthetic trace of chat sessions",
      "  spillway trace generate --out chat.jsonl.gz --seed 1 --requests 2000\n"
      "  spillway trace generate --out more.bin --like t.jsonl.gz --seed 2\n"
      "  spillway trace generate --out bench.bin --benchmark scenarios/library/guidellm.json\n"
      "  spillway trace generate --out more.bin --benchmark scenarios/library/guidellm.json --set "
      "workload.benchmark.concurrency=50\n",
      generate);
  g.command = &command;
  g.common.takes_set = true;
  command.option("--out").require().describe(
      kinds::kFile,
      "Trace file to write (.jsonl.gz, .bin, ...); - streams rows to standard output");
  command.add("--like", g.like.trace, kinds::kFile,
              "Fit to this trace, and say how well that went; takes --requests and "
              "--block-tokens");
  command.add(
      "--benchmark", g.benchmark, kinds::kFile,
      "The requests of a benchmark tool: workload.benchmark as JSON, or a file with it; takes "
      "--set");
  for (const SyntheticKey& key : synthetic_keys()) {
    std::visit(AddOption{command, key, g.config}, key.target);
  }
}

}  // namespace spillway
