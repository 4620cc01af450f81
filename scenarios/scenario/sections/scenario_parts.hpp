// The parts of load_scenario(), one per group of keys; each reads its keys and fills in defaults.
#pragma once

#include <optional>
#include <string_view>

#include "models/kv_geometry.hpp"
#include "models/link/link_model.hpp"
#include "models/releases/engine_config.hpp"
#include "models/tier/storage_spec.hpp"
#include "policies/catalogue.hpp"
#include "reports/notes/scenario_notes.hpp"
#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "scenarios/scenario/sections/model.hpp"

namespace spillway {

struct BenchmarkConfig;
struct GrowthChoice;
struct LinkChoice;
struct Scenario;
struct StorageChoice;
struct TierChoice;
struct WorkloadChoice;

// Limits that keys of several sections have.
inline constexpr std::int64_t kMostRanks = 256;
inline constexpr std::int64_t kMostEngines = 256;
inline constexpr std::int64_t kMostBlocksPerChunk = 4096;
inline constexpr std::int64_t kMostThreshold = 1'000'000;
inline constexpr std::int64_t kMostTracked = 1 << 28;
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;
inline constexpr double kMostSeconds = 3e8;  // ten years

/// The keys `model` and `gpu`: by name, or as the scenario describes them itself.
void read_model(const ObjectReader& top, Scenario& s);
void read_gpu(const ObjectReader& top, Scenario& s);

/// A model's shape from its config.json on the model hub, with the weights that it was quantised
/// to (none: BF16).
struct ModelConfig {
  std::shared_ptr<const OwnModel> model;
  std::optional<WeightChoice> weights;
  Notes notes;
};
/// Of a model of so many layers; none: not quantised. Throws InputError for what is not modelled.
std::optional<WeightChoice> read_quantization(const ObjectReader& config, std::int32_t layers);
/// Throws InputError naming the field that is missing, or what of the model is not modelled.
ModelConfig read_model_config(const ObjectReader& config, const std::string& name);
/// The keys of a config.json that it reads, and those under which a language model's lie.
std::span<const std::string_view> model_config_keys();
std::span<const std::string_view> inner_config_keys();
/// The key `measured`; before everything that it may decide.
void read_measured(const ObjectReader& top, Scenario& s);
/// The measured engine's settings, over the preset's; before those that the scenario gives.
void use_measured_engine(Scenario& s);
/// After the compute: the measured overhead, where the scenario gives none.
void use_measured_overhead(const ObjectReader& top, Scenario& s);
/// The blocks of the measured pool, in this scenario's block size.
std::optional<std::uint32_t> measured_blocks(const Scenario& s);
/// After the links: measured copy rates, where a link is only the GPU's default.
void use_measured_copies(Scenario& s);
void read_engine(const ObjectReader& top, Scenario& s);
/// How the GPU of the scenario is filled; the ranks and the weights are its own. Precondition:
/// model and gpu are known.
HbmBudget memory_budget(const Scenario& s, EngineMemory memory);
/// The pool has as many blocks, by the estimate of a budget.
void take_estimate(const ObjectReader& engine, std::int64_t blocks, Scenario& s);
/// What the scheduler is told beyond its batch sizes; before the pool is sized.
void read_scheduler(const ObjectReader& top, const ObjectReader& engine, Scenario& s);
/// The keys *_parallel_size of the engine: before anything is sized.
void read_ranks(const ObjectReader& engine, Scenario& s);
/// What several ranks or engines cannot be combined with; after the links.
void check_ranks(const ObjectReader& top, const Scenario& s);
/// The key `host`, and whether its memory holds what the scenario asks of it; after everything
/// that asks.
void read_host(const ObjectReader& top, Scenario& s);
Residency read_residency(const ObjectReader& engine);
/// The keys of the connector below HBM; after block size and residency.
void read_connector(const ObjectReader& engine, Scenario& s);
/// Of those that keep chunks; and what other connectors must not say.
void read_chunk_connector(const ObjectReader& engine, Scenario& s);
void read_chunk_tiers(const ObjectReader& top, Scenario& s);
/// What a store that a preset attaches does not go with, each with a reason.
void check_attached_engine(const ObjectReader& engine, const Scenario& s);
/// Keys that no tier of such a store has, nor a disk of TensorRT-LLM. `ways`, `rules`, `sharing`:
/// what to say of speeds, of policies, and of a scope beyond the instance.
void refuse_attached_tier_keys(const ObjectReader& tier, std::string_view ways,
                               std::string_view rules, std::string_view sharing);
/// Tiers of a store of a preset that no link leads to or from: published figures of their kind.
void fill_attached_links(Scenario& s);
/// The same of KVBM, whose preset brings it.
void read_kvbm(const ObjectReader& engine, Scenario& s);
void read_kvbm_tiers(const ObjectReader& top, Scenario& s);
/// The same of FlexKV, whose preset brings it.
void read_flexkv(const ObjectReader& engine, Scenario& s);
void read_flexkv_tiers(const ObjectReader& top, Scenario& s);
/// AIBrix's settings; and that no other connector has them.
void read_aibrix(const ObjectReader& engine, Scenario& s);
/// Keys of vLLM's own rules for tiers, in a tier of what has others.
void refuse_tier_rules(const ObjectReader& tier, std::string_view why);
/// Keys of theirs in a tier of another connector.
void refuse_chunk_keys(const ObjectReader& tier);
/// Whether the link leads to or from a tier of theirs behind the first: the tier has it then.
bool use_chunk_link(const ObjectReader& link, const LinkChoice& choice, Scenario& s);
/// After the links.
void check_chunk_links(const ObjectReader& top, const Scenario& s);
/// Keys of other engines than the preset's; before any is read.
void refuse_foreign_keys(const ObjectReader& engine, const Scenario& s);
/// SGLang's keys, all of them; in place of what vLLM reads.
void read_sglang(const ObjectReader& engine, Scenario& s);
/// What is said of a second tier, of another kind of tier ("{}"), and of keys for other engines.
struct HostMemoryWords {
  std::string_view one_tier;
  std::string_view kind;
  std::string_view rules;
  std::size_t most_tiers = 1;  ///< the others are read elsewhere
};
/// The tier of an engine that has host memory first, with rules of its own, without its capacity;
/// nothing where the scenario has no tier.
std::optional<TierChoice> begin_host_memory(const ObjectReader& top, const HostMemoryWords& words);
/// A tier's name, which is not that of another place.
std::string tier_name(const ObjectReader& tier);
/// Of those before it some may be called as this one is.
void refuse_taken_name(const ObjectReader& tier, const TierChoice& behind, const Scenario& s);
/// A tier behind host memory, with the rules of engine.tier_rules where it has none of its own.
TierChoice read_tier_behind(const ObjectReader& tier, const ObjectReader& engine, Scenario& s);
/// Whether the engine is SGLang: then its host memory, if it has any, is the tier.
bool read_sglang_tier(const ObjectReader& top, Scenario& s);
/// TensorRT-LLM's keys, all of them.
void read_trtllm(const ObjectReader& engine, Scenario& s);
/// Whether the engine is TensorRT-LLM: then its host memory, if it has any, is the tier.
bool read_trtllm_tier(const ObjectReader& top, Scenario& s);
/// The keys of a client of Mooncake Store.
void read_mooncake(const ObjectReader& engine, Scenario& s);
/// What vLLM with the store as its connector does not go with.
void read_mooncake_connector(const ObjectReader& engine, Scenario& s);
/// Whether the engine is either: then the store is the first tier, its SSD the second.
bool read_mooncake_tiers(const ObjectReader& top, Scenario& s);
/// The second tier is the store, the third its SSD, behind host memory.
void read_mooncake_behind(const ObjectReader& top, Scenario& s);
/// After links and policies.
void check_mooncake(const ObjectReader& top, Scenario& s);
/// The workload's keys retention and decode_retention.
void read_retention(const ObjectReader& workload, Scenario& s);
/// The v0 engine's keys, where the preset is one; else none of them may be there.
void read_v0(const ObjectReader& engine, Scenario& s);
/// Whether the engine is v0: then its CPU pool, if it swaps, is the tier.
bool read_v0_tier(const ObjectReader& top, Scenario& s);
/// After links and host: what v0 does not have, and whether the host has room.
void check_v0(const ObjectReader& top, Scenario& s);
/// After the tiers: what of these does not go with them.
void check_connector(const ObjectReader& top, const Scenario& s);
/// The rest of what streaming needs; after tiers and links.
void read_streaming(const ObjectReader& top, Scenario& s);
/// After the tiers: what SimpleCPUOffloadConnector goes with.
void check_simple(const ObjectReader& top, const Scenario& s);
/// Blocks that its pool can use of so many bytes.
std::uint64_t block_pool_blocks(const EngineConfig& engine, std::int64_t bytes);
/// After the links: what copies take from steps must leave something.
void check_interference(const ObjectReader& top, const Scenario& s);
/// After the tiers: what several KV groups do not go together with.
void check_groups(const ObjectReader& top, const Scenario& s);
/// After the engine.
void read_compute(const ObjectReader& top, Scenario& s);
/// After the compute.
void read_front_end(const ObjectReader& top, Scenario& s);
/// Weights in `dtype`, not sized yet. Throws InputError for others.
WeightChoice weight_choice(const std::string& dtype, const SourceRef& where);
/// The key `eviction` of an engine or a tier. Throws InputError for a policy that needs the future.
EvictionChoice read_eviction(const ObjectReader& object);
/// Rules of a tier behind another: `engine.tier_rules`, and over them the tier's own keys.
void read_level_rules(const ObjectReader& tier, const ObjectReader& engine, TierChoice& out);
/// Those that the first tier may have.
void read_first_rules(const ObjectReader& tier, TierChoice& out);
/// The key `write_admission` of a tier.
WriteAdmissionChoice read_write_admission(const ObjectReader& tier);
void read_policies(const ObjectReader& top, Scenario& s);
void read_hardware(const ObjectReader& top, Scenario& s);
/// Fills `out`, which has its name, ends and method, from the scenario's hardware profile.
void read_profile_link(const ObjectReader& link, const Scenario& s, LinkChoice& out);
/// Links that the scenario does not give, where its profile holds copies; a note where it does not.
void fill_from_profile(Scenario& s);
void read_tiers(const ObjectReader& top, Scenario& s);
struct StorageTier {
  std::string name;
  StorageKind kind;
  bool behind;  ///< another tier, with which it exchanges whole chunks
};
/// The key `device` of a storage tier.
StorageChoice read_storage(const ObjectReader& tier, const StorageTier& which, Scenario& s);
void read_media(const ObjectReader& top, Scenario& s);
/// The key `through` of a link or a device, after the media.
std::vector<std::string> read_through(const ObjectReader& object, const Scenario& s);
void read_links(const ObjectReader& top, Scenario& s);
/// After the links: whether loads are copied by a kernel, and at what rates.
void use_small_page_kernel(Scenario& s);
std::unique_ptr<LinkModel> link_with_kernel(std::unique_ptr<LinkModel> link,
                                            const RateTable& kernel);
void read_workload(const ObjectReader& top, Scenario& s);
/// The key `classes` of the workload.
void read_classes(const ObjectReader& workload, Scenario& s);
void read_slo(const ObjectReader& top, Scenario& s);
void read_plan(const ObjectReader& top, Scenario& s);
void read_sweep(const ObjectReader& top, Scenario& s);
void read_fleet(const ObjectReader& top, Scenario& s);
/// The key `growth` of a workload or of a plan's demand.
GrowthChoice read_growth(const ObjectReader& o);
/// The workload's days, growth and replication.
void read_replication(const ObjectReader& workload, Scenario& s);

// ---- read_benchmark.cpp

/// workload.benchmark alone; files that it names lie in `folder`.
BenchmarkConfig read_benchmark(const ObjectReader& benchmark, const std::string& folder);
/// Also what follows from the model: the tokens of its chat template.
BenchmarkConfig read_benchmark(const ObjectReader& benchmark, const Scenario& s);
/// Arrivals and measured part of the run are the tool's.
void apply_benchmark(const ObjectReader& workload, WorkloadChoice& w);

/// The blocks behind a size of the tier below HBM, written as `text`. Throws InputError where it
/// holds not even one block without being 0, or more bytes than can be counted.
std::uint64_t checked_tier_blocks(const Scenario& s, const Capacity& capacity,
                                  std::string_view text, const SourceRef& where);

/// A size of `tier` as what all ranks of an engine have together.
Capacity instance_capacity(const Scenario& s, const TierChoice& tier, Capacity capacity);

/// What was typed on the command line may lie where the user stands.
bool lies_here(const SourceRef& where, const std::string& path);
/// A path as a scenario in `folder` means it: beside the scenario, unless it lies here.
std::string path_beside(const std::string& folder, const SourceRef& where, const std::string& path);

/// Overwrites `target` where the scenario gave a value.
template <class T>
void assign(T& target, const std::optional<std::int64_t>& value) {
  if (value) target = static_cast<T>(*value);
}

}  // namespace spillway
