// One path between HBM and host memory for several connectors: each submits by numbers of its own,
// and all wait for the same copy engines.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "models/link/copy_path.hpp"

namespace spillway {

class SharedPath final : public TransferListener {
 public:
  static constexpr std::uint32_t kUsers = 2;

  void attach(std::unique_ptr<TransferPath> path) { path_ = std::move(path); }
  /// What one of the users submits to; `listener` is told of its own. This outlives it.
  std::unique_ptr<TransferPath> part(std::uint32_t user, TransferListener& listener) {
    listeners_[user] = &listener;
    return std::make_unique<Part>(*this, user);
  }
  void on_load_service(std::uint32_t job, bool begins) override {
    listeners_[job % kUsers]->on_load_service(job / kUsers, begins);
  }
  void on_transfer_done(Direction direction, std::uint32_t job) override {
    const std::uint32_t user = job % kUsers;
    --under_way_[user];
    listeners_[user]->on_transfer_done(direction, job / kUsers);
  }

 private:
  class Part final : public TransferPath {
   public:
    Part(SharedPath& whole, std::uint32_t user) : whole_(whole), user_(user) {}
    void submit(Direction direction, std::uint32_t job, Bytes payload,
                std::uint32_t copies) override {
      ++whole_.under_way_[user_];
      whole_.path_->submit(direction, job * kUsers + user_, payload, copies);
    }
    bool idle() const override { return whole_.under_way_[user_] == 0; }

   private:
    SharedPath& whole_;
    std::uint32_t user_;
  };

  std::unique_ptr<TransferPath> path_;
  std::array<TransferListener*, kUsers> listeners_{};
  std::array<std::uint32_t, kUsers> under_way_{};
};

}  // namespace spillway
