// `spillway sweep plan`: an experiment becomes a campaign, and what that will cost.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "reports/notes/study_notes.hpp"
#include "scenarios/commands/ending.hpp"
#include "scenarios/commands/progress.hpp"
#include "scenarios/commands/sweep/sweep_verbs.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/sweep/estimate.hpp"
#include "scenarios/sweep/varied_columns.hpp"
#include "sim/temporary_file.hpp"

namespace spillway {

namespace {

struct SweepPlanOptions {
  std::string experiment;
  std::string folder;
  bool dry_run = false;
  CommonOptions common;
};

/// A folder for a plan that is only tried.
class Trial {
 public:
  Trial()
      : folder_(temporary_name((std::filesystem::temp_directory_path() / "spillway").string())),
        unfinished_(folder_) {
    if (mkdir(folder_.c_str(), 0700) != 0) {
      throw InputError(Fault::kIo, {folder_, 0, ""}, "cannot create a temporary directory");
    }
  }
  ~Trial() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  std::string campaign() const { return folder_ + "/campaign"; }

 private:
  std::string folder_;
  Unfinished unfinished_;
};

SweepPlanResults results_of(const Campaign& campaign, const CampaignSurvey& survey,
                            const SweepEstimate& cost) {
  SweepPlanResults out;
  out.runs = survey.total();
  out.replications = campaign.replications;
  out.replicates = replicate_methods(campaign);
  const std::vector<VariedColumn> columns = varied_columns(campaign, {});
  for (const SweepCell& cell : campaign.cells) {
    out.cells.push_back({cell.name, values_of(columns, cell), cell.keys, cell.recording});
  }
  out.done = survey.done();
  out.missing = survey.total() - survey.done();
  out.run_s = cost.run_s;
  out.core_hours = cost.core_s / 3600;
  return out;
}

/// Wall time is no result: it goes to standard error.
std::string cost_text(const CampaignSurvey& survey, const SweepEstimate& cost) {
  std::string out = counts_text(survey.done(), survey.total());
  if (survey.done() < survey.total()) {
    out += fmt::format("; the rest takes about {}, {:.3g} s a run", core_time_text(cost.core_s),
                       cost.run_s);
  }
  if (cost.smallest.empty()) return out;
  if (cost.smallest == cost.largest) return out + fmt::format(" (by one run of {})", cost.smallest);
  return out + fmt::format(" (by one run each of {} and {})", cost.smallest, cost.largest);
}

Report report_of(const Campaign& campaign, const CampaignSurvey& survey,
                 const SweepPlanOptions& options) {
  Report report;
  const std::uint64_t recordings =
      survey.total() - std::uint64_t{campaign.replications} * campaign.cells.size();
  report.title = fmt::format(
      "{}: {} cells x {}{} = {} runs", campaign.name, campaign.cells.size(), campaign.replications,
      recordings > 0 ? fmt::format(" + {}", recordings) : std::string(), survey.total());
  Section section;
  if (campaign.replications > 1) section.paragraphs.push_back(replicates_text(campaign));
  section.paragraphs.push_back(
      options.dry_run ? std::string("A dry run: nothing was written.")
                      : fmt::format("Next: spillway sweep run {}", printable(options.folder)));
  Table table;
  table.header = {"cell"};
  for (const auto& [key, value] : campaign.cells.front().values) table.header.push_back(key);
  for (std::size_t i = 0; i < std::min(campaign.cells.size(), kMostCellsShown); ++i) {
    table.rows.push_back({fmt::format("{}", i)});
    for (const auto& [key, value] : campaign.cells[i].values) table.rows.back().push_back(value);
  }
  if (campaign.cells.size() > kMostCellsShown) {
    section.paragraphs.push_back(
        fmt::format("The first {} cells; --json has all.", kMostCellsShown));
  }
  section.tables.push_back(std::move(table));
  report.sections.push_back(std::move(section));
  return report;
}

int run(const SweepPlanOptions& options) {
  const CommonOptions& common = options.common;
  if (options.folder.empty() && !options.dry_run) {
    throw InputError(Fault::kUsage, {"-o", 0, ""},
                     "is missing; expected a folder for the campaign, or --dry-run");
  }
  check_writable(common);
  refuse_own_inputs(common, {options.experiment});
  std::vector<std::string> settings = common.set;
  if (const auto seed = seed_of(common)) {
    settings.insert(settings.begin(), fmt::format("seed={}", *seed));
  }
  Progress reading("reading", "MB", !common.quiet);
  PlannedCampaign planned = plan_campaign(options.experiment, settings, reading.reader());
  reading.finish();
  std::optional<Trial> trial;
  if (options.dry_run) trial.emplace();
  const bool fresh = create_campaign(planned, options.dry_run ? trial->campaign() : options.folder);
  Interrupt interrupt;  // an estimate that is cut short says what it has found
  const Campaign& campaign = planned.campaign;
  CampaignSurvey survey(campaign);
  const SweepEstimate cost = estimate(campaign, survey, [&] { return interrupt.raised(); });

  Document document;
  document.kind = "sweep-plan";
  document.inputs = campaign_inputs(campaign);
  document.results = to_document(results_of(campaign, survey, cost));
  if (!fresh) document.warnings.push_back(study_note("campaign-known"));
  append(document.warnings, survey.report().notes);
  write_document(document, common, document.kind);
  print_report(report_of(campaign, survey, options), common);
  print_notes(document.warnings, common);
  print_notes({cost_text(survey, cost)}, common);
  return interrupt.signal() != 0 ? 128 + interrupt.signal() : 0;
}

}  // namespace

void add_sweep_plan(Verb& sweep) {
  auto [command, o] = add_command<SweepPlanOptions>(
      sweep, "plan", "Divide an experiment into runs, and say what they cost",
      "  spillway sweep plan exp.json --dry-run\n"
      "  spillway sweep plan exp.json -o camp/\n"
      "  spillway sweep plan exp.json -o camp/ --set sweep.replications=5\n",
      run);
  o.common.takes_set = true;
  command
      .add("EXPERIMENT", o.experiment, kinds::kScenario,
           "Scenario file with sweep {vary, replications}")
      .require();
  command.add("-o,--campaign", o.folder, kinds::kFolder, "Folder to make: the campaign");
  command.add_flag("--dry-run", o.dry_run, "Show cells and cost; write nothing");
}

}  // namespace spillway
