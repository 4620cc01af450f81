// What was merged as tables: SQLite and CSV.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/document.hpp"
#include "reports/renderers/csv.hpp"
#include "scenarios/sweep/cell_summary.hpp"
#include "scenarios/sweep/database.hpp"
#include "scenarios/sweep/merge.hpp"
#include "scenarios/sweep/run_maker.hpp"
#include "scenarios/sweep/varied_columns.hpp"
#include "sim/output_file.hpp"
#include "sim/run_metrics.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr const char* kCounts[] = {"requests", "completed", "failed"};
constexpr const char* kReals[] = {"duration_s"};

/// A table as it is written: columns with their SQL types, and a row at a time.
struct Column {
  std::string name;
  std::string type;
};

std::set<std::string> names_of(const std::vector<Column>& columns) {
  std::set<std::string> out;
  for (const Column& column : columns) out.insert(column.name);
  return out;
}

std::string_view type_of(VariedColumn::Holds holds) {
  switch (holds) {
    case VariedColumn::Holds::kText:
      return "TEXT";
    case VariedColumn::Holds::kNumber:
      return "NUMERIC";
    case VariedColumn::Holds::kBytes:
    case VariedColumn::Holds::kBytesPerSecond:
      break;
  }
  return "INTEGER";
}

void create(NewDatabase& database, const std::string& table, const std::vector<Column>& columns) {
  std::string sql;
  for (const Column& column : columns) {
    sql += fmt::format("{}{} {}", sql.empty() ? "" : ", ", sql_name(column.name), column.type);
  }
  database.run(fmt::format("CREATE TABLE {} ({})", table, sql));
}

std::string insertion(const std::string& table, std::size_t columns) {
  std::string places = "?";
  for (std::size_t i = 1; i < columns; ++i) places += ",?";
  return fmt::format("INSERT INTO {} VALUES ({})", table, places);
}

void bind_value(Insertion& insert, const json& value) {
  if (value.is_null()) {
    insert.nothing();
  } else if (value.is_string()) {
    insert.text(value.get_ref<const std::string&>());
  } else if (value.is_number_float()) {
    insert.real(value);
  } else {
    insert.integer(value);
  }
}

std::string csv_text(const json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_cell(value.get_ref<const std::string&>());
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.dump();
}

/// One row for each run that was done, in the order of cells; a cell's recording comes first.
class RunTable {
 public:
  RunTable(const Campaign& campaign, const Merged& merged) : campaign_(campaign), merged_(merged) {
    columns_ = {{"key", "TEXT PRIMARY KEY"},
                {"cell", "INTEGER NOT NULL"},
                {"replicate", "INTEGER NOT NULL"},
                {"status", "TEXT NOT NULL"},
                {"failure", "TEXT"}};
    std::vector<Column> figures;
    for (const char* name : kCounts) figures.push_back({name, "INTEGER"});
    for (const char* name : kReals) figures.push_back({name, "REAL"});
    for (const std::string_view name : metric_names(run_metrics())) {
      figures.push_back({std::string(name), "REAL"});
    }
    figures.push_back({"digest", "TEXT"});
    std::set<std::string> used = names_of(columns_);
    used.merge(names_of(figures));
    used.insert("payload");
    varied_ = varied_columns(campaign, used);
    for (const VariedColumn& column : varied_) {
      columns_.push_back({column.name, std::string(type_of(column.holds))});
    }
    columns_.insert(columns_.end(), figures.begin(), figures.end());
  }

  const std::vector<Column>& columns() const { return columns_; }

  template <class Each>
  void each(const Each& each) const {
    std::vector<std::size_t> order(campaign_.runs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const SweepRun& x = campaign_.runs[a];
      const SweepRun& y = campaign_.runs[b];
      return std::pair(x.cell, number_of(x)) < std::pair(y.cell, number_of(y));
    });
    for (const std::size_t i : order) {
      if (!merged_.runs[i].payload.empty()) each(row(i), merged_.runs[i].payload);
    }
  }

 private:
  static std::int64_t number_of(const SweepRun& run) {
    return run.replicate == kRecordingItself ? -1 : std::int64_t{run.replicate};
  }

  std::vector<json> row(std::size_t at) const {
    const SweepRun& run = campaign_.runs[at];
    const bool failed = is_failure(merged_.runs[at].payload);
    const json payload = json::parse(merged_.runs[at].payload);
    std::vector<json> out = {campaign_.key(run), run.cell, number_of(run),
                             failed ? "failed" : "done",
                             failed ? payload["failure"]["message"] : json()};
    for (const VariedColumn& column : varied_) {
      out.push_back(column_value(column, campaign_.cells[run.cell]));
    }
    if (failed) {
      out.resize(columns_.size());
      return out;
    }
    for (const char* name : kCounts) out.push_back(payload["results"][name]);
    for (const char* name : kReals) out.push_back(payload["results"][name]);
    for (const std::string_view name : metric_names(run_metrics())) {
      out.push_back(payload["metrics"][std::string(name)]);
    }
    out.emplace_back(merged_.runs[at].digest);
    return out;
  }

  const Campaign& campaign_;
  const Merged& merged_;
  std::vector<VariedColumn> varied_;
  std::vector<Column> columns_;
};

/// One row for each cell. Figures and targets that only some cells have are NULL in the others.
class CellTable {
 public:
  CellTable(const Campaign& campaign, const std::vector<CellSummary>& cells) {
    columns_ = {{"cell", "INTEGER PRIMARY KEY"},
                {"name", "TEXT NOT NULL"},
                {"replicates", "INTEGER NOT NULL"},
                {"failed", "INTEGER NOT NULL"},
                {"missing", "INTEGER NOT NULL"},
                {"verdict", "TEXT"},
                {"slo_met", "INTEGER"},
                {"slo_met_share", "REAL"},
                {"slo_met_recording", "INTEGER"}};
    const std::vector<VariedColumn> varied = varied_columns(campaign, names_of(columns_));
    for (const VariedColumn& column : varied) {
      columns_.push_back({column.name, std::string(type_of(column.holds))});
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const CellSummary& cell = cells[i];
      rows_.push_back({{"cell", i},
                       {"name", campaign.cells[i].name},
                       {"replicates", cell.done},
                       {"failed", cell.failed},
                       {"missing", cell.missing}});
      json& row = rows_.back();
      if (!cell.verdict.empty()) row["verdict"] = cell.verdict;
      for (const VariedColumn& column : varied) {
        row[column.name] = column_value(column, campaign.cells[i]);
      }
      if (!cell.targets.empty()) add_slo(cell, row);
      for (const CellFigure& figure : cell.figures) add_figure(figure, row);
    }
  }

  const std::vector<Column>& columns() const { return columns_; }

  void write(Insertion& insert) const {
    for (const json& row : rows_) {
      for (const Column& column : columns_) bind_value(insert, row.value(column.name, json()));
      insert.add();
    }
  }

 private:
  void add_slo(const CellSummary& cell, json& row) {
    row["slo_met"] = cell.met;
    row["slo_met_share"] = cell.share();
    if (cell.recording) row["slo_met_recording"] = *cell.recording ? 1 : 0;
    std::set<std::string> seen;
    for (const CellTarget& target : cell.targets) {
      std::string name = "slo_" + target.name;
      if (!target.tenant.empty()) name += "_" + target.tenant;
      for (int again = 2; !seen.insert(name).second; ++again) name += fmt::format("_{}", again);
      put(row, name + "_target", target.target);
      put(row, name + "_met_share", target.share);
    }
  }

  void add_figure(const CellFigure& figure, json& row) {
    put(row, figure.name + "_mean", figure.mean);
    for (const char* end : {"_low", "_high", "_recording"}) put(row, figure.name + end, json());
    if (figure.interval) {
      row[figure.name + "_low"] = figure.interval->first;
      row[figure.name + "_high"] = figure.interval->second;
    }
    if (figure.recording) row[figure.name + "_recording"] = *figure.recording;
  }

  void put(json& row, const std::string& name, json value) {
    if (known_.insert(name).second) columns_.push_back({name, "REAL"});
    row[name] = std::move(value);
  }

  std::vector<Column> columns_;
  std::set<std::string> known_;
  std::vector<json> rows_;
};

void write_meta(NewDatabase& database, const Campaign& campaign, const Merged& merged) {
  database.run("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)");
  Insertion insert(database, "INSERT INTO meta VALUES (?, ?)");
  const std::pair<const char*, std::string> rows[] = {
      {"campaign", campaign.id},
      {"campaign_digest", merged.digest},
      {"scenario", campaign.name},
      {"experiment", campaign.text},
      {"settings", json(campaign.settings).dump()},
      {"replicates", campaign.workloads.front().method},
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

}  // namespace

void write_database(const Campaign& campaign, const Merged& merged,
                    const std::vector<CellSummary>& cells, const std::string& path) {
  NewDatabase database(path);
  write_meta(database, campaign, merged);
  {
    const RunTable runs(campaign, merged);
    std::vector<Column> columns = runs.columns();
    columns.push_back({"payload", "TEXT NOT NULL"});
    create(database, "runs", columns);
    Insertion insert(database, insertion("runs", columns.size()));
    runs.each([&](const std::vector<json>& row, const std::string& payload) {
      for (const json& value : row) bind_value(insert, value);
      insert.text(payload);
      insert.add();
    });
  }
  {
    const CellTable table(campaign, cells);
    create(database, "cells", table.columns());
    Insertion insert(database, insertion("cells", table.columns().size()));
    table.write(insert);
  }
  database.commit();
}

void write_csv(const Campaign& campaign, const Merged& merged, const std::string& path) {
  const RunTable runs(campaign, merged);
  OutputFile file(path);
  std::string line;
  for (const Column& column : runs.columns()) {
    line += (line.empty() ? "" : ",") + csv_cell(column.name);
  }
  file.write(line + "\n");
  runs.each([&](const std::vector<json>& row, const std::string&) {
    line.clear();
    for (const json& value : row) line += csv_text(value) + ",";
    line.back() = '\n';
    file.write(line);
  });
  file.commit();
}

}  // namespace spillway
