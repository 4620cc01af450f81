// What an engine is made from, and its parts put together: the seam between engine families and the
// loop that runs them.
//
// A family is a function that makes an Assembly from EngineParts, and a row in families.cpp. The
// engine calls it once, while it is constructed, and asks the parts from then on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/arrivals.hpp"
#include "models/compute/forward_cost.hpp"
#include "models/compute/step_cost.hpp"
#include "models/engine/connectors/attached_tiers.hpp"
#include "models/engine/connectors/chunks/chunk_tiers.hpp"
#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/connectors/level.hpp"
#include "models/engine/connectors/step_moves.hpp"
#include "models/engine/schedulers/scheduler.hpp"
#include "models/link/host_path.hpp"
#include "models/releases/engine_config.hpp"
#include "models/tier/network.hpp"
#include "models/tier/storage_device.hpp"
#include "policies/catalogue.hpp"
#include "sim/event_queue.hpp"
#include "sim/shared_things.hpp"
#include "sim/workload.hpp"

namespace spillway {

class StepGroup;
class StoreWatch;
struct Assembly;
struct EngineParts;
struct Site;

/// Puts a family's parts together. It may take what it needs out of `parts`; the site's things
/// outlive what it returns.
using Assembler = Assembly (*)(const Site& site, EngineParts& parts);

/// The tier below HBM and the path to it.
struct LowerTierConfig {
  std::uint64_t capacity_blocks = 0;
  EvictionChoice eviction;
  WriteAdmissionChoice write_admission;
  /// Between HBM and the tier, or host memory before it.
  HostLanes lanes;
  /// Where the tier is storage: a client of it, or one of each rank if `direct`; then no lanes.
  std::vector<StorageClientConfig> storage;
  bool direct = false;
  bool shared = false;       ///< what that holds is there for all its clients
  std::uint32_t copies = 1;  ///< parts of ranks that tiers below keep of each block
  /// The tiers behind it, in the order of look-ups; only where it is memory.
  std::vector<LevelConfig> behind;
  /// To and from a disk behind it, where that is reached by links.
  std::optional<HostLanes> disk;
  std::uint64_t disk_blocks = 0;
  TrimRule trim;  ///< of the tier itself
  /// The link up once more, to estimate loads with; null: whatever lies below is loaded.
  std::unique_ptr<LinkModel> load_estimate;
  CopyInterference interference;  ///< what its copies take from steps; not with layer-wise loads
};

/// What vLLM v0 swaps over: both ways run on the compute stream, never at once.
struct SwapLanes {
  LaneSpec down;  ///< HBM to the CPU pool
  LaneSpec up;
};

struct EngineParts {
  Assembler assemble = nullptr;  ///< of the engine's family
  EngineConfig config;
  AdmissionChoice admission;  ///< of requests
  EvictionChoice eviction;    ///< HBM's policy for cached, unused blocks
  std::unique_ptr<StepCost> cost;
  std::unique_ptr<LowerTierConfig> lower;    ///< null: nothing below HBM, or
  std::unique_ptr<ChunkedConfig> chunked;    ///< tiers of a connector that keeps chunks, or
  std::vector<AttachedTierConfig> attached;  ///< of a store with tiers of its own
  Time measure_from{};                       ///< requests that arrive earlier are the warm-up's
  std::vector<RequestClass> classes;         ///< by tenant; empty: all alike
  std::unique_ptr<SwapLanes> swap;           ///< v0 that swaps, and has a CPU pool
  SharedStores* shared = nullptr;            ///< of the simulation; where tiers are shared
  SharedThings* things = nullptr;            ///< of the simulation
  std::uint32_t number = 0;                  ///< among its engines
  StageWatch* stages = nullptr;              ///< null: nobody asks when stages came
  TokenListener* tokens = nullptr;           ///< null: nobody asks for single tokens
  StepGroup* group = nullptr;                ///< whose engines step together; null: it steps alone
  std::uint32_t place_in_group = 0;
  std::uint32_t names_of_one_in = 1;    ///< engines: one among several has its own names of blocks
  const RequestFacts* facts = nullptr;  ///< of the whole workload, where need_facts()

  /// Some policy asks for facts of requests.
  bool need_facts() const;
};

/// Where the parts of an engine stand.
struct Site {
  EventQueue& queue;
  Network& network;
  const Workload& workload;
  const EngineConfig& config;
  LocalChains& chains;  ///< columns by block id are to be attached
  RequestPool& requests;
  ForwardCost& cost;
  Observer& observer;
  TransferWaiter& waiter;  ///< the engine, told of transfers
};

/// A family's parts, each of which the loop asks in every step.
struct Assembly {
  /// What the others stand on: stores, choices. A family derives its own.
  struct Base {
    virtual ~Base() = default;
    /// Whoever watches is told what HBM gains and loses, where it has named blocks.
    virtual void watch_pool(StoreWatch& /*watch*/) {}
  };
  std::unique_ptr<Base> base;
  std::unique_ptr<KvConnector> connector;
  std::unique_ptr<StepMoves> moves;
  std::unique_ptr<Scheduler> scheduler;
  /// Its clients of the tier below; none where that is memory.
  std::span<const std::unique_ptr<StorageDevice>> storage{};
};

// ---- the families: a file each in families/, and a row of the table in families.cpp

/// The function that puts together what the configuration asks for.
Assembler assembler_of(const EngineConfig& config);

Assembly assemble_vllm_v1(const Site& site, EngineParts& parts);
/// v1 with blocks of running requests below HBM.
Assembly assemble_vllm_streaming(const Site& site, EngineParts& parts);
Assembly assemble_vllm_v0(const Site& site, EngineParts& parts);
Assembly assemble_sglang(const Site& site, EngineParts& parts);
Assembly assemble_trtllm(const Site& site, EngineParts& parts);
/// A client of Mooncake Store, and nothing else.
Assembly assemble_mooncake_client(const Site& site, EngineParts& parts);

// ---- pieces that several of them are put together from

/// Names of blocks as pool and tiers see them, however many there will be: one for each KV group.
/// Throws InputError (exit 7) when they do not fit.
std::uint32_t page_names(const Site& site);

EvictionContext policy_context(const Site& site, const EngineParts& parts);

/// The way between HBM and the tier below.
struct LowerPath {
  std::unique_ptr<TransferPath> path;
  std::span<const std::unique_ptr<StorageDevice>> storage;  ///< at its end, where that is storage
};
LowerPath make_path(const Site& site, LowerTierConfig& lower, TransferListener& listener);

}  // namespace spillway
