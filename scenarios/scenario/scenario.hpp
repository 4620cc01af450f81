// A scenario: everything a run depends on, read from one JSON file and checked before anything
// runs.
//
// load_scenario() resolves names (models, GPUs, presets, policies, links) and fills defaults; each
// default that stands for a measurement is named in `notes`, which every result repeats as
// warnings. Workloads are opened separately, so that a sweep shares one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/releases/engine_config.hpp"
#include "policies/catalogue.hpp"
#include "scenarios/scenario/boxed.hpp"
#include "sim/note.hpp"
#include "sim/units.hpp"
#include "traces/byte_source.hpp"

namespace spillway {

struct Capacity;
struct ComputeChoice;
struct CopyInterference;
struct FleetChoice;
struct FrontEndChoice;
struct HardwareChoice;
struct GpuSpec;
struct HbmBudget;
struct HostChoice;
struct InterferenceChoice;
struct LinkChoice;
struct MachineFacts;
struct MeasuredFacts;
struct MediumChoice;
struct ModelChoice;
struct ModelShards;
struct OwnGpu;
struct PlanChoice;
struct RequestClass;
struct Settings;
struct SloTarget;
struct SweepChoice;
struct TierChoice;
struct WorkloadChoice;
class Collectives;
class JsonSource;
class StepCost;
class Workload;

/// What the sections are is in scenarios/scenario/sections/, a header each: who reads one includes
/// it, and no other compiles anew when it gets a key. model, compute, workload, fleet, front_end
/// and settings are always there.
struct Scenario {
  Scenario();
  Scenario(const Scenario& other);
  Scenario(Scenario&& other) noexcept;
  Scenario& operator=(const Scenario& other);
  Scenario& operator=(Scenario&& other) noexcept;
  ~Scenario();

  std::string name;
  std::string description;
  std::string path;
  std::string preset;
  Boxed<ModelChoice> model;
  const GpuSpec* gpu = nullptr;
  std::shared_ptr<const OwnGpu> own_gpu;  ///< what `gpu` points to, of a gpu that is an object
  EngineConfig engine;
  SourceRef pool_where;         ///< what decides num_gpu_blocks
  bool pool_given = false;      ///< num_gpu_blocks was given, not derived
  bool pool_estimated = false;  ///< neither given nor measured
  double gpu_memory_utilization = 0;
  Boxed<HbmBudget> budget;  ///< how num_gpu_blocks came about, where it was derived
  EvictionChoice hbm_eviction;
  AdmissionChoice admission;  ///< of requests
  /// Loads compete with recomputation; false: whatever lies below is loaded.
  bool load_at_break_even = false;
  Boxed<InterferenceChoice> interference;  ///< nothing: copies leave HBM's bandwidth alone
  Boxed<ComputeChoice> compute;
  Boxed<TierChoice> tier;          ///< below HBM
  std::vector<TierChoice> behind;  ///< the tiers behind that one, in the order of look-ups
  Boxed<HostChoice> host;
  Bytes swap_space{0};     ///< v0, on each GPU's share of the host
  Boxed<LinkChoice> down;  ///< HBM to the tier
  Boxed<LinkChoice> up;
  std::vector<LinkChoice> rank_links;  ///< where links are given by rank: down and up of each
  std::vector<MediumChoice> media;     ///< that links go through
  Boxed<HardwareChoice> hardware;
  Boxed<MeasuredFacts> measured;  ///< of a run of this system, which override estimates
  Notes hardware_doubts;          ///< why it may not fit; --strict refuses them
  Boxed<WorkloadChoice> workload;
  std::vector<SloTarget> slo;
  Boxed<PlanChoice> plan;
  Boxed<SweepChoice> sweep;
  Boxed<FleetChoice> fleet;
  Boxed<FrontEndChoice> front_end;
  std::uint64_t seed = 1;
  Notes notes;
  Boxed<Settings> settings;  ///< as read; what follows from them is in the members above

  ModelShards shards() const;
  /// Of one stage's ranks; nothing where there is one rank.
  std::optional<Collectives> collectives_of_ranks() const;
  /// Of engines that share experts, rank by rank; nothing where none do.
  std::optional<Collectives> collectives_of_engines() const;
  /// Engines of data parallelism share experts and step together.
  bool lockstep() const;
  /// Ranks of one engine: GPUs that hold a part of every block each.
  std::uint32_t world() const { return engine.tensor_parallel * engine.pipeline_parallel; }
  /// Engines of all instances.
  std::uint32_t engines() const;
  /// KV bytes of a block on one rank, on all, and in a tier below.
  Bytes rank_block_bytes() const { return engine.block_bytes; }
  Bytes pool_block_bytes() const { return engine.block_bytes * std::int64_t{world()}; }
  Bytes tier_block_bytes() const { return engine.block_bytes * std::int64_t{tier_copies()}; }
  /// Ranks whose part of a block a tier below keeps: all, or one where all hold the same.
  std::uint32_t tier_copies() const;
  /// Ranks that are not alike, or get in each other's way: each has lanes of its own in a run.
  bool ranks_apart() const;

  std::unique_ptr<StepCost> make_cost() const;
  /// What copies between HBM and the tier take from steps.
  CopyInterference copy_interference() const;
  /// Blocks that the tier below holds, when it may use `capacity`: whole chunks of them.
  std::uint64_t tier_blocks(const Capacity& capacity) const;
  /// Bytes of one of its slots, which holds a chunk of every rank.
  Bytes tier_slot() const;
};

/// Throws InputError (exit 2) naming file, line, field and what was expected.
Scenario load_scenario(const JsonSource& source);

/// Throws InputError (exit 2) where a size that the plan would try does not fit the scenario's
/// host.
void check_plan_on_host(const Scenario& scenario);

/// Compares the machine of the scenario's hardware profile with `here` and with the scenario's GPU.
/// What differs becomes a note, or, under `strict`, an InputError (exit 2).
void check_hardware(Scenario& scenario, const MachineFacts& here, bool strict);

/// The scenario's workload. Throws InputError: exit 3 for trace content, exit 7 where it cannot be
/// read.
Workload open_workload(const Scenario& scenario, const ReadProgress& progress);

/// What the requests of each of the workload's tenants ask for; empty where no class is given.
/// Throws InputError (exit 2) for a class of a tenant that the workload does not have.
std::vector<RequestClass> classes_of(const Scenario& scenario, const Workload& workload);

}  // namespace spillway
