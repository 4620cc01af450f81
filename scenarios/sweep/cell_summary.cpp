#include "scenarios/sweep/cell_summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/experiment/target_bound.hpp"
#include "scenarios/sweep/run_maker.hpp"
#include "sim/run_metrics.hpp"

namespace spillway {

namespace {

using nlohmann::json;

constexpr double kAlphaEachSide = (1 - kConfidence) / 2;

/// Figures of one run, by name.
struct RunFigures {
  double requests = 0;
  std::vector<std::pair<std::string, double>> values;
  std::vector<CellTarget> targets;  ///< met: 1 or 0
  std::optional<bool> met;          ///< nothing: there is no SLO
};

/// Of requests; other shares are of tokens.
bool is_request_share(std::string_view name) {
  return name == kRejectedShare || name == "attainment";
}

RunFigures figures_of(const std::string& payload) {
  const json run = json::parse(payload);
  const json& results = run["results"];
  RunFigures out;
  out.requests = results["requests"];
  const bool served = results["completed"].get<std::uint64_t>() > 0;
  for (const std::string_view name : metric_names(run_metrics())) {
    if (!served && name.ends_with("_ms")) continue;  // latencies are of completed requests
    out.values.emplace_back(name, run["metrics"][std::string(name)].get<double>());
  }
  double tokens = 0;
  const json& sources = results["prompt_tokens_by_source"];
  for (const json& count : sources) tokens += count.get<double>();
  for (const auto& [source, count] : sources.items()) {
    if (source == "local_compute" || tokens == 0) continue;
    out.values.emplace_back("cached_share_" + source, count.get<double>() / tokens);
  }
  for (const json& target : results["slo"]) {
    CellTarget& out_target = out.targets.emplace_back();
    out_target.name = target["name"];
    out_target.tenant = target.value("tenant", "");
    out_target.at_least = target["bound"] == "min";
    out_target.target = target["target"];
    out_target.met = target["passed"] ? 1 : 0;
  }
  if (run.contains("slo")) {
    out.met = run["slo"]["met"].get<bool>();
    out.values.emplace_back("attainment", run["slo"]["attainment"].get<double>());
  }
  return out;
}

class Summing {
 public:
  explicit Summing(const SweepWorkload& workload) : workload_(workload) {}

  void add(const RunFigures& run) {
    ++out_.done;
    for (const auto& [name, value] : run.values) figure(name).push_back(value);
    requests_.push_back(run.requests);
    if (out_.targets.empty()) {
      out_.targets = run.targets;
    } else {
      for (std::size_t t = 0; t < out_.targets.size(); ++t)
        out_.targets[t].met += run.targets[t].met;
    }
    has_slo_ = run.met.has_value();
    if (run.met == true) ++out_.met;
  }
  void add_recording(const RunFigures& run) {
    out_.recording = run.met;
    recording_ = run.values;
  }
  void add_failure() { ++out_.failed; }
  void add_missing() { ++out_.missing; }

  CellSummary finish() {
    for (auto& [name, values] : figures_) out_.figures.push_back(summary(name, values));
    for (CellTarget& target : out_.targets) {
      target.share = static_cast<double>(target.met) / out_.judged();
    }
    if (has_slo_) out_.verdict = verdict();
    if (out_.done == 0 && out_.failed > 0) out_.verdict = "could not be run";
    return std::move(out_);
  }

 private:
  std::vector<double>& figure(const std::string& name) {
    for (auto& [known, values] : figures_) {
      if (known == name) return values;
    }
    return figures_.emplace_back(name, std::vector<double>()).second;
  }

  CellFigure summary(const std::string& name, const std::vector<double>& values) const {
    const FigureKind kind = is_request_share(name) ? FigureKind::kShare : FigureKind::kFigure;
    std::vector<double> weight;
    if (kind == FigureKind::kShare) weight = requests_;
    const SampleSummary s =
        summarise(values, weight, kind, workload_.replication, workload_.length);
    CellFigure out{name, s.runs, s.mean, {}, {}};
    // Figures that never differed say nothing of how much they might.
    const bool tells = s.variance > 0 || kind == FigureKind::kShare;
    if (s.runs >= kLeastReplications && tells) {
      const double high = upper_bound(s, kind, kAlphaEachSide);
      const bool share = name.starts_with("cached_share");
      out.interval = {lower_bound(s, kind, kAlphaEachSide), share ? std::min(1.0, high) : high};
    }
    for (const auto& [known, value] : recording_) {
      if (known == name) out.recording = value;
    }
    return out;
  }

  /// A count, and what it is a count of.
  std::string verdict() const {
    std::string out = fmt::format("met in {} of {}", out_.met, out_.judged());
    if (out_.failed > 0) out += fmt::format(" ({} could not be run)", out_.failed);
    if (out_.missing > 0) out += fmt::format(", {} to come", out_.missing);
    return out;
  }

  const SweepWorkload& workload_;
  std::vector<std::pair<std::string, std::vector<double>>> figures_;  ///< by replicate
  std::vector<double> requests_;                                      ///< of each replicate
  std::vector<std::pair<std::string, double>> recording_;
  bool has_slo_ = false;
  CellSummary out_;
};

}  // namespace

std::vector<CellSummary> summarise_cells(const Campaign& campaign, const Merged& merged) {
  std::vector<Summing> sums;
  for (const SweepCell& cell : campaign.cells) sums.emplace_back(campaign.workloads[cell.group]);
  for (std::size_t i = 0; i < campaign.runs.size(); ++i) {
    const std::string& payload = merged.runs[i].payload;
    Summing& sum = sums[campaign.runs[i].cell];
    const bool failed = is_failure(payload);
    if (campaign.runs[i].replicate == kRecordingItself) {
      if (!payload.empty() && !failed) sum.add_recording(figures_of(payload));
    } else if (payload.empty()) {
      sum.add_missing();
    } else if (failed) {
      sum.add_failure();
    } else {
      sum.add(figures_of(payload));
    }
  }
  const std::vector<VariedColumn> columns = varied_columns(campaign, {});
  std::vector<CellSummary> out;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    CellSummary& cell = out.emplace_back(sums[i].finish());
    cell.name = campaign.cells[i].name;
    cell.values = values_of(columns, campaign.cells[i]);
  }
  return out;
}

const CellFigure* find_figure(const CellSummary& cell, std::string_view name) {
  for (const CellFigure& figure : cell.figures) {
    if (figure.name == name) return &figure;
  }
  return nullptr;
}

}  // namespace spillway
