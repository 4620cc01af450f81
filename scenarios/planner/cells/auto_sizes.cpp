#include "scenarios/planner/cells/auto_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/format.hpp"
#include "reports/notes/plan_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/host.hpp"
#include "scenarios/scenario/sections/plan.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "traces/stats/reuse_curve.hpp"

namespace spillway {

namespace {

constexpr std::size_t kSizes = 8;
constexpr std::int64_t kMib = std::int64_t{1} << 20;
constexpr std::int64_t kGiBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::int64_t kUsualHost = 4096 * kGiBytes;  // hardly a server has room for more

std::int64_t rounded_up(std::int64_t bytes, std::int64_t step) {
  return (bytes + step - 1) / step * step;
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

/// For one instance's tier; 0: not bounded, as the tier is not in host memory.
std::int64_t most_bytes(const Scenario& s) {
  if (s.tier->storage) return 0;
  const std::int64_t engines = std::max<std::int64_t>(1, s.engine.data_parallel);
  if (!s.host) return kUsualHost / engines;
  const std::int64_t left = s.host->memory.count() - s.host->reserved.count();
  return std::max<std::int64_t>(0, left / (engines * s.host->instances));
}

/// What the grid ends at, as sizes of the tier are written.
struct Top {
  std::int64_t bytes = 0;
  std::int64_t slot = 1;  ///< less than this holds nothing
  bool bounded = false;   ///< by the host, which must not be exceeded
};

std::int64_t rounded(const Top& top, std::int64_t bytes, std::int64_t step) {
  return top.bounded ? std::max(step, bytes / step * step)
                     : rounded_up(std::max(bytes, step), step);
}

/// Multiples of what the plan rounds to, descending by halves.
std::vector<std::int64_t> halves(const Top& top, std::int64_t step) {
  step = std::max(step, rounded_up(top.slot, step));
  std::vector<std::int64_t> out;
  for (std::int64_t bytes = top.bytes; out.size() < kSizes - 1; bytes /= 2) {
    const std::int64_t next = rounded(top, bytes, step);
    if (!out.empty() && next >= out.back()) break;
    out.push_back(next);
  }
  return out;
}

/// What modules of memory add up to: the top in whole 64 GiB, in whole 32 GiB from 128 to 512 GiB,
/// finer below, and the powers of two under it, descending.
std::vector<std::int64_t> powers_of_two(const Top& top) {
  const std::int64_t coarsest = (top.bytes > 512 * kGiBytes ? 64 : 32) * kGiBytes;
  std::int64_t step = kMib;
  while (step < top.slot || (2 * step <= top.bytes / 4 && step < coarsest)) step *= 2;
  std::vector<std::int64_t> out = {rounded(top, top.bytes, step)};
  std::int64_t next = kMib;
  while (2 * next < out.front()) next *= 2;
  for (; next >= top.slot && out.size() < kSizes - 1; next /= 2) {
    if (out.back() - next >= top.slot) out.push_back(next);
  }
  return out;
}

}  // namespace

AutoSizes auto_sizes(const Scenario& s, const Workload& workload) {
  AutoSizes out;
  out.useful_bytes = useful_bytes(s, workload);
  const std::int64_t host = most_bytes(s);
  // `scope: rank` sizes are written per rank.
  const std::int64_t written = s.tier->per_rank ? std::max(1U, s.world()) : 1;
  Top top;
  top.bounded = out.bounded = host > 0 && host < out.useful_bytes;
  top.bytes = (top.bounded ? host : out.useful_bytes) / written;
  top.slot = (s.tier_slot().count() + written - 1) / written;
  const PlanChoice& plan = *s.plan;
  std::vector<std::int64_t> sizes;
  if (plan.round_to.empty()) {
    sizes = powers_of_two(top);
  } else {
    SourceRef where = plan.where;
    where.field = "plan.round_to";
    sizes = halves(top, std::max<std::int64_t>(1, parse_bytes(plan.round_to, where).count()));
  }
  out.sizes.emplace_back("0GiB");
  std::for_each(sizes.rbegin(), sizes.rend(),
                [&](std::int64_t bytes) { out.sizes.push_back(bytes_text(bytes)); });
  NoteFigures figures = {{"useful_bytes", out.useful_bytes}};
  if (top.bounded) figures.emplace_back("largest", spaced(out.sizes.back()));
  out.method = !top.bounded ? plan_note("sizes-from-reuse", std::move(figures))
               : s.host     ? plan_note("sizes-end-at-host", std::move(figures))
                            : plan_note("sizes-end-at-usual-host", std::move(figures));
  return out;
}

}  // namespace spillway
