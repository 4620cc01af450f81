// `spillway trace`: statistics, conversion and generation of traces.
#include <fmt/format.h>

#include <filesystem>

#include "reports/format.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/resolved.hpp"
#include "traces/catalogue.hpp"
#include "traces/synthetic.hpp"
#include "traces/trace_stats.hpp"
#include "traces/trace_writer.hpp"

namespace spillway {

namespace {

struct ReadOptions {
  std::string input;
  std::string output;
  std::uint32_t block_tokens = 512;
  std::uint32_t limit = 0;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

Workload read(const ReadOptions& options) {
  Progress reading("reading", "MB", !options.common->quiet);
  OpenOptions open;
  open.block_tokens = options.block_tokens;
  open.limit = options.limit;
  open.progress = reading.reader();
  return open_trace(options.input, open);
}

void add_read_options(CLI::App* command, ReadOptions& options) {
  command
      ->add_option("--block-tokens", options.block_tokens,
                   "Tokens in a trace block, where the file does not say")
      ->check(CLI::Range(1, 65536));
  command->add_option("--limit", options.limit, "Only the first N requests");
}

// ---- stats
// ---------------------------------------------------------------------------------------

nlohmann::json lengths_json(const LengthStats& s) {
  return {{"total", s.total}, {"mean", s.mean}, {"p50", s.p50}, {"p90", s.p90},
          {"p99", s.p99},     {"min", s.min},   {"max", s.max}};
}

int stats(const ReadOptions& options) {
  check_writable(*options.common);
  const Workload workload = read(options);
  const TraceStats s = trace_stats(workload);
  Document document;
  document.kind = "trace-stats";
  document.inputs = {{"trace", trace_inputs(workload)}};
  document.results = {{"requests", s.requests},
                      {"span_s", s.span_s},
                      {"requests_per_s", s.requests_per_s},
                      {"peak_requests_per_s", s.peak_requests_per_s},
                      {"distinct_arrival_times", s.distinct_arrival_times},
                      {"input_tokens", lengths_json(s.input_tokens)},
                      {"output_tokens", lengths_json(s.output_tokens)},
                      {"block_tokens", s.block_tokens},
                      {"references", s.references},
                      {"unique_blocks", s.unique_blocks},
                      {"single_use_blocks", s.single_use_blocks},
                      {"infinite_cache_hits", s.infinite_hits},
                      {"infinite_cache_hit_ratio", s.infinite_hit_ratio},
                      {"content_hash", document.inputs["trace"]["content_hash"]}};
  if (s.sessions > 0) document.results["sessions"] = s.sessions;
  document.warnings = workload.source().notes;

  Report report;
  report.title = fmt::format("{}: {} requests over {} s", options.input, format_count(s.requests),
                             format_real(s.span_s));
  Table lengths;
  lengths.title = "Lengths in tokens";
  lengths.header = {"of", "total", "mean", "p50", "p90", "p99", "max"};
  const auto row = [&](const char* name, const LengthStats& l) {
    lengths.rows.push_back({name, format_count(l.total), format_real(l.mean), format_real(l.p50),
                            format_real(l.p90), format_real(l.p99), format_count(l.max)});
  };
  row("input", s.input_tokens);
  row("output", s.output_tokens);
  Table reuse;
  reuse.title = "Rate and reuse";
  reuse.header = {"figure", "value"};
  reuse.rows = {{"format", workload.source().format},
                {"requests/s, mean", format_real(s.requests_per_s)},
                {"requests/s, busiest minute", format_real(s.peak_requests_per_s)},
                {"distinct arrival times", format_count(s.distinct_arrival_times)},
                {"block references", format_count(s.references)},
                {"unique blocks", format_count(s.unique_blocks)},
                {"blocks used once", format_count(s.single_use_blocks)},
                {"hits of an infinite cache", format_count(s.infinite_hits)},
                {"hit ratio of an infinite cache", fmt::format("{:.4f}", s.infinite_hit_ratio)}};
  if (s.sessions > 0) reuse.rows.push_back({"sessions", format_count(s.sessions)});
  reuse.rows.push_back({"content hash", document.inputs["trace"]["content_hash"]});
  report.sections.emplace_back();
  report.sections.back().tables = {std::move(lengths), std::move(reuse)};
  write_document(document, *options.common, "trace-stats");
  print_report(report, *options.common);
  print_notes(document.warnings, *options.common);
  return 0;
}

// ---- convert and generate
// ------------------------------------------------------------------------

/// Says what was written, on the terminal or as a document.
void say_written(const Workload& workload, const std::string& path, const std::string& kind,
                 const CommonOptions& common) {
  Document document;
  document.kind = kind;
  document.inputs = {{"trace", trace_inputs(workload)}};
  document.results = {{"path", path},
                      {"requests", workload.size()},
                      {"references", workload.references()},
                      {"unique_blocks", workload.unique_blocks()},
                      {"content_hash", document.inputs["trace"]["content_hash"]}};
  document.warnings = workload.source().notes;
  write_document(document, common, kind);
  if (!common.json_only()) {
    print(fmt::format("{}: {} requests, {} blocks, content hash {}\n", printable(path),
                      workload.size(), workload.unique_blocks(),
                      document.results["content_hash"].get<std::string>()));
  }
}

int convert(const ReadOptions& options) {
  std::error_code error;
  if (std::filesystem::equivalent(options.input, options.output, error)) {
    throw InputError(Fault::kUsage, {options.output, 0, ""},
                     "is the input itself; expected another file");
  }
  check_writable(*options.common);
  const Workload workload = read(options);
  write_trace(workload, options.output);
  say_written(workload, options.output, "trace-convert", *options.common);
  return 0;
}

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

void add_trace(CLI::App& app, CommandList& commands) {
  CLI::App* trace = app.add_subcommand("trace", "Look at, convert and generate traces");
  trace->require_subcommand(1);

  auto s = std::make_shared<ReadOptions>();
  CLI::App* command = add_command(*trace, commands, "stats", "Lengths, rates and reuse of a trace",
                                  "  spillway trace stats traces/samples/chat.jsonl.gz\n",
                                  s->common, [s] { return stats(*s); });
  command->add_option("TRACE", s->input, "Trace file")->required();
  add_read_options(command, *s);

  auto c = std::make_shared<ReadOptions>();
  command = add_command(*trace, commands, "convert", "Write a trace in another form",
                        "  spillway trace convert t.jsonl.gz t.bin\n"
                        "  spillway trace convert t.bin t.jsonl.zst\n",
                        c->common, [c] { return convert(*c); });
  command->add_option("IN", c->input, "Trace file")->required();
  command
      ->add_option("OUT", c->output, ".bin, .jsonl or .csv; the latter two also with .gz or .zst")
      ->required();
  add_read_options(command, *c);

  auto g = std::make_shared<GenerateOptions>();
  command = add_command(*trace, commands, "generate", "Make a synthetic trace of chat sessions",
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
