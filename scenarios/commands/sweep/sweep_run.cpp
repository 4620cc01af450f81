// `spillway sweep run`: makes what a campaign lacks.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "scenarios/calibrate/interrupt.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/sweep/sweep_verbs.hpp"
#include "scenarios/sweep/local_engine.hpp"

namespace spillway {

namespace {

struct RunOptions {
  std::string folder;
  unsigned jobs = 0;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

/// What the whole came to.
int exit_code(const CampaignSurvey& survey, int worst, int signal) {
  if (signal != 0) return 128 + signal;
  if (worst != 0) return worst;
  return survey.done() == survey.total() && survey.failed() == 0 ? 0 : kPartial;
}

int run(const RunOptions& options) {
  const CommonOptions& common = *options.common;
  check_writable(common);
  const Campaign campaign = open_campaign(options.folder);
  CampaignSurvey survey(campaign);
  Interrupt interrupt;
  Progress progress("sweep", "runs", !common.quiet);
  LocalOptions local;
  local.processes = options.jobs > 0 ? options.jobs : common.thread_count();
  local.quiet = common.quiet;
  local.stop = [&] { return interrupt.raised(); };
  local.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const LocalOutcome outcome = run_local(campaign, survey, local);
  progress.finish();

  Document document;
  document.kind = "sweep-run";
  document.inputs = campaign_inputs(campaign);
  document.results = counts_json(survey);
  note_settings(common, document.warnings);
  for (const std::string& note : outcome.notes) document.warnings.push_back(note);
  for (const std::string& note : survey.report().notes) document.warnings.push_back(note);
  if (survey.failed() > 0) document.warnings.push_back(failures_note(survey.failed()));
  Report report;
  report.title = fmt::format("{}: {}", campaign.name, counts_text(survey.done(), survey.total()));
  Section section;
  const bool complete = survey.done() == survey.total();
  section.paragraphs.push_back(
      complete ? fmt::format("Next: spillway sweep merge {} -o results.sqlite",
                             printable(options.folder))
               : fmt::format("What is done is kept. To go on: spillway sweep run {}",
                             printable(options.folder)));
  report.sections.push_back(std::move(section));
  write_document(document, common, document.kind);
  print_report(report, common);
  print_notes(document.warnings, common);
  return exit_code(survey, outcome.code, complete ? 0 : interrupt.signal());
}

}  // namespace

void add_sweep_run(CLI::App& sweep, CommandList& commands) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* command = add_command(sweep, commands, "run", "Make the runs that a campaign lacks",
                                  "  spillway sweep run camp/\n"
                                  "  spillway sweep run camp/ -j 2\n",
                                  o->common, [o] { return run(*o); });
  command->add_option("CAMPAIGN", o->folder, "Folder made by spillway sweep plan")->required();
  command->add_option("-j,--jobs", o->jobs, "Worker processes here (default: --threads)")
      ->check(CLI::Range(1U, 4096U));
}

}  // namespace spillway
