#include "sim/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>

namespace spillway {

namespace {

// The system is asked once in so many bytes: its answer takes as long as clearing some of them.
constexpr std::int64_t kAskEvery = std::int64_t{32} << 20;

struct Ledger {
  std::atomic<std::int64_t> taken{0};
  std::atomic<std::int64_t> mapped{0};
  std::atomic<std::int64_t> peak{0};   ///< of both
  std::atomic<std::int64_t> asked{0};  ///< `taken` when the system was asked last
  std::atomic<MemoryState (*)()> look{nullptr};
  std::atomic<std::int64_t> itself{0};
};

Ledger& ledger() {
  static Ledger only;
  return only;
}

std::int64_t size_of(std::size_t bytes) {
  constexpr auto kMost = std::int64_t{1} << 62;
  return static_cast<std::int64_t>(std::min<std::size_t>(bytes, kMost));
}

void note_peak(Ledger& l) {
  const std::int64_t now = l.taken + l.mapped;
  std::int64_t peak = l.peak;
  while (now > peak && !l.peak.compare_exchange_weak(peak, now)) {
  }
}

}  // namespace

MemoryShort::MemoryShort(std::int64_t needed, std::int64_t free) {
  const auto end = fmt::format_to_n(
      what_, std::size(what_) - 1,
      "out of memory: {} more are needed, {} are free (machine, cgroup, ulimit -v)",
      memory_words(needed), memory_words(std::max<std::int64_t>(0, free)));
  *end.out = '\0';
}

void watch_memory(MemoryState (*look)()) {
  Ledger& l = ledger();
  l.itself = look == nullptr ? 0 : look().resident;
  l.asked = l.taken.load();
  l.peak = l.taken + l.mapped;
  l.look = look;
}

void take_memory(std::size_t bytes) {
  Ledger& l = ledger();
  const std::int64_t size = size_of(bytes);
  const std::int64_t taken = l.taken.fetch_add(size) + size;
  if (const auto look = l.look.load(); look != nullptr && taken - l.asked > kAskEvery) {
    l.asked = taken;
    const MemoryState now = look();
    // What was taken and not yet touched is free as the system sees it.
    const std::int64_t untouched = std::max(size, taken + l.itself - now.resident);
    if (untouched > now.free) {
      l.taken -= size;
      l.asked = l.taken.load();
      throw MemoryShort(untouched, now.free);
    }
  }
  note_peak(l);
}

void give_memory(std::size_t bytes) noexcept {
  Ledger& l = ledger();
  l.taken -= size_of(bytes);
  if (l.asked > l.taken) l.asked = l.taken.load();
}

void refuse_memory(std::size_t bytes) {
  const auto look = ledger().look.load();
  throw MemoryShort(size_of(bytes), look == nullptr ? 0 : look().address_space);
}

void map_memory(std::size_t bytes) {
  Ledger& l = ledger();
  l.mapped += size_of(bytes);
  note_peak(l);
}

void unmap_memory(std::size_t bytes) noexcept {
  ledger().mapped -= size_of(bytes);
}

std::int64_t memory_estimate() {
  const Ledger& l = ledger();
  return l.look.load() == nullptr ? 0 : l.itself + l.peak;
}

std::string memory_words(std::int64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (bytes >= std::int64_t{1} << 30) return fmt::format("{:.1f} GiB", b / (1 << 30));
  return fmt::format("{:.0f} MiB", b / (1 << 20));
}

}  // namespace spillway
