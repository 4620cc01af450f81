#include "scenarios/planner/too_short.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/format.hpp"

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
  out.why = fmt::format(
      "the workload is too short for {}. A replicate of it is {} requests, which bring {} blocks "
      "of "
      "{} tokens",
      all ? "every size tried"
          : fmt::format("{}, and what it fills misses the SLO", smallest->name),
      format_count(replicate.size()), format_count(static_cast<std::uint64_t>(brought)),
      s.engine.block_tokens);
  const std::optional<std::uint64_t> room = largest_blocks(smallest->run);
  if (!room) {
    out.why += fmt::format("; {} is never full, and more and more is found in it", smallest->name);
  } else {
    const TierResult& hbm = smallest->run.tiers.front();
    out.why += fmt::format(
        "; {} has room for {}{}, and is to be full by the middle of the arrivals, "
        "or to find no more as time goes on",
        smallest->name, format_count(*room), hbm.capacity_blocks == *room ? " in HBM" : "");
    // As long as new requests bring new blocks.
    const double needed = 2 * static_cast<double>(*room) / std::max(brought, 1.0);
    if (needed > 1) {
      out.would_decide = fmt::format(
          "about {} requests like these (workload.replication.requests, or a longer trace)",
          format_count(static_cast<std::uint64_t>(std::ceil(needed * replicate.size()))));
    }
    const double fills = brought / 2;
    if (fills > static_cast<double>(hbm.capacity_blocks) && fills < static_cast<double>(*room)) {
      out.would_decide +=
          fmt::format("{}sizes of at most {}", out.would_decide.empty() ? "" : ", or ",
                      format_bytes(fills * static_cast<double>(s.tier_block_bytes().count())));
    }
  }
  if (out.would_decide.empty()) out.would_decide = "a longer trace";
  out.would_decide += "; --replications 1 shows what the workload itself did, cold as it was";
  return out;
}

}  // namespace spillway
