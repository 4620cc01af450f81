// Who waits for transfers: an engine, told by whatever submitted them.
#pragma once

namespace spillway {

/// Told whenever a transfer ended.
class TransferWaiter {
 public:
  virtual void on_transfer_progress() = 0;

 protected:
  ~TransferWaiter() = default;
};

}  // namespace spillway
