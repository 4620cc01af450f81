// What the blocks of a scratch file hold: random, so that nothing compresses it, no two pages
// alike, so that nothing stores them once, and known by position, so that it can be verified.
//
// A page's body is one of 256 random ones in turn; its first 16 bytes are its position and a mark
// of this run. A buffer for blocks at one place modulo 1 MiB keeps its body: before each write only
// the stamps change, which costs little against the write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spillway {

class BlockContent {
 public:
  static constexpr std::int64_t kPage = std::int64_t{4} << 10;
  static constexpr std::int64_t kPeriod = std::int64_t{1} << 20;  ///< bodies repeat after that

  explicit BlockContent(std::uint64_t seed);

  /// The body for a block at `offset`, a multiple of its size or of kPeriod.
  void fill(std::byte* buffer, std::int64_t bytes, std::int64_t offset) const;
  /// Marks the pages of a block that lies in the body's place as those at `offset`.
  void stamp(std::byte* buffer, std::int64_t bytes, std::int64_t offset) const;
  /// Whether the first page bears the stamp of `offset`.
  bool stamped(const std::byte* buffer, std::int64_t offset) const;
  /// Whether every byte is right.
  bool equals(const std::byte* buffer, std::int64_t bytes, std::int64_t offset) const;

 private:
  struct Stamp {
    std::uint64_t page;
    std::uint64_t mark;
  };
  Stamp stamp_of(std::int64_t offset) const;

  std::vector<std::uint64_t> pool_;
  std::uint64_t mark_;
};

}  // namespace spillway
