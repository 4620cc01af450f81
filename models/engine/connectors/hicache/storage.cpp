#include "models/engine/connectors/hicache/storage.hpp"

#include <algorithm>
#include <utility>

#include "sim/error.hpp"

namespace spillway {

namespace {

// cache_controller.py, storage_batch_size
constexpr std::size_t kBatchPages = 128;

}  // namespace

HicacheStorage::HicacheStorage(const Environment& environment, std::unique_ptr<PageStorage> pages)
    : env_(environment), pages_(std::move(pages)) {
  pages_->attach(*this);
}

// ---- writing
// -------------------------------------------------------------------------------------

void HicacheStorage::back_up(Node node, std::uint32_t pages) {
  const std::uint32_t op = backups_.take();
  Backup& b = backups_[op];
  b.node = node;
  b.at = 0;
  b.pages.clear();
  env_.tree.append_pages(node, pages, b.pages);
  for (BlockId& page : b.pages) page = pages_->name_of(page);
  env_.tree.guard(node);
  to_write_.push_back(op);
  write_on();
}

void HicacheStorage::write_on() {
  while (!writing_ && !to_write_.empty()) {
    Backup& b = backups_[to_write_.front()];
    if (b.at == b.pages.size()) {
      written_.push_back(b.node);
      backups_.release(to_write_.front());
      to_write_.pop_front();
      continue;
    }
    const std::size_t count = std::min(kBatchPages, b.pages.size() - b.at);
    const auto batch = std::span<const BlockId>(b.pages).subspan(b.at, count);
    b.at += count;
    writing_ = pages_->begin_write(batch);
  }
}

// ---- reading ahead
// -------------------------------------------------------------------------------

std::uint32_t& HicacheStorage::prefetch_of(Handle h) {
  const auto index = static_cast<std::size_t>(h);
  if (prefetch_of_.size() <= index) {
    prefetch_of_.resize(index + 1, kNone);
    fetched_.resize(index + 1);
  }
  return prefetch_of_[index];
}

void HicacheStorage::prefetch(Handle h, PageChain chain, std::uint32_t tokens,
                              const RadixTree::Match& match) {
  std::uint32_t& place = prefetch_of(h);
  fetched_[static_cast<std::size_t>(h)].clear();
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
  pages = env_.tree.reserve_host(
      pages, static_cast<std::uint32_t>((least + env_.page_tokens - 1) / env_.page_tokens));
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
  p.tiers.clear();
  append_pages(chain, from, pages, p.pages);
  for (BlockId& page : p.pages) page = pages_->name_of(page);
  p.pages.resize(pages_->ask(p.pages));
  if (tokens_of(p.pages.size()) < least) {
    revoked_.push_back(op);
    return;
  }
  place = op;
  released_ += pages - p.pages.size();
  if (env_.rules.stop == PrefetchStop::kTimeout) {
    env_.queue.schedule(p.issued + this->limit(p), Phase::kTransferDone, *this, {0, p.epoch, op});
  }
  to_read_.push_back(op);
  read_on();
}

/// What is to be read of it next.
std::span<const BlockId> HicacheStorage::batch_of(const Prefetch& p) {
  const std::size_t count = std::min<std::size_t>(kBatchPages, p.pages.size() - p.completed);
  return std::span(p.pages).subspan(p.completed, count);
}

void HicacheStorage::read_on() {
  while (!reading_ && !to_read_.empty()) {
    Prefetch& p = prefetches_[to_read_.front()];
    reading_ = pages_->begin_read(batch_of(p));
    if (reading_) return;
    p.failed = true;
    leave(to_read_.front());
  }
}

void HicacheStorage::end_read() {
  reading_ = false;
  const std::uint32_t op = to_read_.front();
  Prefetch& p = prefetches_[op];
  const std::size_t wanted = batch_of(p).size();
  const std::uint32_t came = pages_->end_read(p.tiers);
  if (!p.stopped) {
    p.completed += came;
    p.failed = came < wanted;
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
  const auto met = p.tiers.begin() + (p.completed - fresh);
  fetched_[static_cast<std::size_t>(h)].assign(met, met + fresh);
  p.stopped = true;
  ++p.epoch;
  if (p.left) prefetches_.release(op);
}

PageStorage::ByTier HicacheStorage::take_fetched(Handle h, std::uint32_t loaded) {
  PageStorage::ByTier out{};
  const auto index = static_cast<std::size_t>(h);
  if (index >= fetched_.size()) return out;
  std::vector<std::uint8_t>& from = fetched_[index];
  for (std::size_t i = 0; i < std::min<std::size_t>(from.size(), loaded); ++i) ++out[from[i]];
  from.clear();
  return out;
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

void HicacheStorage::on_event(EventPayload payload) {
  if (prefetches_[payload.subject].epoch == payload.epoch) env_.waiter.on_transfer_progress();
}

void HicacheStorage::on_batches_ended(bool read, bool write) {
  if (read) end_read();
  if (write) {
    writing_ = false;
    pages_->end_write();
  }
  read_on();
  write_on();
  env_.waiter.on_transfer_progress();
}

void HicacheStorage::check_drained() const {
  KV_ASSERT(to_read_.empty() && to_write_.empty(), "storage has something left to do");
  pages_->check_drained();
}

}  // namespace spillway
