// Names as the tools print or write them:
//   GuideLLM: benchmarks.json, `metrics` (vllm-project/guidellm src/guidellm/schemas)
//   vLLM: the table of `vllm bench serve` (vllm-project/vllm vllm/benchmarks/serve.py)
//   inference-perf: summary_lifecycle_metrics.json, `successes`
//   AIPerf: the table of `aiperf profile` (ai-dynamo/aiperf, its metrics reference)
//   SGLang: benchmark/hicache/bench_multiturn.py; LMBenchmark: multi-round-qa.py
// What a tool calls TPOT or ITL is not always what we call so: names stand by meaning. GuideLLM's
// inter_token_latency_ms and AIPerf's Inter Token Latency are means over an answer's tokens without
// the first, our TPOT.
#include "reports/run/tool_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/inputs_at.hpp"

namespace spillway {

namespace {

struct ToolName {
  std::string_view tool;
  std::string_view figure;  ///< as tables of a run have it
  std::string_view name;
};

constexpr std::string_view kTtft = "Time to first token";
constexpr std::string_view kTpot = "Time per output token";
constexpr std::string_view kItl = "Inter-token latency";
constexpr std::string_view kE2el = "End to end";
constexpr std::string_view kDone = "completed";
constexpr std::string_view kLasted = "duration (s)";
constexpr std::string_view kRequestRate = "requests/s";
constexpr std::string_view kTokenRate = "output tokens/s";

constexpr ToolName kToolNames[] = {
    {"guidellm", kTtft, "time_to_first_token_ms"},
    {"guidellm", kTpot, "inter_token_latency_ms"},
    {"guidellm", kE2el, "request_latency (s)"},
    {"guidellm", kDone, "request_totals.successful"},
    {"guidellm", kRequestRate, "requests_per_second"},
    {"guidellm", kTokenRate, "output_tokens_per_second"},
    {"vllm-bench", kTtft, "Mean, Median, P99 TTFT (ms)"},
    {"vllm-bench", kTpot, "Mean, Median, P99 TPOT (ms)"},
    {"vllm-bench", kItl, "Mean, Median, P99 ITL (ms)"},
    {"vllm-bench", kE2el, "Mean, Median, P99 E2EL (ms)"},
    {"vllm-bench", kDone, "Successful requests"},
    {"vllm-bench", kLasted, "Benchmark duration (s)"},
    {"vllm-bench", kRequestRate, "Request throughput (req/s)"},
    {"vllm-bench", kTokenRate, "Output token throughput (tok/s)"},
    {"inference-perf", kTtft, "latency.time_to_first_token (s)"},
    {"inference-perf", kTpot, "latency.time_per_output_token (s)"},
    {"inference-perf", kItl, "latency.inter_token_latency (s)"},
    {"inference-perf", kE2el, "latency.request_latency (s)"},
    {"inference-perf", kDone, "successes.count"},
    {"inference-perf", kRequestRate, "throughput.requests_per_sec"},
    {"inference-perf", kTokenRate, "throughput.output_tokens_per_sec"},
    {"sglang-multiturn", kTtft, "Average, Median, P90 TTFT (s)"},
    {"sglang-multiturn", kItl, "Average, Median, P90 ITL (s)"},
    {"sglang-multiturn", kE2el, "Average, Median, P90 latency (s)"},
    {"sglang-multiturn", kDone, "Total requests"},
    {"sglang-multiturn", kRequestRate, "Request Throughput"},
    {"sglang-multiturn", kTokenRate, "Output token throughput"},
    {"aiperf", kTtft, "Time to First Token (ms)"},
    {"aiperf", kTpot, "Inter Token Latency (ms)"},
    {"aiperf", kE2el, "Request Latency (ms)"},
    {"aiperf", kDone, "Request Count (requests)"},
    {"aiperf", kRequestRate, "Request Throughput (requests/sec)"},
    {"aiperf", kTokenRate, "Output Token Throughput (tokens/sec)"},
    {"lmbenchmark", kTtft, "Average TTFT (s)"},
    {"lmbenchmark", kRequestRate, "Processing speed"},
    {"lmbenchmark", kTokenRate, "Output tokens per second"},
};

}  // namespace

std::string benchmark_tool_of(const nlohmann::json& inputs) {
  const auto workload = object_at(object_at(inputs, "configuration"), "workload");
  return text_at(object_at(workload, "benchmark"), "tool");
}

void add_tool_names(std::string_view tool, Table& table) {
  if (std::ranges::find(kToolNames, tool, &ToolName::tool) == std::end(kToolNames)) return;
  table.header.push_back(fmt::format("as {} prints it", tool));
  for (std::vector<std::string>& row : table.rows) {
    const auto found = std::ranges::find_if(kToolNames, [&](const ToolName& one) {
      return one.tool == tool && one.figure == row.front();
    });
    row.emplace_back(found == std::end(kToolNames) ? "-" : found->name);
  }
}

}  // namespace spillway
