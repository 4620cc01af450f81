#include "reports/plan/limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/compared.hpp"
#include "reports/format.hpp"
#include "reports/plan/cells.hpp"

namespace spillway {

namespace {

/// Of one side: where a limit was looked for, or only one step to that side was made.
std::optional<FactorLimit> limit_of(const SensitivityRow& row, bool above, bool base_met) {
  const std::optional<double>& changes = above ? row.changes_above : row.changes_below;
  const SensitivitySide& side = above ? row.high : row.low;
  FactorLimit out{row.factor, above, changes.value_or(1), {}};
  if (changes) {
    out.misses = above ? row.missed_above : row.missed_below;
    // A document that somebody edited may say what cannot be.
    if (out.misses &&
        (above ? *out.misses <= out.holds : *out.misses >= out.holds || *out.misses <= 0)) {
      out.misses.reset();
    }
    if (!out.misses && !side.met && side.factor != out.holds) out.misses = side.factor;
    return out;
  }
  if (!base_met || side.met || side.factor == 1 || side.factor <= 0) return std::nullopt;
  out.misses = side.factor;
  return out;
}

}  // namespace

double FactorLimit::distance() const {
  return above ? end() : end() > 0 ? 1 / end() : 1e300;
}

std::vector<FactorLimit> factor_limits(const PlanResult& plan) {
  std::vector<FactorLimit> out;
  if (!plan.sensitivity || plan.recommended < 0) return out;
  const bool base_met = plan.sensitivity->margin >= 0;
  for (const SensitivityRow& row : plan.sensitivity->rows) {
    for (const bool above : {false, true}) {
      if (auto limit = limit_of(row, above, base_met)) out.push_back(*std::move(limit));
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const FactorLimit& a, const FactorLimit& b) {
    return a.distance() < b.distance();
  });
  return out;
}

std::optional<FactorLimit> factor_limit(const PlanResult& plan, std::string_view factor,
                                        bool above) {
  for (FactorLimit& limit : factor_limits(plan)) {
    if (limit.factor == factor && limit.above == above) return std::move(limit);
  }
  return std::nullopt;
}

std::optional<FactorLimit> traffic_limit(const PlanResult& plan) {
  const std::optional<FactorLimit> rate = factor_limit(plan, "arrival rate", true);
  if (!plan.stress || plan.recommended < 0) return rate;
  const PlanPoint& answer = cell_at(plan, plan.recommended);
  if (plan.stress->cell != name_of_cell(answer) && plan.stress->cell != answer.capacity)
    return rate;
  FactorLimit sessions{"sessions", true, 1, {}};
  for (const StressRow& row : plan.stress->rows) {
    if (!row.growth || *row.growth <= 1 || row.outcome != StressOutcome::kMissed) continue;
    sessions.misses = std::min(*row.growth, sessions.misses.value_or(*row.growth));
  }
  if (!sessions.misses) return rate;
  for (const StressRow& row : plan.stress->rows) {
    const bool held =
        row.growth && *row.growth < *sessions.misses && row.outcome == StressOutcome::kMet;
    if (held) sessions.holds = std::max(sessions.holds, *row.growth);
  }
  const auto told = [](const FactorLimit& l) { return l.holds > 1 ? l.holds : l.end(); };
  return rate && told(*rate) <= told(sessions) ? rate : sessions;
}

std::string limit_name(const FactorLimit& limit) {
  return fmt::format("{} {} {} times what it is", limit.factor,
                     limit.misses  ? "at"
                     : limit.above ? "above"
                                   : "below",
                     format_real(limit.end()));
}

std::string limit_figures(const FactorLimit& limit) {
  const std::string held =
      limit.holds == 1 ? std::string("1 (as it is)") : format_real(limit.holds);
  if (!limit.misses) return fmt::format("{} still meets the SLO", held);
  return fmt::format("{} misses the SLO, {} meets it; values between were not tried",
                     format_real(*limit.misses), held);
}

std::string factor_meaning(std::string_view factor) {
  if (factor == "arrival rate") {
    return "the same requests, sent faster";
  }
  if (factor == "clients") return "the same requests, sent by more clients at once";
  return "";
}

std::string margin_text(double margin) {
  if (margin >= -1) return format_percent(margin);
  return format_real(1 - margin) + " times the limit";
}

std::string event_name(const StressRow& row) {
  const bool growth = row.kind == "forecast" || row.kind == "peak";
  return growth && !row.change.empty() ? fmt::format("{} ({})", row.name, row.change) : row.name;
}

std::string event_figures(const StressRow& row) {
  if (row.target.empty()) return row.reason;
  return fmt::format("{} {}, target {} {}", row.target, format_real(row.value),
                     row.at_least ? "at least" : "at most", format_real(row.limit));
}

bool not_needed(const PlanPoint& point) {
  return point.verdict == CellVerdict::kLooksMet && point.reason == "not-needed";
}

std::optional<double> attainment_bound(const PlanPoint& point) {
  const bool made =
      std::any_of(point.targets.begin(), point.targets.end(),
                  [](const TargetEstimate& target) { return target.bound.has_value(); });
  if (!made || point.replications == 0 || point.attainment_low <= 0) return std::nullopt;
  return point.attainment_low;
}

Certain certain_of(const PlanPoint& point, double level) {
  double may_miss = 0;
  bool each = point.verdict == CellVerdict::kMet && !point.targets.empty();
  for (const TargetEstimate& target : point.targets) {
    if (target.share) may_miss += target.limit;
    each = each && target.backed;
  }
  const std::string sure = fmt::format("{:.4g}% confidence", 100 * level);
  const std::optional<double> bound = attainment_bound(point);
  if (each && (!bound || *bound < 1 - may_miss)) {
    return {attainment_text(point), "each target met with " + sure};
  }
  if (!bound) return {attainment_text(point), "no bound with " + sure};
  const std::vector<std::string> shares = format_percents({point.attainment, *bound});
  return {shares[0], fmt::format("at least {}, with {}", shares[1], sure)};
}

std::string attainment_text(const PlanPoint& point) {
  return (point.attainment_at_most ? "at most " : "") + format_percent(point.attainment);
}

std::string and_list(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return out;
}

}  // namespace spillway
