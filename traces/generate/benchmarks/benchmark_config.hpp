// What a user may say about the workload of a benchmark tool: the tool, its release and its
// settings, in one vocabulary for all tools. The one table of their names, ranges and meanings;
// which tool takes which stands in benchmark_tools.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace spillway {

/// The block size of most engines: prompts share what an engine can share.
inline constexpr std::uint32_t kBenchmarkBlock = 16;

/// What is not set has the tool's own default.
struct BenchmarkConfig {
  std::optional<std::string> tool;
  std::optional<std::string> version;
  std::optional<std::uint32_t> requests;
  std::optional<std::uint32_t> seed;
  std::optional<std::uint32_t> block_tokens;
  // When requests are sent, and for how long.
  std::optional<std::string> arrivals;
  std::optional<std::uint32_t> concurrency;
  std::optional<std::uint32_t> users;
  std::optional<std::string> queue;
  std::optional<double> round_barrier_s;
  std::optional<double> rate_per_s;
  std::optional<std::vector<double>> rates_per_s;
  std::optional<double> burstiness;
  std::optional<std::string> ramp_up;
  std::optional<double> ramp_up_from_per_s;
  std::optional<double> ramp_up_to_per_s;
  std::optional<double> seconds;
  // What they ask.
  std::optional<std::string> dataset;
  std::optional<std::string> lengths;
  std::optional<std::uint32_t> prompt_tokens;
  std::optional<std::uint32_t> prompt_tokens_stdev;
  std::optional<std::uint32_t> prompt_tokens_min;
  std::optional<std::uint32_t> prompt_tokens_max;
  std::optional<std::uint32_t> output_tokens;
  std::optional<std::uint32_t> output_tokens_stdev;
  std::optional<std::uint32_t> output_tokens_min;
  std::optional<std::uint32_t> output_tokens_max;
  std::optional<std::uint32_t> next_prompt_tokens;
  std::optional<std::uint32_t> history_tokens;
  std::optional<double> range_ratio;
  std::optional<std::uint32_t> prefix_tokens;
  std::optional<std::uint32_t> prefix_count;
  std::optional<std::uint32_t> prompts_per_prefix;
  std::optional<std::uint32_t> dataset_entries;
  std::optional<std::uint32_t> turns;
  std::optional<std::vector<double>> template_tokens;
  std::optional<std::uint32_t> special_tokens;
};

using BenchmarkMember = std::variant<std::optional<std::uint32_t> BenchmarkConfig::*,
                                     std::optional<double> BenchmarkConfig::*,
                                     std::optional<std::vector<double>> BenchmarkConfig::*,
                                     std::optional<std::string> BenchmarkConfig::*>;

struct BenchmarkKey {
  std::string_view name;
  BenchmarkMember target;
  double least = 0;  ///< of numbers, also in a list
  double most = 0;
  std::string_view help;
};

std::span<const BenchmarkKey> benchmark_keys();

/// Whether the configuration sets a key.
bool is_set(const BenchmarkConfig& config, const BenchmarkKey& key);

struct BenchmarkFault {
  std::string_view key;
  std::string message;  ///< "expected ..., found ..."
};

}  // namespace spillway
