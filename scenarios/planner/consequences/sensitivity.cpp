#include "scenarios/planner/consequences/sensitivity.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "reports/format.hpp"
#include "reports/notes/plan_notes.hpp"
#include "scenarios/planner/consequences/sensitivity_asks.hpp"
#include "scenarios/scenario/scenario.hpp"

namespace spillway {

namespace {

constexpr int kHalvings = 3;              // of the bracket around a crossing
constexpr std::uint64_t kLeastRuns = 96;  // a plan may always spend on sensitivity
constexpr double kShareOfRuns = 0.35;     // of those that the plan itself made

/// One direction of one factor: outwards from 1 until the verdict changes.
struct Search {
  std::size_t factor = 0;
  bool up = false;
  std::vector<double> steps;
  std::size_t next = 0;
  double good = 1;            ///< the outermost step that was met
  std::optional<double> bad;  ///< the first that was not
  bool refused = false;       ///< could not be run further out
  bool finished() const { return bad.has_value() || refused || next == steps.size(); }
};

/// One side of one factor: which size the SLO asks for there.
struct Need {
  Ask ask;          ///< factor and side; the point is where the search stands
  std::string* to;  ///< the answer
  bool down = false;
  std::size_t at = 0;  ///< in the line of sizes
  bool finished = false;
};

class Explorer {
 public:
  Explorer(const SensitivityQuestion& question, FactorList& list)
      : q_(question),
        plan_(question.cells.plan),
        list_(list),
        asks_(question.cells, list.factors, question.replicates, question.run, question.most_runs) {
  }

  Sensitivity explore() {
    move_factors();
    start_searches();
    walk_outwards();
    halve();
    find_needs();
    for (int i = 1; i < kHalvings; ++i) halve();
    tell();
    return std::move(out_);
  }

 private:
  void learn(std::vector<Ask> asks, bool verdict_only) {
    asks_.learn(std::move(asks), verdict_only);
  }
  const WhatIfOutcome* find(const Ask& ask) const { return asks_.find(ask); }
  Ask here(std::size_t factor, double at) const { return {factor, at, plan_.recommended}; }

  // ---- the factors themselves

  void move_factors() {
    std::vector<Ask> asks = {here(kNoFactor, 1)};
    for (std::size_t f = 0; f < list_.factors.size(); ++f) {
      const Factor& factor = list_.factors[f];
      if (factor.low != 1) asks.push_back(here(f, factor.low));
      if (factor.high != 1) asks.push_back(here(f, factor.high));
    }
    learn(std::move(asks), false);
    const WhatIfOutcome* base = find(here(kNoFactor, 1));
    if (base == nullptr) return;
    out_.margin = base->margin;
    base_met_ = base->met;
    for (std::size_t f = 0; f < list_.factors.size(); ++f) add_row(f, *base);
  }

  void add_row(std::size_t f, const WhatIfOutcome& base) {
    const Factor& factor = list_.factors[f];
    const WhatIfOutcome* low = factor.low == 1 ? &base : find(here(f, factor.low));
    const WhatIfOutcome* high = factor.high == 1 ? &base : find(here(f, factor.high));
    if (low == nullptr || high == nullptr) return;
    for (const WhatIfOutcome* side : {low, high}) {
      if (side->refused.empty()) continue;
      list_.left_out.push_back(fmt::format("{}: {}", factor.name, side->refused));
      return;
    }
    SensitivityRow row;
    row.factor = factor.name;
    row.low = {factor.low, low->margin, low->met, ""};
    row.high = {factor.high, high->margin, high->met, ""};
    rows_.push_back(std::move(row));
    row_factors_.push_back(f);
  }

  // ---- how far it may move

  void start_searches() {
    if (!base_met_) {
      list_.notes.push_back(plan_note("no-limits-searched"));
      return;
    }
    for (const std::size_t f : row_factors_) {
      const Factor& factor = list_.factors[f];
      if (factor.below.empty() && factor.above.empty()) continue;
      searches_.push_back({f, false, steps(factor.low, factor.below), 0, 1, {}, false});
      if (factor.high != 1) {
        searches_.push_back({f, true, steps(factor.high, factor.above), 0, 1, {}, false});
      }
    }
  }

  /// `first`, and those of `more` beyond it.
  static std::vector<double> steps(double first, const std::vector<double>& more) {
    std::vector<double> out = {first};
    for (const double step : more) {
      if (first < 1 ? step < first : step > first) out.push_back(step);
    }
    return out;
  }

  void walk_outwards() {
    for (;;) {
      std::vector<Ask> asks;
      for (const Search& s : searches_) {
        if (!s.finished()) asks.push_back(here(s.factor, s.steps[s.next]));
      }
      if (asks.empty()) return;
      learn(asks, true);
      bool moved = false;
      for (Search& s : searches_) {
        if (s.finished()) continue;
        const double at = s.steps[s.next];
        const WhatIfOutcome* outcome = find(here(s.factor, at));
        if (outcome == nullptr) continue;
        moved = true;
        ++s.next;
        if (!outcome->refused.empty()) {
          s.refused = true;
        } else if (outcome->met) {
          s.good = at;
        } else {
          s.bad = at;
        }
      }
      if (!moved) return;  // the budget is spent
    }
  }

  void halve() {
    std::vector<Ask> asks;
    for (const Search& s : searches_) {
      if (s.bad) asks.push_back(here(s.factor, (s.good + *s.bad) / 2));
    }
    learn(asks, true);
    for (Search& s : searches_) {
      if (!s.bad) continue;
      const double middle = (s.good + *s.bad) / 2;
      const WhatIfOutcome* outcome = find(here(s.factor, middle));
      if (outcome == nullptr || !outcome->refused.empty()) continue;
      if (outcome->met) {
        s.good = middle;
      } else {
        s.bad = middle;
      }
    }
  }

  // ---- what would be needed instead

  /// Sizes at the recommended values, ascending.
  std::vector<int> line() const {
    std::vector<int> out;
    const PlanPoint& at = plan_.points[static_cast<std::size_t>(plan_.recommended)];
    for (std::size_t i = 0; i < plan_.points.size(); ++i) {
      if (plan_.points[i].values == at.values) out.push_back(static_cast<int>(i));
    }
    return out;
  }

  void find_needs() {
    const std::vector<int> sizes = line();
    if (sizes.size() < 2) return;
    const auto at = static_cast<std::size_t>(
        std::find(sizes.begin(), sizes.end(), plan_.recommended) - sizes.begin());
    std::vector<Need> needs = {{here(kNoFactor, 1), &out_.needed, base_met_, at, false}};
    while (step_needs(needs, sizes)) {
    }
    needs.clear();
    const std::string& recommended = plan_.points[static_cast<std::size_t>(sizes[at])].capacity;
    const auto need = [&](Ask ask, bool met, double margin, std::string& to) {
      // What is tighter than before needs no less than before.
      if (met && margin <= out_.margin && out_.needed == recommended) {
        to = recommended;
      } else {
        needs.push_back({ask, &to, met, at, false});
      }
    };
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      SensitivityRow& row = rows_[i];
      const std::size_t f = row_factors_[i];
      for (SensitivitySide* side : {&row.low, &row.high}) {
        if (side->factor == 1) continue;
        need(here(f, side->factor), side->met, side->margin, side->needed);
      }
    }
    while (step_needs(needs, sizes)) {
    }
    for (SensitivityRow& row : rows_) {
      for (SensitivitySide* side : {&row.low, &row.high}) {
        if (side->factor == 1) side->needed = out_.needed;
      }
    }
  }

  /// One size further for each, in one batch. From a size that is met downwards to the last one
  /// that is; from one that is missed upwards to the first that is met.
  bool step_needs(std::vector<Need>& needs, const std::vector<int>& sizes) {
    const auto name = [&](std::size_t at) {
      return plan_.points[static_cast<std::size_t>(sizes[at])].capacity;
    };
    std::vector<Ask> asks;
    for (Need& need : needs) {
      if (need.finished) continue;
      if (need.down ? need.at == 0 : need.at + 1 == sizes.size()) {
        *need.to = need.down ? name(need.at) : "none";
        need.finished = true;
        continue;
      }
      need.ask.point = sizes[need.down ? need.at - 1 : need.at + 1];
      asks.push_back(need.ask);
    }
    learn(asks, true);
    bool moved = false;
    for (Need& need : needs) {
      if (need.finished) continue;
      const WhatIfOutcome* outcome = find(need.ask);
      if (outcome == nullptr) {  // the budget is spent
        need.finished = true;
        continue;
      }
      moved = true;
      const bool met = outcome->met && outcome->refused.empty();
      if (need.down && !met) {
        *need.to = name(need.at);
        need.finished = true;
        continue;
      }
      need.at += need.down ? std::size_t(-1) : 1;
      if (!need.down && met) {
        *need.to = name(need.at);
        need.finished = true;
      }
    }
    return moved;
  }

  void tell() {
    for (std::size_t i = 0; i < rows_.size(); ++i) say_row(i);
    doubt_blocks();
    std::stable_sort(
        rows_.begin(), rows_.end(), [](const SensitivityRow& a, const SensitivityRow& b) {
          return std::abs(a.high.margin - a.low.margin) > std::abs(b.high.margin - b.low.margin);
        });
    out_.rows = std::move(rows_);
    out_.replicates = static_cast<std::uint32_t>(asks_.replicates());
    out_.runs = asks_.runs();
    out_.notes = std::move(list_.notes);
    for (const std::string& left : list_.left_out) {
      out_.notes.push_back(plan_note("factor-not-moved", {{"what", left}}));
    }
    out_.notes.push_back(plan_note("sensitivity-is-a-guide", {{"replicates", out_.replicates}}));
    if (asks_.out_of_time()) {
      out_.notes.push_back(plan_note("sensitivity-cut-short"));
    } else if (asks_.out_of_runs()) {
      out_.notes.push_back(plan_note("sensitivity-runs-ended", {{"runs", q_.most_runs}}));
    }
  }

  /// The start-up log tells what an estimate only may.
  void doubt_blocks() {
    for (const SensitivityRow& row : rows_) {
      if (row.factor != kEstimatedBlocks) continue;
      const bool turns = row.low.met != base_met_ || row.high.met != base_met_ ||
                         row.changes_below.value_or(0) > row.low.factor ||
                         row.low.needed != out_.needed || row.high.needed != out_.needed;
      if (!turns) continue;
      const Scenario& at = *q_.cells.scenarios[static_cast<std::size_t>(plan_.recommended)];
      list_.notes.push_back(plan_note("blocks-estimated", {{"blocks", at.engine.usable_blocks()},
                                                           {"error_share", row.high.factor - 1}}));
    }
  }

  void say_row(std::size_t i) {
    SensitivityRow& row = rows_[i];
    std::vector<std::string> changes;
    double from = 1;
    double to = 1;
    bool whole = !searches_.empty();
    bool any = false;
    for (const Search& s : searches_) {
      if (s.factor != row_factors_[i]) continue;
      any = true;
      (s.up ? to : from) = s.good;
      whole = whole && (s.bad.has_value() || s.next == s.steps.size());
      if (!s.bad) continue;
      (s.up ? row.changes_above : row.changes_below) = s.good;
      (s.up ? row.missed_above : row.missed_below) = s.bad;
      if (s.good == 1) {
        changes.push_back(fmt::format("{} what it is (at {:.3g} times it misses the SLO)",
                                      s.up ? "rises above" : "falls below", *s.bad));
      } else {
        changes.push_back(fmt::format("{} {:.3g} times what it is (at {:.3g} it misses the SLO)",
                                      s.up ? "rises above" : "falls below", s.good, *s.bad));
      }
    }
    if (!any) {
      if (row.low.met && row.high.met && base_met_) {
        row.says = fmt::format("Holds at {} and {} times", format_real(row.low.factor),
                               format_real(row.high.factor));
      } else if (base_met_) {
        row.says =
            fmt::format("The recommendation changes with {} at {} times", row.factor,
                        row.low.met    ? format_real(row.high.factor)
                        : row.high.met ? format_real(row.low.factor)
                                       : fmt::format("{} and at {}", format_real(row.low.factor),
                                                     format_real(row.high.factor)));
      }
      return;
    }
    if (!changes.empty()) {
      row.says = fmt::format("The recommendation changes if {} {}", row.factor,
                             fmt::join(changes, " or "));
    } else {
      row.says = fmt::format("Holds from {} to {} times{}", format_real(from), format_real(to),
                             whole ? "" : ", as far as that was looked at");
    }
  }

  const SensitivityQuestion& q_;
  const PlanResult& plan_;
  FactorList& list_;
  SensitivityAsks asks_;
  std::vector<SensitivityRow> rows_;
  std::vector<std::size_t> row_factors_;  ///< of each of `rows_`, until they are sorted
  std::vector<Search> searches_;
  bool base_met_ = false;
  Sensitivity out_;
};

}  // namespace

std::optional<Sensitivity> find_sensitivity(const SensitivityQuestion& question) {
  const PlanResult& plan = question.cells.plan;
  if (plan.recommended < 0) return std::nullopt;
  const Scenario& recommended =
      *question.cells.scenarios[static_cast<std::size_t>(plan.recommended)];
  FactorList list = factors_of(recommended);
  return Explorer(question, list).explore();
}

std::uint64_t sensitivity_budget(std::uint64_t runs) {
  return std::max(kLeastRuns, static_cast<std::uint64_t>(static_cast<double>(runs) * kShareOfRuns));
}

}  // namespace spillway
