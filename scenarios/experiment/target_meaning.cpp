#include "scenarios/experiment/target_meaning.hpp"

#include <algorithm>
#include <utility>

#include "scenarios/run/tenant_figures.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "sim/request_targets.hpp"
#include "sim/run_metrics.hpp"

namespace spillway {

namespace {

using Figure = TargetMeaning::Figure;

constexpr std::pair<std::string_view, Figure> kFigures[] = {
    {"_ttft_ms", Figure::kTtft},
    {"_tpot_ms", Figure::kTpot},
    {"_e2el_ms", Figure::kE2el},
    {"_itl_ms", Figure::kItl},
    {"_decode_cold_blocks_per_token", Figure::kCold},
    {kRejectedShare, Figure::kRejected}};

/// Shares above a percentile: written out, as 1 - 0.99 is not 0.01.
constexpr std::pair<std::string_view, double> kAbove[] = {
    {"median_", 0.5}, {"p90_", 0.1}, {"p95_", 0.05}, {"p99_", 0.01}};

double allowed_above(const SloTarget& target) {
  for (const auto& [beginning, above] : kAbove) {
    if (target.name.starts_with(beginning)) return above;
  }
  return 0;
}

}  // namespace

TargetMeaning::TargetMeaning(const SloTarget& target, const Workload& workload)
    : target_(&target), workload_(&workload) {
  for (const auto& [ending, figure] : kFigures) {
    if (target.name.ends_with(ending)) figure_ = figure;
  }
  allowed_ = allowed_above(target);
  if (!target.tenant.empty()) tenant_ = tenant_number(target, workload);
}

bool TargetMeaning::is_about(RequestId request) const {
  if (figure_ == Figure::kTpot && workload_->output_tokens(request) < 2) return false;
  return target_->tenant.empty() || workload_->columns().tenant[raw(request)] == tenant_;
}

double TargetMeaning::value_of(const RequestRecord& r) const {
  switch (figure_) {
    case Figure::kTtft:
      return milliseconds_of(r.first_token - r.arrival);
    case Figure::kTpot:
      return milliseconds_of(tpot_of(r));
    default:
      return milliseconds_of(r.finish - r.arrival);
  }
}

bool is_share(const SloTarget& target) {
  return allowed_above(target) > 0 || target.name == kRejectedShare;
}

std::vector<TargetMeaning> meanings_of(const Scenario& scenario, const Workload& workload) {
  std::vector<TargetMeaning> out;
  for (const SloTarget& target : scenario.slo) out.emplace_back(target, workload);
  return out;
}

bool rejection_allowed(const std::vector<TargetMeaning>& targets, RequestId request) {
  return std::any_of(targets.begin(), targets.end(), [&](const TargetMeaning& target) {
    return target.figure() == Figure::kRejected && target.is_about(request);
  });
}

}  // namespace spillway
