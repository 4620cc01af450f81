// `spillway trace generate`: a synthetic trace.
#include "scenarios/commands/trace/trace_verbs.hpp"
#include "traces/synthetic.hpp"
#include "traces/trace_writer.hpp"

namespace spillway {

namespace {

struct GenerateOptions {
  SyntheticConfig config;
  std::string output;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

int generate(const GenerateOptions& options, const std::string& output) {
  const std::uint64_t seed = seed_of(*options.common).value_or(1);
  CommonOptions quiet_out = *options.common;
  quiet_out.out.clear();  // here --out names the trace
  check_writable(quiet_out);
  const Workload workload = generate_workload(options.config, seed);
  write_trace(workload, output);
  say_written(workload, output, "trace-generate", quiet_out);
  return 0;
}

}  // namespace

void add_trace_generate(CLI::App& trace, CommandList& commands) {
  auto g = std::make_shared<GenerateOptions>();
  CLI::App* command =
      add_command(trace, commands, "generate", "Make a synthetic trace of chat sessions",
                  "  spillway trace generate --out chat.jsonl.gz --seed 1 --requests 2000\n",
                  g->common, [g] { return generate(*g, g->common->out); });
  command->get_option("--out")->required()->description(
      "Trace file to write (.jsonl.gz, .bin, ...)");
  SyntheticConfig& config = g->config;
  // The limits of a scenario's workload.synthetic (scenarios/read_workload.cpp).
  const auto option = [&](const char* name, auto& target, auto least, auto most, const char* help) {
    command->add_option(name, target, help)->check(CLI::Range(least, most));
  };
  option("--requests", config.requests, 1, 1'000'000'000, "Number of requests");
  option("--sessions-per-s", config.sessions_per_s, 1e-9, 1e6, "Session starts per second");
  option("--turns", config.turns, 1.0, 1e6, "Mean turns per session");
  option("--think-s", config.think_s, 0.0, 1e7, "Mean think time between turns");
  option("--system-prompts", config.system_prompts, 1, 1 << 24, "Distinct shared system prompts");
  option("--system-zipf", config.system_zipf, 0.0, 100.0, "Zipf exponent of their popularity");
  option("--system-tokens", config.system_tokens, 1.0, 1e7, "Median system prompt");
  option("--user-tokens", config.user_tokens, 1.0, 1e7, "Median user text per turn");
  option("--answer-tokens", config.answer_tokens, 1.0, 1e7, "Median answer");
  option("--burst-factor", config.burst_factor, 1.0, 1e4, "Rate during bursts; 1: no bursts");
  option("--burst-every-s", config.burst_every_s, 1e-3, 1e9, "Seconds from burst to burst");
  option("--burst-length-s", config.burst_length_s, 0.0, 1e9, "Seconds a burst lasts");
  option("--max-context", config.max_context, 64, 1 << 24,
         "A session ends before it outgrows this");
  option("--block-tokens", config.block_tokens, 1, 65536, "Tokens in a trace block");
}

}  // namespace spillway
