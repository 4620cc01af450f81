// A scenario as the parts that an engine is built from (run_wiring.cpp), and engines' counts under
// the scenario's names (run_gather.cpp).
//
// Links of one engine are numbered: those between HBM and host memory, of each rank where ranks
// differ, the media that it crosses first, those between host memory and each storage device. Those
// of several engines follow one another (places.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "models/cluster/cluster.hpp"
#include "scenarios/run/fit_reach.hpp"
#include "scenarios/run/places.hpp"
#include "sim/result.hpp"

namespace spillway {

struct ChunkTierConfig;
struct ChunkedConfig;
struct AttachedTierConfig;
struct LinkChoice;
struct Scenario;
struct TierChoice;

class RunWiring {
 public:
  /// `cost`, where given, makes the step cost in place of the scenario's.
  explicit RunWiring(const Scenario& scenario,
                     std::function<std::unique_ptr<StepCost>()> cost = {});

  /// HBM, and the tiers below where the scenario gives the nearest any room.
  std::uint32_t tiers() const;
  /// In blocks, of all tiers of all engines.
  std::vector<std::uint64_t> capacities() const;
  std::uint64_t tier_blocks() const { return tier_blocks_; }
  const Places& places() const { return places_; }
  /// Over which loads of an engine come, its media aside.
  std::vector<std::uint32_t> load_links(std::uint32_t engine) const;
  /// What the engines share.
  NetworkSpec network() const;
  /// Of one engine: the first draws as one alone would.
  EngineParts parts(std::uint32_t engine = 0) const;
  /// Of the steps that these parts computed, where the scenario's profile knows its range.
  const FitReach& reach() const { return *reach_; }
  /// `tell(link, busy)` of each client of storage, where several jobs run side by side.
  void tell_busy(const Cluster& cluster,
                 const std::function<void(std::uint32_t, Duration)>& tell) const;
  /// `r` is what observers recorded.
  RunResult gather(const Cluster& cluster, RunResult r) const;

 private:
  static constexpr std::uint32_t kDownLink = 0;
  static constexpr std::uint32_t kUpLink = 1;
  static constexpr std::uint64_t kUnboundedBlocks = ~std::uint64_t{0};

  bool v0() const;
  /// The first tier is storage.
  bool has_storage() const;
  bool direct() const;
  Places make_places() const;
  std::uint32_t medium_index(const std::string& name) const;
  /// Down and up: one pair where all ranks are alike, else one of each rank.
  std::uint32_t lane_pairs() const;
  /// Other engines find in the tier what this one wrote.
  bool shared(const TierChoice& tier, std::uint32_t engine) const;
  std::uint32_t stores_of(std::size_t i) const;
  bool mooncake() const;
  /// Mooncake Store lies behind host memory.
  bool store_behind() const;
  bool keeps_chunks() const;
  /// The first tier is the engine's own, in blocks; what is behind it keeps chunks.
  bool hybrid() const;
  std::uint32_t chunk_tokens() const;
  /// The way to a tier by links of the scenario, at one place: the first of two lanes.
  std::uint32_t tier_lane(const TierChoice& tier, std::uint32_t place) const;
  std::unique_ptr<ChunkedConfig> chunked(std::uint32_t engine) const;
  std::vector<AttachedTierConfig> attached(std::uint32_t engine) const;
  ChunkTierConfig chunk_tier(std::size_t place, std::uint32_t engine) const;
  void gather_attached(const Engine& engine, RunResult& r) const;
  void gather_chunks(const Engine& engine, std::uint32_t number, RunResult& r) const;
  const LinkChoice& rank_link(std::uint32_t rank, bool down) const;
  /// The `number`-th of an engine.
  LaneSpec lane(std::uint32_t engine, std::uint32_t number, const LinkChoice& choice) const;
  HostLanes lanes(std::uint32_t engine) const;
  HostLanes disk_lanes(std::uint32_t engine) const;
  std::uint64_t seed_of(std::uint32_t engine) const;
  /// The storage tiers, nearest first.
  std::vector<const TierChoice*> stores() const;
  /// Of the storage tier `store`: its device at the places of its scope, bounded by the GPU's link
  /// too where it reaches the GPU itself.
  StorageServerSpec server(std::size_t store, std::uint32_t place) const;
  /// Reach it, where it is direct.
  bool several_gpus(std::size_t store) const;
  std::uint32_t server_index(std::size_t store, std::uint32_t engine) const;
  /// An engine's client of it: one of each rank where they reach it themselves.
  std::vector<StorageClientConfig> clients(std::size_t store, std::uint32_t engine) const;
  /// The way of a load, nothing else on it.
  std::unique_ptr<LinkModel> load_link() const;
  void gather_engine(const Engine& engine, RunResult& r) const;
  /// `suffix` tells several engines apart; `series` is that of the first link.
  void name_lanes(std::uint32_t engine, const std::string& suffix, std::size_t series,
                  RunResult& r) const;
  void name_media(std::size_t series, RunResult& r) const;
  void name_storage_links(std::size_t store, std::uint32_t engine, const std::string& suffix,
                          std::size_t series, RunResult& r) const;
  void gather_behind(RunResult& r, const std::vector<const Level*>& levels) const;
  /// An engine's clients of a storage tier.
  std::vector<const StorageDevice*> devices(const Engine& engine, std::size_t store) const;
  /// What the devices of one tier did, at all its places.
  void gather_devices(const Cluster& cluster, std::size_t store, RunResult& r) const;
  void add_swap(const SwapStats& swap, std::optional<SwapResult>& sum) const;
  LoadChoiceResult load_choice(const Cluster& cluster) const;

  const Scenario& s_;
  std::function<std::unique_ptr<StepCost>()> cost_;
  std::unique_ptr<FitReach> reach_ = std::make_unique<FitReach>();  ///< counted by the parts
  std::uint64_t tier_blocks_;
  Places places_;
};

}  // namespace spillway
