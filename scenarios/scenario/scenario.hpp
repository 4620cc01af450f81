// A scenario: everything a run depends on, read from one JSON file and checked before anything
// runs.
//
// load_scenario() resolves names (models, GPUs, presets, policies, links) and fills defaults; each
// default that stands for a measurement is named in `notes`, which every result repeats as
// warnings. Workloads are opened separately, so that a sweep shares one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/compute/compute_profile.hpp"
#include "models/compute/step_cost.hpp"
#include "models/engine/arrivals.hpp"
#include "models/engine/copy_interference.hpp"
#include "models/engine/engine_config.hpp"
#include "models/kv_geometry.hpp"
#include "models/link/link_model.hpp"
#include "models/tier/storage_spec.hpp"
#include "policies/catalogue.hpp"
#include "scenarios/scenario/config/json_source.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/config/settings.hpp"
#include "scenarios/scenario/hardware.hpp"
#include "scenarios/scenario/measured/measured_facts.hpp"
#include "sim/note.hpp"
#include "traces/byte_source.hpp"
#include "traces/catalogue.hpp"
#include "traces/generate/synthetic.hpp"

namespace spillway {

/// The known keys of each object, also what the published schema is checked against.
struct ScenarioKeys {
  static const KeyTable kTop, kModel, kGpu, kEngine, kCold, kInterference, kCompute, kTier, kDevice,
      kHost, kTail, kLink, kMedium, kWorkload, kClass, kSynthetic, kGrowth, kReplication, kSlo,
      kPlan, kDemand, kSweep, kFleet, kPolicies;
};

/// Weights of another type than the published ones.
struct WeightChoice {
  std::string dtype;           ///< bf16, fp8, int8, int4, fp4
  double bytes = 2;            ///< of one weight of a layer; embeddings and output head stay BF16
  bool bf16_products = false;  ///< widened before they are multiplied (int8, int4)
  Bytes total{0};              ///< of all weights
};

/// What a scenario describes itself, with the name that the row points to: never copied.
struct OwnModel {
  std::string name;
  ModelSpec spec{};
};
struct OwnGpu {
  std::string name;
  GpuSpec spec{};
};

struct ModelChoice {
  const ModelSpec* spec = nullptr;      ///< null: only kv_bytes_per_token is known
  std::shared_ptr<const OwnModel> own;  ///< what `spec` points to, of a model.config
  KvDtype kv_dtype = KvDtype::kBf16;
  std::optional<WeightChoice> weights;  ///< none: as published
  Bytes kv_bytes_per_token{0};
  std::uint32_t layers = 0;  ///< that have KV; 0: not known
};

struct ComputeChoice {
  enum class Kind : std::uint8_t { kLinear, kComponents, kProfile };
  Kind kind = Kind::kLinear;
  LinearCost linear{};
  double host_overhead_us = kDefaultHostOverheadUs;
  double sequence_us = kDefaultSequenceUs;
  double eager_overhead_us = 0;           ///< more, per step that replays no captured graph
  std::uint32_t graph_tokens = 512;       ///< largest batch that replays one
  std::optional<ComputeProfile> profile;  ///< of kind profile
  std::string path;                       ///< of its document
  std::string digest;                     ///< of that document's results
};

/// tiers[].device: the storage behind a tier that is not DRAM.
struct StorageChoice {
  StorageSpec spec;
  std::uint32_t chunk_tokens = 0;  ///< of one operation; 0: one engine block
  std::uint32_t clients = 0;       ///< others that do what this one does
  bool direct = false;             ///< between device and GPU without a copy in host memory
  Bytes drive_bytes{0};            ///< of the drive, where it is not the tier's capacity
  Duration lookup{0};              ///< behind another tier: to find out whether one chunk is there
};

struct TierChoice {
  std::string name;
  std::optional<StorageChoice> storage;  ///< none: host DRAM
  Capacity capacity;
  EvictionChoice eviction;
  WriteAdmissionChoice write_admission;
  bool per_rank = false;  ///< capacity is of each rank, not of the engine
  SourceRef where;

  std::string_view kind() const { return storage ? name_of(storage->spec.kind) : "dram"; }
  /// The place at the other end of the GPU's host link: the tier itself, or host memory before it.
  std::string_view host_end() const { return storage ? kHost : name; }

  static constexpr std::string_view kHost = "host";
};

/// One direction of a link, ready to be made into a model for each run.
struct LinkChoice {
  std::string name;
  std::string from;
  std::string to;
  bool affine = true;
  Duration latency{0};
  std::int64_t bytes_per_second = 0;
  RateTable table;
  double duplex_factor = 1;
  std::string source;                ///< where its figures come from, for results
  std::string method;                ///< how pieces are copied: batch, dma, kernel; empty: not said
  Duration submit{0};                ///< of the host thread, for each piece
  double numa_penalty = 1;           ///< factor on the rate, of a hop between sockets
  std::vector<std::string> through;  ///< names of media
  std::uint32_t shared_by = 1;       ///< clients that use those media alike
  double sm_share = 0;               ///< of the SMs, while a kernel copies
  std::optional<RateTable> kernel_table;  ///< where it copies only jobs of many pieces: its rates
  std::optional<std::uint32_t> rank;      ///< whose link it is; none: every rank has one like it

  std::unique_ptr<LinkModel> make() const;
};

/// A path that several links, or several clients of one, share.
struct MediumChoice {
  std::string name;
  std::int64_t bytes_per_second = 0;
  bool fifo = false;  ///< first come, first served; else fair shares
};

/// Copies take HBM bandwidth from memory-bound work.
struct InterferenceChoice {
  double hbm_bytes_per_s = 0;
  double memory_factor = 1;  ///< measured harm beyond the share of bandwidth
};

/// workload.classes: what a tenant's requests ask for.
struct ClassChoice {
  std::string tenant;
  RequestClass value;
  SourceRef where;
};

/// workload.growth: factors on what was recorded; the planner's demand scenarios use them too.
struct GrowthChoice {
  double rate = 1;     ///< session starts
  double context = 1;  ///< tokens of prompts and answers
  double reuse = 1;    ///< share of prompt blocks that earlier prompts held; at most what there is
  double tenants = 1;  ///< copies of the population with prefixes of their own
  bool any() const { return rate != 1 || context != 1 || reuse != 1 || tenants != 1; }
};

/// workload.replication: what a replicate of the workload is.
struct ReplicationChoice {
  std::uint32_t requests = 0;      ///< measured ones at least; 0: as the SLO's percentiles need
  std::optional<double> warmup_s;  ///< none: found from the run (MSER-5) with a floor
};

struct WorkloadChoice {
  std::string trace;  ///< path, empty when synthetic
  std::optional<SyntheticConfig> synthetic;
  ReaderOptions reader;
  bool lenient = false;  ///< leave faulty rows out, up to the limit
  std::uint32_t limit = 0;
  ArrivalConfig arrival;
  Time warmup{};  ///< requests that arrive earlier run, but are not measured
  std::vector<ClassChoice> classes;
  std::vector<std::string> days;  ///< further recordings of the same service, one a replicate
  GrowthChoice growth;
  ReplicationChoice replication;
  SourceRef where;

  /// Every file that it is read from: what differs in these is not the same workload.
  std::string files() const {
    std::string out = trace + '\n' + (synthetic ? synthetic->rates : "");
    for (const std::string& day : days) out += '\n' + day;
    return out;
  }
};

/// host: the machine under the engine.
struct HostChoice {
  Bytes memory{0};
  Bytes reserved{0};            ///< for everything but KV pools
  std::uint32_t instances = 1;  ///< engines like this one on it
  std::uint32_t numa_nodes = 1;
  SourceRef where;
};

struct SloTarget {
  std::string name;       ///< key of a run's results
  bool at_least = false;  ///< a minimum instead of a maximum
  double target = 0;
  std::string tenant;  ///< whose requests; empty: everyone's
  SourceRef where;
};

enum class Objective : std::uint8_t {
  kLeastDram,
  kLeastCost,
  kMostLoad,
  kMostGoodputPerCost,
  kLeastGpus
};
std::string_view name_of(Objective objective);

/// A key of the scenario and the values that a plan or a sweep tries, as written (strings bare,
/// anything else as JSON).
struct SearchAxis {
  std::string key;  ///< dotted, as in --set
  std::vector<std::string> values;
  SourceRef where;
};

/// plan.demand: another demand that the recommendation should hold for.
struct DemandChoice {
  std::string name;
  GrowthChoice growth;
  SourceRef where;
};

struct PlanChoice {
  std::string tier = "dram";
  std::vector<std::string> sizes;  ///< as written, ascending; empty: chosen from the reuse curve
  std::vector<Capacity> capacities;
  std::vector<SearchAxis> search;
  Objective objective = Objective::kLeastDram;
  double confidence = 0.95;
  std::uint32_t replications = 40;  ///< most of one cell; 1: the workload itself, no interval
  std::uint64_t max_runs = 0;       ///< budget; 0: none
  std::string round_to;             ///< sizes that can be bought or set, e.g. "16GiB"
  std::string prices;               ///< path of a prices file; empty: none
  std::vector<DemandChoice> demand;
  bool sensitivity = true;
  bool stress = true;  ///< ask what happens under forecasts, peaks and losses
  /// Growth of the session rate behind the forecasts; none: the planner's own assumption.
  std::optional<double> growth_per_month;
  SourceRef where;
};

/// sweep: the cells of a campaign.
struct SweepChoice {
  std::vector<SearchAxis> vary;
  std::uint32_t replications = 1;
  SourceRef where;
};

/// fleet: identical instances of everything else, among which sessions are split.
struct FleetChoice {
  static constexpr std::int64_t kMostReplicas = 1024;
  std::uint32_t replicas = 1;
  SourceRef where;
};

struct Scenario {
  std::string name;
  std::string description;
  std::string path;
  std::string preset;
  ModelChoice model;
  const GpuSpec* gpu = nullptr;
  std::shared_ptr<const OwnGpu> own_gpu;  ///< what `gpu` points to, of a gpu that is an object
  EngineConfig engine;
  SourceRef pool_where;     ///< what decides num_gpu_blocks
  bool pool_given = false;  ///< num_gpu_blocks was given, not derived
  double gpu_memory_utilization = 0;
  std::optional<HbmBudget> budget;  ///< how num_gpu_blocks came about, where it was derived
  EvictionChoice hbm_eviction;
  AdmissionChoice admission;  ///< of requests
  /// Loads compete with recomputation; false: whatever lies below is loaded.
  bool load_at_break_even = false;
  std::optional<InterferenceChoice> interference;  ///< nothing: copies leave HBM's bandwidth alone
  ComputeChoice compute;
  std::optional<TierChoice> tier;  ///< below HBM
  std::vector<TierChoice> behind;  ///< the tiers behind that one, in the order of look-ups
  std::optional<HostChoice> host;
  Bytes swap_space{0};             ///< v0, on each GPU's share of the host
  std::optional<LinkChoice> down;  ///< HBM to the tier
  std::optional<LinkChoice> up;
  std::vector<LinkChoice> rank_links;  ///< where links are given by rank: down and up of each
  std::vector<MediumChoice> media;     ///< that links go through
  std::optional<HardwareChoice> hardware;
  std::optional<MeasuredFacts> measured;     ///< of a run of this system, which override estimates
  Notes hardware_doubts;  ///< why it may not fit; --strict refuses them
  WorkloadChoice workload;
  std::vector<SloTarget> slo;
  std::optional<PlanChoice> plan;
  std::optional<SweepChoice> sweep;
  FleetChoice fleet;
  std::uint64_t seed = 1;
  Notes notes;
  Settings settings;  ///< as read; what follows from them is in the members above

  ModelShards shards() const { return {engine.tensor_parallel, engine.pipeline_parallel}; }
  /// Ranks of one engine: GPUs that hold a part of every block each.
  std::uint32_t world() const { return shards().ranks(); }
  /// Engines of all instances.
  std::uint32_t engines() const { return fleet.replicas * engine.data_parallel; }
  /// KV bytes of a block on one rank, on all, and in a tier below.
  Bytes rank_block_bytes() const { return engine.block_bytes; }
  Bytes pool_block_bytes() const { return engine.block_bytes * std::int64_t{world()}; }
  Bytes tier_block_bytes() const { return engine.block_bytes * std::int64_t{tier_copies()}; }
  /// Ranks whose part of a block a tier below keeps: all, or one where all hold the same.
  std::uint32_t tier_copies() const;
  /// Ranks that are not alike, or get in each other's way: each has lanes of its own in a run.
  bool ranks_apart() const { return world() > 1 && (!media.empty() || !rank_links.empty()); }

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
