#include "models/engine/connectors/lmcache_mp/mp_server.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

// ---- ticks

/// storage_controllers/eviction_controller.py and eviction_policy/lru.py: a share of the keys, not
/// of the bytes, oldest first, past those that are locked.
void MpStore::tick() {
  const auto ppm = [](std::int64_t value) { return static_cast<WideInt>(value); };
  constexpr std::int64_t kMillion = 1'000'000;
  if (ppm(table.used().count()) * kMillion <
      ppm(table.capacity().count()) * config_.watermark_ppm) {
    return;
  }
  ++ticks;
  auto count = std::max<std::int64_t>(1, table.named() * config_.ratio_ppm / kMillion);
  scratch_.clear();
  for (ChunkSlot slot = table.first(); slot != kNoChunkSlot && count > 0;
       slot = table.after(slot)) {
    if (!table.idle(slot)) continue;
    scratch_.push_back(slot);
    --count;
  }
  if (scratch_.empty()) ++idle_ticks;
  for (const ChunkSlot slot : scratch_) table.drop(slot);
  evicted += scratch_.size();
}

// ---- L2

class MpServer::L2 final : private PortListener {
 public:
  L2(MpServer& server, MpStore& store, const ChunkTierConfig& config, std::uint32_t copies,
     const Place& place)
      : server_(server),
        store_(store),
        copies_(copies),
        port_(place.network, config.port, place.settlement, place.queue, place.observer, *this) {}

  MpStore& store() { return store_; }
  const TierPort& port() const { return port_; }
  std::uint64_t refused() const { return refused_; }

  void push(std::span<const ChunkId> ids) { submit(StorageOp::kWrite, ids, 0); }
  /// Touched now, and safe until it ends.
  void read(std::span<const ChunkId> ids, std::uint32_t lookup) {
    for (const ChunkId id : ids) {
      const ChunkSlot slot = store_.table.find(id);
      store_.table.touch(slot);
      store_.table.pin(slot);
    }
    submit(StorageOp::kRead, ids, lookup);
  }

 private:
  struct Job {
    std::vector<ChunkId> ids;
    std::uint32_t lookup = 0;
  };
  Bytes bytes_of_chunk() const { return server_.chunk_ * std::int64_t{copies_}; }
  void submit(StorageOp op, std::span<const ChunkId> ids, std::uint32_t lookup) {
    const std::uint32_t job = jobs_.take();
    jobs_[job].ids.assign(ids.begin(), ids.end());
    jobs_[job].lookup = lookup;
    port_.submit(op, job, bytes_of_chunk() * static_cast<std::int64_t>(ids.size()));
  }
  void on_port_done(StorageOp op, std::uint32_t job) override {
    const Job& ended = jobs_[job];  // nothing is submitted here
    jobs_.release(job);
    ChunkTable& table = store_.table;
    if (op == StorageOp::kRead) {
      for (const ChunkId id : ended.ids) table.unpin(table.find(id));
      return server_.end_prefetch(ended.lookup, ended.ids);
    }
    for (const ChunkId id : ended.ids) {
      if (const ChunkSlot old = table.find(id); old != kNoChunkSlot) {
        table.touch(old);
      } else if (!table.fits(bytes_of_chunk())) {
        ++refused_;
      } else {
        const ChunkSlot slot = table.take(bytes_of_chunk());
        table.name(slot, id);
        table.done(slot);
      }
    }
    server_.pushed(ended.ids);
  }

  MpServer& server_;
  MpStore& store_;
  std::uint32_t copies_;
  TierPort port_;
  Slab<Job> jobs_;
  std::uint64_t refused_ = 0;
};

MpServer::MpServer(const ChunkedConfig& config, const LmcacheMpConfig& rules, Bytes chunk,
                   const Place& place)
    : rules_(rules),
      chunk_(chunk),
      settlement_(place.settlement),
      waiter_(place.waiter),
      l1_(config.tiers.front().capacity, rules, place.ticker) {
  for (std::size_t i = 1; i < config.tiers.size(); ++i) {
    const ChunkTierConfig& tier = config.tiers[i];
    MpStore& store = place.shared.at<MpStore>(
        tier.number, [&] { return std::make_unique<MpStore>(tier.capacity, rules, place.ticker); });
    l2_.push_back(std::make_unique<L2>(*this, store, tier, config.copies, place));
  }
}

MpServer::~MpServer() = default;

MpStore& MpServer::l2(std::size_t i) {
  return l2_[i]->store();
}
const MpStore& MpServer::l2(std::size_t i) const {
  return l2_[i]->store();
}
std::uint64_t MpServer::refused(std::size_t i) const {
  return l2_[i]->refused();
}
const StorageDevice* MpServer::device(std::size_t i) const {
  return l2_[i]->port().device();
}

bool MpServer::idle() const {
  return std::all_of(l2_.begin(), l2_.end(), [](const auto& l2) { return l2->port().idle(); });
}

// ---- look-ups

std::uint32_t MpServer::look_up(std::span<const ChunkId> ids) {
  const std::uint32_t number = lookups_.take();
  MpLookup& look = lookups_[number];
  look.ids.assign(ids.begin(), ids.end());
  look.tiers.clear();
  look.settled = false;
  look.abandoned = false;
  look.jobs = 0;
  for (const ChunkId id : ids) {
    if (!l1_.table.has(id)) break;
    l1_.table.pin(l1_.table.find(id));
    look.tiers.push_back(0);
  }
  if (look.found() == ids.size() || l2_.empty()) {
    settle_answer(number);
  } else {
    waiting_.push_back(number);
    start_prefetches();
  }
  return number;
}

void MpServer::settle_answer(std::uint32_t number) {
  lookups_[number].settled = true;
  lookups_[number].abandoned ? abandon(number) : waiter_.on_answer(number);
}

void MpServer::abandon(std::uint32_t number) {
  MpLookup& look = lookups_[number];
  look.abandoned = true;
  if (!look.settled) return;
  for (std::uint32_t i = 0; i < look.found(); ++i) unlock(look.ids[i]);
  forget(number);
}

void MpServer::start_prefetches() {
  while (!waiting_.empty() && prefetching_ < rules_.prefetches) {
    const std::uint32_t number = waiting_.front();
    waiting_.pop_front();
    prefetch(number);
  }
}

/// The contiguous run that L2 tiers have, of the first that has each chunk, up to what L1 has or is
/// writing; reserved all or nothing, and one job for each tier (prefetch_controller.py).
void MpServer::prefetch(std::uint32_t number) {
  MpLookup& look = lookups_[number];
  const std::uint32_t first = look.found();
  from_.clear();
  for (std::size_t i = first; i < look.ids.size(); ++i) {
    if (l1_.table.find(look.ids[i]) != kNoChunkSlot) break;
    const auto has = std::find_if(
        l2_.begin(), l2_.end(), [&](const auto& l2) { return l2->store().table.has(look.ids[i]); });
    if (has == l2_.end()) break;
    from_.push_back(static_cast<std::uint8_t>(1 + (has - l2_.begin())));
  }
  const auto run = std::span(look.ids).subspan(first, from_.size());
  const auto count = static_cast<std::int64_t>(run.size());
  if (run.empty() || !l1_.table.fits(chunk_ * count)) {
    if (!run.empty()) refused_ += run.size();
    return settle_answer(number);
  }
  for (const ChunkId id : run) l1_.table.name(l1_.table.take(chunk_), id, true);
  ++prefetching_;
  look.tiers.insert(look.tiers.end(), from_.begin(), from_.end());
  for (std::size_t tier = 0; tier < l2_.size(); ++tier) {
    part_.clear();
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (from_[i] == tier + 1) part_.push_back(run[i]);
    }
    if (part_.empty()) continue;
    ++look.jobs;
    l2_[tier]->read(part_, number);
  }
}

/// A tier's part is there: readable, locked for who asked, and gone with its last lock unless it is
/// to be retained.
void MpServer::end_prefetch(std::uint32_t number, std::span<const ChunkId> ids) {
  for (const ChunkId id : ids) {
    const ChunkSlot slot = l1_.table.find(id);
    l1_.table.written(slot);
    l1_.table.done(slot);
    l1_.table.pin(slot);
    mark(slot) = rules_.retain ? 0 : 1;
  }
  if (--lookups_[number].jobs > 0) return;
  --prefetching_;
  settlement_.tell_after(*this);
  settle_answer(number);
}

// ---- stores

bool MpServer::reserve(std::span<const ChunkId> ids, std::vector<ChunkId>& out) {
  out.clear();
  for (const ChunkId id : ids) {
    if (l1_.table.find(id) == kNoChunkSlot) out.push_back(id);
  }
  if (!l1_.table.fits(chunk_ * static_cast<std::int64_t>(out.size()))) {
    refused_ += out.size();
    out.clear();
    return false;
  }
  for (const ChunkId id : out) {
    const ChunkSlot slot = l1_.table.take(chunk_);
    l1_.table.name(slot, id, true);
    mark(slot) = 0;
  }
  return !out.empty();
}

void MpServer::written(std::span<const ChunkId> ids) {
  for (const ChunkId id : ids) {
    const ChunkSlot slot = l1_.table.find(id);
    l1_.table.written(slot);
    l1_.table.done(slot);
    if (l2_.empty()) continue;
    pushes_.resize(std::max(pushes_.size(), std::size_t{static_cast<std::uint32_t>(slot)} + 1));
    pushes_[static_cast<std::uint32_t>(slot)] = static_cast<std::uint8_t>(l2_.size());
    for (std::size_t i = 0; i < l2_.size(); ++i) l1_.table.pin(slot);
  }
  for (const auto& l2 : l2_) l2->push(ids);
}

/// An L2 has had its chance at these.
void MpServer::pushed(std::span<const ChunkId> ids) {
  for (const ChunkId id : ids) {
    const ChunkSlot slot = l1_.table.find(id);
    if (--pushes_[static_cast<std::uint32_t>(slot)] == 0 && rules_.skip_l1) mark(slot) = 1;
    unlock(id);
  }
}

void MpServer::unlock(ChunkId id) {
  const ChunkSlot slot = l1_.table.find(id);
  KV_ASSERT(slot != kNoChunkSlot, "a locked chunk is gone");
  l1_.table.unpin(slot);
  if (l1_.table.pinned(slot) || mark(slot) == 0) return;
  mark(slot) = 0;
  ++vanished_;
  l1_.table.drop(slot);
}

/// The head of the sequence first: its tail is evicted last (eviction.py, on_keys_finished).
void MpServer::touch(std::span<const ChunkId> ids) {
  for (const ChunkId id : ids) {
    if (const ChunkSlot slot = l1_.table.find(id); slot != kNoChunkSlot) l1_.table.touch(slot);
  }
}

std::uint8_t& MpServer::mark(ChunkSlot slot) {
  const auto i = static_cast<std::uint32_t>(slot);
  if (marks_.size() <= i) marks_.resize(std::size_t{i} + 1);
  return marks_[i];
}

}  // namespace spillway
