// The fast part of a drive that takes writes first, and what a drive has worn.
//
// A write fills the cache at the full rate; what does not fit goes at the sustained rate. The cache
// drains only while no write runs: a drive that is written without a pause never recovers.
#pragma once

#include "models/tier/storage_spec.hpp"

namespace spillway {

class WriteCache {
 public:
  /// `rate`: of writes that find room. Preconditions: rates above 0, the sustained one at most
  /// `rate`.
  WriteCache(const WriteCacheSpec& spec, std::int64_t rate);

  /// Writes `bytes` from `start`, when the earlier write has ended, and tells how long it takes.
  Duration write(Time start, Bytes bytes);

  Bytes level_at(Time now) const;
  /// Spent at the sustained rate so far.
  Duration slow() const { return slow_; }

 private:
  WriteCacheSpec spec_;
  std::int64_t rate_;
  Bytes level_{0};
  Time idle_since_{};
  Duration slow_{0};
};

/// Bytes that went to and from a device, and what that means for the drive's life.
/// Model: KV is written in whole large operations, so the drive writes what the host wrote (no
/// write amplification).
struct DeviceWear {
  Bytes read{0};
  Bytes written{0};

  /// How often the whole of `drive` was written.
  double drive_writes(Bytes drive) const {
    return static_cast<double>(written.count()) / static_cast<double>(drive.count());
  }
  /// Share of the rated endurance that was used up.
  double endurance_share(Bytes rated) const {
    return static_cast<double>(written.count()) / static_cast<double>(rated.count());
  }
};

}  // namespace spillway
