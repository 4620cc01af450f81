#include "scenarios/planner/judgement/harm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "reports/format.hpp"
#include "reports/plan/limits.hpp"

namespace spillway {

namespace {

constexpr double kWorthSaying = 0.01;

double part_of(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

/// Of prompt tokens, what the sources from `first` on served.
double served_from(const RunResult& run, std::size_t first, std::size_t last) {
  double tokens = 0;
  const auto& sources = run.prompt_tokens_by_source;
  for (std::size_t i = first; i < std::min(last, sources.size()); ++i) {
    tokens += static_cast<double>(sources[i].second);
  }
  return part_of(tokens, static_cast<double>(run.input_tokens));
}

std::size_t tightest_of(const std::vector<TargetView>& targets) {
  std::size_t out = 0;
  for (std::size_t i = 1; i < targets.size(); ++i) {
    if (targets[i].margin < targets[out].margin) out = i;
  }
  return out;
}

}  // namespace

double served_below(const RunResult& run) {
  return served_from(run, 2, run.prompt_tokens_by_source.size());
}

TierHarm harm_of(const RunResult& without, const RunResult& with) {
  TierHarm out;
  std::vector<std::string> how;
  double lost = 0;
  const auto lose = [&](double seconds, const char* what) {
    lost += seconds;
    const double share = part_of(seconds, with.steps_s);
    if (share < kWorthSaying) return;
    how.push_back(fmt::format("{} {} of the time of steps.", what, format_percent(share)));
  };
  lose(with.connector_s.value_or(0), "The connector itself takes");
  lose(with.flush_stall_s, "Steps wait for stores");
  lose(with.load_wait ? with.load_wait->stall_s : 0, "Steps wait for loads");
  lose(with.copy_harm_s.value_or(0), "Copies slow steps by");
  const double hbm[2] = {served_from(without, 1, 2), served_from(with, 1, 2)};
  if (hbm[0] - hbm[1] >= kWorthSaying) {
    how.push_back(fmt::format("HBM serves {} of prompt tokens, {} without the tier.",
                              format_percent(hbm[1]), format_percent(hbm[0])));
  }
  const auto per_hundred = [](const RunResult& run) {
    return 100 * part_of(static_cast<double>(run.preemptions), static_cast<double>(run.requests));
  };
  if (per_hundred(with) - per_hundred(without) >= 1) {
    how.push_back(fmt::format("Of 100 requests {:.0f} are preempted, {:.0f} without the tier.",
                              per_hundred(with), per_hundred(without)));
  }
  out.lost_share = part_of(lost, with.steps_s);
  out.served_share = served_below(with);
  out.how = fmt::format("{}", fmt::join(how, " "));
  return out;
}

double loss(const TargetView& before, const TargetView& at) {
  const double worse = at.at_least ? before.value - at.value : at.value - before.value;
  const double base = at.at_least ? std::max(before.value, at.value) : before.value;
  if (base > 0) return worse / base;
  return worse > 0 ? 1 : 0;
}

std::optional<std::size_t> hurt_target(const Compared& both) {
  const std::vector<TargetView>& before = both.first;
  const std::vector<TargetView>& at = both.second;
  std::optional<std::size_t> broken;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (!before[i].met || at[i].met || !both.apart[i] || loss(before[i], at[i]) <= 0) continue;
    if (!broken || loss(before[i], at[i]) > loss(before[*broken], at[*broken])) broken = i;
  }
  if (broken) return broken;
  const std::size_t tight = tightest_of(at);
  const bool worse = at[tight].margin < before[tightest_of(before)].margin;
  if (worse && both.apart[tight] && loss(before[tight], at[tight]) > kSlower) return tight;
  return std::nullopt;
}

}  // namespace spillway
