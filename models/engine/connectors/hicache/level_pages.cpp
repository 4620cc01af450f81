#include "models/engine/connectors/hicache/level_pages.hpp"

#include <algorithm>
#include <utility>

namespace spillway {

namespace {

// Of the device, where there is one of each at most.
constexpr std::uint32_t kReadJob = 0;
constexpr std::uint32_t kWriteJob = 1;

}  // namespace

LevelPages::LevelPages(const Environment& e, const LevelConfig& config)
    : queue_(e.queue),
      page_bytes_(e.page_bytes),
      level_({e.queue, e.network, e.observer, *this, e.pages, e.context, e.shared, e.global},
             config) {}

std::uint32_t LevelPages::ask(std::span<const BlockId> pages) {
  const auto lacking = std::find_if_not(pages.begin(), pages.end(),
                                        [&](BlockId page) { return level_.holds(page); });
  return static_cast<std::uint32_t>(lacking - pages.begin());
}

bool LevelPages::begin_read(std::span<const BlockId> pages) {
  BlockStore& store = level_.store();
  read_slots_.clear();
  for (const BlockId page : pages.first(ask(pages))) {
    read_slots_.push_back(store.place(page).slot());
  }
  if (read_slots_.empty()) return false;
  store.begin_read(read_slots_);
  ++level_.counters.promotions;
  level_.submit(StorageOp::kRead, kReadJob,
                page_bytes_ * static_cast<std::int64_t>(read_slots_.size()));
  return true;
}

std::uint32_t LevelPages::end_read(std::vector<std::uint8_t>& from) {
  level_.store().end_read(read_slots_, access());
  from.insert(from.end(), read_slots_.size(), 0);
  return static_cast<std::uint32_t>(read_slots_.size());
}

bool LevelPages::begin_write(std::span<const BlockId> pages) {
  BlockStore& store = level_.store();
  batch_.clear();
  std::copy_if(pages.begin(), pages.end(), std::back_inserter(batch_),
               [&](BlockId page) { return !store.place(page).here(); });
  if (batch_.empty()) return false;
  if (batch_.size() > store.capacity() || !store.make_room(batch_, {}, access())) {
    level_.counters.no_room += batch_.size();
    return false;
  }
  write_slots_.clear();
  store.begin_write(batch_, write_slots_);
  ++level_.counters.cascades;
  level_.submit(StorageOp::kWrite, kWriteJob,
                page_bytes_ * static_cast<std::int64_t>(batch_.size()));
  return true;
}

void LevelPages::on_level_progress(std::uint32_t job) {
  if (!read_ended_ && !write_ended_) {
    queue_.schedule(queue_.now(), Phase::kTransferDone, *this, {});
  }
  (job == kReadJob ? read_ended_ : write_ended_) = true;
  level_.ended().clear();
}

void LevelPages::on_event(EventPayload) {
  const bool read = std::exchange(read_ended_, false);
  listener().on_batches_ended(read, std::exchange(write_ended_, false));
}

void LevelPages::count(std::uint64_t asked, const ByTier& hits) {
  level_.counters.queries += asked;
  level_.counters.hits += hits[0];
}

TierLevel LevelPages::level() {
  level_.settle();
  const LevelCounters& c = level_.counters;
  const auto held = static_cast<std::uint32_t>(c.stored - c.evicted);
  return {c.stored, c.evicted, held, held};
}

void LevelPages::check_drained() const {
  if (!level_.shared()) level_.store().check_drained();
}

}  // namespace spillway
