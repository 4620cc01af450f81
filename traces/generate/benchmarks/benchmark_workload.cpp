#include "traces/generate/benchmarks/benchmark_workload.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/error.hpp"
#include "sim/rng.hpp"
#include "traces/trace_reader.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

/// A block inside the prefix is shared by all its conversations, a full block beyond it by all
/// later turns of its conversation, a partial last block by nobody.
std::uint64_t block_name(const BenchmarkRequest& r, std::uint32_t index,
                         std::uint32_t block_tokens) {
  const std::uint64_t end = (std::uint64_t{index} + 1) * block_tokens;
  if (end <= r.prefix_tokens) return mix64(mix64(0x707265666978ULL + r.prefix) + index);
  const std::uint64_t text = r.text_of < 0 ? r.conversation : static_cast<std::uint64_t>(r.text_of);
  const std::uint64_t own = mix64(mix64(0x636f6e76657273ULL + text) + index);
  return end <= r.input_tokens ? own : mix64(own + 1 + r.turn);
}

/// Which rows say what they wait for.
enum class Links : std::uint8_t { kNone, kTurns, kNamed };

Links links_of(const std::vector<BenchmarkRequest>& requests) {
  Links out = Links::kNone;
  for (const BenchmarkRequest& r : requests) {
    if (r.after.second > 0) return Links::kNamed;
    if (r.turn > 0) out = Links::kTurns;
  }
  return out;
}

void write_row(TraceRow& row, const BenchmarkRequest& r, std::uint32_t block_tokens,
               std::int64_t line, Links links) {
  row.clear();
  row.line = line;
  row.arrival_ns = r.arrival_ns;
  row.input_tokens = r.input_tokens;
  row.output_tokens = r.output_tokens;
  if (links != Links::kNone) {
    row.session = r.conversation;
    row.think_ns = r.think_ns;
  }
  if (links == Links::kNamed) {
    row.id = row.line;
    for (std::uint32_t i = r.after.first; i < r.after.second; ++i) row.after.push_back(i + 1);
  }
  for (std::uint32_t i = 0; std::uint64_t{i} * block_tokens < r.input_tokens; ++i) {
    row.blocks.push_back(block_name(r, i, block_tokens));
  }
}

}  // namespace

Workload benchmark_workload(const BenchmarkConfig& config, std::uint32_t limit) {
  if (const auto fault = fault_of(config)) {
    throw InputError(Fault::kUsage, {"", 0, std::string(fault->key)}, fault->message);
  }
  const BenchmarkTool& tool = tool_of(config);
  std::vector<BenchmarkRequest> requests = tool.requests(config);
  if (limit > 0 && requests.size() > limit) requests.resize(limit);
  const std::uint32_t block_tokens = config.block_tokens.value_or(kBenchmarkBlock);
  WorkloadBuilder builder("benchmark", block_tokens);
  const Links links = links_of(requests);
  TraceRow row;
  for (const BenchmarkRequest& request : requests) {
    write_row(row, request, block_tokens, builder.size() + 1, links);
    builder.add(row);
  }
  WorkloadSource source;
  source.name = fmt::format("{} {}", tool.name, *config.version);
  source.format = "benchmark";
  source.notes = tool.notes(config);
  return builder.build(std::move(source));
}

}  // namespace spillway
