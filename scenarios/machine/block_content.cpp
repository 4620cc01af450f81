#include "scenarios/machine/block_content.hpp"

#include <algorithm>
#include <cstring>

#include "sim/rng.hpp"

namespace spillway {

BlockContent::BlockContent(std::uint64_t seed)
    : pool_(static_cast<std::size_t>(kPeriod) / sizeof(std::uint64_t)) {
  Stream random(seed, "calibrate-blocks");
  for (std::uint64_t& word : pool_) word = random.bits();
  mark_ = random.bits();
}

void BlockContent::fill(std::byte* buffer, std::int64_t bytes, std::int64_t offset) const {
  const auto* pool = reinterpret_cast<const std::byte*>(pool_.data());
  for (std::int64_t at = 0; at < bytes;) {
    const std::int64_t from = (offset + at) % kPeriod;
    const std::int64_t n = std::min(bytes - at, kPeriod - from);
    std::memcpy(buffer + at, pool + from, static_cast<std::size_t>(n));
    at += n;
  }
}

BlockContent::Stamp BlockContent::stamp_of(std::int64_t offset) const {
  const auto page = static_cast<std::uint64_t>(offset / kPage);
  return {page, mix64(page ^ mark_)};
}

void BlockContent::stamp(std::byte* buffer, std::int64_t bytes, std::int64_t offset) const {
  for (std::int64_t at = 0; at < bytes; at += kPage) {
    const Stamp stamp = stamp_of(offset + at);
    std::memcpy(buffer + at, &stamp, sizeof stamp);
  }
}

bool BlockContent::stamped(const std::byte* buffer, std::int64_t offset) const {
  const Stamp stamp = stamp_of(offset);
  return std::memcmp(buffer, &stamp, sizeof stamp) == 0;
}

bool BlockContent::equals(const std::byte* buffer, std::int64_t bytes, std::int64_t offset) const {
  const auto* pool = reinterpret_cast<const std::byte*>(pool_.data());
  for (std::int64_t at = 0; at < bytes; at += kPage) {
    constexpr std::size_t kStamp = sizeof(Stamp);
    const std::byte* body = pool + (offset + at) % kPeriod;
    if (!stamped(buffer + at, offset + at) ||
        std::memcmp(buffer + at + kStamp, body + kStamp,
                    static_cast<std::size_t>(kPage) - kStamp) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace spillway
