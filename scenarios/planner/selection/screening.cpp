#include "scenarios/planner/selection/screening.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/planner/selection/line_shape.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr double kNear = 2.3;        // of a limit, in log units: within a factor of ten
constexpr double kCliff = 3;         // standard errors from the limit on either side of a cliff
constexpr double kCliffShare = 0.5;  // of all that a line of sizes changes, in one step
constexpr double kUnknownError = 1;  // of a single run without neighbours: a factor of 2.7

}  // namespace

CellRecords::CellRecords(const SelectionProblem& problem)
    : problem_(problem), cells_(problem.cells), violated_(problem.lines.size(), false) {
  for (const SelectionTarget& target : problem.targets) {
    judges_.emplace_back(target, problem.replication, problem.length);
  }
  distances_.assign(problem.cells, std::vector<double>(targets(), 0));
  errors_.assign(problem.cells, std::vector<double>(targets(), kUnknownError));
}

void CellRecords::add(const RunRequest& request, CellSample sample) {
  KV_ASSERT(sample.excluded || sample.x.size() == targets(), "{} figures for {} targets",
            sample.x.size(), targets());
  CellRecord& cell = cells_[request.cell];
  if (sample.excluded) {
    cell.excluded = true;
    return;
  }
  const bool screening = request.replicate < kScreening && request.length == 1;
  if (request.length > cell.length) {
    cell.fresh.clear();
    cell.length = request.length;
  }
  cell.cut = cell.cut || (screening && sample.cut);
  (screening ? cell.screened : cell.fresh).push_back(std::move(sample));
}

void CellRecords::mark_missed(double alpha) {
  // Of alpha, half for what is shown after any run, a quarter for the bounds at the end; a quarter
  // is left to fresh replicates. Targets share each part.
  const double any_run = alpha * kScreeningPart * 2 / 3 / static_cast<double>(targets());
  const double at_end = any_run / 4;  // of each of two ways
  for (CellRecord& cell : cells_) {
    if (cell.excluded || cell.screened.empty()) continue;
    for (std::size_t t = 0; t < targets(); ++t) {
      const TargetJudge& judge = judges_[t];
      const bool complete = cell.screened.size() == kScreening && !cell.cut;
      cell.missed = cell.missed || judge.misses_by_far(cell.screened, t, any_run);
      if (!complete || cell.missed) continue;
      const Evidence e = judge.evidence(cell.screened, t);
      cell.missed = judge.misses(e, at_end, {}) || judge.misses_bets(e, at_end);
    }
  }
}

std::optional<double> CellRecords::usual(std::size_t index) const {
  double weight = 0;
  double sum = 0;
  double nearest = 0;
  std::optional<double> of_nearest;
  for (const CellRecord& cell : cells_) {
    if (cell.excluded || (cell.cut && cell.fresh.empty())) continue;
    const SampleSummary s = judges_[index].evidence(cell.best_runs(), index).x;
    const auto found = dispersion(s, judges_[index].kind());
    if (!found) continue;
    const double away = std::fabs(judges_[index].distance(s));
    if (!of_nearest || away < nearest) {
      nearest = away;
      of_nearest = found;
    }
    if (away > kNear) continue;
    weight += s.runs - 1;
    sum += (s.runs - 1) * *found;
  }
  return weight > 0 ? sum / weight : of_nearest;
}

void CellRecords::score_alone(std::uint32_t i) {
  CellRecord& cell = cells_[i];
  cell.score = 0;
  for (std::size_t t = 0; t < targets(); ++t) {
    const double z = distances_[i][t] / std::max(errors_[i][t], 1e-12);
    cell.score = t == 0 ? z : std::min(cell.score, z);
  }
}

void CellRecords::score() {
  for (std::size_t t = 0; t < targets(); ++t) {
    const std::optional<double> usual_here = usual(t);
    for (std::uint32_t i = 0; i < problem_.cells; ++i) {
      const CellRecord& cell = cells_[i];
      if (cell.best_runs().empty()) continue;
      const Evidence e = judges_[t].evidence(cell.best_runs(), t);
      SampleSummary s = e.x;
      distances_[i][t] = judges_[t].distance(s);
      // What fewer miss is the likelier to hold: errors are those at the limit, lest a share that
      // hardly any request misses count as unknown.
      if (judges_[t].kind() == FigureKind::kShare && judges_[t].within(s.mean)) {
        s.mean = problem_.targets[t].limit;
      }
      std::optional<double> scatter = usual_here;
      if (!scatter && e.clusters) scatter = e.clusters->size;
      errors_[i][t] =
          scatter || s.runs > 1 ? relative_error(s, judges_[t].kind(), scatter) : kUnknownError;
    }
  }
  for (std::size_t l = 0; l < problem_.lines.size(); ++l) {
    violated_[l] = false;
    smooth(problem_.lines[l]);
  }
  for (std::uint32_t i = 0; i < problem_.cells; ++i) score_alone(i);
}

void CellRecords::smooth(const std::vector<std::uint32_t>& line) {
  const auto number = static_cast<std::size_t>(&line - problem_.lines.data());
  std::vector<std::uint32_t> known;
  for (const std::uint32_t cell : line) {
    if (!cells_[cell].excluded && !cells_[cell].best_runs().empty()) known.push_back(cell);
  }
  for (std::size_t t = 0; t < targets(); ++t) {
    std::vector<ShapePoint> points;
    for (const std::uint32_t cell : known)
      points.push_back({distances_[cell][t], errors_[cell][t]});
    if (!is_monotone(points)) {
      violated_[number] = true;
      continue;
    }
    const std::vector<double> fit = isotonic_fit(points);
    for (std::size_t i = 0; i < known.size(); ++i) distances_[known[i]][t] = fit[i];
  }
}

const char* CellRecords::boundary(std::uint32_t cell) const {
  for (std::size_t l = 0; l < problem_.lines.size(); ++l) {
    const std::vector<std::uint32_t>& line = problem_.lines[l];
    if (std::find(line.begin(), line.end(), cell) == line.end()) continue;
    // By size: whether each cell looks good enough.
    std::vector<std::uint32_t> known;
    for (const std::uint32_t c : line) {
      if (!cells_[c].excluded && !cells_[c].best_runs().empty()) known.push_back(c);
    }
    const auto good = [&](std::uint32_t c) {
      return cells_[c].held || (!cells_[c].missed && cells_[c].score >= 0);
    };
    bool lost = false;
    bool found = false;
    bool cliff = false;
    for (std::size_t i = 1; i < known.size(); ++i) {
      const std::uint32_t before = known[i - 1];
      const std::uint32_t here = known[i];
      lost = lost || (good(before) && !good(here));
      if (good(before) || !good(here)) continue;
      found = true;
      for (std::size_t t = 0; t < targets(); ++t) {
        const double step = distances_[here][t] - distances_[before][t];
        const double all = distances_[known.back()][t] - distances_[known.front()][t];
        cliff = cliff || (known.size() > 3 && step >= kCliffShare * all &&
                          distances_[here][t] >= kCliff * errors_[here][t] &&
                          -distances_[before][t] >= kCliff * errors_[before][t]);
      }
    }
    if (lost && violated_[l]) return "non_monotone";
    if (cliff) return "cliff";
    return found || lost ? "smooth" : "none";
  }
  return "none";
}

}  // namespace spillway
