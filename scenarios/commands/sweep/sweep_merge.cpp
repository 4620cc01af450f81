// `spillway sweep merge`: the runs of a campaign as one table.
#include <fmt/format.h>

#include <algorithm>

#include "reports/fields/write.hpp"
#include "reports/format.hpp"
#include "scenarios/commands/sweep/sweep_verbs.hpp"
#include "scenarios/sweep/cell_summary.hpp"
#include "scenarios/sweep/merge.hpp"

namespace spillway {

namespace {

struct SweepMergeOptions {
  std::string folder;
  std::string database;
  std::string csv;
  CommonOptions common;
};

std::string figure_text(const CellFigure& figure, double value) {
  if (figure.name.ends_with("_ms")) return format_ms(value);
  return figure.name == "cached_share" ? format_percent(value) : format_real(value);
}

/// What the table shows of each cell, and whether with an interval.
struct Shown {
  std::string_view figure;
  const char* header;
  bool interval;
};
constexpr Shown kShown[] = {{"median_ttft_ms", "TTFT p50", false},
                            {"p99_ttft_ms", "TTFT p99", true},
                            {"p99_tpot_ms", "TPOT p99", true},
                            {"request_throughput", "requests/s", false},
                            {"cached_share", "cached", false}};

Table cell_table(const Campaign& campaign, const std::vector<CellSummary>& cells) {
  const auto any = [&](auto has) { return std::ranges::any_of(cells, has); };
  const bool slo = any([](const CellSummary& cell) { return !cell.verdict.empty(); });
  const bool recording = any([](const CellSummary& cell) { return cell.recording.has_value(); });
  const bool intervals = campaign.replications >= kLeastReplications;
  Table table;
  table.title = campaign.replications > 1 ? "Cells, means over their replicates" : "Cells";
  table.header = {"cell"};
  if (slo) table.header.emplace_back("SLO");
  if (recording) table.header.emplace_back("recording");
  table.header.emplace_back("replicates");
  for (const Shown& one : kShown) {
    table.header.emplace_back(one.header);
    if (one.interval && intervals) table.header.emplace_back("95% interval");
  }
  for (std::size_t i = 0; i < std::min(cells.size(), kMostCellsShown); ++i) {
    const CellSummary& cell = cells[i];
    std::vector<std::string> row = {campaign.cells[i].name};
    if (slo) row.push_back(cell.verdict.empty() ? "-" : cell.verdict);
    if (recording)
      row.emplace_back(!cell.recording ? "-" : *cell.recording ? "meets it" : "misses");
    row.push_back(fmt::format("{}", cell.done));
    for (const Shown& one : kShown) {
      const CellFigure* figure = find_figure(cell, one.figure);
      row.push_back(figure == nullptr ? "-" : figure_text(*figure, figure->mean));
      if (!one.interval || !intervals) continue;
      row.push_back(figure == nullptr || !figure->interval
                        ? "-"
                        : fmt::format("{} to {}", figure_text(*figure, figure->interval->first),
                                      figure_text(*figure, figure->interval->second)));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// What means, intervals and counts are of.
std::vector<std::string> method_texts(const Campaign& campaign,
                                      const std::vector<CellSummary>& cells) {
  std::vector<std::string> out;
  if (cells.size() > kMostCellsShown) {
    out.push_back(
        fmt::format("The first {} cells; --json and --database have all.", kMostCellsShown));
  }
  if (campaign.replications == 1) {
    out.emplace_back(
        "Each cell ran once, on the workload itself: no interval, and no confidence about the "
        "SLO.");
    return out;
  }
  out.push_back(replicates_text(campaign));
  out.push_back(
      campaign.replications < kLeastReplications
          ? fmt::format("No intervals: they take {} replications or more.", kLeastReplications)
          : "Intervals are for the mean over replicates, each by itself.");
  const bool slo =
      std::ranges::any_of(cells, [](const CellSummary& cell) { return !cell.targets.empty(); });
  if (slo) {
    out.emplace_back(
        "\"met in N of M\" counts replicates that meet every target and finish every request; it "
        "is "
        "no confidence: spillway plan gives one.");
  }
  return out;
}

int run(const SweepMergeOptions& options) {
  const CommonOptions& common = options.common;
  check_writable(common, options.csv.empty() ? std::vector<std::string>()
                                             : std::vector<std::string>{options.csv});
  const Campaign campaign = open_campaign(options.folder);
  refuse_own_inputs(
      common,
      {campaign.path, campaign.folder + "/campaign.json", campaign.folder + "/experiment.json"},
      {options.csv, options.database});
  const Merged merged = merge_runs(campaign);
  const std::vector<CellSummary> cells = summarise_cells(campaign, merged);
  if (!options.database.empty()) write_database(campaign, merged, cells, options.database);

  const std::uint64_t total = campaign.runs.size();
  Document document;
  document.kind = "sweep-merge";
  document.inputs = campaign_inputs(campaign);
  document.results =
      to_document(SweepMergeResults{{total, merged.done, merged.failed, total - merged.done},
                                    campaign.replications,
                                    replicate_methods(campaign),
                                    cells,
                                    merged.digest,
                                    merged.repeated});
  note_settings(common, document.warnings);
  append(document.warnings, merged.notes);
  if (merged.failed > 0) document.warnings.push_back(failures_note(merged.failed));
  Report report;
  report.title = fmt::format("{}: {}; campaign digest {}", campaign.name,
                             counts_text(merged.done, total), merged.digest);
  Section section;
  section.paragraphs = method_texts(campaign, cells);
  if (merged.done < total) {
    section.paragraphs.push_back(
        fmt::format("Partial. To make the rest: spillway sweep run {}", printable(options.folder)));
  }
  section.tables.push_back(cell_table(campaign, cells));
  report.sections.push_back(std::move(section));
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

void add_sweep_merge(Verb& sweep) {
  auto [command, o] = add_command<SweepMergeOptions>(
      sweep, "merge", "Gather a campaign's runs in a SQLite database or CSV",
      "  spillway sweep merge camp/ -o results.sqlite\n"
      "  spillway sweep merge camp/ --csv results.csv\n"
      "  sqlite3 results.sqlite 'SELECT \"tiers.0.capacity\", avg(p99_ttft_ms) FROM runs GROUP BY "
      "cell'\n",
      run);
  o.common.takes_set = true;
  add_campaign_argument(command, o.folder);
  command.add("-o,--database", o.database, kinds::kFile, "SQLite database to write");
  command.add("--csv", o.csv, kinds::kFile, "CSV file to write, or - for standard output");
}

}  // namespace spillway
