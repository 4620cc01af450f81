// The memory that this process takes in large pieces. Each is told before it is touched, so that
// what does not fit ends with a sentence instead of being killed by the system.
//
// The program counts what `operator new` hands out in pieces of kLargePiece and more
// (scenarios/machine/large_pieces.cpp); what is got otherwise is told here by whoever gets it.
// Without watch_memory(), as in unit tests, nothing is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

namespace spillway {

/// Smaller ones cost more to count than they weigh.
inline constexpr std::size_t kLargePiece = std::size_t{1} << 18;

/// What the system says at one moment, in bytes.
struct MemoryState {
  std::int64_t free = 0;           ///< as the machine and the process' cgroup see it
  std::int64_t address_space = 0;  ///< what ulimit -v leaves
  std::int64_t resident = 0;       ///< what the process has
};

/// There is less memory than what comes next takes (exit 7).
class MemoryShort final : public std::bad_alloc {
 public:
  MemoryShort(std::int64_t needed, std::int64_t free);
  const char* what() const noexcept override { return what_; }

 private:
  char what_[160];
};

/// From now on large pieces are refused where `look` says that they do not fit. It may not take
/// large pieces itself. Null: nobody watches any more.
void watch_memory(MemoryState (*look)());

/// Throws MemoryShort, and nothing is taken then.
void take_memory(std::size_t bytes);
void give_memory(std::size_t bytes) noexcept;
/// Throws MemoryShort: the system has no addresses left for `bytes`.
[[noreturn]] void refuse_memory(std::size_t bytes);

/// A file's pages: counted and never refused, for the system gets them back as it likes.
void map_memory(std::size_t bytes);
void unmap_memory(std::size_t bytes) noexcept;

/// What is got otherwise than by operator new, for as long as this lives.
class MemoryClaim {
 public:
  explicit MemoryClaim(std::size_t bytes) : bytes_(bytes) { take_memory(bytes); }
  /// Of many small pieces, counted as they become a large one.
  void grow(std::size_t more) {
    uncounted_ += more;
    if (uncounted_ < kLargePiece) return;
    take_memory(uncounted_);
    bytes_ += std::exchange(uncounted_, 0);
  }
  ~MemoryClaim() { give_memory(bytes_); }
  MemoryClaim(const MemoryClaim&) = delete;
  MemoryClaim& operator=(const MemoryClaim&) = delete;
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::size_t uncounted_ = 0;
};

/// The most that the process has asked for at once since watch_memory(), and what it had by then;
/// 0 where nobody watches.
std::int64_t memory_estimate();

/// "3.2 GiB".
std::string memory_words(std::int64_t bytes);

}  // namespace spillway
