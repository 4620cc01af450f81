#include "scenarios/planner/too_short.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/format.hpp"
#include "scenarios/scenario/scenario.hpp"

namespace spillway {

namespace {

/// Blocks of the engine that a workload's prompts and answers bring, each counted once.
double blocks_of(const Workload& workload, const Scenario& s) {
  double tokens = static_cast<double>(workload.unique_blocks()) * workload.block_tokens();
  for (const std::uint32_t answer : workload.columns().output_tokens) tokens += answer;
  return tokens / s.engine.block_tokens;
}

/// Of the tier that has to be full once; nothing where none has a bound.
std::optional<std::uint64_t> largest_blocks(const RunResult& run) {
  std::uint64_t out = 0;
  for (const TierResult& tier : run.tiers) {
    if (tier.unbounded) return std::nullopt;
    out = std::max(out, tier.capacity_blocks);
  }
  return out;
}

}  // namespace

std::optional<TooShort> too_short(const PlanResult& plan, const SearchSpace& space,
                                  const Workload& replicate) {
  const auto cold = [](const PlanPoint& p) { return p.verdict == CellVerdict::kExcluded; };
  const auto smallest = std::find_if(plan.points.begin(), plan.points.end(), cold);
  const bool others_miss = std::all_of(plan.points.begin(), plan.points.end(),
                                       [&](const auto& p) { return cold(p) || p.reason == "slo"; });
  if (smallest == plan.points.end() || !others_miss) return std::nullopt;
  const bool all = std::all_of(plan.points.begin(), plan.points.end(), cold);
  const auto at = static_cast<std::size_t>(smallest - plan.points.begin());
  const Scenario& s = space.cells[at].scenario;
  const double brought = blocks_of(replicate, s);
  TooShort out;
  out.why =
      fmt::format("the trace is too short to fill {}{}", all ? "any size tried" : smallest->name,
                  all ? "" : ", and the sizes that it fills miss the SLO");
  const std::optional<std::uint64_t> room = largest_blocks(smallest->run);
  if (room) {
    const TierResult& hbm = smallest->run.tiers.front();
    // As long as new requests bring new blocks.
    const double needed = 2 * static_cast<double>(*room) / std::max(brought, 1.0);
    if (needed > 1) {
      const auto requests = static_cast<std::uint64_t>(std::ceil(needed * replicate.size()));
      out.would_decide =
          fmt::format("{} requests like these (--set workload.replication.requests={})",
                      format_count(requests), requests);
    }
    const double fills = brought / 2;
    if (fills > static_cast<double>(hbm.capacity_blocks) && fills < static_cast<double>(*room)) {
      out.would_decide +=
          fmt::format("{}sizes of at most {}", out.would_decide.empty() ? "" : ", or ",
                      format_bytes(fills * static_cast<double>(s.tier_block_bytes().count())));
    }
  }
  if (out.would_decide.empty()) out.would_decide = "a longer trace";
  return out;
}

}  // namespace spillway
