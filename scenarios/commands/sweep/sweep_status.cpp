// `spillway sweep status`: what of a campaign is done.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "scenarios/commands/ending.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/sweep/sweep_verbs.hpp"

namespace spillway {

namespace {

constexpr auto kLook = std::chrono::milliseconds(500);

struct SweepStatusOptions {
  std::string folder;
  bool watch = false;
  CommonOptions common;
};

std::vector<std::uint64_t> done_by_cell(const Campaign& campaign, const CampaignSurvey& survey) {
  std::vector<std::uint64_t> out(campaign.cells.size(), 0);
  for (std::uint64_t i = 0; i < campaign.runs.size(); ++i) {
    if (survey.done(i)) ++out[campaign.runs[i].cell];
  }
  return out;
}

Report report_of(const Campaign& campaign, const CampaignSurvey& survey,
                 const std::vector<std::uint64_t>& done) {
  Report report;
  report.title = fmt::format("{}: {}", campaign.name, counts_text(survey.done(), survey.total()));
  Section section;
  const std::uint64_t missing = survey.total() - survey.done();
  Table table;
  table.header = {"cell", "done", "of"};
  for (std::size_t i = 0; i < campaign.cells.size() && table.rows.size() < kMostCellsShown; ++i) {
    const std::uint32_t runs = campaign.runs_of(campaign.cells[i]);
    if (missing > 0 && done[i] == runs) continue;
    table.rows.push_back(
        {campaign.cells[i].name, fmt::format("{}", done[i]), fmt::format("{}", runs)});
  }
  if (missing > 0) {
    table.title = "Cells that lack runs";
    section.tables.push_back(std::move(table));
  }
  report.sections.push_back(std::move(section));
  return report;
}

int run(const SweepStatusOptions& options) {
  const CommonOptions& common = options.common;
  check_writable(common);
  const Campaign campaign = open_campaign(options.folder);
  CampaignSurvey survey(campaign);
  survey.look();
  Notes damaged = survey.report().notes;
  if (options.watch) {
    Interrupt interrupt;
    Progress progress("sweep", "runs", true);
    while (survey.done() < survey.total() && !interrupt.raised()) {
      progress.update(survey.done(), survey.total());
      std::this_thread::sleep_for(kLook);
      survey.look();
    }
    progress.finish();
    if (interrupt.signal() != 0) return 128 + interrupt.signal();
  }
  const std::vector<std::uint64_t> done = done_by_cell(campaign, survey);
  Document document;
  document.kind = "sweep-status";
  document.inputs = campaign_inputs(campaign);
  SweepStatusResults results{counts_of(survey), {}, survey.run_s()};
  for (std::size_t i = 0; i < campaign.cells.size(); ++i) {
    results.cells.push_back({campaign.cells[i].name, done[i], campaign.runs_of(campaign.cells[i])});
  }
  document.results = to_document(results);
  note_settings(common, document.warnings);
  append(document.warnings, std::move(damaged));
  if (survey.failed() > 0) document.warnings.push_back(failures_note(survey.failed()));
  write_document(document, common, document.kind);
  print_report(report_of(campaign, survey, done), common);
  print_notes(document.warnings, common);
  const std::uint64_t missing = survey.total() - survey.done();
  if (missing > 0 && survey.done() > 0) {
    const double core_s = survey.run_s() * static_cast<double>(missing);
    print_notes({study_note("campaign-rest", {{"core_time", core_time_text(core_s)},
                                              {"core_s", core_s},
                                              {"run_s", survey.run_s()}})},
                common);
  }
  return 0;
}

}  // namespace

void add_sweep_status(Verb& sweep) {
  auto [command, o] = add_command<SweepStatusOptions>(sweep, "status", "What of a campaign is done",
                                                      "  spillway sweep status camp/\n"
                                                      "  spillway sweep status camp/ --watch\n"
                                                      "  spillway sweep status camp/ --json -\n",
                                                      run);
  o.common.takes_set = true;
  add_campaign_argument(command, o.folder);
  command.add_flag("--watch", o.watch, "Stay until all runs are done");
}

}  // namespace spillway
