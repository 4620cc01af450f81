// `spillway demo`: a first answer in seconds, from a trace and a scenario of its own that stay for
// trying things out. Nothing is downloaded.
#include <fmt/format.h>

#include <filesystem>

#include "reports/format.hpp"
#include "reports/shell_word.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/schemas.hpp"
#include "sim/catalogue.hpp"
#include "sim/input_file.hpp"
#include "sim/output_file.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/generate/synthetic.hpp"

namespace spillway {

namespace {

constexpr const char* kFolder = "spillway-demo";
constexpr std::uint32_t kRequests = 800;
constexpr std::uint64_t kSeed = 1;

constexpr const char* kScenario =
    R"(// Which DRAM size behind one L40S keeps this chat traffic within its targets?
// Change anything and run: spillway plan scenario.json
{
  "$schema": "scenario.schema.json", // your editor knows every key by it
  "name": "demo",
  "description": "800 requests of synthetic chat sessions, Llama-3.1-8B on one L40S",
  "model": "Llama-3.1-8B",
  "gpu": "L40S",
  "engine": {"preset": "vllm"},
  "tiers": [{"name": "dram", "kind": "dram", "capacity": "32GiB"}],
  "workload": {"trace": "trace.jsonl.gz", "speed": 0.7},
  "slo": [
    {"metric": "p99_ttft_ms", "max": 2000}, // 99% of first tokens within 2 s
    {"metric": "p99_tpot_ms", "max": 100}   // 99% of requests at 10 tokens a second or more
  ],
  "plan": {"sizes": ["0GiB", "32GiB", "64GiB", "128GiB"], "sensitivity": false},
  "seed": 1
}
)";

/// Refuses to write over a scenario that somebody has changed, and says what to run instead.
void check_untouched(const std::string& path, const std::string& folder) {
  std::error_code none;
  if (!std::filesystem::exists(path, none) || read_file(path) == kScenario) return;
  throw InputError(Fault::kUsage, {path, 0, ""},
                   fmt::format("has changed since demo wrote it, and is kept; to plan with it: "
                               "spillway plan {} --out {}; to begin anew: spillway demo --out {}",
                               shell_word(path), shell_word(folder), shell_word(folder + "-2")));
}

struct DemoOptions {
  CommonOptions common;
};

int run(const DemoOptions& options) {
  CommonOptions common = options.common;
  if (common.out.empty()) common.out = kFolder;
  const std::filesystem::path folder = common.out;
  const std::string scenario = (folder / "scenario.json").string();
  check_writable(common);
  check_untouched(scenario, common.out);
  make_directory(common.out);
  SyntheticConfig config;
  config.requests = kRequests;
  config.sessions_per_s = 0.06;
  config.turns = 8;
  config.think_s = 60;
  config.system_tokens = 2000;
  config.user_tokens = 500;
  write_trace(generate_workload(config, kSeed), (folder / "trace.jsonl.gz").string());
  const SchemaEntry& schema = find_row(schemas(), "schema", "scenario", {"demo", 0, ""});
  write_file(scenario, kScenario);
  write_file((folder / file_name(schema)).string(), schema.text());
  const int code = plan_scenario(scenario, common);
  if (common.json_only()) return code;
  const std::string quoted = printable(common.out);
  print(fmt::format(
      "\nIn {0}:\n"
      "  trace.jsonl.gz  the traffic\n"
      "  scenario.json   the question; editors complete its keys by the schema beside it\n"
      "  report.html     the answer, for a browser; plan.json has it for programs\n"
      "Next, with your own trace:\n"
      "  spillway trace check TRACE\n"
      "  spillway plan {1} --set workload.trace=TRACE --out {0}-mine\n",
      quoted, printable(scenario)));
  return code;
}

}  // namespace

void add_demo(Verb& program) {
  auto [command, options] = add_command<DemoOptions>(
      program, "demo", "A first answer in seconds: writes a trace, a scenario and the report",
      "  spillway demo --out first\n  spillway demo\n", run);
  options.common.takes_set = true;
  command.option("--out").describe(
      kinds::kFolder, "Folder for trace, scenario, document and report (default: spillway-demo)");
}

}  // namespace spillway
