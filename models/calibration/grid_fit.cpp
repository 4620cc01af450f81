#include "models/calibration/grid_fit.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "models/calibration/fit_errors.hpp"
#include "models/calibration/fit_table.hpp"
#include "sim/det_math.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr double kStep = 2;          ///< a rate that changes by more is another regime
constexpr double kStepFall = 0.25;   ///< and its time falls by more than this, or it is overhead
constexpr double kFall = 0.05;       ///< of the time: less may be noise
constexpr double kStraight = 0.08;   ///< off the line between neighbours by more: a bend, kept
constexpr double kLeastMove = 0.01;  ///< what smoothing may change of a cell without any spread
constexpr double kMostMove = 0.03;

/// The rate changes more than twofold while the argument grows by `place`, and not because a fixed
/// time is spread over more bytes.
bool steps(double place, double time) {
  const double rate = place / time;
  return (rate > kStep && time < 1 - kStepFall) || rate < 1 / kStep;
}

struct Node {
  double time = 0;  ///< us; 0: nothing measured
  double spread = 0;
  std::string name;
};

class Grid {
 public:
  explicit Grid(const std::vector<GridCell>& cells) {
    for (const GridCell& cell : cells) {
      x_.push_back(cell.bytes);
      y_.push_back(cell.count);
    }
    for (std::vector<double>* v : {&x_, &y_}) {
      std::sort(v->begin(), v->end());
      v->erase(std::unique(v->begin(), v->end()), v->end());
    }
    std::map<std::size_t, std::vector<const GridCell*>> at;
    for (const GridCell& cell : cells) at[index(cell.bytes, cell.count)].push_back(&cell);
    nodes_.resize(x_.size() * y_.size());
    for (auto& [i, same] : at) {
      std::sort(same.begin(), same.end(),
                [](const GridCell* a, const GridCell* b) { return a->time_us < b->time_us; });
      const GridCell& middle = *same[same.size() / 2];
      nodes_[i] = {middle.time_us, middle.spread, middle.name};
    }
  }

  const std::vector<double>& x() const { return x_; }
  const std::vector<double>& y() const { return y_; }
  bool has(std::size_t r, std::size_t c) const { return node(r, c).time > 0; }
  const Node& node(std::size_t r, std::size_t c) const { return nodes_[r * x_.size() + c]; }

  /// A line of measured nodes along bytes (in row `at`) or along counts (in column `at`).
  struct Line {
    std::vector<std::size_t> nodes;
    std::vector<double> place;
    std::string along;
  };
  std::vector<Line> lines() const {
    std::vector<Line> out;
    for (std::size_t r = 0; r < y_.size(); ++r) {
      Line line{{}, {}, "size"};
      for (std::size_t c = 0; c < x_.size(); ++c) add(line, r, c, x_[c]);
      out.push_back(std::move(line));
    }
    for (std::size_t c = 0; c < x_.size(); ++c) {
      Line line{{}, {}, "count"};
      for (std::size_t r = 0; r < y_.size(); ++r) add(line, r, c, y_[r]);
      out.push_back(std::move(line));
    }
    return out;
  }

  /// Between two neighbours of a line.
  bool is_step(const Line& line, std::size_t i) const {
    return steps(line.place[i + 1] / line.place[i],
                 nodes_[line.nodes[i + 1]].time / nodes_[line.nodes[i]].time);
  }
  std::size_t step_count() const {
    std::size_t out = 0;
    for (const Line& line : lines()) {
      for (std::size_t i = 0; i + 1 < line.nodes.size(); ++i) out += is_step(line, i) ? 1 : 0;
    }
    return out;
  }

  /// Times that fall as size or count grow, by more than their spread and without a step.
  std::vector<std::string> falls() const {
    std::vector<std::string> out;
    for (const Line& line : lines()) {
      for (std::size_t i = 0; i + 1 < line.nodes.size(); ++i) {
        const Node& a = nodes_[line.nodes[i]];
        const Node& b = nodes_[line.nodes[i + 1]];
        const double noise = std::max(kFall, 4 * std::max(a.spread, b.spread));
        if (b.time >= a.time * (1 - noise) || is_step(line, i)) continue;
        out.push_back(fmt::format("the time falls as the {} grows: {} takes {:.6g} us, {} {:.6g}",
                                  line.along, a.name, a.time, b.name, b.time));
      }
    }
    return out;
  }

  /// Moves each time towards the line between its neighbours, within its spread; bends and steps
  /// stay. Least squares over the relative moves: as little as possible, as straight as possible.
  void smooth() {
    const auto unknowns = static_cast<Eigen::Index>(nodes_.size());
    Eigen::MatrixXd normal = Eigen::MatrixXd::Identity(unknowns, unknowns);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(unknowns);
    for (const Line& line : lines()) {
      for (std::size_t i = 1; i + 1 < line.nodes.size(); ++i) {
        if (is_step(line, i - 1) || is_step(line, i)) continue;
        const double share =
            (line.place[i] - line.place[i - 1]) / (line.place[i + 1] - line.place[i - 1]);
        const double before = (1 - share) * nodes_[line.nodes[i - 1]].time;
        const double after = share * nodes_[line.nodes[i + 1]].time;
        const double off = det::ln(nodes_[line.nodes[i]].time / (before + after));
        if (std::abs(off) > kStraight) continue;
        const std::pair<std::size_t, double> terms[] = {
            {line.nodes[i], 1},
            {line.nodes[i - 1], -before / (before + after)},
            {line.nodes[i + 1], -after / (before + after)}};
        for (const auto& [a, wa] : terms) {
          for (const auto& [b, wb] : terms) {
            normal(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)) += wa * wb;
          }
          right(static_cast<Eigen::Index>(a)) -= wa * off;
        }
      }
    }
    const Eigen::VectorXd moves = normal.ldlt().solve(right);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const double most = std::clamp(nodes_[i].spread, kLeastMove, kMostMove);
      nodes_[i].time *= det::exp(std::clamp(moves(static_cast<Eigen::Index>(i)), -most, most));
    }
  }

  /// Pools neighbours whose times fall until none do, along each line between its steps.
  void make_monotone() {
    constexpr int kMostRounds = 50;
    for (int round = 0; round < kMostRounds; ++round) {
      bool changed = false;
      for (const Line& line : lines()) {
        std::size_t begin = 0;
        for (std::size_t i = 0; i < line.nodes.size(); ++i) {
          if (i + 1 < line.nodes.size() && !is_step(line, i)) continue;
          changed |= pool(line, begin, i + 1);
          begin = i + 1;
        }
      }
      if (!changed) return;
    }
  }

  /// Of every batch, whatever its size and count: what remains of each size's times as the count
  /// goes to 0, one value for all sizes, by least squares of the relative errors.
  double fixed_part() const {
    const auto unknowns = static_cast<Eigen::Index>(x_.size()) + 1;
    Eigen::MatrixXd normal = 1e-12 * Eigen::MatrixXd::Identity(unknowns, unknowns);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(unknowns);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < y_.size(); ++r) {
      for (std::size_t c = 0; c < x_.size(); ++c) {
        if (!has(r, c)) continue;
        Eigen::VectorXd row = Eigen::VectorXd::Zero(unknowns);
        row(0) = 1 / node(r, c).time;
        row(static_cast<Eigen::Index>(c) + 1) = y_[r] / node(r, c).time;
        normal += row * row.transpose();
        right += row;
        least = std::min(least, node(r, c).time);
      }
    }
    constexpr double kMostOfIt = 0.95;  // what is left has a logarithm
    if (y_.size() < 3) return 0;
    return std::clamp(normal.ldlt().solve(right)(0), 0.0, kMostOfIt * least);
  }

  /// The rates on a grid fine enough that interpolating them in logarithms keeps to the times.
  FitTable table() const;

 private:
  std::size_t index(double bytes, double count) const {
    const auto c = std::lower_bound(x_.begin(), x_.end(), bytes) - x_.begin();
    const auto r = std::lower_bound(y_.begin(), y_.end(), count) - y_.begin();
    return static_cast<std::size_t>(r) * x_.size() + static_cast<std::size_t>(c);
  }
  void add(Line& line, std::size_t r, std::size_t c, double place) const {
    if (!has(r, c)) return;
    line.nodes.push_back(r * x_.size() + c);
    line.place.push_back(place);
  }

  bool pool(const Line& line, std::size_t begin, std::size_t end) {
    struct Group {
      double sum;
      double count;
      double mean() const { return sum / count; }
    };
    std::vector<Group> groups;
    bool changed = false;
    for (std::size_t i = begin; i < end; ++i) {
      groups.push_back({nodes_[line.nodes[i]].time, 1});
      while (groups.size() > 1 &&
             groups[groups.size() - 2].mean() > groups.back().mean() * (1 + 1e-12)) {
        const Group last = groups.back();
        groups.pop_back();
        groups.back() = {groups.back().sum + last.sum, groups.back().count + last.count};
        changed = true;
      }
    }
    std::size_t i = begin;
    for (const Group& group : groups) {
      for (int k = 0; k < static_cast<int>(group.count); ++k) {
        nodes_[line.nodes[i++]].time = group.mean();
      }
    }
    return changed;
  }

  std::vector<double> x_;
  std::vector<double> y_;
  std::vector<Node> nodes_;
};

/// The times of one count, between its sizes too: a law of two parameters through all cells, and
/// what each cell differs from it, interpolated in logarithms. The law is a fixed part C, which all
/// counts share, an overhead A and a rate B: time = C + (A^p + (bytes / B)^p)^(1/p), where p = 1
/// adds the two and a large p takes the larger.
class Row {
 public:
  void add(double bytes, double time) {
    bytes_.push_back(bytes);
    times_.push_back(time);
  }
  bool covers(double bytes) const { return bytes >= bytes_.front() && bytes <= bytes_.back(); }

  /// Takes the p that leaves least.
  void fit(double fixed) {
    fixed_ = fixed;
    double best = 1;
    double least = std::numeric_limits<double>::infinity();
    for (const double p : {1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0}) {
      const double left = fit_with(p);
      if (left >= least) continue;
      least = left;
      best = p;
    }
    fit_with(best);
  }

  /// Before the first cell: its time, which is all overhead. Behind the last: its rate.
  /// Preconditions: there is a cell, fit() was called.
  double at(double bytes) const {
    if (bytes <= bytes_.front()) return times_.front();
    if (bytes >= bytes_.back()) return times_.back() * bytes / bytes_.back();
    const auto high = static_cast<std::size_t>(
        std::upper_bound(bytes_.begin(), bytes_.end(), bytes) - bytes_.begin());
    const double share =
        det::ln(bytes / bytes_[high - 1]) / det::ln(bytes_[high] / bytes_[high - 1]);
    return det::exp(law(bytes) + (1 - share) * off(high - 1) + share * off(high));
  }

 private:
  /// Fits the law with the given p; returns what is left, each cell's part bounded.
  double fit_with(double p) {
    p_ = p;
    overhead_ = det::ln(times_.front() - fixed_);
    per_byte_ = det::ln((times_.back() - fixed_) / bytes_.back());
    constexpr int kRounds = 30;
    for (int round = 0; round < kRounds; ++round) {
      Eigen::Matrix2d normal = kDamping * Eigen::Matrix2d::Identity();
      Eigen::Vector2d right = Eigen::Vector2d::Zero();
      for (std::size_t i = 0; i < bytes_.size(); ++i) {
        const double off = det::ln(times_[i]) - law(bytes_[i]);
        // Huber's weights: cells behind a step pull no more than others.
        const double weight = std::min(1.0, kOutlier / std::max(std::abs(off), 1e-12));
        const double moved = det::ln(moving_part(bytes_[i]));
        const double share = det::exp(p_ * (overhead_ - moved));
        const double of_all = det::exp(moved - law(bytes_[i]));
        const Eigen::Vector2d slope(of_all * share, of_all * (1 - share));
        normal += weight * slope * slope.transpose();
        right += weight * off * slope;
      }
      const Eigen::Vector2d move = normal.ldlt().solve(right);
      overhead_ += std::clamp(move(0), -1.0, 1.0);
      per_byte_ += std::clamp(move(1), -1.0, 1.0);
    }
    double left = 0;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      left += std::min(kOutlier, std::abs(det::ln(times_[i]) - law(bytes_[i])));
    }
    return left;
  }

  static constexpr double kDamping = 1e-6;
  static constexpr double kOutlier = 0.1;

  double moving_part(double bytes) const {
    const double transfer = per_byte_ + det::ln(bytes);
    const double larger = std::max(overhead_, transfer);
    const double sum = det::exp(p_ * (overhead_ - larger)) + det::exp(p_ * (transfer - larger));
    return det::exp(larger + det::ln(sum) / p_);
  }
  double law(double bytes) const {  // logarithm of the time
    return det::ln(fixed_ + moving_part(bytes));
  }
  double off(std::size_t i) const { return det::ln(times_[i]) - law(bytes_[i]); }

  std::vector<double> bytes_;
  std::vector<double> times_;
  double p_ = 1;
  double fixed_ = 0;     ///< us
  double overhead_ = 0;  ///< logarithm of us
  double per_byte_ = 0;  ///< logarithm of us per byte
};

std::vector<double> finer(const std::vector<double>& grid, const std::vector<bool>& apart,
                          double most) {
  std::vector<double> out;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    out.push_back(grid[i]);
    if (i + 1 == grid.size() || apart[i]) continue;
    const double parts = std::ceil(det::ln(grid[i + 1] / grid[i]) / det::ln(most) - 1e-9);
    for (double k = 1; k < parts; ++k) {
      const double at = std::round(grid[i] * det::pow(grid[i + 1] / grid[i], k / parts));
      if (at > out.back() && at < grid[i + 1]) out.push_back(at);
    }
  }
  return out;
}

FitTable Grid::table() const {
  std::vector<Row> rows(y_.size());
  for (std::size_t r = 0; r < y_.size(); ++r) {
    for (std::size_t c = 0; c < x_.size(); ++c) {
      if (has(r, c)) rows[r].add(x_[c], node(r, c).time);
    }
  }
  const double fixed = fixed_part();
  for (Row& row : rows) row.fit(fixed);
  // No finer points between sizes or counts with a step anywhere: its place is not known.
  std::vector<bool> apart_x(x_.size(), false);
  std::vector<bool> apart_y(y_.size(), false);
  const auto time_at = [&](std::size_t r, std::size_t c) { return rows[r].at(x_[c]); };
  for (std::size_t r = 0; r < y_.size(); ++r) {
    for (std::size_t c = 0; c < x_.size(); ++c) {
      if (c + 1 < x_.size() && steps(x_[c + 1] / x_[c], time_at(r, c + 1) / time_at(r, c))) {
        apart_x[c] = true;
      }
      if (r + 1 < y_.size() && steps(y_[r + 1] / y_[r], time_at(r + 1, c) / time_at(r, c))) {
        apart_y[r] = true;
      }
    }
  }
  FitTable out;
  out.x = finer(x_, apart_x, std::sqrt(2.0));
  out.y = finer(y_, apart_y, 2.0);
  for (const double count : out.y) {
    const auto above = std::lower_bound(y_.begin(), y_.end(), count);
    const auto r1 = static_cast<std::size_t>(above - y_.begin());
    const std::size_t r0 = y_[r1] == count ? r1 : r1 - 1;
    const double share = r0 == r1 ? 0 : (count - y_[r0]) / (y_[r1] - y_[r0]);
    for (const double bytes : out.x) {
      const double us = (1 - share) * rows[r0].at(bytes) + share * rows[r1].at(bytes);
      out.values.push_back(bytes * count / us * 1e-3);  // B/us = 1e-3 GB/s
      out.measured.push_back(rows[r0].covers(bytes) && rows[r1].covers(bytes));
    }
  }
  if (std::all_of(out.measured.begin(), out.measured.end(), [](bool m) { return m; })) {
    out.measured.clear();
  }
  return out;
}

FitTable fitted(const std::vector<GridCell>& cells) {
  Grid grid(cells);
  grid.smooth();
  grid.make_monotone();
  return grid.table();
}

double error_of(const FitTable& table, const GridCell& cell) {
  const double rate = cell.bytes * cell.count / cell.time_us * 1e-3;
  return percent_off(value_at(table, cell.bytes, cell.count), rate);
}

/// Every third size is left out, the rest fitted, and the ones left out predicted.
void hold_out(const std::vector<GridCell>& cells, const Grid& grid, FitRecord& record) {
  const std::set<double> sizes = held_out_of(std::set<double>(grid.x().begin(), grid.x().end()));
  const auto is_held = [&](const GridCell& cell) { return sizes.contains(cell.bytes); };
  std::vector<GridCell> kept;
  std::copy_if(cells.begin(), cells.end(), std::back_inserter(kept),
               [&](const GridCell& cell) { return !is_held(cell); });
  if (kept.size() == cells.size()) return;
  const FitTable table = fitted(kept);

  std::vector<double> errors;
  double worst_across = 0;
  double across = 0;
  for (const GridCell& cell : cells) {
    if (!is_held(cell) || !within(table, cell.bytes, cell.count)) continue;
    const double error = error_of(table, cell);
    record.max_err = std::max(record.max_err, error);
    bool step = false;
    for (const Grid::Line& line : grid.lines()) {
      if (line.along != "size") continue;
      for (std::size_t i = 0; i + 1 < line.nodes.size(); ++i) {
        const std::size_t row = line.nodes[i] / grid.x().size();
        if (grid.y()[row] != cell.count || !grid.is_step(line, i)) continue;
        step = step || line.place[i] == cell.bytes || line.place[i + 1] == cell.bytes;
      }
    }
    if (step) {  // nothing can tell on which side of the step a size left out lies
      across += 1;
      worst_across = std::max(worst_across, error);
    } else {
      errors.push_back(error);
    }
  }
  score_unseen(record, errors);
  if (across > 0) {
    record.params["held_out_across_steps"] = across;
    record.params["max_err_across_steps"] = worst_across;
  }
}

}  // namespace

GridFit fit_grid(const std::vector<GridCell>& cells) {
  KV_ASSERT(!cells.empty(), "a fit of no cells");
  for (const GridCell& cell : cells) {
    KV_ASSERT(cell.time_us > 0 && cell.bytes > 0 && cell.count > 0, "a cell of {} us",
              cell.time_us);
  }
  GridFit out;
  const Grid grid(cells);
  out.warnings = grid.falls();
  FitRecord& record = out.record;
  record.form = "table";
  record.cells = static_cast<std::uint32_t>(cells.size());
  record.from = grid.x().front();
  record.to = grid.x().back();
  record.table = fitted(cells);
  std::vector<double> errors;
  for (const GridCell& cell : cells) errors.push_back(error_of(record.table, cell));
  score_seen(record, errors);
  if (const std::size_t steps = grid.step_count(); steps > 0) {
    record.params["steps"] = static_cast<double>(steps);
  }
  hold_out(cells, grid, record);
  return out;
}

}  // namespace spillway
