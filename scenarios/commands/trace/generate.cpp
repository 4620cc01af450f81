// `spillway trace generate`: a synthetic trace.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "reports/fields/write.hpp"
#include "scenarios/commands/trace/trace_fields.hpp"
#include "scenarios/commands/trace/trace_verbs.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/generate/synthetic.hpp"

namespace spillway {

namespace {

struct GenerateOptions {
  SyntheticConfig config;
  LikeOptions like;
  const CLI::App* command = nullptr;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

/// "--max-context" for max_context.
std::string flag_of(std::string_view key) {
  std::string out = "--" + std::string(key);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

/// The option of one parameter.
struct AddOption {
  CLI::App& command;
  const SyntheticKey& key;
  SyntheticConfig& config;

  template <class T>
  CLI::Option* add(T& target) const {
    // Lists have no default: they replace another parameter.
    std::string help(key.help);
    if constexpr (!std::is_same_v<T, std::vector<double>>) {
      const std::string text = fmt::format("{}", target);
      if (!text.empty()) help += fmt::format(" (default: {})", text);
    }
    return command.add_option(flag_of(key.name), target, help);
  }
  void operator()(std::uint32_t SyntheticConfig::*member) const {
    const auto whole = [](double limit) { return static_cast<std::int64_t>(limit); };
    add(config.*member)->check(CLI::Range(whole(key.least), whole(key.most)));
  }
  void operator()(double SyntheticConfig::*member) const {
    add(config.*member)->check(real_in(key.least, key.most));
  }
  void operator()(std::vector<double> SyntheticConfig::*member) const {
    add(config.*member)->delimiter(',')->check(real_in(key.least, key.most));
  }
  void operator()(std::string SyntheticConfig::*member) const {
    const std::vector<std::string> choices(key.choices.begin(), key.choices.end());
    CLI::Option* option = add(config.*member);
    if (!choices.empty()) option->check(CLI::IsMember(choices));
  }
};

void refuse_beside_like(const CLI::App& command) {
  for (const SyntheticKey& key : synthetic_keys()) {
    const bool of_both = key.name == "requests" || key.name == "block_tokens";
    if (of_both || command.count(flag_of(key.name)) == 0) continue;
    throw InputError(Fault::kUsage, {"", 0, flag_of(key.name)},
                     "is fitted to the trace with --like; expected one or the other");
  }
}

/// Rows to standard output as they are drawn: as many as one likes, in constant memory.
int stream(const SyntheticConfig& config, std::uint64_t seed, const CommonOptions& common) {
  const auto reader = make_synthetic_reader(config, seed);
  TextTraceWriter writer("-", {TextForm::kNative, config.block_tokens});
  TraceRow row;
  WrittenTrace written;
  written.path = "-";
  written.requests = config.requests;
  while (reader->next(row)) {
    written.references += row.blocks.size();
    writer.add(row);
  }
  writer.finish();
  Document document;
  document.kind = "trace-generate";
  document.results = to_document(written);
  write_document(document, common, "trace-generate");
  return 0;
}

int generate(const GenerateOptions& options) {
  const std::uint64_t seed = seed_of(*options.common).value_or(1);
  CommonOptions quiet_out = *options.common;
  quiet_out.out.clear();  // here --out names the trace
  check_trace_output(quiet_out, {options.like.trace, options.config.rates}, options.common->out);
  if (!options.like.trace.empty()) {
    LikeOptions like = options.like;
    refuse_beside_like(*options.command);
    if (options.command->count("--requests") > 0) like.requests = options.config.requests;
    if (options.command->count("--block-tokens") > 0)
      like.block_tokens = options.config.block_tokens;
    return generate_like(like, options.common->out, seed, quiet_out);
  }
  if (const auto fault = fault_of(options.config)) {
    throw InputError(Fault::kUsage, {"", 0, flag_of(fault->key)}, fault->message);
  }
  if (options.common->out == "-") return stream(options.config, seed, quiet_out);
  const Workload workload = generate_workload(options.config, seed);
  write_trace(workload, options.common->out);
  say_written(workload, options.common->out, "trace-generate", quiet_out);
  return 0;
}

}  // namespace

void add_trace_generate(CLI::App& trace, CommandList& commands) {
  auto g = std::make_shared<GenerateOptions>();
  CLI::App* command =
      add_command(trace, commands, "generate", "Make a synthetic trace of chat sessions",
                  "  spillway trace generate --out chat.jsonl.gz --seed 1 --requests 2000\n"
                  "  spillway trace generate --out more.bin --like t.jsonl.gz --seed 2\n",
                  g->common, [g] { return generate(*g); });
  g->command = command;
  command->get_option("--out")->required()->description(
      "Trace file to write (.jsonl.gz, .bin, ...); - streams rows to standard output");
  command->add_option("--like", g->like.trace,
                      "Fit to this trace, and say how well that went; takes --requests and "
                      "--block-tokens");
  for (const SyntheticKey& key : synthetic_keys()) {
    std::visit(AddOption{*command, key, g->config}, key.target);
  }
}

}  // namespace spillway
