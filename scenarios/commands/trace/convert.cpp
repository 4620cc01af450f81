// `spillway trace convert`: a trace in another form.
#include <array>
#include <optional>
#include <stdexcept>

#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "sim/decimal.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/reshape/workload_speed.hpp"

namespace spillway {

namespace {

struct ConvertOptions {
  TraceInput trace;
  std::string output;
  std::string to;
  double speed = 1;
  CommonOptions common;
};

struct FormName {
  const char* name;
  TextForm form;
};
constexpr std::array<FormName, 3> kForms = {{{"mooncake", TextForm::kMooncake},
                                             {"native", TextForm::kNative},
                                             {"aiperf", TextForm::kAiperf}}};

Workload at_speed(Workload workload, double speed) {
  if (speed == 1) return workload;
  try {
    return at_speed(std::move(workload), decimal_of(speed));
  } catch (const std::out_of_range&) {
    throw InputError(Fault::kUsage, {"--speed", 0, ""}, "times beyond 292 years; expected more");
  }
}

int convert(const ConvertOptions& options) {
  check_trace_output(options.common, {options.trace.path}, options.output);
  std::optional<TextForm> form;
  if (!options.to.empty()) {
    for (const FormName& f : kForms) {
      if (options.to == f.name) form = f.form;
    }
    if (options.output.ends_with(".bin") || text_form_of(options.output) == TextForm::kCsv) {
      throw InputError(Fault::kUsage, {options.output, 0, ""},
                       "--to names a form of JSON lines; expected a file .jsonl");
    }
  }
  const Workload workload = at_speed(read_trace(options.trace, options.common), options.speed);
  const std::vector<std::string> losses = write_trace(workload, options.output, form);
  say_written(workload, options.output, "trace-convert", options.common, losses);
  return 0;
}

}  // namespace

void add_trace_convert(Verb& trace) {
  auto [command, c] = add_command<ConvertOptions>(
      trace, "convert", "Write a trace in another form",
      "  spillway trace convert t.jsonl.gz t.bin\n"
      "  spillway trace convert t.bin t.jsonl.zst\n"
      "  spillway trace convert agents.jsonl.gz t.jsonl --to mooncake\n"
      "  spillway trace convert t.jsonl.gz replay.jsonl --to aiperf --speed 0.7\n",
      convert);
  command.add("IN", c.trace.path, kinds::kFile, "Trace file").require();
  command
      .add("OUT", c.output, kinds::kFile,
           ".bin, .jsonl or .csv, the latter two also with .gz or .zst; - for JSON lines on "
           "stdout")
      .require();
  command
      .add("--to", c.to, kinds::kChoice,
           "mooncake (plain rows, whatever they lose), aiperf (the same without sessions, for "
           "AIPerf's fixed schedule) or native (default: what is lossless)")
      .one_of({"mooncake", "native", "aiperf"});
  command
      .add("--speed", c.speed, kinds::kFactor,
           "Divide recorded times by this, as workload.speed does; pauses stay "
           "(default: 1)")
      .range<double>(1e-6, 1e6);
  add_trace_options(command, c.trace);
}

}  // namespace spillway
