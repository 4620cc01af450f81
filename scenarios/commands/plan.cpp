// `spillway plan`: the smallest tier size that meets the scenario's SLOs.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "reports/plan/plan_json.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/outputs.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/strict.hpp"
#include "scenarios/planner/planner.hpp"

namespace spillway {

namespace {

struct PlanVerb {
  std::string scenario;
  bool strict = false;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

/// What the terminal shows: the answer, and the sizes it was chosen from.
Report terminal_report(const Scenario& scenario, const PlanResult& plan) {
  Report report;
  report.title = plan.verdict;
  Section section;
  if (!plan.binding.empty()) section.paragraphs.push_back("What binds: " + plan.binding);
  if (plan.knee >= 0) {
    section.paragraphs.push_back(
        fmt::format("Knee: beyond {} a larger {} gains little.",
                    plan.points[static_cast<std::size_t>(plan.knee)].capacity, plan.tier));
  }
  for (const std::string& note : plan.notes) section.paragraphs.push_back(note);
  section.tables.push_back(plan_table(plan));
  section.tables.front().title = scenario.name;
  report.sections.push_back(std::move(section));
  return report;
}

int run(const PlanVerb& options) {
  const CommonOptions& common = *options.common;
  check_writable(common);
  const JsonSource source = open_scenario_source(options.scenario, common);
  const Scenario scenario = load_scenario(source);
  refuse_own_inputs(common, {options.scenario, scenario.workload.trace});
  Progress reading("reading", "MB", !common.quiet);
  Progress planning("planning", "runs", !common.quiet);
  PlanOptions choice;
  choice.threads = common.thread_count();
  choice.check = [&](Scenario& s) { check_hardware_here(s, options.strict); };
  choice.reading = reading.reader();
  choice.progress = [&](std::uint64_t done, std::uint64_t total) {
    reading.finish();
    planning.update(done, total);
  };
  const PlanOutcome outcome = make_plan(source, choice);
  planning.finish();

  Document document;
  document.kind = "plan";
  document.inputs = outcome.inputs;
  document.results = to_json(outcome.result);
  document.warnings = outcome.warnings;
  const std::string path = common.out + "/report.html";
  if (!common.out.empty()) {
    make_directory(common.out);
    write_report(plan_report(outcome.result, provenance_of(document, scenario.name)), "html", path,
                 common);
  }
  write_document(document, common, "plan");
  print_report(terminal_report(scenario, outcome.result), common);
  if (!common.out.empty() && !common.json_only()) {
    print(fmt::format("\nReport: {}\n", printable(path)));
  }
  print_notes(outcome.warnings, common);
  return outcome.result.recommended >= 0 ? 0 : static_cast<int>(Fault::kInfeasible);
}

}  // namespace

void add_plan(CLI::App& app, CommandList& commands) {
  auto options = std::make_shared<PlanVerb>();
  CLI::App* command = add_command(
      app, commands, "plan", "Find the smallest tier size that meets the SLO",
      "  spillway plan scenarios/library/quickstart.json --out out/quickstart\n"
      "  spillway plan s.json --set 'plan.sizes=[\"0GiB\",\"64GiB\",\"256GiB\"]' --json -\n",
      options->common, [options] { return run(*options); });
  command->add_option("SCENARIO", options->scenario, "Scenario file with slo and plan")->required();
  add_strict(*command, options->strict);
}

}  // namespace spillway
