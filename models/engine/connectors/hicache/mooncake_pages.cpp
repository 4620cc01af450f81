#include "models/engine/connectors/hicache/mooncake_pages.hpp"

#include <algorithm>
#include <utility>

namespace spillway {

namespace {

using Source = MooncakeStore::Source;

// At one instant all ends are settled before any thread goes on.
constexpr std::uint32_t kFirstRank = kBeforeSteps.ends + 1;

}  // namespace

MooncakePages::MooncakePages(const Environment& e, std::span<const ChunkTierConfig> tiers)
    : env_(e),
      shared_(tiers[0].shared),
      tells_of_store_(tiers[0].first),
      memory_(e.network, tiers[0].port, e.settlement, e.queue, e.observer, *this) {
  PortListener& self = *this;  // a private base, which emplace does not see
  if (tiers.size() > 1) {
    ssd_.emplace(e.network, tiers[1].port, e.settlement, e.queue, e.observer, self);
  }
}

std::uint32_t MooncakePages::ask(std::span<const BlockId> pages) {
  const auto lacking = std::find_if(pages.begin(), pages.end(), [&](BlockId page) {
    return env_.master.store().find(page, env_.queue.now()) == Source::kNowhere;
  });
  return static_cast<std::uint32_t>(lacking - pages.begin());
}

bool MooncakePages::begin_read(std::span<const BlockId> pages) {
  got_ = env_.queue.now();
  found_.clear();
  ByTier asked{};
  for (const BlockId page : pages) {
    const Source source = env_.master.store().find(page, got_);
    if (source == Source::kNowhere) break;
    found_.push_back(source == Source::kMemory ? 0 : 1);
    ++asked[found_.back()];
  }
  late_ = {};
  for (std::uint32_t tier = 0; tier < kMostTiers; ++tier) {
    if (asked[tier] == 0) continue;
    ++reads_;
    TierPort& port = tier == 0 ? memory_ : *ssd_;
    const Bytes page = tier == 0 ? env_.memory_bytes : env_.page_bytes;
    port.submit(StorageOp::kRead, tier, page * std::int64_t{asked[tier]});
  }
  return reads_ > 0;
}

std::uint32_t MooncakePages::end_read(std::vector<std::uint8_t>& from) {
  const auto failed =
      std::find_if(found_.begin(), found_.end(), [&](std::uint8_t tier) { return late_[tier]; });
  for (auto lost = failed; lost != found_.end(); ++lost) ++counts_[*lost].lost;
  from.insert(from.end(), found_.begin(), failed);
  return static_cast<std::uint32_t>(failed - found_.begin());
}

bool MooncakePages::begin_write(std::span<const BlockId> pages) {
  MooncakeStore& store = env_.master.store();
  const std::uint64_t failures = store.counters().put_failures;
  std::uint32_t replicas = 0;
  puts_.clear();
  for (const BlockId page : pages) {
    const auto put = store.put_start(page, env_.page_bytes, {}, env_.queue.now());
    if (!put) continue;
    puts_.push_back(*put);
    replicas += put->replicas;
  }
  counts_[0].refused += store.counters().put_failures - failures;
  env_.master.changed(going_on_);
  if (puts_.empty()) return false;
  // An operation for each page, with the bytes of its replicas.
  memory_.submit(StorageOp::kWrite, 0, env_.memory_bytes * std::int64_t{replicas},
                 static_cast<std::uint32_t>(puts_.size()));
  return true;
}

void MooncakePages::on_port_done(StorageOp op, std::uint32_t tier) {
  const bool told = read_ended_ || write_ended_;
  const Time now = env_.queue.now();
  if (op == StorageOp::kWrite) {
    for (const MooncakeStore::Put& put : puts_) env_.master.store().put_end(put, now);
    env_.master.changed();
    write_ended_ = true;
  } else {
    late_[tier] = now >= got_ + env_.master.store().config().lease;
    if (--reads_ > 0) return;
    read_ended_ = true;
  }
  if (told) return;
  const std::uint32_t rank = std::min(kFirstRank + env_.engine, kBeforeSteps.ticks - 1);
  env_.queue.schedule(now, kBeforeSteps.phase, rank, *this, {});
}

void MooncakePages::on_event(EventPayload) {
  const bool read = std::exchange(read_ended_, false);
  going_on_ = true;
  listener().on_batches_ended(read, std::exchange(write_ended_, false));
  going_on_ = false;
}

// ---- results

void MooncakePages::count(std::uint64_t asked, const ByTier& hits) {
  counts_[0].queries += asked;
  counts_[1].queries += asked - hits[0];
  for (std::size_t i = 0; i < kMostTiers; ++i) counts_[i].hits += hits[i];
}

void MooncakePages::report(EngineStats& stats) const {
  stats.chunk_tiers.assign(counts_.begin(), counts_.begin() + (ssd_ ? 2 : 1));
  stats.chunk_tiers[0].device = memory_.device();
  if (ssd_) stats.chunk_tiers[1].device = ssd_->device();
  if (tells_of_store_) env_.master.report(stats.chunk_tiers);
}

void MooncakePages::check_drained() const {
  if (tells_of_store_) env_.master.store().check_consistent();
}

}  // namespace spillway
