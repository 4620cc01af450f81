#include "scenarios/replay/cell.hpp"

#include <algorithm>
#include <atomic>

namespace spillway {

namespace {

/// References between two looks at the progress.
constexpr std::uint64_t kStride = std::uint64_t{1} << 18;

std::uint64_t total_capacity(std::span<const ReplayTierSetup> tiers) {
  std::uint64_t sum = 0;
  for (const ReplayTierSetup& tier : tiers) {
    if (tier.capacity_blocks >= kUnboundedCache - sum) return kUnboundedCache;
    sum += tier.capacity_blocks;
  }
  return sum;
}

}  // namespace

ReplayCell::ReplayCell(std::string policy, std::span<const ReplayTierSetup> tiers,
                       const TieredReplaySetup& setup)
    : policy_(std::move(policy)),
      capacity_(total_capacity(tiers)),
      tiered_(true),
      replay_(std::in_place, std::in_place_type<TieredReplay>, tiers, setup) {}

void ReplayCell::conclude() {
  counts_ = std::visit([](const auto& replay) { return ReplayCounts(replay.counts()); }, *replay_);
  if (const auto* stack = std::get_if<TieredReplay>(&*replay_)) {
    for (const ReplayTier& tier : stack->tiers()) tiers_.push_back(tier.counts());
  }
  replay_.reset();
}

CellRun::CellRun(std::vector<ReplayCell*> cells) : cells_(std::move(cells)) {
  std::stable_sort(cells_.begin(), cells_.end(), [](const ReplayCell* a, const ReplayCell* b) {
    // Without a bound there is nothing to keep in order.
    const auto work = [](const ReplayCell* c) {
      return c->capacity() == kUnboundedCache && !c->tiered() ? 0 : c->capacity();
    };
    return work(a) > work(b);
  });
}

void CellRun::all(const RequestBatch& batch, unsigned threads, const ReadProgress& progress) {
  std::atomic<std::uint64_t> done{0};
  const std::uint64_t total = batch.chain.size() * cells_.size();
  parallel_for(cells_.size(), threads, [&](std::size_t i) {
    std::size_t from = 0;
    while (from < batch.size()) {
      const auto limit = batch.chain_begin.begin() + static_cast<std::ptrdiff_t>(from + 1);
      const auto end =
          std::lower_bound(limit, batch.chain_begin.end() - 1, batch.chain_begin[from] + kStride);
      const auto to = static_cast<std::size_t>(end - batch.chain_begin.begin());
      const RequestBatch part = batch.part(from, to);
      cells_[i]->run(part);
      progress(done += part.chain.size(), total);
      from = to;
    }
    cells_[i]->conclude();
  });
}

}  // namespace spillway
