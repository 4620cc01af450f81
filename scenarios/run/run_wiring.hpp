// A scenario as the parts that an engine is built from (run_wiring.cpp), and engines' counts under
// the scenario's names (run_gather.cpp).
//
// Links of one engine are numbered: those between HBM and host memory, of each rank where ranks
// differ, the media behind them, those between host memory and each storage device. Those of
// several engines follow one another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "models/cluster.hpp"
#include "sim/result.hpp"

namespace spillway {

struct LinkChoice;
struct Scenario;
struct StorageChoice;

class RunWiring {
 public:
  /// `cost`, where given, makes the step cost in place of the scenario's.
  explicit RunWiring(const Scenario& scenario,
                     std::function<std::unique_ptr<StepCost>()> cost = {});

  /// Of one engine, as the links below.
  std::uint32_t first_medium() const { return 2 * lane_pairs(); }

  /// HBM, and the tiers below where the scenario gives the nearest any room.
  std::uint32_t tiers() const;
  /// In blocks, of all tiers of all engines.
  std::vector<std::uint64_t> capacities() const;
  std::uint64_t tier_blocks() const { return tier_blocks_; }
  std::uint32_t links() const;
  /// To and from a storage device. Precondition: the tier is one.
  std::uint32_t write_link() const;
  std::uint32_t read_link() const;
  /// The same of the tier that is `index`-th behind the first.
  std::uint32_t write_link(std::size_t index) const;
  std::uint32_t read_link(std::size_t index) const;
  /// Of an engine of instance `instance`: the first draws as one alone would.
  EngineParts parts(std::uint32_t instance = 0) const;
  /// `r` is what observers recorded, the links of several engines one after another.
  RunResult gather(const Cluster& cluster, RunResult r) const;

 private:
  static constexpr std::uint32_t kDownLink = 0;
  static constexpr std::uint32_t kUpLink = 1;
  static constexpr std::uint64_t kUnboundedBlocks = ~std::uint64_t{0};

  bool v0() const;
  /// The first tier is storage.
  bool has_storage() const;
  bool direct() const;
  std::uint32_t after_media() const;
  /// Down and up: one pair where all ranks are alike, else one of each rank.
  std::uint32_t lane_pairs() const;
  const LinkChoice& rank_link(std::uint32_t rank, bool down) const;
  LaneSpec lane(std::uint32_t link, const LinkChoice& choice) const;
  std::uint64_t seed_of(std::uint32_t instance) const;
  StorageDeviceConfig device_behind(std::size_t index, std::uint32_t instance = 0) const;
  /// The device, bounded by the GPU's link too where it reaches the GPU itself.
  StorageDeviceConfig device(std::uint32_t instance = 0) const;
  /// The way of a load, nothing else on it.
  std::unique_ptr<LinkModel> load_link() const;
  void gather_engine(const Engine& engine, RunResult& r) const;
  void name_links(const Engine& engine, const std::string& suffix, std::uint32_t first_link,
                  std::size_t first_series, RunResult& r) const;
  struct StorageAt {
    std::size_t tier;    ///< of the result
    std::string near;    ///< the place at the other end of its links
    std::string suffix;  ///< of their names, where there are several engines
    std::uint32_t first_link;
    std::size_t first_series;
  };
  void name_storage_links(RunResult& r, const StorageChoice& choice,
                          const StorageDeviceConfig& config, const StorageAt& at) const;
  void gather_behind(RunResult& r, const TierStack& stack, StorageAt at) const;
  /// What the devices of one tier did, one in each instance.
  void gather_devices(const Cluster& cluster, std::size_t tier, RunResult& r) const;
  void add_swap(const Engine& engine, std::optional<SwapResult>& sum) const;
  LoadChoiceResult load_choice(const Cluster& cluster) const;

  const Scenario& s_;
  std::function<std::unique_ptr<StepCost>()> cost_;
  std::uint64_t tier_blocks_;
};

}  // namespace spillway
