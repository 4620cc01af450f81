// `spillway trace convert`: a trace in another form.
#include <optional>

#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "traces/formats/trace_writer.hpp"

namespace spillway {

namespace {

struct ConvertOptions {
  TraceInput trace;
  std::string output;
  std::string to;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

int convert(const ConvertOptions& options) {
  check_trace_output(*options.common, {options.trace.path}, options.output);
  std::optional<TextForm> form;
  if (!options.to.empty()) {
    form = options.to == "mooncake" ? TextForm::kMooncake : TextForm::kNative;
    if (options.output.ends_with(".bin") || text_form_of(options.output) == TextForm::kCsv) {
      throw InputError(Fault::kUsage, {options.output, 0, ""},
                       "--to names a form of JSON lines; expected a file .jsonl");
    }
  }
  const Workload workload = read_trace(options.trace, *options.common);
  const std::vector<std::string> losses = write_trace(workload, options.output, form);
  say_written(workload, options.output, "trace-convert", *options.common, losses);
  return 0;
}

}  // namespace

void add_trace_convert(CLI::App& trace, CommandList& commands) {
  auto c = std::make_shared<ConvertOptions>();
  CLI::App* command =
      add_command(trace, commands, "convert", "Write a trace in another form",
                  "  spillway trace convert t.jsonl.gz t.bin\n"
                  "  spillway trace convert t.bin t.jsonl.zst\n"
                  "  spillway trace convert agents.jsonl.gz t.jsonl --to mooncake\n",
                  c->common, [c] { return convert(*c); });
  command->add_option("IN", c->trace.path, "Trace file")->required();
  command
      ->add_option(
          "OUT", c->output,
          ".bin, .jsonl or .csv, the latter two also with .gz or .zst; - for JSON lines on "
          "stdout")
      ->required();
  command
      ->add_option(
          "--to", c->to,
          "mooncake (plain rows, whatever they lose) or native (default: what is lossless)")
      ->check(CLI::IsMember({"mooncake", "native"}).description(""));
  add_trace_options(*command, c->trace);
}

}  // namespace spillway
