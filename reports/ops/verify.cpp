#include "reports/ops/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/format.hpp"
#include "reports/inputs_at.hpp"
#include "reports/ops/trace_replay.hpp"
#include "reports/shell_word.hpp"

namespace spillway {

namespace {

// Options as in docs.vllm.ai: en/v0.11.2/cli/bench/serve (0.10 to 0.14 have them alike), and in
// ai-dynamo/aiperf: docs/tutorials/goodput.md.
constexpr EngineVersion kBench{0, 10};

struct GoodputName {
  std::string_view key;    ///< as in p99_ttft_ms
  std::string_view bench;  ///< of vllm bench serve --goodput; empty: it has none
  std::string_view aiperf;
};
constexpr GoodputName kGoodput[] = {{"ttft", "ttft", "time_to_first_token"},
                                    {"tpot", "tpot", "inter_token_latency"},
                                    {"itl", "", "inter_token_latency"},
                                    {"e2el", "e2el", "request_latency"}};

/// "ttft:2000 tpot:100": of everyone's latency targets the strictest each.
std::string goodput(const RunResult& run, std::string_view GoodputName::*name) {
  std::string out;
  for (const GoodputName& g : kGoodput) {
    if ((g.*name).empty()) continue;
    double least = 0;
    for (const SloResult& slo : run.slo) {
      const std::string ending = fmt::format("_{}_ms", g.key);
      if (!slo.name.ends_with(ending) || slo.at_least || !slo.tenant.empty()) continue;
      least = least == 0 ? slo.target : std::min(least, slo.target);
    }
    const std::string word = fmt::format("{}:", g.*name);
    if (least == 0 || out.find(word) != std::string::npos) continue;
    out += fmt::format("{}{}{}", out.empty() ? "" : " ", word, least);
  }
  return out;
}

/// As many as 20 minutes bring, so that a tail can be read.
std::uint64_t prompts(const RunResult& run, double rate) {
  const auto brought = static_cast<std::uint64_t>(std::llround(rate * 1200));
  return std::clamp<std::uint64_t>(brought, 200, std::max<std::uint64_t>(200, run.requests));
}

/// Prompts that begin alike, so that as much is reused as was simulated: with prefixes that are
/// share f of a prompt, P of them among N prompts reuse f (1 - P / N).
struct Reuse {
  std::uint64_t prefix_tokens = 0;
  std::uint64_t suffix_tokens = 1;
  std::uint64_t prefixes = 1;
};

Reuse reuse_of(const RunResult& run, std::uint64_t sent) {
  const double input = static_cast<double>(run.input_tokens) / static_cast<double>(run.completed);
  const double share = std::clamp(cached_share(run), 0.0, 0.98);
  const double prefix = (1 + share) / 2;
  Reuse out;
  out.prefix_tokens = static_cast<std::uint64_t>(std::llround(input * prefix));
  const auto all = static_cast<std::uint64_t>(std::llround(std::max(2.0, input)));
  out.prefix_tokens = std::clamp<std::uint64_t>(out.prefix_tokens, 1, all - 1);
  out.suffix_tokens = all - out.prefix_tokens;
  const double prefixes = static_cast<double>(sent) * (1 - share / prefix);
  out.prefixes =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::llround(prefixes)), 1, sent);
  return out;
}

std::string load(const OpsFigures& figures, const Provenance& provenance) {
  const nlohmann::json workload = planned_workload(figures, provenance);
  if (text_at(workload, "arrival") == "closed-loop") {
    const std::string clients = text_at(workload, "concurrency");
    return fmt::format("--request-rate inf --max-concurrency {}",
                       clients.empty() ? "1" : shell_word(clients));
  }
  return fmt::format("--request-rate {:.4g}", figures.run->request_throughput);
}

}  // namespace

std::optional<CodeBlock> bench_command(const OpsFigures& figures, const Provenance& provenance) {
  const EngineRelease& engine = figures.engine;
  if (figures.run == nullptr || figures.run->completed == 0 || engine.engine != "vllm" ||
      (engine.version != EngineVersion{} && engine.version < kBench)) {
    return std::nullopt;
  }
  const RunResult& run = *figures.run;
  const std::uint64_t sent = prompts(run, run.request_throughput);
  const Reuse reuse = reuse_of(run, sent);
  const auto output =
      std::max<std::uint64_t>(1, (run.output_tokens + run.completed / 2) / run.completed);
  std::string text = "vllm bench serve --model \"$MODEL\" --base-url http://127.0.0.1:8000 \\\n";
  text += "  --dataset-name prefix_repetition \\\n";
  text += fmt::format(
      "  --prefix-repetition-prefix-len {} --prefix-repetition-suffix-len {} \\\n"
      "  --prefix-repetition-num-prefixes {} --prefix-repetition-output-len {} \\\n",
      reuse.prefix_tokens, reuse.suffix_tokens, reuse.prefixes, output);
  text += fmt::format("  --num-prompts {} {} --ignore-eos --seed 1 \\\n", sent,
                      load(figures, provenance));
  const std::string targets = goodput(run, &GoodputName::bench);
  if (!targets.empty()) text += fmt::format("  --goodput {} \\\n", targets);
  text += "  --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,95,99 --save-result\n";
  return CodeBlock{"The planned rate, lengths and share of reused prompt", text};
}

std::string aiperf_goodput(const RunResult& run) {
  return goodput(run, &GoodputName::aiperf);
}

}  // namespace spillway
