// `spillway flags`: what to set in an engine so that it is the one a scenario describes.
#include <fmt/format.h>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "reports/plan/flag_words.hpp"
#include "reports/plan/flags_fields.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/scenario/flags/engine_flags.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/tier.hpp"

namespace spillway {

namespace {

struct FlagsOptions {
  std::string scenario;
  std::string engine;
  std::string tier_size;
  CommonOptions common;
};

/// The scenario's own, unless --tier-size says otherwise.
Capacity capacity_of(const Scenario& scenario, const std::string& given) {
  if (given.empty()) {
    if (scenario.tier) return scenario.tier->capacity;
    return {Capacity::Kind::kBytes, 0};
  }
  const SourceRef where{"--tier-size", 0, ""};
  if (!scenario.tier) {
    throw InputError(
        Fault::kUsage, where,
        fmt::format("\"{}\": expected none, {} has no tier below HBM", given, scenario.path));
  }
  const Capacity capacity =
      instance_capacity(scenario, *scenario.tier, parse_capacity(given, where));
  if (capacity.kind == Capacity::Kind::kUnbounded) {
    throw InputError(
        Fault::kUsage, where,
        fmt::format("expected a size such as 64GiB, found \"{}\": no flag says that", given));
  }
  checked_tier_blocks(scenario, capacity, given, where);
  return capacity;
}

std::string text_of(const Capacity& capacity) {
  switch (capacity.kind) {
    case Capacity::Kind::kBlocks:
      return format_count(static_cast<std::uint64_t>(capacity.count)) + " blocks";
    case Capacity::Kind::kUnbounded:
      return "no bound";
    case Capacity::Kind::kBytes:
      break;
  }
  return format_bytes(static_cast<double>(capacity.count));
}

/// Without --tier-size: what is set is what the scenario has, and no plan's answer.
Note size_note(const Scenario& scenario, const Capacity& capacity) {
  return study_note("size-of-scenario",
                    {{"tier", scenario.tier->name}, {"size", text_of(capacity)}});
}

int run(const FlagsOptions& options) {
  const CommonOptions& common = options.common;
  check_writable(common);
  const JsonSource source = open_scenario_source(options.scenario, common);
  const Scenario scenario = load_scenario(source);
  refuse_own_inputs(common, {options.scenario});
  const EnginePreset& release = options.engine.empty()
                                    ? find_preset(scenario.preset, {})
                                    : find_preset(options.engine, {"--engine", 0, ""});
  const Capacity capacity = capacity_of(scenario, options.tier_size);
  const EngineFlags flags = flags_of(scenario, capacity, release);

  Document document;
  document.kind = "flags";
  document.inputs = scenario_inputs(scenario);
  if (scenario.tier && options.tier_size.empty()) {
    document.warnings.push_back(size_note(scenario, capacity));
  }
  const std::string fragment = shell_fragment(flags);
  document.results = to_document(FlagsResult{flags, scenario.name, scenario.preset, fragment});
  write_document(document, common, "flags");
  if (common.json_only()) return 0;
  std::string head = fmt::format("# {} for {}", release.name, scenario.name);
  if (scenario.tier) head += fmt::format(", {}: {}", scenario.tier->name, text_of(capacity));
  print(printable(head) + "\n" + fragment);
  print_notes(document.warnings, common);
  return 0;
}

}  // namespace

void add_flags(Verb& program) {
  auto [command, options] = add_command<FlagsOptions>(
      program, "flags", "Engine flags of a scenario, with units and scope",
      "  spillway flags scenarios/library/quickstart.json --engine vllm@0.25\n"
      "  spillway flags s.json --engine vllm@0.12 --tier-size 96GiB\n",
      run);
  options.common.takes_set = true;
  command.add("SCENARIO", options.scenario, kinds::kScenario, "Scenario file").require();
  command.add("--engine", options.engine, kinds::kEngine,
              "Engine and release, e.g. vllm@0.25 (default: the scenario's preset; see "
              "`spillway list engines`)");
  command.add("--tier-size", options.tier_size, kinds::kSize,
              "Size of the tier below HBM, e.g. 64GiB (default: the scenario's)");
}

}  // namespace spillway
