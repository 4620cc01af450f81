#include "scenarios/planner/selection/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "scenarios/planner/selection/finalists.hpp"
#include "scenarios/planner/selection/fresh_verdicts.hpp"
#include "scenarios/planner/selection/longer_runs.hpp"
#include "scenarios/planner/selection/screening.hpp"
#include "scenarios/planner/selection/settling.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::uint32_t kFirstStage = 10;  // replications, then twice as many each time
constexpr double kHopeless = 3;         // times a limit: the verdict of more runs is all to learn
constexpr double kFutile = 0.10;        // level at which a preferred cell is given up
constexpr double kClearlyWithin = 0.5;  // of a limit
constexpr double kUsualPart = 0.5;      // of alpha, for replicates of the usual length

class Selector {
 public:
  Selector(const SelectionProblem& problem, const RunBatch& run)
      : problem_(problem),
        run_(run),
        records_(problem),
        fresh_(problem, records_),
        alpha_(1 - problem.confidence) {
    out_.cells.resize(problem.cells);
    out_.runs = problem.runs_before;
    for (std::uint32_t n = kFirstStage; out_.stages.empty() || out_.stages.back() < most();
         n *= 2) {
      out_.stages.push_back(std::min(n, most()));
    }
    if (most() < kLeastReplications) out_.stages.clear();
  }

  Selection select() {
    screen();
    const Finalists chosen = choose_finalists(open_cells(), scores());
    out_.finalists = chosen.cells;
    for (const double share : chosen.share) finalists_.push_back({share});
    if (!ended()) {
      verify(0, chosen.preferred);
      // Behind one that holds, only those preferred to it are still of interest.
      for (std::size_t i = chosen.preferred; i < out_.finalists.size() && !ended(); ++i) {
        if (!waits(i)) verify(i, i + 1);
      }
      verify_longer();
      // What was left to longer replicates before something held, and is preferred to that.
      for (std::size_t i = 0; i < out_.finalists.size() && best_ >= 0 && !ended(); ++i) {
        const bool usual = records_[out_.finalists[i]].length == 1;
        if (usual && !waits(i)) verify(i, i + 1);
      }
    }
    conclude();
    return std::move(out_);
  }

 private:
  // What one stage needs to know of a finalist.
  struct Finalist {
    double share = 0;  // of alpha
    double level = 0;  // at which it was judged last
    bool given_up = false;
  };

  std::uint32_t most() const { return problem_.most_replications; }

  bool within_budget(std::uint64_t runs) {
    out_.out_of_runs = problem_.max_runs > 0 && out_.runs + runs > problem_.max_runs;
    if (out_.out_of_runs) lacking_ = out_.runs + runs;
    return !out_.out_of_runs;
  }

  /// Answers `requests` unless they are more than the budget has left.
  bool make(const std::vector<RunRequest>& requests) {
    if (!within_budget(requests.size())) return false;
    if (requests.empty()) return true;
    std::vector<CellSample> samples = run_(requests);
    KV_ASSERT(samples.size() <= requests.size(), "{} answers to {} requests", samples.size(),
              requests.size());
    out_.runs += samples.size();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      records_.add(requests[i], std::move(samples[i]));
    }
    out_.out_of_time = samples.size() < requests.size();
    return !out_.out_of_time;
  }

  bool ended() const { return out_.out_of_runs || out_.out_of_time; }

  void expect(std::uint64_t runs) {
    likely_ = out_.runs + runs;
    if (problem_.expects) problem_.expects(runs);
  }

  bool looks_hopeless(const CellRecord& cell) const {
    if (cell.screened.empty()) return false;
    for (std::size_t t = 0; t < records_.targets(); ++t) {
      const SelectionTarget& target = problem_.targets[t];
      if (!target.at_least && cell.screened.front().x[t] > kHopeless * target.limit) return true;
    }
    return false;
  }

  void screen() {
    for (std::uint32_t r = 0; r < kScreening; ++r) {
      std::vector<RunRequest> requests;
      for (std::uint32_t cell = 0; cell < problem_.cells; ++cell) {
        const CellRecord& record = records_[cell];
        if (record.missed || record.excluded) continue;
        requests.push_back({cell, r, looks_hopeless(record)});
      }
      expect(requests.size() * (kScreening - r) + kUsualFinalRuns);
      if (!make(requests)) break;
      records_.mark_missed(alpha_);
    }
    records_.score();
  }

  /// Not shown to miss, and judged at all.
  bool open(std::uint32_t cell) const {
    const CellRecord& record = records_[cell];
    return !record.missed && !record.excluded && !record.best_runs().empty();
  }

  /// By preference.
  std::vector<std::uint32_t> open_cells() const {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t cell : problem_.preference) {
      if (open(cell)) out.push_back(cell);
    }
    return out;
  }

  /// By cell.
  std::vector<double> scores() const {
    std::vector<double> out;
    for (std::uint32_t cell = 0; cell < problem_.cells; ++cell) out.push_back(records_[cell].score);
    return out;
  }

  std::size_t rank(std::uint32_t cell) const {
    return static_cast<std::size_t>(
        std::find(problem_.preference.begin(), problem_.preference.end(), cell) -
        problem_.preference.begin());
  }

  /// Whether finalist `i` may still change the answer.
  bool undecided(std::size_t i) const {
    const std::uint32_t cell = out_.finalists[i];
    const bool could_win = best_ < 0 || rank(cell) < rank(static_cast<std::uint32_t>(best_));
    return open(cell) && !records_[cell].held && !finalists_[i].given_up && could_win;
  }

  /// Whether all the alpha that finalist `i` may have is that of the one before it, which does not
  /// hold.
  bool waits(std::size_t i) const {
    return i > 0 && finalists_[i].share == 0 && !records_[out_.finalists[i - 1]].held;
  }

  bool may_be_longer() const {
    return problem_.work_for_longer > 0 && problem_.longest > 1 && !out_.stages.empty();
  }

  /// Whether this cell looks met on runs that are too short for the queues in them. What looks
  /// missed may be shown so whatever its queues.
  bool too_short(std::uint32_t cell) const {
    bool out = false;
    for (std::size_t t = 0; t < records_.targets(); ++t) {
      const TargetJudge& judge = records_.judges()[t];
      const Evidence e = judge.evidence(records_[cell].fresh, t);
      if (!judge.within(e.x.mean)) return false;
      out = out || (e.clusters && e.clusters->penalty > 1);
    }
    return out;
  }

  /// Whether its misses are so few that queues like those seen hardly bring it to a limit.
  bool looks_clear(std::uint32_t cell) const {
    for (std::size_t t = 0; t < records_.targets(); ++t) {
      const SelectionTarget& target = problem_.targets[t];
      const double x = records_.judges()[t].evidence(records_[cell].fresh, t).x.mean;
      if (!target.at_least && x > kClearlyWithin * target.limit) return false;
    }
    return true;
  }

  /// Whether more replicates of the usual length are not worth their time. Longer ones are run
  /// until something holds, not for what is preferred to it.
  bool left_to_longer(std::uint32_t cell) const {
    if (!may_be_longer() || records_[cell].fresh.empty() || !too_short(cell)) return false;
    return best_ < 0 || !looks_clear(cell);
  }

  /// Takes finalists [first, last) through the stages until nothing about them is open, or only
  /// longer replicates would tell.
  void verify(std::size_t first, std::size_t last) {
    double all_stages = 0;
    for (const std::uint32_t n : out_.stages) all_stages += n;
    double so_far = 0;
    for (const std::uint32_t n : out_.stages) {
      const double part = n / all_stages * (may_be_longer() ? kUsualPart : 1);
      so_far += part;
      std::vector<RunRequest> requests;
      bool open = false;
      for (std::size_t i = first; i < last; ++i) {
        const std::uint32_t cell = out_.finalists[i];
        if (!undecided(i) || left_to_longer(cell)) continue;
        open = true;
        const auto made = static_cast<std::uint32_t>(records_[cell].fresh.size());
        for (std::uint32_t r = made; r < n; ++r) requests.push_back({cell, kScreening + r, false});
      }
      if (!open) return;
      if (requests.empty()) continue;                              // that far already
      expect(requests.size() * (n < out_.stages.back() ? 2 : 1));  // as many again, likely
      if (!make(requests)) return;
      spent_ = std::max(spent_, so_far);
      deepest_ = std::max(deepest_, n);
      std::set<std::uint32_t> ran;
      for (const RunRequest& request : requests) ran.insert(request.cell);
      judge_stage(part, ran);
    }
  }

  /// Of a stage of these cells, with replicates of the usual length.
  double work_of(const std::vector<std::uint32_t>& cells) const {
    double out = 0;
    for (const std::uint32_t cell : cells) {
      const CellRecord& record = records_[cell];
      for (const CellSample& sample : record.fresh) {
        out += sample.work / static_cast<double>(record.fresh.size()) / record.length;
      }
    }
    return out * most();
  }

  /// Finalists that more would tell of, the likeliest first.
  std::vector<std::uint32_t> left_open() const {
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < out_.finalists.size(); ++i) {
      const std::uint32_t cell = out_.finalists[i];
      if (undecided(i) && !records_[cell].fresh.empty()) out.push_back(cell);
    }
    std::stable_sort(out.begin(), out.end(), [&](std::uint32_t a, std::uint32_t b) {
      return records_[a].score > records_[b].score;
    });
    return out;
  }

  /// Replicates [first, last) of these cells, of the next stage.
  bool make_longer(const std::vector<std::uint32_t>& cells, std::uint32_t first, std::uint32_t last,
                   const LongerStage& next) {
    std::vector<RunRequest> requests;
    for (const std::uint32_t cell : cells) {
      for (std::uint32_t r = first; r < last; ++r) {
        requests.push_back({cell, kScreening + r, false, next.length});
      }
    }
    expect(cells.size() * (most() - first) * (next.last ? 1 : 2));
    return make(requests);
  }

  /// What `missed` may spend on fresh runs by bounds, and as much by bets.
  double miss_alpha() const { return alpha_ * (1 - kScreeningPart) / 2; }

  /// Judges what is open on longer and longer replicates until something holds.
  void verify_longer() {
    double work_left = problem_.work_for_longer;
    double alpha_left = 1 - spent_;
    std::uint32_t length = 1;
    for (std::uint32_t stage = 0; may_be_longer() && best_ < 0 && !ended(); ++stage) {
      records_.score();
      std::vector<std::uint32_t> cells = left_open();
      // What no stage can decide is left.
      std::erase_if(cells, [&](std::uint32_t cell) {
        return fresh_.needed(cell, kHopefulAim) * work_of({cell}) > work_left;
      });
      LongerStage next;
      double work = 0;
      // All that is open where there is work enough, else the likeliest.
      for (; !cells.empty(); cells.pop_back()) {
        double wanted = std::numeric_limits<double>::infinity();
        for (const std::uint32_t cell : cells)
          wanted = std::min(wanted, fresh_.needed(cell, kStageAim));
        work = work_of(cells);
        next = next_longer(stage, length, wanted, work_left / work, problem_.longest);
        if (next.length > 0) break;
      }
      if (next.length == 0) return;
      const double before = fresh_.requests_of(cells.front());
      const double part = next.last ? alpha_left : alpha_left / 2;
      if (!within_budget(cells.size() * most())) return;
      // A few first: where runs have no end of queues, they show it.
      const auto few = static_cast<std::uint32_t>(kLeastReplications);
      if (!make_longer(cells, 0, few, next)) return;
      std::vector<std::uint32_t> open_still;
      for (const std::uint32_t cell : cells) {
        records_[cell].missed = fresh_.any_misses_bets(cell, miss_alpha() * part);
        if (records_[cell].missed) note_bounds(cell, alpha_ * part);
        if (!records_[cell].missed) open_still.push_back(cell);
      }
      if (!make_longer(open_still, few, most(), next)) return;
      alpha_left -= part;
      work_left -= work * next.length;
      length = next.length;
      judge_stage(part, {open_still.begin(), open_still.end()});
      verify_heirs(next, part);
      // Nothing of alpha is left, though fewer cells could afford another stage.
      if (next.last) return;
      // Where a horizon ends every run, there is no more to come.
      if (fresh_.requests_of(cells.front()) < 1.5 * before) return;
    }
  }

  /// Where a reserve holds on longer replicates: its heirs, one after another, on as long ones.
  /// They may take as much work again.
  void verify_heirs(const LongerStage& stage, double part) {
    double work_left = problem_.work_for_longer;
    for (std::size_t i = 1; i < finalists_.size() && best_ >= 0; ++i) {
      const std::uint32_t cell = out_.finalists[i];
      if (finalists_[i].share > 0 || waits(i) || !undecided(i)) continue;
      if (records_[cell].length >= stage.length) continue;
      work_left -= work_of({out_.finalists[i - 1]}) * stage.length;
      if (work_left < 0 || !make_longer({cell}, 0, most(), stage)) return;
      judge_stage(part, {cell});
    }
  }

  /// Judges the finalists that ran in this stage, at its part of their alpha: what others have of
  /// it is not spent.
  void judge_stage(double part, const std::set<std::uint32_t>& ran) {
    for (std::size_t i = 0; i < finalists_.size(); ++i) {
      const std::uint32_t cell = out_.finalists[i];
      const bool inherits = i > 0 && records_[out_.finalists[i - 1]].held;
      finalists_[i].level = finalists_[i].share + (inherits ? finalists_[i - 1].level : 0);
      CellRecord& record = records_[cell];
      if (!ran.contains(cell) || !undecided(i)) continue;
      const double alpha = alpha_ * finalists_[i].level * part;
      record.held = fresh_.all_hold(cell, alpha);
      // Half by bounds, half by bets, which go on from stage to stage of the usual length.
      const double bet_part = record.length > 1 ? part : may_be_longer() ? kUsualPart : 1;
      record.missed = !record.held && (fresh_.any_misses(cell, miss_alpha() * part) ||
                                       fresh_.any_misses_bets(cell, miss_alpha() * bet_part));
      note_bounds(cell, alpha);
      if (record.held) best_ = static_cast<int>(cell);
    }
    for (std::size_t i = 0; i < finalists_.size() && best_ >= 0; ++i) {
      const std::uint32_t cell = out_.finalists[i];
      if (!undecided(i) || records_[cell].fresh.empty()) continue;
      finalists_[i].given_up = fresh_.any_misses(cell, kFutile);
    }
  }

  void note_bounds(std::uint32_t cell, double alpha) {
    SelectedCell& out = out_.cells[cell];
    out.bound.clear();
    for (std::size_t t = 0; t < records_.targets(); ++t) {
      out.bound.push_back(fresh_.bound_of(cell, t, alpha));
    }
    out.alpha = alpha;
    out.any_missed = fresh_.any_missed(cell, alpha);
  }

  void conclude() {
    records_.score();
    out_.recommended = best_;
    for (std::uint32_t cell = 0; cell < problem_.cells; ++cell) describe(cell);
    out_.nearest = nearest();
    out_.provisional = provisional();
    out_.boundary = out_.nearest < 0 ? "none" : records_.boundary(at(out_.nearest));
    std::erase_if(out_.stages, [&](std::uint32_t n) { return n > deepest_; });
    const bool left_open = std::any_of(out_.finalists.begin(), out_.finalists.end(),
                                       [&](std::uint32_t c) { return reason(c) == "budget"; });
    if (best_ >= 0) {
      const bool passed_over = left_open || screened_only();
      out_.cut_short = passed_over && ended();
      out_.stop_reason = passed_over
                             ? fmt::format("{} holds; whether a preferred one does was not decided",
                                           name_of(problem_, at(best_)))
                             : fmt::format("decided: {} holds", name_of(problem_, at(best_)));
      return;
    }
    const bool all_judged = std::none_of(
        problem_.preference.begin(), problem_.preference.end(),
        [&](std::uint32_t c) { return records_[c].excluded || records_[c].best_runs().empty(); });
    if (all_judged && !left_open && !ended()) {
      out_.stop_reason = "decided: no cell holds";
      return;
    }
    out_.undecided = true;
    out_.stop_reason = "the budget ended before anything was decided";
    out_.would_decide = would_decide();
  }

  /// The likeliest that looks met, else the nearest.
  int provisional() const {
    const std::vector<std::uint32_t> left = open_cells();
    if (left.empty()) return out_.nearest;
    const std::uint32_t cell = *likeliest(left, scores());
    return records_[cell].score >= 0 ? static_cast<int>(cell) : out_.nearest;
  }

  static std::uint32_t at(int cell) { return static_cast<std::uint32_t>(cell); }

  std::string reason(std::uint32_t cell) const {
    const CellRecord& record = records_[cell];
    if (record.held) return {};
    if (record.excluded) return "cold-limited";
    if (record.missed) return "slo";
    const auto& list = out_.finalists;
    const auto found = std::find(list.begin(), list.end(), cell);
    const bool needed = best_ < 0 || rank(cell) < rank(at(best_));
    if (!needed) return record.score < 0 ? "slo" : "not-needed";
    const auto place = static_cast<std::size_t>(found - list.begin());
    if (found != list.end() && !waits(place)) return finalists_[place].given_up ? "slo" : "budget";
    if (record.best_runs().empty()) return "budget";
    if (record.score < kUnlikely) return "slo";
    return ended() ? "budget" : "less-likely";
  }

  /// Whether some cell that is preferred to the best one looks met and was not verified.
  bool screened_only() const {
    return std::any_of(problem_.preference.begin(), problem_.preference.end(),
                       [&](std::uint32_t c) {
                         return rank(c) < rank(at(best_)) && records_[c].score >= 0 &&
                                (reason(c) == "less-likely" || reason(c) == "budget");
                       });
  }

  void describe(std::uint32_t cell) {
    const CellRecord& record = records_[cell];
    SelectedCell& out = out_.cells[cell];
    out.reason = reason(cell);
    out.replications = static_cast<std::uint32_t>(record.best_runs().size());
    out.length = record.fresh.empty() ? 1 : record.length;
    for (std::size_t t = 0; t < records_.targets() && out.replications > 0; ++t) {
      out.mean.push_back(records_.judges()[t].evidence(record.best_runs(), t).x.mean);
    }
    using State = SelectionState;
    out.state = record.excluded                                    ? State::kExcluded
                : record.held                                      ? State::kMet
                : record.missed                                    ? State::kMissed
                : !record.best_runs().empty() && record.score >= 0 ? State::kLooksMet
                                                                   : State::kLooksMissed;
  }

  /// On the replicates of the screening, lest cells that ran more be told apart by that. What was
  /// shown to miss before its end, and runs that were cut (they show too few misses), come last.
  int nearest() const {
    if (best_ >= 0) return best_;
    int out = -1;
    std::pair<std::size_t, double> closest;
    for (const std::uint32_t cell : problem_.preference) {
      const CellRecord& record = records_[cell];
      if (record.excluded || record.screened.empty()) continue;
      double distance = std::numeric_limits<double>::infinity();
      for (std::size_t t = 0; t < records_.targets(); ++t) {
        const TargetJudge& judge = records_.judges()[t];
        distance = std::min(distance, judge.distance(judge.evidence(record.screened, t).x));
      }
      const std::pair<std::size_t, double> here = {record.cut ? 0 : record.screened.size(),
                                                   distance};
      if (out >= 0 && here <= closest) continue;
      out = static_cast<int>(cell);
      closest = here;
    }
    return out;
  }

  /// What the cell that an undecided selection speaks for would take to be decided.
  std::string would_decide() const {
    if (out_.out_of_runs) {
      return fmt::format(
          "a budget of {} runs would reach the next stage, of about {} likely the end; {} were "
          "allowed",
          lacking_, std::max(likely_, lacking_), problem_.max_runs);
    }
    const bool one_open = std::any_of(out_.finalists.begin(), out_.finalists.end(),
                                      [&](std::uint32_t c) { return reason(c) == "budget"; });
    if (!one_open) {
      return "a longer trace: sizes that it does not fill cannot be judged, the others miss";
    }
    if (out_.stages.empty() && most() < kLeastReplications) {
      return fmt::format("at least {} replications; {} were allowed", kLeastReplications, most());
    }
    return what_settles(problem_, records_, at(out_.provisional));
  }

  const SelectionProblem& problem_;
  const RunBatch& run_;
  CellRecords records_;
  FreshVerdicts fresh_;
  double alpha_;
  Selection out_;
  std::vector<Finalist> finalists_;  // beside out_.finalists
  int best_ = -1;
  std::uint32_t deepest_ = 0;  // fresh replicates of the usual length
  double spent_ = 0;           // of alpha, by stages of the usual length
  std::uint64_t lacking_ = 0;  // to reach the next stage
  std::uint64_t likely_ = 0;   // to the end
};

}  // namespace

std::string name_of(const SelectionProblem& problem, std::uint32_t cell) {
  return cell < problem.names.size() ? problem.names[cell] : fmt::format("cell {}", cell);
}

Selection select_cell(const SelectionProblem& problem, const RunBatch& run) {
  KV_ASSERT(!problem.targets.empty(), "no target to select by");
  KV_ASSERT(problem.preference.size() == problem.cells, "{} cells are ranked of {}",
            problem.preference.size(), problem.cells);
  return Selector(problem, run).select();
}

}  // namespace spillway
