// A scenario as the parts that an engine is built from, and an engine's counts under the scenario's
// names.
//
// Links are numbered: those between the tiers, the media behind them, those between host memory and
// a storage device.
#pragma once

#include <cstdint>
#include <memory>

#include "models/engine/engine.hpp"
#include "scenarios/scenario.hpp"
#include "sim/result.hpp"

namespace spillway {

class RunWiring {
 public:
  static constexpr std::uint32_t kFirstMedium = 2;

  explicit RunWiring(const Scenario& scenario)
      : s_(scenario),
        tier_blocks_(scenario.tier ? scenario.tier_blocks(scenario.tier->capacity) : 0) {}

  /// HBM, and the tier below where the scenario gives it any room.
  std::uint32_t tiers() const { return tier_blocks_ > 0 ? 2 : 1; }
  std::uint64_t tier_blocks() const { return tier_blocks_; }
  std::uint32_t links() const;
  /// To and from a storage device. Precondition: the tier is one.
  std::uint32_t write_link() const;
  std::uint32_t read_link() const;
  EngineParts parts() const;
  /// `r` is what observers recorded.
  RunResult gather(const Engine& engine, RunResult r) const;

 private:
  bool has_storage() const { return tiers() == 2 && s_.tier->storage.has_value(); }
  bool direct() const { return s_.tier->storage->direct; }
  std::uint32_t after_media() const {
    return kFirstMedium + static_cast<std::uint32_t>(s_.media.size());
  }
  LaneSpec lane(std::uint32_t link, const LinkChoice& choice) const;
  /// The device, bounded by the GPU's link too where it reaches the GPU itself.
  StorageDeviceConfig device() const;
  /// The way of a load, nothing else on it.
  std::unique_ptr<LinkModel> load_link() const;
  void gather_storage(RunResult& r, const StorageDevice& storage, std::size_t first) const;
  LoadChoiceResult load_choice(const Engine& engine) const;

  const Scenario& s_;
  std::uint64_t tier_blocks_;
};

}  // namespace spillway
