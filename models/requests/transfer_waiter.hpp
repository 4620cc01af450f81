// Who waits for transfers: an engine, told by whatever submitted them.
#pragma once

#include <cstdint>

#include "sim/ids.hpp"

namespace spillway {

enum class Handle : std::uint32_t;

/// What happens to a load on its way up, in this order; served and paused once for each hop.
enum class LoadEvent : std::uint8_t {
  kSubmitted,
  kServed,  ///< some station has begun to serve it, or a part of it
  kPaused,  ///< none does any longer
  kEnded,
};

class TransferWaiter {
 public:
  /// Told whenever a transfer ended.
  virtual void on_transfer_progress() = 0;
  /// Instead, where a transfer matters to the step under way only: nothing else can begin by it.
  virtual void on_step_progress() {}
  /// Of a connector's load job. Not told of loads in layers.
  virtual void on_load(std::uint32_t /*job*/, LoadEvent) {}
  /// Of a promotion towards the nearest tier, for a request that may be gone by now.
  virtual void on_promotion(Handle, RequestId, LoadEvent) {}

 protected:
  ~TransferWaiter() = default;
};

}  // namespace spillway
