#include "models/engine/connectors/hicache/storage.hpp"

#include <algorithm>
#include <utility>

#include "sim/error.hpp"

namespace spillway {

namespace {

// cache_controller.py, storage_batch_size
constexpr std::size_t kBatchPages = 128;
// Of the device, where there is one of each at most.
constexpr std::uint32_t kReadJob = 0;
constexpr std::uint32_t kWriteJob = 1;

}  // namespace

HicacheStorage::HicacheStorage(const Environment& environment, const LevelConfig& config)
    : env_(environment),
      level_({env_.queue, env_.network, env_.observer, *this, env_.pages, env_.context, env_.shared,
              env_.global},
             config) {}

// ---- writing
// -------------------------------------------------------------------------------------

void HicacheStorage::back_up(Node node, std::uint32_t pages) {
  const std::uint32_t op = backups_.take();
  Backup& b = backups_[op];
  b.node = node;
  b.at = 0;
  b.pages.clear();
  env_.tree.append_pages(node, pages, b.pages);
  for (BlockId& page : b.pages) page = level_.name_of(page);
  env_.tree.guard(node);
  to_write_.push_back(op);
  write_on();
}

void HicacheStorage::write_on() {
  BlockStore& store = level_.store();
  while (!writing_ && !to_write_.empty()) {
    Backup& b = backups_[to_write_.front()];
    if (b.at == b.pages.size()) {
      written_.push_back(b.node);
      backups_.release(to_write_.front());
      to_write_.pop_front();
      continue;
    }
    batch_.clear();
    const std::size_t end = std::min(b.at + kBatchPages, b.pages.size());
    for (; b.at < end; ++b.at) {
      if (!store.place(b.pages[b.at]).here()) batch_.push_back(b.pages[b.at]);
    }
    if (batch_.empty()) continue;
    if (batch_.size() > store.capacity() || !store.make_room(batch_, {}, access())) {
      level_.counters.no_room += batch_.size();
      continue;
    }
    write_slots_.clear();
    store.begin_write(batch_, write_slots_);
    writing_ = true;
    ++level_.counters.cascades;
    level_.submit(StorageOp::kWrite, kWriteJob,
                  env_.page_bytes * static_cast<std::int64_t>(batch_.size()));
  }
}

void HicacheStorage::end_write() {
  writing_ = false;
  level_.store().end_write(write_slots_, access());
}

// ---- reading ahead
// -------------------------------------------------------------------------------

std::uint32_t& HicacheStorage::prefetch_of(Handle h) {
  const auto index = static_cast<std::size_t>(h);
  if (prefetch_of_.size() <= index) {
    prefetch_of_.resize(index + 1, kNone);
    fetched_.resize(index + 1, 0);
  }
  return prefetch_of_[index];
}

void HicacheStorage::prefetch(Handle h, PageChain chain, std::uint32_t tokens,
                              const RadixTree::Match& match) {
  std::uint32_t& place = prefetch_of(h);
  fetched_[static_cast<std::size_t>(h)] = 0;
  // Else what lies on the device would have to be locked. Copies begin at the root, so that the
  // last node has one too.
  if (!env_.tree.copied(match.device)) return;
  const std::uint32_t from = match.device_pages + match.host_pages;
  std::uint32_t pages = tokens / env_.page_tokens - from;
  const std::uint64_t least = env_.rules.threshold;
  const std::uint64_t limit = tokens_of(env_.host_pages) / 2;
  if (tokens_of(pages) < least || tokens_of(occupied_) >= limit) return;
  const Node anchor = match.last;
  env_.tree.guard(anchor);
  pages = env_.tree.reserve_host(pages, static_cast<std::uint32_t>(
                                            (least + env_.page_tokens - 1) / env_.page_tokens));
  if (pages == 0) return env_.tree.unguard(anchor);
  occupied_ += pages;

  const std::uint32_t op = prefetches_.take();
  Prefetch& p = prefetches_[op];
  p.anchor = anchor;
  p.from = from;
  p.reserved = pages;
  p.completed = 0;
  p.issued = env_.queue.now();
  ++p.epoch;
  p.stopped = p.failed = p.left = false;
  p.pages.clear();
  append_pages(chain, from, pages, p.pages);
  for (BlockId& page : p.pages) page = level_.name_of(page);
  const auto lacking = std::find_if_not(p.pages.begin(), p.pages.end(),
                                        [&](BlockId page) { return level_.holds(page); });
  p.pages.erase(lacking, p.pages.end());
  if (tokens_of(p.pages.size()) < least) {
    revoked_.push_back(op);
    return;
  }
  place = op;
  released_ += pages - p.pages.size();
  if (env_.rules.stop == PrefetchStop::kTimeout) {
    env_.queue.schedule(p.issued + this->limit(p), Phase::kTransferDone, *this,
                              {static_cast<std::uint16_t>(Kind::kTimeout), p.epoch, op});
  }
  to_read_.push_back(op);
  read_on();
}

void HicacheStorage::read_on() {
  BlockStore& store = level_.store();
  while (!reading_ && !to_read_.empty()) {
    Prefetch& p = prefetches_[to_read_.front()];
    const std::size_t end = std::min(p.completed + kBatchPages, p.pages.size());
    std::size_t at = p.completed;
    read_slots_.clear();
    for (; at < end && level_.holds(p.pages[at]); ++at) {
      read_slots_.push_back(store.place(p.pages[at]).slot());
    }
    short_read_ = at < end;
    if (read_slots_.empty()) {
      p.failed = true;
      leave(to_read_.front());
      continue;
    }
    store.begin_read(read_slots_);
    reading_ = true;
    ++level_.counters.promotions;
    level_.submit(StorageOp::kRead, kReadJob,
                  env_.page_bytes * static_cast<std::int64_t>(read_slots_.size()));
  }
}

void HicacheStorage::end_read() {
  reading_ = false;
  level_.store().end_read(read_slots_, access());
  const std::uint32_t op = to_read_.front();
  Prefetch& p = prefetches_[op];
  if (!p.stopped) {
    p.completed += static_cast<std::uint32_t>(read_slots_.size());
    p.failed = short_read_;
  }
  if (p.stopped || p.failed || p.completed == p.pages.size()) leave(op);
}

/// The reader has done with its front operation.
void HicacheStorage::leave(std::uint32_t op) {
  to_read_.pop_front();
  Prefetch& p = prefetches_[op];
  released_ += p.pages.size() - p.completed;
  p.left = true;
  if (p.stopped) prefetches_.release(op);
}

// ---- the scheduler's look
// ------------------------------------------------------------------------

Duration HicacheStorage::limit(const Prefetch& p) const {
  const auto tokens = static_cast<std::int64_t>(tokens_of(p.pages.size()));
  const Duration linear =
      env_.rules.timeout_base + Duration(env_.rules.timeout_per_ki_token.count() * tokens / 1024);
  return std::min(env_.rules.timeout_max, linear);
}

bool HicacheStorage::may_stop(const Prefetch& p) const {
  if (p.failed || p.completed == p.pages.size()) return true;
  switch (env_.rules.stop) {
    case PrefetchStop::kBestEffort:
      return true;
    case PrefetchStop::kWaitComplete:
      return false;
    case PrefetchStop::kTimeout:
      break;
  }
  return env_.queue.now() - p.issued >= limit(p);
}

bool HicacheStorage::admits(Handle h, PageChain chain) {
  const std::uint32_t op = prefetch_of(h);
  if (op != kNone && !may_stop(prefetches_[op])) return false;
  stop(h, chain);
  return true;
}

void HicacheStorage::stop(Handle h, PageChain chain) {
  const std::uint32_t op = std::exchange(prefetch_of(h), kNone);
  if (op == kNone) return;
  Prefetch& p = prefetches_[op];
  const std::uint32_t fresh = env_.tree.insert_host(p.anchor, chain, p.from, p.completed);
  env_.tree.give_host(p.completed - fresh);
  env_.tree.unguard(p.anchor);
  occupied_ -= p.reserved;
  fetched_[static_cast<std::size_t>(h)] = fresh;
  p.stopped = true;
  ++p.epoch;
  if (p.left) prefetches_.release(op);
}

std::uint32_t HicacheStorage::take_fetched(Handle h) {
  const auto index = static_cast<std::size_t>(h);
  return index < fetched_.size() ? std::exchange(fetched_[index], 0) : 0;
}

void HicacheStorage::drain() {
  for (const std::uint32_t op : revoked_) {
    const Prefetch& p = prefetches_[op];
    env_.tree.unguard(p.anchor);
    occupied_ -= p.reserved;
    released_ += p.reserved;
    prefetches_.release(op);
  }
  revoked_.clear();
  for (const Node node : written_) env_.tree.unguard(node);
  written_.clear();
  env_.tree.give_host(std::exchange(released_, 0));
}

// ---- what ends
// -----------------------------------------------------------------------------------

void HicacheStorage::on_level_progress(std::uint32_t job) {
  if (!read_ended_ && !write_ended_) {
    env_.queue.schedule(env_.queue.now(), Phase::kTransferDone, *this,
                              {static_cast<std::uint16_t>(Kind::kEnded), 0, 0});
  }
  (job == kReadJob ? read_ended_ : write_ended_) = true;
  level_.ended().clear();
}

void HicacheStorage::on_event(EventPayload payload) {
  if (static_cast<Kind>(payload.kind) == Kind::kEnded) return end_batches();
  if (prefetches_[payload.subject].epoch == payload.epoch) env_.waiter.on_transfer_progress();
}

void HicacheStorage::end_batches() {
  if (std::exchange(read_ended_, false)) end_read();
  if (std::exchange(write_ended_, false)) end_write();
  read_on();
  write_on();
  env_.waiter.on_transfer_progress();
}

void HicacheStorage::check_drained() const {
  KV_ASSERT(to_read_.empty() && to_write_.empty(), "storage has something left to do");
  if (!level_.shared()) level_.store().check_drained();
}

}  // namespace spillway
