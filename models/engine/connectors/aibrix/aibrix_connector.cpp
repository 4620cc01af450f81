#include "models/engine/connectors/aibrix/aibrix_connector.hpp"

#include <algorithm>

#include "models/chains/local_chains.hpp"

namespace spillway {

namespace {

/// L1 keeps its capacity free of what is on its way to or from L2 (memory/allocator.py).
L1Cache::Size size_of(const OffloadConfig& config, const ChunkedConfig& tiers) {
  const AibrixConfig& c = config.aibrix;
  const ChunkTierConfig& host = tiers.tiers.front();
  L1Cache::Size out;
  out.capacity = host.capacity;
  out.block = config.block_bytes;
  out.buffers = static_cast<std::uint64_t>(host.capacity / config.block_bytes);
  if (tiers.tiers.size() > 1) {
    const std::uint32_t chunk = c.chunk_blocks(config.block_tokens);
    const std::uint32_t quota = c.quota_blocks(config.block_tokens);
    out.buffers += std::uint64_t{2} * chunk + (quota > 0 ? quota : chunk);
  }
  out.small = Bytes(floor_times(host.capacity.count(), c.small_fifo_ratio));
  out.promo_threshold = c.promo_threshold;
  out.order = host.order;
  return out;
}

}  // namespace

AibrixConnector::AibrixConnector(const Environment& environment, const ChunkedConfig& config,
                                 const AibrixL2::Place& place)
    : UnaskedConnector(environment.config, environment.requests, environment.waiter),
      env_(environment),
      config_(config),
      l1_(size_of(environment.config, config), *this) {
  KV_ASSERT(!config.tiers.empty() && config.tiers.size() <= stats_.size(), "{} tiers of AIBrix",
            config.tiers.size());
  if (config.tiers.size() == 1) return;
  const AibrixL2::Rules rules{
      environment.config.block_bytes * std::int64_t{config.copies},
      environment.config.aibrix.quota_blocks(environment.config.block_tokens)};
  l2_.emplace(config.tiers[1], rules, l1_, place);
}

void AibrixConnector::plan_stores(const StepPlan& plan, Time, StepTransfers&) {
  items_.clear();
  for (std::uint32_t place = 0; place < plan.items.size(); ++place) {
    const ScheduledTokens& item = plan.items[place];
    std::uint64_t& order = orders_[item.request];
    if (order == 0) order = ++next_order_;
    const std::uint32_t prompt = env_.requests[item.request].prompt;
    if (item.computed >= prompt) continue;
    items_.push_back({item.request, order, place, item.computed, item.tokens,
                      std::min(item.tokens, prompt - item.computed)});
  }
  std::sort(items_.begin(), items_.end(),
            [](const AibrixItem& a, const AibrixItem& b) { return a.order < b.order; });
}

void AibrixConnector::on_finished(Handle h, bool held) {
  orders_[h] = 0;
  UnaskedConnector::on_finished(h, held);
}

void AibrixConnector::name(Handle h, std::uint32_t first, std::uint32_t last,
                           std::vector<ChunkId>& out) const {
  out.clear();
  env_.chains.global().for_runs(env_.requests[h].id, first, last,
                                [&](std::uint32_t id, std::uint32_t count) {
                                  for (std::uint32_t i = 0; i < count; ++i) {
                                    out.push_back(ChunkId{id + i});
                                  }
                                  return true;
                                });
}

void AibrixConnector::on_block(Ingestion what, ChunkId id, L1Buffer buffer) {
  if (l2_ && what == env_.config.aibrix.ingestion) l2_->write(id, buffer);
}

TierLevel AibrixConnector::level(std::uint32_t tier) const {
  if (tier == 0) return {l1_.stored(), l1_.evicted(), l1_.entries(), l1_.entries()};
  return levels_.level(config_.tiers[tier], tier, l2_->table(), env_.config.block_bytes);
}

void AibrixConnector::report(EngineStats& stats) const {
  stats.offload = counters_;
  stats.chunk_tiers.assign(stats_.begin(),
                           stats_.begin() + static_cast<std::ptrdiff_t>(config_.tiers.size()));
  ChunkTierStats& host = stats.chunk_tiers[0];
  host.stored = l1_.stored();
  host.evicted = l1_.evicted();
  host.held = l1_.entries();
  host.peak_bytes = l1_.peak().count() * std::int64_t{config_.copies};
  if (!l2_) return;
  ChunkTierStats& out = stats.chunk_tiers[1];
  ChunkLevels::tell(config_.tiers[1], l2_->table(), 1, out);
  out.refused += l2_->refused();
  out.device = l2_->device();
}

}  // namespace spillway
