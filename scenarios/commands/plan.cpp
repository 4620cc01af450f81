// `spillway plan`: the smallest, cheapest or most loaded configuration that meets the scenario's
// SLO, and how sure that is.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "reports/plan/plan_glance.hpp"
#include "reports/plan/plan_json.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/provenance.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/ending.hpp"
#include "scenarios/commands/outputs.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/strict.hpp"
#include "scenarios/planner/cells/recipes.hpp"
#include "scenarios/planner/planner.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

constexpr ValueKind kRecipe{"RECIPE", "", Offer::kWords, names_in<plan_recipes>};
constexpr ValueKind kObjective{"OBJECTIVE", "", Offer::kWords,
                               [] { return key_choices("plan.objective"); }};

struct PlanVerb {
  ScenarioInput input;
  std::string recipe;
  std::string objective;
  std::string replications;
  std::string max_runs;
  std::string budget;
  std::string cache;
  bool no_sensitivity = false;
  bool other_recordings = false;
  std::vector<std::string> outputs;
  bool strict = false;
  bool details = false;
  CommonOptions common;
};

/// What options say of the plan, as if the scenario said it.
Notes apply_options(JsonSource& source, const PlanVerb& verb) {
  const bool assumed = default_plan(source);
  const auto set = [&](const char* key, const std::string& value, const char* option) {
    if (!value.empty()) source.set(fmt::format("plan.{}={}", key, value), option);
  };
  set("objective", verb.objective, "--objective");
  set("replications", verb.replications, "--replications");
  set("max_runs", verb.max_runs, "--max-runs");
  set("sensitivity", verb.no_sensitivity ? "false" : "", "--no-sensitivity");
  if (!verb.recipe.empty()) return apply_recipe(source, verb.recipe);
  if (!assumed) return {};
  const PlanChoice plan = *load_scenario(source).plan;
  return {
      study_note("plan-by-default", {{"objective", name_of(plan.objective)}, {"tier", plan.tier}})};
}

int exit_code(const PlanResult& plan) {
  if (plan.undecided) return static_cast<int>(Fault::kInconclusive);
  return plan.recommended >= 0 ? 0 : static_cast<int>(Fault::kInfeasible);
}

/// Where runs are kept, so that the next plan goes on from them.
std::string cache_of(const PlanVerb& verb) {
  if (!verb.cache.empty()) return verb.cache;
  return verb.common.out.empty() ? "" : verb.common.out + "/runs";
}

/// For whoever ends it early. A run that is finished is kept at once.
std::string words_if_ended(const PlanVerb& verb) {
  const std::string cache = cache_of(verb);
  const std::string how =
      cache.empty() ? "nothing is kept; with --cache DIR the next plan would go on from here"
                    : fmt::format("finished runs are in {}: the same command goes on from them",
                                  printable(cache));
  return fmt::format("spillway: interrupted; {}\n", how);
}

/// One screen of the answer, unless all of it is asked for. `early`: notes that stand above it.
Told told_of(const PlanVerb& verb, const PlanResult& plan, const Provenance& provenance,
             const Notes& early) {
  const CommonOptions& common = verb.common;
  if (verb.details)
    return {plan_summary(plan, provenance.scenario, provenance), provenance.warnings};
  Notes notes = plan_notes(plan);
  for (const Note& warning : provenance.warnings) {
    const bool told = std::find(early.begin(), early.end(), warning) != early.end();
    if (!told) notes.push_back(warning);
  }
  const AnswerRoom answer = answer_room();
  GlanceRoom room;
  room.width = answer.columns;
  room.unicode = answer.unicode;
  room.notes = common.quiet ? 0 : notes.size();
  room.below = early.size() + (common.out.empty() ? 0 : 1);
  Glance glance = plan_glance(plan, provenance, room);
  NoteRoom below = glance_room();
  below.most = glance.notes;
  return {std::move(glance.report), std::move(notes), below};
}

int run(const PlanVerb& verb) {
  const CommonOptions& common = verb.common;
  const std::vector<Output> outputs = parse_outputs(verb.outputs, "plan", {}, common);
  check_writable(common, paths_of(outputs));
  Notes said;
  JsonSource source = open_scenario_source(verb.input, common, said);
  const Notes applied = apply_options(source, verb);
  append(said, applied);
  const Scenario scenario = load_scenario(source);
  std::vector<std::string> inputs = verb.input.paths();
  inputs.push_back(scenario.workload->trace);
  refuse_own_inputs(common, inputs, paths_of(outputs));
  if (verb.other_recordings && scenario.plan->replications == 1) {
    throw InputError(Fault::kUsage, {"--other-recordings", 0, ""},
                     "widens confidence, and plan.replications 1 has none; expected 5 or more");
  }
  Progress reading("reading", "MB", !common.quiet);
  Progress planning("planning", "runs", !common.quiet);
  PlanOptions options;
  options.threads = common.thread_count();
  options.cache = cache_of(verb);
  if (!verb.budget.empty()) options.budget_s = parse_seconds(verb.budget, {"--budget", 0, ""});
  options.check = [&](Scenario& s) { check_hardware_here(s, verb.strict); };
  options.reading = reading.reader();
  Notes early;
  options.doubts = [&](const Notes& doubts) {
    early = doubts;
    reading.finish();
    print_notes(doubts, common);
  };
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    reading.finish();
    planning.update(done, total);
  };
  options.phase = [&](std::string_view phase) {
    planning.rename(fmt::format("planning, {}", phase));
  };
  options.other_recordings = verb.other_recordings;
  std::optional<LastWords> last_words(std::in_place, words_if_ended(verb));
  PlanOutcome outcome = make_plan(source, options);
  last_words.reset();
  planning.finish();

  Document document;
  document.kind = "plan";
  document.inputs = std::move(outcome.inputs);
  document.results = to_json(outcome.result);
  document.warnings = said;
  append(document.warnings, outcome.warnings);
  const Provenance provenance = provenance_of(document, scenario.name);
  write_results(document, plan_report(outcome.result, provenance),
                told_of(verb, outcome.result, provenance, early), outputs, common, {},
                {"plan", nullptr, &outcome.result, &provenance});
  if (!common.out.empty() && !common.json_only()) {
    print(fmt::format("{}Report: {}\n", verb.details ? "\n" : "",
                      printable(common.out + "/report.html")));
  }
  return exit_code(outcome.result);
}

std::string recipe_help() {
  std::string out = "Fill in what the scenario's plan leaves out: ";
  for (const PlanRecipe& recipe : plan_recipes()) {
    out += fmt::format("{}{} ({})", &recipe == plan_recipes().data() ? "" : ", ", recipe.name,
                       recipe.question);
  }
  return out;
}

}  // namespace

int plan_scenario(const std::string& scenario, const CommonOptions& common) {
  PlanVerb verb;
  verb.input.scenario = scenario;
  verb.common = common;
  return run(verb);
}

void add_plan(Verb& program) {
  auto [command, verb] = add_command<PlanVerb>(
      program, "plan", "Find the sizes that meet the SLO, and how sure that is",
      "  spillway plan scenarios/library/quickstart.json --out out/quickstart\n"
      "  spillway plan --from-engine-config values.yaml --trace mine.jsonl.gz --replications 1\n"
      "  spillway plan s.json --recipe compare-policies\n"
      "  spillway plan s.json --set 'plan.sizes=[\"0GiB\",\"64GiB\",\"256GiB\"]' --json -\n"
      "  spillway plan s.json --replications 1    # the workload itself, once: no interval\n",
      run);
  verb.common.takes_set = true;
  add_scenario_input(command, verb.input,
                     "Scenario file with slo, and plan where defaults do not do");
  command.add("--recipe", verb.recipe, kRecipe, recipe_help());
  command.add(
      "--objective", verb.objective, kObjective,
      "least-dram, least-gpus, least-cost, most-load or most-goodput-per-cost (default: the "
      "scenario's, else least-dram)");
  command.add("--replications", verb.replications, kinds::kCount,
              "Most replicates of the workload for one cell, 5 or more (default: 40; 1: none)");
  command.add("--max-runs", verb.max_runs, kinds::kCount,
              "End undecided (exit 5) rather than make more runs (default: no limit)");
  command.add("--budget", verb.budget, kinds::kDuration,
              "End undecided (exit 5) rather than take longer, e.g. 30s, 5min (default: no limit)");
  command.add("--cache", verb.cache, kinds::kFolder,
              "Folder that keeps finished runs for later plans (default: OUT/runs with "
              "--out, else none)");
  command.add_flag("--other-recordings", verb.other_recordings,
                   "Ask for confidence about other recordings of the service too, of which a "
                   "trace is one sample; without it confidence is about traffic like the trace's");
  add_details(command, verb.details);
  command.add_flag("--no-sensitivity", verb.no_sensitivity,
                   "Leave out what would change the recommendation, and forecasts and losses");
  add_output(command, verb.outputs, "plan");
  add_strict(command, verb.strict);
}

}  // namespace spillway
