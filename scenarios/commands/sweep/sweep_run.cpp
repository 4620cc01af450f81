// `spillway sweep run`: makes what a campaign lacks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "scenarios/commands/ending.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/sweep/sweep_slurm.hpp"
#include "scenarios/commands/sweep/sweep_verbs.hpp"
#include "scenarios/sweep/local_engine.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

struct SweepRunOptions {
  std::string folder;
  unsigned jobs = 0;
  std::string runner = "local";
  SlurmFlags slurm;
  const Verb* command = nullptr;
  CommonOptions common;
};

/// What the whole came to.
int exit_code(const CampaignSurvey& survey, int worst, int signal) {
  if (signal != 0) return 128 + signal;
  if (worst != 0) return worst;
  return survey.done() == survey.total() && survey.failed() == 0 ? 0 : kPartial;
}

/// What a runner has to say beside the runs that are there now.
struct EngineOutcome {
  int code = 0;                   ///< worst exit code of a worker that gave up
  Notes notes;                    ///< what went wrong
  std::vector<std::string> jobs;  ///< of Slurm
};

EngineOutcome run_here(const Campaign& campaign, CampaignSurvey& survey,
                       const SweepRunOptions& options, Interrupt& interrupt) {
  const CommonOptions& common = options.common;
  Progress progress("sweep", "runs", !common.quiet);
  LocalOptions local;
  local.processes = options.jobs > 0 ? options.jobs : common.thread_count();
  local.quiet = common.quiet;
  local.stop = [&] { return interrupt.raised(); };
  local.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const LocalOutcome outcome = run_local(campaign, survey, local);
  progress.finish();
  return {outcome.code, outcome.notes, {}};
}

EngineOutcome run_there(const Campaign& campaign, CampaignSurvey& survey,
                        const SweepRunOptions& options, Interrupt& interrupt) {
  SlurmEnd end = sweep_on_slurm(campaign, survey, options.slurm, options.common.quiet,
                                [&] { return interrupt.raised(); });
  return {0, plain_notes(end.remarks), std::move(end.jobs)};
}

/// The runner that --runner names; throws where options of another one were typed.
constexpr std::array<std::string_view, 2> kRunners = {"local", "slurm"};
constexpr ValueKind kRunner{"WHERE", "", Offer::kWords, listed<kRunners>};

bool on_slurm(const SweepRunOptions& options) {
  if (options.runner == "slurm") {
    if (!options.command->given("--jobs")) return true;
    throw InputError(Fault::kUsage, {"--jobs", 0, ""},
                     "expected only with --runner local; --max-running limits what runs at a "
                     "time on Slurm");
  }
  if (options.runner != "local") {
    throw InputError(Fault::kUsage, {"--runner", 0, ""},
                     unknown_name("runner", options.runner, kRunners));
  }
  refuse_slurm_options(*options.command);
  return false;
}

std::string what_next(const SweepRunOptions& options, bool complete) {
  const std::string folder = printable(options.folder);
  if (complete) return fmt::format("Next: spillway sweep merge {} -o results.sqlite", folder);
  if (options.slurm.submit_only) {
    return fmt::format("Submitted. To watch: spillway sweep status {} --watch", folder);
  }
  return fmt::format("What is done is kept. To go on: spillway sweep run {}{}", folder,
                     options.runner == "slurm" ? " --runner slurm" : "");
}

int run(const SweepRunOptions& options) {
  const CommonOptions& common = options.common;
  const bool slurm = on_slurm(options);
  check_writable(common);
  const Campaign campaign = open_campaign(options.folder);
  CampaignSurvey survey(campaign);
  Interrupt interrupt;
  const EngineOutcome outcome = slurm ? run_there(campaign, survey, options, interrupt)
                                      : run_here(campaign, survey, options, interrupt);

  Document document;
  document.kind = "sweep-run";
  document.inputs = campaign_inputs(campaign);
  document.results = to_document(SweepRunResults{counts_of(survey), slurm, outcome.jobs});
  note_settings(common, document.warnings);
  append(document.warnings, outcome.notes);
  append(document.warnings, survey.report().notes);
  if (survey.failed() > 0) document.warnings.push_back(failures_note(survey.failed()));
  Report report;
  report.title = fmt::format("{}: {}", campaign.name, counts_text(survey.done(), survey.total()));
  if (!outcome.jobs.empty()) {
    report.title += fmt::format("; Slurm job {}", fmt::join(outcome.jobs, ", "));
  }
  Section section;
  const bool complete = survey.done() == survey.total();
  section.paragraphs.push_back(what_next(options, complete));
  report.sections.push_back(std::move(section));
  write_document(document, common, document.kind);
  print_report(report, common);
  print_notes(document.warnings, common);
  if (options.slurm.submit_only && survey.failed() == 0) return 0;
  return exit_code(survey, outcome.code, complete ? 0 : interrupt.signal());
}

}  // namespace

void add_sweep_run(Verb& sweep) {
  auto [command, o] =
      add_command<SweepRunOptions>(sweep, "run", "Make the runs that a campaign lacks",
                                   "  spillway sweep run camp/\n"
                                   "  spillway sweep run camp/ -j 2\n"
                                   "  spillway sweep run camp/ --runner slurm --shards 200 "
                                   "--max-running 50 --partition cpu \\\n"
                                   "    --mem 4G --time 00:30:00\n"
                                   "With Slurm, the campaign and this program lie in folders that "
                                   "every node sees under the same path.\n",
                                   run);
  o.common.takes_set = true;
  o.command = &command;
  add_campaign_argument(command, o.folder);
  command.add("-j,--jobs", o.jobs, kinds::kCount, "Worker processes here (default: --threads)")
      .range(1U, 4096U);
  command.add("--runner", o.runner, kRunner, "Where the runs are made: local (default) or slurm");
  command.add("--engine", o.runner, kRunner, "").hide();  // its name in earlier releases
  add_slurm_options(command, o.slurm);
}

}  // namespace spillway
