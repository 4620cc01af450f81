// Replicates of a workload, made when the first variant needs them and dropped after the last.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"
#include "traces/reshape/session_bootstrap.hpp"

namespace spillway {

class Replicates {
 public:
  /// Opens the workload of `scenario`, of which `count` replicates serve `users` runs each.
  Replicates(const Scenario& scenario, std::uint32_t count, std::uint32_t users,
             const ReadProgress& reading);

  /// The seed of replicate `index`.
  std::uint64_t seed(std::uint32_t index) const {
    return scenario_.seed + (index == recording() ? 0 : index);
  }
  /// The number of the recording itself, which follows those of its resamples.
  std::uint32_t recording() const { return count_; }
  bool resampled() const { return bootstrap_.has_value(); }
  /// Made now where it is not there yet. Each of the users calls it once, then done(). May be
  /// called from several threads.
  const Workload& get(std::uint32_t index);
  void done(std::uint32_t index);

  const Workload& original() const { return original_; }
  /// Known once a replicate has been made.
  std::uint64_t hash(std::uint32_t index) const { return slots_[index]->hash; }
  /// How replicates come about, one sentence.
  std::string method() const;

 private:
  struct Slot {
    std::once_flag once;
    std::optional<Workload> workload;
    std::atomic<std::uint32_t> users{0};
    std::uint64_t hash = 0;
  };

  Scenario scenario_;
  std::uint32_t count_;
  Workload original_;
  std::optional<SessionBootstrap> bootstrap_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace spillway
