#include "traces/generate/benchmarks/benchmark_config.hpp"

#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using B = BenchmarkConfig;

constexpr double kMostRequests = 10'000'000;
constexpr double kMostSecondsOfRun = 1e6;
constexpr double kMostPerS = 1e6;
constexpr double kTokens{kMaxTokens};
constexpr double kAnySeed = 4294967295.0;

constexpr BenchmarkKey kBenchmarkKeys[] = {
    {"tool", &B::tool, 0, 0, "The benchmark tool."},
    {"version", &B::version, 0, 0, "Its release. The workload may differ from release to release."},
    {"requests", &B::requests, 1, kMostRequests, "Number of requests."},
    {"seconds", &B::seconds, 1e-3, kMostSecondsOfRun, "How long the tool sends requests."},
    {"seed", &B::seed, 0, kAnySeed, "The tool's random seed."},
    {"arrivals", &B::arrivals, 0, 0, "When requests are sent: what the tool calls its profile."},
    {"concurrency", &B::concurrency, 1, 1 << 20, "Most requests in flight."},
    {"users", &B::users, 1, 1 << 16, "Users or clients, each with a conversation of its own."},
    {"queue", &B::queue, 0, 0, "Which client that has its answer sends next."},
    {"round_barrier_s", &B::round_barrier_s, 0, 3600,
     "A round starts when all answers of the round before are there, and this much later. Not set: "
     "clients do not wait for each other."},
    {"rate_per_s", &B::rate_per_s, 1e-6, kMostPerS, "Requests per second."},
    {"rates_per_s", &B::rates_per_s, 1e-6, kMostPerS,
     "Requests per second of stages that follow one another, `seconds` each."},
    {"burstiness", &B::burstiness, 1e-3, 1e6,
     "Shape of the gamma distribution of the gaps. 1: Poisson arrivals. Below 1: bursts."},
    {"ramp_up", &B::ramp_up, 0, 0, "How the rate rises over the requests."},
    {"ramp_up_from_per_s", &B::ramp_up_from_per_s, 1e-6, kMostPerS,
     "Rate at the first request of a ramp-up."},
    {"ramp_up_to_per_s", &B::ramp_up_to_per_s, 1e-6, kMostPerS,
     "Rate at the last request of a ramp-up."},
    {"dataset", &B::dataset, 0, 0, "The tool's dataset."},
    {"lengths", &B::lengths, 0, 0,
     "File of the dataset's lengths in tokens: prompt,answer on a line, in the dataset's order."},
    {"prompt_tokens", &B::prompt_tokens, 1, kTokens,
     "Prompt tokens of a turn behind the shared prefix, on average."},
    {"prompt_tokens_stdev", &B::prompt_tokens_stdev, 1, kTokens,
     "Their standard deviation. Not set: one length."},
    {"prompt_tokens_min", &B::prompt_tokens_min, 1, kTokens, "Fewest prompt tokens."},
    {"prompt_tokens_max", &B::prompt_tokens_max, 1, kTokens, "Most prompt tokens."},
    {"output_tokens", &B::output_tokens, 1, kTokens, "Tokens of an answer, on average."},
    {"output_tokens_stdev", &B::output_tokens_stdev, 1, kTokens,
     "Their standard deviation. Not set: one length."},
    {"output_tokens_min", &B::output_tokens_min, 1, kTokens, "Fewest tokens of an answer."},
    {"output_tokens_max", &B::output_tokens_max, 1, kTokens, "Most tokens of an answer."},
    {"next_prompt_tokens", &B::next_prompt_tokens, 1, kTokens,
     "Prompt tokens of a later turn. Not set: as of the first."},
    {"history_tokens", &B::history_tokens, 0, kTokens,
     "Tokens of a user's own text ahead of the first question."},
    {"range_ratio", &B::range_ratio, 0, 0.999999,
     "Prompts and answers are longer or shorter by up to this share."},
    {"prefix_tokens", &B::prefix_tokens, 0, kTokens, "Tokens of a shared prefix."},
    {"prefix_count", &B::prefix_count, 1, kMostRequests, "Number of different shared prefixes."},
    {"prompts_per_prefix", &B::prompts_per_prefix, 1, kMostRequests,
     "Different prompts of each shared prefix. They repeat in order when all were sent."},
    {"dataset_entries", &B::dataset_entries, 1, kMostRequests,
     "Different prompts in all. They are sent again when all were sent."},
    {"turns", &B::turns, 1, 10000, "Turns of a conversation."},
    {"template_tokens", &B::template_tokens, 0, kTokens,
     "Tokens that the chat template adds: [first turn, each later turn]."},
    {"special_tokens", &B::special_tokens, 0, 16,
     "Tokens that the tokenizer adds to a text, as the BOS token of Llama."},
    {"block_tokens", &B::block_tokens, 1, 65536, "Tokens of a block: prompts share whole blocks."},
};

}  // namespace

std::span<const BenchmarkKey> benchmark_keys() {
  return kBenchmarkKeys;
}

bool is_set(const BenchmarkConfig& config, const BenchmarkKey& key) {
  return std::visit([&](auto member) { return (config.*member).has_value(); }, key.target);
}

}  // namespace spillway
