// A report before it has a format: headings, text, tables and charts. Renderers turn it into HTML,
// Markdown, plain text or CSV; they see nothing else.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/plan_result.hpp"

namespace spillway {

/// Cells are text already; a column is right-aligned when all its cells below the header look
/// numeric.
struct Table {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  int highlight = -1;  ///< row to emphasise
};

struct ChartSeries {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
};

/// A value that goes from a common start to either of two ends.
struct ChartBar {
  std::string name;
  double low = 0;
  double high = 0;
  std::string low_name;  ///< what each end stands for
  std::string high_name;
};

/// Lines over a common x axis, or, where there are bars, these alone.
struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<ChartSeries> series;
  bool log_x = false;
  bool log_y = false;
  bool points = false;               ///< mark every point (few points)
  std::vector<std::string> x_names;  ///< names of x = 0, 1, 2, ... instead of numbers
  std::vector<std::pair<std::string, double>> limits;  ///< horizontal lines
  std::vector<ChartBar> bars{};  ///< horizontal, the first on top; no lines are drawn then
  double bars_from = 0;          ///< where all of them start
};

struct Section {
  std::string heading;
  std::vector<std::string> paragraphs;
  std::vector<Table> tables;
  std::vector<Chart> charts;
};

struct Report {
  std::string title;
  std::string subtitle;
  std::vector<Section> sections;
};

/// What a report says about where a result came from.
struct Provenance {
  std::string scenario;
  nlohmann::json inputs;
  std::vector<std::string> warnings;
  std::string digest;
  std::string tool;
};

Report run_report(const RunResult& run, const Provenance& provenance);
/// The part of a run's report that a terminal shows.
Report run_summary(const RunResult& run, const std::string& scenario);
Report plan_report(const PlanResult& plan, const Provenance& provenance);
/// The part of it that a terminal shows.
Report plan_summary(const PlanResult& plan, const std::string& scenario);
/// From the results of a `trace-stats` document.
Report trace_report(const nlohmann::json& results, const Provenance& provenance);
/// The part of it that a terminal shows.
Report trace_summary(const nlohmann::json& results, const Provenance& provenance);
/// From the results of an `mrc` document.
Report mrc_report(const nlohmann::json& results, const Provenance& provenance);
/// With the curve drawn in characters, for a terminal.
Report mrc_summary(const nlohmann::json& results, const Provenance& provenance);
/// From the results of a `hardware-profile` document.
Report profile_report(const nlohmann::json& results, const Provenance& provenance);
/// Every cell of a plan, side by side.
Table plan_table(const PlanResult& plan);

}  // namespace spillway
