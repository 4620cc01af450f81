// `spillway sweep merge`: the runs of a campaign as one table.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "scenarios/commands/sweep/sweep_verbs.hpp"
#include "scenarios/sweep/merge.hpp"

namespace spillway {

namespace {

struct Options {
  std::string folder;
  std::string database;
  std::string csv;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

int run(const Options& options) {
  const CommonOptions& common = *options.common;
  check_writable(common, options.csv.empty() ? std::vector<std::string>()
                                             : std::vector<std::string>{options.csv});
  const Campaign campaign = open_campaign(options.folder);
  refuse_own_inputs(
      common,
      {campaign.path, campaign.folder + "/campaign.json", campaign.folder + "/experiment.json"},
      {options.csv, options.database});
  const Merged merged = merge_runs(campaign);
  if (!options.database.empty()) write_database(campaign, merged, options.database);

  const std::uint64_t total = campaign.runs.size();
  Document document;
  document.kind = "sweep-merge";
  document.inputs = campaign_inputs(campaign);
  document.results = {{"runs", total},
                      {"done", merged.done},
                      {"failed", merged.failed},
                      {"missing", total - merged.done},
                      {"campaign_digest", merged.digest},
                      {"sim", {{"repeated", merged.repeated}}}};
  note_settings(common, document.warnings);
  for (const std::string& note : merged.notes) document.warnings.push_back(note);
  if (merged.failed > 0) document.warnings.push_back(failures_note(merged.failed));
  Report report;
  report.title = fmt::format("{}: {}; campaign digest {}", campaign.name,
                             counts_text(merged.done, total), merged.digest);
  if (merged.done < total) {
    Section section;
    section.paragraphs.push_back(
        fmt::format("Partial. To make the rest: spillway sweep run {}", printable(options.folder)));
    report.sections.push_back(std::move(section));
  }
  if (!options.csv.empty() && options.csv != "-") write_csv(campaign, merged, options.csv);
  write_document(document, common, document.kind);
  if (options.csv == "-") {
    write_csv(campaign, merged, "-");
  } else {
    print_report(report, common);
  }
  print_notes(document.warnings, common);
  return merged.done == total && merged.failed == 0 ? 0 : kPartial;
}

}  // namespace

void add_sweep_merge(CLI::App& sweep, CommandList& commands) {
  auto o = std::make_shared<Options>();
  CLI::App* command = add_command(
      sweep, commands, "merge", "Gather a campaign's runs in a SQLite database or CSV",
      "  spillway sweep merge camp/ -o results.sqlite\n"
      "  spillway sweep merge camp/ --csv results.csv\n"
      "  sqlite3 results.sqlite 'SELECT \"tiers.0.capacity\", avg(p99_ttft_ms) FROM runs GROUP BY "
      "cell'\n",
      o->common, [o] { return run(*o); });
  command->add_option("CAMPAIGN", o->folder, "Folder made by spillway sweep plan")->required();
  command->add_option("-o,--database", o->database, "SQLite database to write");
  command->add_option("--csv", o->csv, "CSV file to write, or - for standard output");
}

}  // namespace spillway
