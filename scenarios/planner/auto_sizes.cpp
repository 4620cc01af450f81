#include "scenarios/planner/auto_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "traces/stats/reuse_curve.hpp"

namespace spillway {

namespace {

constexpr int kSizes = 8;
constexpr std::int64_t kMib = std::int64_t{1} << 20;
constexpr std::int64_t kGib = std::int64_t{1} << 30;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

std::int64_t rounded_up(std::int64_t bytes, std::int64_t step) {
  return (bytes + step - 1) / step * step;
}

std::string text_of(std::int64_t bytes) {
  if (bytes % kGib == 0) return fmt::format("{}GiB", bytes / kGib);
  if (bytes % kMib == 0) return fmt::format("{}MiB", bytes / kMib);
  return fmt::format("{}B", bytes);
}

/// Bytes of the smallest LRU cache that hits as an infinite one does. Answers are stored as well
/// and take their share of it.
std::int64_t useful_bytes(const Scenario& s, const Workload& workload) {
  const ReuseCurve curve = reuse_curve(workload, TouchOrder::kReverse, Atomicity::kRequest);
  double answers = 0;
  for (const std::uint32_t tokens : workload.columns().output_tokens) answers += tokens;
  const double prompts = static_cast<double>(curve.unique_blocks) * workload.block_tokens();
  const double pollution = prompts > 0 ? 1 + answers / prompts : 1;
  const double tokens =
      static_cast<double>(curve.block.last_capacity()) * workload.block_tokens() * pollution;
  const double bytes =
      tokens * static_cast<double>(s.tier_block_bytes().count()) / s.engine.block_tokens;
  return static_cast<std::int64_t>(std::min(bytes, static_cast<double>(kMostBytes)));
}

/// Of the host, for one instance's tier; 0: not known, or the tier is not in host memory.
std::int64_t host_bytes(const Scenario& s) {
  if (!s.host || (s.tier && s.tier->storage)) return 0;
  const std::int64_t left = s.host->memory.count() - s.host->reserved.count();
  const std::int64_t engines =
      std::int64_t{s.host->instances} * std::max<std::int64_t>(1, s.engine.data_parallel);
  return std::max<std::int64_t>(0, left / engines);
}

}  // namespace

AutoSizes auto_sizes(const Scenario& s, const Workload& workload) {
  AutoSizes out;
  out.useful_bytes = useful_bytes(s, workload);
  const std::int64_t host = host_bytes(s);
  const bool bounded = host > 0 && host < out.useful_bytes;
  const std::int64_t top = bounded ? host : out.useful_bytes;
  // What can be set: what the plan rounds to, or whole GiB where these are fine enough.
  std::int64_t step = top >= 16 * kGib ? kGib : kMib;
  const PlanChoice& plan = *s.plan;
  if (!plan.round_to.empty()) {
    SourceRef where = plan.where;
    where.field = "plan.round_to";
    step = std::max<std::int64_t>(1, parse_bytes(plan.round_to, where).count());
  }
  step = std::max(step, rounded_up(s.tier_slot().count(), step));
  // `scope: rank` sizes are written per rank.
  const std::int64_t written = s.tier->per_rank ? std::max(1U, s.world()) : 1;
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = top / written; static_cast<int>(sizes.size()) < kSizes - 1;
       bytes /= 2) {
    const std::int64_t rounded =
        bounded ? std::max(step, bytes / step * step) : rounded_up(std::max(bytes, step), step);
    if (!sizes.empty() && rounded >= sizes.back()) break;
    sizes.push_back(rounded);
  }
  out.sizes.emplace_back("0GiB");
  std::for_each(sizes.rbegin(), sizes.rend(),
                [&](std::int64_t bytes) { out.sizes.push_back(text_of(bytes)); });
  out.method = fmt::format(
      "Sizes were chosen from the trace's reuse: LRU gains nothing beyond {}{}",
      format_bytes(static_cast<double>(out.useful_bytes)),
      bounded ? fmt::format("; the host's memory ends the grid at {}", out.sizes.back()) : "");
  return out;
}

}  // namespace spillway
