#include "scenarios/planner/selection/fresh_verdicts.hpp"

#include <algorithm>

namespace spillway {

bool FreshVerdicts::all_hold(std::uint32_t cell, double alpha) const {
  for (std::size_t t = 0; t < records_.targets(); ++t) {
    const TargetJudge& judge = records_.judges()[t];
    const Evidence e = judge.evidence(records_[cell].fresh, t);
    if (e.x.runs < kLeastReplications || !judge.holds(e, alpha, records_.usual(t))) return false;
  }
  return true;
}

bool FreshVerdicts::any_misses(std::uint32_t cell, double alpha) const {
  const double each = alpha / static_cast<double>(records_.targets());
  for (std::size_t t = 0; t < records_.targets(); ++t) {
    const TargetJudge& judge = records_.judges()[t];
    if (judge.misses(judge.evidence(records_[cell].fresh, t), each, records_.usual(t))) return true;
  }
  return false;
}

bool FreshVerdicts::any_misses_bets(std::uint32_t cell, double alpha) const {
  const double each = alpha / static_cast<double>(records_.targets());
  for (std::size_t t = 0; t < records_.targets(); ++t) {
    const TargetJudge& judge = records_.judges()[t];
    if (judge.misses_bets(judge.evidence(records_[cell].fresh, t), each)) return true;
  }
  return false;
}

double FreshVerdicts::bound_of(std::uint32_t cell, std::size_t t, double alpha) const {
  const TargetJudge& judge = records_.judges()[t];
  return judge.bound(judge.evidence(records_[cell].fresh, t), alpha, records_.usual(t));
}

std::optional<double> FreshVerdicts::any_missed(std::uint32_t cell, double alpha) const {
  double shares = 0;
  double requests = 0;  // of a run; targets of one tenant are about fewer
  const auto about = [&](std::size_t t) {
    return records_.judges()[t].evidence(records_[cell].fresh, t).x.requests;
  };
  for (std::size_t t = 0; t < records_.targets(); ++t) {
    const SelectionTarget& target = problem_.targets[t];
    if (!target.share && !target.at_least) return std::nullopt;
    if (target.share) ++shares;
    if (target.share) requests = std::max(requests, about(t));
  }
  if (shares == 0 || requests == 0) return std::nullopt;
  double out = 0;
  for (std::size_t t = 0; t < records_.targets(); ++t) {
    if (!problem_.targets[t].share) continue;
    out += bound_of(cell, t, alpha / shares) * (about(t) / requests);
  }
  return std::min(1.0, out);
}

double FreshVerdicts::needed(std::uint32_t cell, Aim aim) const {
  double out = 0;
  for (std::size_t t = 0; t < records_.targets(); ++t) {
    const Evidence e = records_.judges()[t].evidence(records_[cell].fresh, t);
    out = std::max(out, needed_length(records_.judges()[t], problem_.targets[t], e,
                                      records_.usual(t), aim, problem_.most_replications));
  }
  return out * records_[cell].length;
}

double FreshVerdicts::requests_of(std::uint32_t cell) const {
  double out = 0;
  for (std::size_t t = 0; t < records_.targets(); ++t) {
    out = std::max(out, records_.judges()[t].evidence(records_[cell].fresh, t).x.requests);
  }
  return out;
}

}  // namespace spillway
