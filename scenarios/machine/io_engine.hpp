// Reads and writes of a file at a given number in flight, with the time of each.
//
// Two ways to the same end: io_uring, and pread/pwrite with one thread for each operation in
// flight, for systems that do not permit io_uring.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/machine/block_content.hpp"

namespace spillway {

struct IoLoad {
  int fd = -1;
  bool write = false;
  std::int64_t block = 4096;
  std::uint32_t qd = 1;
  std::uint32_t jobs = 1;
  /// Random blocks of [0, extent), a multiple of 1 MiB and of `block`; or, in order, those from
  /// `begin` to `extent`, once (one job).
  std::int64_t extent = 0;
  std::int64_t begin = -1;
  bool once = false;         ///< random, but no block twice: for cold reads
  double seconds = 1;        ///< then no more are submitted
  std::uint64_t least = 32;  ///< operations, even if that takes up to eight times as long
  std::uint64_t seed = 1;
};

struct IoOutcome {
  std::vector<double> latency_us;  ///< of each operation
  std::uint64_t operations = 0;
  double seconds = 0;   ///< from the first submission to the last completion
  double cv = 0;        ///< of the time that equal batches of operations took
  std::string problem;  ///< of the system, or contents other than those written
  bool no_space = false;
};

enum class IoEngine : std::uint8_t { kUring, kPread };
std::string_view name_of(IoEngine engine);

/// Whether this system lets us use io_uring.
bool uring_permitted();

/// `stop` is asked by the calling thread only.
IoOutcome run_io(IoEngine engine, const IoLoad& load, const BlockContent& content,
                 const std::function<bool()>& stop);

}  // namespace spillway
