// `spillway trace merge`: several traces as one, each a tenant of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "scenarios/commands/trace/trace_verbs.hpp"
#include "scenarios/commands/trace_input.hpp"
#include "sim/numbers.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/reshape/trace_merge.hpp"

namespace spillway {

namespace {

constexpr ValueKind kTenant{"NAME=FILE"};
constexpr ValueKind kOffset{"NAME=SECONDS"};

struct MergeOptions {
  std::vector<std::string> files;
  std::vector<std::string> tenants;  ///< NAME=FILE
  std::vector<std::string> offsets;  ///< NAME=SECONDS
  std::string align = "origin";
  bool shared_blocks = false;
  TraceInput trace;
  CommonOptions common;
};

/// "name=value"; a value may contain further signs.
std::pair<std::string, std::string> split(const char* flag, const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == 0 || sign == std::string::npos || sign + 1 == text.size()) {
    throw InputError(Fault::kUsage, {flag, 0, ""},
                     fmt::format("expected NAME=VALUE, found \"{}\"", text));
  }
  return {text.substr(0, sign), text.substr(sign + 1)};
}

/// A file's name without its folder and its endings.
std::string name_of(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return name.substr(0, std::max<std::size_t>(1, std::min(name.find('.', 1), name.size())));
}

std::vector<std::pair<std::string, std::string>> named_files(const MergeOptions& options) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& file : options.files) out.emplace_back(name_of(file), file);
  for (const std::string& text : options.tenants) out.push_back(split("--tenant", text));
  if (out.empty()) {
    throw InputError(Fault::kUsage, {"trace merge", 0, ""},
                     "no traces; expected files, or --tenant NAME=FILE");
  }
  return out;
}

std::map<std::string, std::int64_t> offsets_ns(const MergeOptions& options) {
  constexpr double kMostSeconds = static_cast<double>(kMaxArrivalNs) / 1e9;
  std::map<std::string, std::int64_t> out;
  for (const std::string& text : options.offsets) {
    const auto [name, value] = split("--offset", text);
    const double seconds = parse_real(value).value_or(-1);
    if (!(seconds >= 0 && seconds <= kMostSeconds)) {
      throw InputError(
          Fault::kUsage, {"--offset", 0, ""},
          fmt::format("expected NAME=SECONDS from 0 to {}, found \"{}\"", kMostSeconds, text));
    }
    out[name] = std::llround(seconds * 1e9);
  }
  return out;
}

MergePart open_part(const MergeOptions& options, const std::string& tenant,
                    const std::string& file) {
  TraceInput input = options.trace;
  input.path = file;
  std::vector<std::uint64_t> names;
  if (options.shared_blocks) input.block_names = &names;
  Workload workload = read_trace(input, options.common);
  if (options.shared_blocks && names.empty() && workload.references() > 0) {
    throw InputError(Fault::kUsage, {file, 0, ""},
                     "--shared-blocks: a binary trace has numbered its blocks anew; expected the "
                     "file it was made from");
  }
  MergePart part{tenant, std::move(workload), 0, std::move(names)};
  if (options.align == "first") part.offset_ns = -part.workload.columns().arrival_ns.front();
  return part;
}

int merge(const MergeOptions& options) {
  const auto files = named_files(options);
  std::map<std::string, std::int64_t> offsets = offsets_ns(options);
  const std::string& output = options.common.out;
  CommonOptions common = options.common;
  common.out.clear();  // here --out names the trace
  std::vector<std::string> inputs;
  for (const auto& [tenant, file] : files) inputs.push_back(file);
  check_trace_output(common, inputs, output);
  std::vector<MergePart> parts;
  for (const auto& [tenant, file] : files) {
    parts.push_back(open_part(options, tenant, file));
    const auto offset = offsets.find(tenant);
    if (offset == offsets.end()) continue;
    parts.back().offset_ns += offset->second;
    offsets.erase(offset);
  }
  if (!offsets.empty()) {
    throw InputError(Fault::kUsage, {"--offset", 0, ""},
                     fmt::format("there is no tenant \"{}\"", offsets.begin()->first));
  }
  const Workload merged = merge_traces(parts);
  write_trace(merged, output);
  say_written(merged, output, "trace-merge", common);
  return 0;
}

}  // namespace

void add_trace_merge(Verb& trace) {
  auto [command, m] = add_command<MergeOptions>(
      trace, "merge", "Write several traces as one, each a tenant of it",
      "  spillway trace merge chat.jsonl.gz agents.jsonl.gz --out both.bin\n"
      "  spillway trace merge --tenant a=t.jsonl --tenant b=t.jsonl --offset b=60 --out two.bin\n",
      merge);
  command.option("--out").require().describe(kinds::kFile,
                                             "Trace file to write (.jsonl.gz, .bin, ...)");
  command.add("TRACES", m.files, kinds::kFile, "Trace files, each a tenant named like its file");
  command.add("--tenant", m.tenants, kTenant, "NAME=FILE: a trace whose tenant has this name")
      .one_each();
  command
      .add("--offset", m.offsets, kOffset, "NAME=SECONDS: a tenant's requests arrive later by this")
      .one_each();
  command
      .add("--align", m.align, kinds::kChoice,
           "origin: each trace keeps its own time 0; first: its first request arrives at 0")
      .one_of({"origin", "first"});
  command.add_flag("--shared-blocks", m.shared_blocks,
                   "Equal block ids of different files are the same block");
  add_trace_options(command, m.trace);
}

}  // namespace spillway
