// The key `benchmark` of the workload: a tool, its release and its settings.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <string>

#include "models/catalogue/model_spec.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/model.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "traces/generate/benchmarks/benchmark_tools.hpp"

namespace spillway {

namespace {

/// Which tools take a key; nothing where all do.
std::string takers(std::string_view key) {
  std::string out;
  std::size_t count = 0;
  for (const BenchmarkTool& tool : benchmark_tools()) {
    if (std::ranges::count(tool.keys, key) == 0) continue;
    out += (out.empty() ? " For " : ", ") + std::string(tool.name);
    ++count;
  }
  return count == 0 || count == benchmark_tools().size() ? "" : out + ".";
}

/// What any tool takes for a key; empty where that is any text.
std::vector<std::string_view> choices_of(std::string_view key) {
  std::vector<std::string_view> out;
  if (key == "ramp_up") out = {"linear", "exponential"};
  if (key == "queue") out = {"random", "fifo"};
  for (const BenchmarkTool& tool : benchmark_tools()) {
    if (key == "tool") out.push_back(tool.name);
    for (const auto& [list, name] :
         {std::pair(tool.arrivals, "arrivals"), std::pair(tool.datasets, "dataset")}) {
      if (key != name) continue;
      for (const std::string_view choice : list) {
        if (std::ranges::count(out, choice) == 0) out.push_back(choice);
      }
    }
  }
  return out;
}

/// The table of the tools' settings as rows.
std::vector<Key> benchmark_rows() {
  static std::deque<std::string> texts;  // which the rows point to, as to these
  static std::deque<std::vector<std::string_view>> choices;
  std::vector<Key> out;
  for (const BenchmarkKey& key : benchmark_keys()) {
    const std::string_view help = texts.emplace_back(std::string(key.help) + takers(key.name));
    const auto as_row = [&]<class T>(std::optional<T> BenchmarkConfig::*) -> Key {
      if constexpr (std::is_same_v<T, std::vector<double>>) {
        return list_of(number_key(key.name, key.least, key.most, help));
      } else if constexpr (std::is_same_v<T, double>) {
        return number_key(key.name, key.least, key.most, help);
      } else if constexpr (std::is_same_v<T, std::uint32_t>) {
        return integer_key(key.name, static_cast<std::int64_t>(key.least),
                           static_cast<std::int64_t>(key.most), help);
      } else {
        const auto& known = choices.emplace_back(choices_of(key.name));
        return known.empty() ? text_key(key.name, help) : choice_key(key.name, known, help);
      }
    };
    const Key row = std::visit(as_row, key.target);
    out.push_back(key.name == "tool" || key.name == "version" ? required(row) : row);
  }
  return out;
}

/// Reads one key of a benchmark, whatever its type.
struct BenchmarkReader {
  const ObjectReader& o;
  const BenchmarkKey& key;
  BenchmarkConfig& config;

  void operator()(std::optional<std::uint32_t> BenchmarkConfig::*member) const {
    if (const auto value = o.integer(key.name)) config.*member = static_cast<std::uint32_t>(*value);
  }
  void operator()(std::optional<double> BenchmarkConfig::*member) const {
    config.*member = o.number(key.name);
  }
  void operator()(std::optional<std::vector<double>> BenchmarkConfig::*member) const {
    config.*member = o.numbers(key.name);
  }
  void operator()(std::optional<std::string> BenchmarkConfig::*member) const {
    config.*member = o.text(key.name);
  }
};

void check(const ObjectReader& o, const BenchmarkConfig& config) {
  if (const auto fault = fault_of(config)) o.fail(fault->key, fault->message);
}

BenchmarkConfig read_settings(const ObjectReader& o, const std::string& folder) {
  BenchmarkConfig config;
  for (const BenchmarkKey& key : benchmark_keys()) {
    std::visit(BenchmarkReader{o, key, config}, key.target);
  }
  check(o, config);
  if (config.lengths) config.lengths = path_beside(folder, o.where("lengths"), *config.lengths);
  return config;
}

/// What servers counted beyond prefix and prompt of GuideLLM in published runs of Qwen3-0.6B to 14B
/// (natoscott/benchmarks, llm-d-kvcache-offload-eval): of a system and a user message, and of a
/// later turn.
const std::vector<double> kQwen3Template = {14, 9};

}  // namespace

const std::vector<Key> kBenchmarkRows = benchmark_rows();
const KeyTable ScenarioKeys::kBenchmark = kBenchmarkRows;

BenchmarkConfig read_benchmark(const ObjectReader& benchmark, const std::string& folder) {
  return read_settings(benchmark, folder);
}

BenchmarkConfig read_benchmark(const ObjectReader& benchmark, const Scenario& s) {
  BenchmarkConfig config =
      read_settings(benchmark, std::filesystem::path(s.path).parent_path().string());
  const bool chats = config.tool == "guidellm";
  if (chats && !config.template_tokens && s.model->spec != nullptr &&
      s.model->spec->name.find("Qwen3-") != std::string_view::npos) {
    config.template_tokens = kQwen3Template;
    check(benchmark, config);
  }
  return config;
}

void apply_benchmark(const ObjectReader& workload, WorkloadChoice& w) {
  const BenchmarkLoad load = tool_of(*w.benchmark).load(*w.benchmark);
  w.arrival.kind =
      load.closed_loop ? ArrivalConfig::Kind::kClosedLoop : ArrivalConfig::Kind::kTrace;
  w.arrival.concurrency = load.concurrency.value_or(0);
  w.arrival.wait = true;
  const auto time_of = [](double seconds) { return time_at(floor_scaled(decimal_of(seconds), 9)); };
  if (load.sent_until_s) w.arrival.horizon = time_of(*load.sent_until_s);
  if (!load.end_s) return;
  w.end = time_of(*load.end_s);
  w.arrival.horizon = w.end;
  if (w.end <= w.warmup) {
    workload.fail("warmup_s", "expected less than benchmark.seconds: nothing would be measured");
  }
}

}  // namespace spillway
