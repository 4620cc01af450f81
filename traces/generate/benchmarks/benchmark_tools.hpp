// The benchmark tools whose workloads are known: what each is told, and which requests it sends.
//
// A tool's requests follow from its settings by the tool's own algorithm and random numbers, so
// that lengths, shared prefixes and order are those of a published run. Text is not made: prompts
// are taken to have the lengths that the tool asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/generate/benchmarks/benchmark_config.hpp"

namespace spillway {

struct BenchmarkRequest {
  std::int64_t arrival_ns = 0;     ///< from the start of the benchmark
  std::uint32_t conversation = 0;  ///< numbered from 0; the requests of one are its turns in order
  std::uint32_t turn = 0;
  std::uint32_t prefix = 0;         ///< which shared prefix
  std::uint32_t prefix_tokens = 0;  ///< its length; 0: none
  std::uint32_t input_tokens = 0;   ///< the whole prompt, with prefix and earlier turns
  std::uint32_t output_tokens = 0;
  /// Of a turn: the client's pause behind the answers it waits for; -1: until `arrival_ns`.
  std::int64_t think_ns = 0;
  /// The conversation whose text it sends once more, which shares no session with it; -1: its own.
  std::int64_t text_of = -1;
  /// The requests [first, second) whose answers it waits for. Both 0: the turn before it.
  std::pair<std::uint32_t, std::uint32_t> after{0, 0};
};

/// When the requests are sent, and which count.
struct BenchmarkLoad {
  bool closed_loop = false;  ///< a client sends when it has its answer; no arrival times
  std::optional<std::uint32_t> concurrency{};
  std::optional<double> end_s{};  ///< nothing is sent later, and what ends later does not count
  std::optional<double> sent_until_s{};  ///< nothing is sent later; what was sent counts
  bool turns = false;                    ///< a turn waits for the answers before it
};

struct BenchmarkTool {
  std::string_view name;
  std::string_view first;  ///< known releases
  std::string_view last;
  std::string_view summary;
  std::span<const std::string_view> keys;  ///< besides tool, version, seed and block_tokens
  std::span<const std::string_view> arrivals;
  std::span<const std::string_view> datasets;
  std::optional<BenchmarkFault> (*fault)(const BenchmarkConfig&);
  std::vector<BenchmarkRequest> (*requests)(const BenchmarkConfig&);
  BenchmarkLoad (*load)(const BenchmarkConfig&);
  /// Settings that the tool takes and ignores.
  std::vector<std::string> (*notes)(const BenchmarkConfig&);
};

std::span<const BenchmarkTool> benchmark_tools();
/// Precondition: fault_of() finds nothing.
const BenchmarkTool& tool_of(const BenchmarkConfig& config);

/// What is wrong with a configuration, if anything.
std::optional<BenchmarkFault> fault_of(const BenchmarkConfig& config);

/// Whether a release ("0.5.4") is this one or a later one.
bool is_from(std::string_view version, std::string_view first);

}  // namespace spillway
