#include "scenarios/planner/judgement/harm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "models/compute/step_cost.hpp"
#include "reports/format.hpp"
#include "scenarios/scenario/scenario.hpp"

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

double seconds_per_prompt_token(const Scenario& scenario) {
  const PrefillChunk chunk{std::max(1U, scenario.engine.max_num_batched_tokens), 0};
  StepShape shape;
  shape.prefills = {&chunk, 1};
  return seconds_of(scenario.make_cost()->step_time(shape)) / chunk.tokens;
}

}  // namespace

TierHarm harm_of(const Scenario& scenario, const RunResult& without, const RunResult& with) {
  TierHarm out;
  std::vector<std::string> how;
  // Engines work side by side.
  const double time = with.duration_s * scenario.engines();
  double lost = 0;
  const auto lose = [&](double seconds, const char* what) {
    lost += seconds;
    const double share = part_of(seconds, time);
    if (share < kWorthSaying) return;
    how.push_back(fmt::format("{} {} of the time.", what, format_percent(share)));
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
  out.lost_share = part_of(lost, time);
  out.served_share = served_from(with, 2, with.prompt_tokens_by_source.size());
  if (lost > 0) {
    const double all = seconds_per_prompt_token(scenario) * static_cast<double>(with.input_tokens);
    out.pays_from_share = part_of(lost, all);
  }
  out.how = fmt::format("{}", fmt::join(how, " "));
  return out;
}

}  // namespace spillway
