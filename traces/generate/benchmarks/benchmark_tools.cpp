#include "traces/generate/benchmarks/benchmark_tools.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/error.hpp"
#include "traces/generate/benchmarks/tools.hpp"

namespace spillway {

namespace {

using Release = std::array<std::uint32_t, 3>;

/// Nothing where it is no release of up to three numbers.
std::optional<Release> release_of(std::string_view text) {
  Release out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out[i]);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return out;
    if (text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

const BenchmarkTool* tool_named(std::string_view name) {
  const auto tools = benchmark_tools();
  const auto found = std::ranges::find(tools, name, &BenchmarkTool::name);
  return found == tools.end() ? nullptr : &*found;
}

/// "0.5.0 to 0.6.0"
std::string known_releases(const BenchmarkTool& tool) {
  if (tool.first == tool.last) return std::string(tool.first);
  return fmt::format("{} to {}", tool.first, tool.last);
}

std::optional<BenchmarkFault> tool_fault(const BenchmarkConfig& config) {
  if (!config.tool) return BenchmarkFault{"tool", "expected the name of a benchmark tool"};
  const BenchmarkTool* tool = tool_named(*config.tool);
  if (tool == nullptr) {
    std::vector<std::string_view> names;
    for (const BenchmarkTool& one : benchmark_tools()) names.push_back(one.name);
    return BenchmarkFault{"tool", fmt::format("unknown tool \"{}\"; known: {}", *config.tool,
                                              fmt::join(names, ", "))};
  }
  if (config.version) {
    const auto release = release_of(*config.version);
    if (release && *release >= *release_of(tool->first) && *release <= *release_of(tool->last)) {
      return std::nullopt;
    }
  }
  const std::string known = known_releases(*tool);
  return BenchmarkFault{
      "version", config.version ? fmt::format("unknown version \"{}\" of {}; known: {}",
                                              *config.version, tool->name, known)
                                : fmt::format("expected a version of {}, {}", tool->name, known)};
}

/// Outside its range.
std::optional<BenchmarkFault> range_fault(const BenchmarkConfig& config, const BenchmarkKey& key) {
  const auto number = [&](double value) -> std::optional<BenchmarkFault> {
    if (value >= key.least && value <= key.most) return std::nullopt;
    return BenchmarkFault{key.name, fmt::format("expected a number from {} to {}, found {}",
                                                key.least, key.most, value)};
  };
  const auto of_value = [&](const auto& value) -> std::optional<BenchmarkFault> {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::vector<double>>) {
      for (const double one : value) {
        if (auto fault = number(one)) return fault;
      }
      return std::nullopt;
    } else if constexpr (std::is_same_v<Value, std::string>) {
      return std::nullopt;
    } else {
      return number(static_cast<double>(value));
    }
  };
  return std::visit(
      [&](auto member) -> std::optional<BenchmarkFault> {
        const auto& value = config.*member;
        return value ? of_value(*value) : std::nullopt;
      },
      key.target);
}

bool takes(const BenchmarkTool& tool, std::string_view key) {
  constexpr std::string_view kOfAll[] = {"tool", "version", "seed", "block_tokens"};
  return std::ranges::count(kOfAll, key) > 0 || std::ranges::count(tool.keys, key) > 0;
}

std::optional<BenchmarkFault> choice_fault(std::string_view key,
                                           const std::optional<std::string>& value,
                                           std::span<const std::string_view> choices) {
  if (!value || std::ranges::count(choices, *value) > 0) return std::nullopt;
  return BenchmarkFault{key,
                        fmt::format("expected {}, found \"{}\"", fmt::join(choices, ", "), *value)};
}

}  // namespace

std::span<const BenchmarkTool> benchmark_tools() {
  static const std::array<BenchmarkTool, 6> tools = {kGuideLlm,        kVllmBench,   kInferencePerf,
                                                     kSglangMultiturn, kLmBenchmark, kAiPerf};
  return tools;
}

const BenchmarkTool& tool_of(const BenchmarkConfig& config) {
  const BenchmarkTool* tool = tool_named(config.tool.value_or(""));
  KV_ASSERT(tool != nullptr, "a benchmark tool that nobody checked");
  return *tool;
}

std::optional<BenchmarkFault> fault_of(const BenchmarkConfig& config) {
  if (auto fault = tool_fault(config)) return fault;
  const BenchmarkTool& tool = tool_of(config);
  for (const BenchmarkKey& key : benchmark_keys()) {
    if (!is_set(config, key)) continue;
    if (!takes(tool, key.name)) {
      return BenchmarkFault{key.name, fmt::format("{} has no such setting; it has seed, "
                                                  "block_tokens, {}",
                                                  tool.name, fmt::join(tool.keys, ", "))};
    }
    if (auto fault = range_fault(config, key)) return fault;
  }
  if (auto fault = choice_fault("arrivals", config.arrivals, tool.arrivals)) return fault;
  if (auto fault = choice_fault("dataset", config.dataset, tool.datasets)) return fault;
  return tool.fault(config);
}

bool is_from(std::string_view version, std::string_view first) {
  const auto release = release_of(version);
  return release && *release >= *release_of(first);
}

}  // namespace spillway
