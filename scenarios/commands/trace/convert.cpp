// `spillway trace convert`: a trace in another form.
#include <filesystem>

#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "traces/trace_writer.hpp"

namespace spillway {

namespace {

struct ConvertOptions {
  TraceInput trace;
  std::string output;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

int convert(const ConvertOptions& options) {
  std::error_code error;
  if (std::filesystem::equivalent(options.trace.path, options.output, error)) {
    throw InputError(Fault::kUsage, {options.output, 0, ""},
                     "is the input itself; expected another file");
  }
  check_writable(*options.common);
  const Workload workload = read_trace(options.trace, *options.common);
  write_trace(workload, options.output);
  say_written(workload, options.output, "trace-convert", *options.common);
  return 0;
}

}  // namespace

void add_trace_convert(CLI::App& trace, CommandList& commands) {
  auto c = std::make_shared<ConvertOptions>();
  CLI::App* command = add_command(trace, commands, "convert", "Write a trace in another form",
                                  "  spillway trace convert t.jsonl.gz t.bin\n"
                                  "  spillway trace convert t.bin t.jsonl.zst\n",
                                  c->common, [c] { return convert(*c); });
  command->add_option("IN", c->trace.path, "Trace file")->required();
  command
      ->add_option("OUT", c->output, ".bin, .jsonl or .csv; the latter two also with .gz or .zst")
      ->required();
  add_trace_options(*command, c->trace);
}

}  // namespace spillway
