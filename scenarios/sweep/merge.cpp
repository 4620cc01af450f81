#include "scenarios/sweep/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/csv.hpp"
#include "reports/document.hpp"
#include "scenarios/experiment/segments.hpp"
#include "scenarios/run_metrics.hpp"
#include "scenarios/sweep/database.hpp"
#include "scenarios/sweep/run_maker.hpp"
#include "sim/digest.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr const char* kCounts[] = {"requests", "completed", "failed"};
constexpr const char* kReals[] = {"duration_s"};
constexpr std::string_view kFixed[] = {"key",     "cell",   "replicate", "status",
                                       "failure", "digest", "payload"};

/// Columns of the varied keys; one that a fixed column or a metric has already is told apart.
std::vector<std::string> varied_columns(const Campaign& campaign) {
  std::set<std::string> used(std::begin(kFixed), std::end(kFixed));
  used.insert(std::begin(kCounts), std::end(kCounts));
  used.insert(std::begin(kReals), std::end(kReals));
  for (const std::string_view name : metric_names(run_metrics())) used.emplace(name);
  std::vector<std::string> out;
  for (const auto& [key, value] : campaign.cells.front().values) {
    out.push_back(used.contains(key) ? "vary." + key : key);
  }
  return out;
}

/// A run that was done, as its row shows it.
struct Row {
  json payload;
  bool failed;
  std::string failure;

  explicit Row(const MergedRun& run)
      : payload(json::parse(run.payload)), failed(is_failure(run.payload)) {
    if (failed) failure = payload["failure"]["message"];
  }
};

/// The order of the table: cell by cell.
std::vector<std::size_t> row_order(const Campaign& campaign) {
  std::vector<std::size_t> out(campaign.runs.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
  std::sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    const SweepRun& x = campaign.runs[a];
    const SweepRun& y = campaign.runs[b];
    return std::tie(x.cell, x.replicate) < std::tie(y.cell, y.replicate);
  });
  return out;
}

void write_meta(NewDatabase& database, const Campaign& campaign, const Merged& merged) {
  database.run("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)");
  Insertion insert(database, "INSERT INTO meta VALUES (?, ?)");
  const std::pair<const char*, std::string> rows[] = {
      {"campaign", campaign.id},
      {"campaign_digest", merged.digest},
      {"scenario", campaign.name},
      {"experiment", campaign.text},
      {"settings", json(campaign.settings).dump()},
      {"runs", fmt::format("{}", campaign.runs.size())},
      {"done", fmt::format("{}", merged.done)},
      {"failed", fmt::format("{}", merged.failed)},
      {"tool", tool_info().dump()}};
  for (const auto& [name, value] : rows) {
    insert.text(name);
    insert.text(value);
    insert.add();
  }
}

std::string table_of_runs(const std::vector<std::string>& varied) {
  std::string sql =
      "CREATE TABLE runs (key TEXT PRIMARY KEY, cell INTEGER NOT NULL, replicate INTEGER NOT NULL, "
      "status TEXT NOT NULL, failure TEXT";
  for (const std::string& column : varied) sql += fmt::format(", {} TEXT", sql_name(column));
  for (const char* name : kCounts) sql += fmt::format(", {} INTEGER", sql_name(name));
  for (const char* name : kReals) sql += fmt::format(", {} REAL", sql_name(name));
  for (const std::string_view name : metric_names(run_metrics())) {
    sql += fmt::format(", {} REAL", sql_name(name));
  }
  return sql + ", digest TEXT, payload TEXT NOT NULL)";
}

/// Values after those of the run and of its cell.
template <class Count, class Real, class None>
void each_figure(const Row& row, Count count, Real real, None none) {
  for (const char* name : kCounts) {
    row.failed ? none() : count(row.payload["results"][name].get<std::int64_t>());
  }
  for (const char* name : kReals) {
    row.failed ? none() : real(row.payload["results"][name].get<double>());
  }
  for (const std::string_view name : metric_names(run_metrics())) {
    row.failed ? none() : real(row.payload["metrics"][std::string(name)].get<double>());
  }
}

}  // namespace

Merged merge_runs(const Campaign& campaign) {
  Merged out;
  out.runs.resize(campaign.runs.size());
  std::map<std::string, std::size_t> runs;  // by key
  for (std::size_t i = 0; i < campaign.runs.size(); ++i) {
    runs.emplace(campaign.key(campaign.runs[i]), i);
  }
  std::vector<SegmentPlace> places(campaign.runs.size());
  std::uint64_t foreign = 0;
  const SegmentReport report =
      read_segments(campaign.segments(), [&](SegmentEntry&& entry, const SegmentPlace& place) {
        const auto at = runs.find(entry.key);
        if (at == runs.end()) {
          ++foreign;
          return;
        }
        MergedRun& run = out.runs[at->second];
        if (run.payload.empty()) {
          run.payload = std::move(entry.payload);
          places[at->second] = place;
          return;
        }
        const SegmentPlace& first = places[at->second];
        KV_ASSERT(run.payload == entry.payload,
                  "two runs of one key have different results, so the simulator is not "
                  "deterministic: {}:{} and {}:{}, key {}",
                  first.file, first.line, place.file, place.line, entry.key);
        ++out.repeated;
      });
  out.notes = report.notes;
  if (foreign > 0) {
    out.notes.push_back(fmt::format(
        "{} run{} in the segments belong{} to no cell of this campaign "
        "and {} left out",
        foreign, foreign == 1 ? "" : "s", foreign == 1 ? "s" : "", foreign == 1 ? "is" : "are"));
  }
  Digest digest;
  for (const auto& [key, index] : runs) {  // in the order of their keys
    MergedRun& run = out.runs[index];
    if (run.payload.empty()) continue;
    ++out.done;
    if (is_failure(run.payload)) {
      ++out.failed;
    } else {
      run.digest = json::parse(run.payload)["digest"];
    }
    digest.text(key);
    digest.text(run.payload);
  }
  out.digest = digest.hex();
  return out;
}

void write_database(const Campaign& campaign, const Merged& merged, const std::string& path) {
  const std::vector<std::string> varied = varied_columns(campaign);
  NewDatabase database(path);
  write_meta(database, campaign, merged);
  database.run(table_of_runs(varied));
  {
    const std::size_t columns = std::size(kFixed) + varied.size() + std::size(kCounts) +
                                std::size(kReals) + run_metrics().size();
    std::string places = "?";
    for (std::size_t i = 1; i < columns; ++i) places += ",?";
    Insertion insert(database, "INSERT INTO runs VALUES (" + places + ")");
    for (const std::size_t i : row_order(campaign)) {
      const MergedRun& run = merged.runs[i];
      if (run.payload.empty()) continue;
      const Row row(run);
      insert.text(campaign.key(campaign.runs[i]));
      insert.integer(campaign.runs[i].cell);
      insert.integer(campaign.runs[i].replicate);
      insert.text(row.failed ? "failed" : "done");
      row.failed ? insert.text(row.failure) : insert.nothing();
      for (const auto& [key, value] : campaign.cells[campaign.runs[i].cell].values) {
        insert.text(value);
      }
      each_figure(
          row, [&](std::int64_t value) { insert.integer(value); },
          [&](double value) { insert.real(value); }, [&] { insert.nothing(); });
      row.failed ? insert.nothing() : insert.text(run.digest);
      insert.text(run.payload);
      insert.add();
    }
  }
  database.commit();
}

void write_csv(const Campaign& campaign, const Merged& merged, const std::string& path) {
  std::string text = "key,cell,replicate,status,failure";
  for (const std::string& column : varied_columns(campaign)) text += "," + csv_cell(column);
  for (const char* name : kCounts) text += fmt::format(",{}", name);
  for (const char* name : kReals) text += fmt::format(",{}", name);
  for (const std::string_view name : metric_names(run_metrics())) text += fmt::format(",{}", name);
  text += ",digest\n";
  OutputFile file(path);
  for (const std::size_t i : row_order(campaign)) {
    const MergedRun& run = merged.runs[i];
    if (run.payload.empty()) continue;
    const Row row(run);
    text += fmt::format("{},{},{},{},{}", campaign.key(campaign.runs[i]), campaign.runs[i].cell,
                        campaign.runs[i].replicate, row.failed ? "failed" : "done",
                        csv_cell(row.failure));
    for (const auto& [key, value] : campaign.cells[campaign.runs[i].cell].values) {
      text += "," + csv_cell(value);
    }
    each_figure(
        row, [&](std::int64_t value) { text += fmt::format(",{}", value); },
        [&](double value) { text += fmt::format(",{}", value); }, [&] { text += ","; });
    text += "," + run.digest + "\n";
    file.write(text);
    text.clear();
  }
  file.write(text);
  file.commit();
}

}  // namespace spillway
