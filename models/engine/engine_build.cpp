// How an engine is put together from its parts: pool, connector, path, scheduler.
#include "models/engine/engine.hpp"

#include "models/engine/connectors/grouped_connector.hpp"
#include "models/engine/connectors/offload_connector.hpp"
#include "models/engine/connectors/simple_connector.hpp"
#include "models/tier/storage_path.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

std::unique_ptr<RequestFacts> needed_facts(const EngineParts& parts, const Workload& workload) {
  const bool needed = parts.eviction.needs().requests ||
                      (parts.lower != nullptr && parts.lower->eviction.needs().requests);
  return needed ? std::make_unique<RequestFacts>(request_facts(workload)) : nullptr;
}

/// Names of blocks as pool and tiers see them: one for each KV group. Throws InputError (exit 7)
/// when they do not fit.
std::uint32_t page_names(const ChainMap& chains, const EngineConfig& config) {
  constexpr std::uint64_t kMostNames = (std::uint64_t{1} << 31) - 2;
  const std::uint64_t names = std::uint64_t{chains.block_count()} * config.groups.count();
  if (names > kMostNames) {
    throw InputError(Fault::kIo, {"hybrid_kv_cache", 0, ""},
                     fmt::format("{} distinct blocks in {} KV groups; expected at most {} in all, "
                                 "with larger blocks or fewer requests",
                                 chains.block_count(), config.groups.count(), kMostNames));
  }
  return static_cast<std::uint32_t>(names);
}

/// Null where every request enters.
std::unique_ptr<AdmissionGate> gate_of(const EngineParts& parts, std::uint32_t gpu_blocks,
                                       RequestPool& requests) {
  AdmissionContext context;
  context.gpu_blocks = gpu_blocks;
  context.lower_blocks = parts.lower == nullptr ? 0 : parts.lower->capacity_blocks;
  auto policy = parts.admission.make(context);
  if (policy == nullptr) return nullptr;
  return std::make_unique<AdmissionGate>(std::move(policy), requests);
}

/// vLLM keeps as many batches in flight as there are stages (vllm/config/vllm.py,
/// max_concurrent_batches @ 017e9f4448), or two where it schedules ahead.
std::uint32_t depth_of(const EngineConfig& config) {
  KV_ASSERT(config.pipeline_parallel == 1 || !config.async_scheduling,
            "a pipeline with asynchronous scheduling");
  return config.async_scheduling ? 2 : config.pipeline_parallel;
}

}  // namespace

Engine::Engine(EventQueue& queue, Network& network, const Workload& workload, EngineParts parts,
               Observer& observer)
    : queue_(queue),
      network_(network),
      workload_(workload),
      config_(parts.config),
      observer_(observer),
      measure_from_(parts.measure_from),
      classes_(std::move(parts.classes)),
      stages_(parts.stages),
      cost_(std::move(parts.cost)),
      chains_(workload, config_.block_tokens),
      requests_(chains_.longest_chain() * config_.groups.count()),
      facts_(needed_facts(parts, workload)),
      load_choice_(load_choice_of(parts)),
      depth_(depth_of(config_)) {
  if (config_.pipeline_parallel > 1) pipeline_.emplace(config_.pipeline_parallel);
  if (config_.residency == Residency::kStreaming) {
    build_streaming(parts);
  } else if (config_.family == EngineFamily::kVllmV0) {
    build_v0(parts);
  } else {
    build_full(parts);
  }
  load_wait_ = std::make_unique<LoadWait>(config_.load, config_.layers,
                                          connector_ == nullptr ? nullptr : &connector_->jobs());
  gate_ = gate_of(parts, config_.usable_blocks(), requests_);
  if (parts.lower != nullptr && parts.lower->interference.any()) {
    KV_ASSERT(config_.load != LoadSemantics::kLayerwise && cold_ == nullptr,
              "neither layers nor streamed steps are slowed by copies");
    clock_.emplace(parts.lower->interference);
  }
  if (parts.lower != nullptr) attach_path(*parts.lower);
}

void Engine::attach_path(LowerTierConfig& lower) {
  TransferListener& listener =
      cold_ != nullptr ? static_cast<TransferListener&>(*cold_) : *connector_;
  path_ = make_path(lower, listener);
  if (cold_ != nullptr) {
    cold_->attach(*path_);
  } else {
    connector_->jobs().attach(*path_);
  }
}

std::unique_ptr<TransferPath> Engine::make_path(LowerTierConfig& lower,
                                                TransferListener& listener) {
  if (lower.storage.empty()) {
    return make_host_path(queue_, network_.fabric(), network_.media(), std::move(lower.lanes),
                          observer_, listener);
  }
  StoragePathConfig config{std::move(lower.storage), {}, lower.copies};
  if (!lower.direct) config.host = std::move(lower.lanes);
  auto path =
      std::make_unique<StoragePath>(queue_, network_, std::move(config), observer_, listener);
  storage_ = path->devices();
  return path;
}

std::unique_ptr<LoadChoice> Engine::load_choice_of(EngineParts& parts) const {
  if (parts.lower == nullptr || parts.lower->load_estimate == nullptr) return nullptr;
  return std::make_unique<LoadChoice>(config_, *cost_, std::move(parts.lower->load_estimate));
}

void Engine::build_full(const EngineParts& parts) {
  pool_ = std::make_unique<KvPool>(config_.num_gpu_blocks, parts.eviction, policy_context(),
                                   config_.unhashed_front);
  if (parts.lower != nullptr && config_.groups.hybrid()) {
    connector_ = grouped_connector(parts);
  } else if (parts.lower != nullptr && config_.simple_offload) {
    connector_ = std::make_unique<SimpleConnector>(
        SimpleConnector::Environment{config_, chains_, requests_, *pool_, *this},
        parts.lower->capacity_blocks);
  } else if (parts.lower != nullptr) {
    auto tier = first_store(*parts.lower);
    auto stack = stack_over(*tier, parts);
    connector_ = std::make_unique<OffloadConnector>(
        OffloadConnector::Environment{config_, chains_, requests_, *pool_, *this}, std::move(tier),
        std::move(stack), write_admission(*parts.lower));
  }
  scheduler_ = std::make_unique<VllmScheduler>(VllmScheduler::Environment{
      config_, chains_, requests_, *pool_, connector_.get(), load_choice_.get(), observer_});
}

/// What policies of tiers below HBM call a block is a chunk.
EvictionContext Engine::chunk_context() const {
  EvictionContext context = policy_context();
  context.block_tokens *= config_.blocks_per_chunk;
  return context;
}

std::unique_ptr<BlockStore> Engine::first_store(const LowerTierConfig& lower) const {
  const std::uint64_t chunks = lower.capacity_blocks == BlockStore::kUnbounded
                                   ? BlockStore::kUnbounded
                                   : lower.capacity_blocks / config_.blocks_per_chunk;
  return std::make_unique<BlockStore>(BlockStore::Size{chunks, page_names(chains_, config_)},
                                      lower.eviction, chunk_context());
}

std::unique_ptr<TierStack> Engine::stack_over(BlockStore& first, const EngineParts& parts) {
  const LowerTierConfig& lower = *parts.lower;
  // A file behind host memory is a row of it: all ranks' parts of a chunk.
  const Bytes chunk =
      config_.block_bytes * std::int64_t{config_.blocks_per_chunk} * std::int64_t{lower.copies};
  return std::make_unique<TierStack>(
      TierStack::Environment{queue_, network_, observer_, *this, chunk,
                             page_names(chains_, config_), chunk_context(), parts.shared},
      first, lower.trim, lower.behind);
}

/// Its tiers keep pages of groups.
std::unique_ptr<KvConnector> Engine::grouped_connector(const EngineParts& parts) {
  auto tier = first_store(*parts.lower);
  auto stack = stack_over(*tier, parts);
  return std::make_unique<GroupedConnector>(
      GroupedConnector::Environment{config_, chains_, requests_, *pool_, *this}, std::move(tier),
      std::move(stack), workload_.size());
}

void Engine::build_streaming(const EngineParts& parts) {
  KV_ASSERT(!config_.async_scheduling && config_.enable_prefix_caching,
            "streaming with asynchronous scheduling, or with blocks without names");
  const bool lower = parts.lower != nullptr;
  store_ = std::make_unique<StreamingStore>(
      config_.num_gpu_blocks, lower ? parts.lower->capacity_blocks : 0, parts.eviction,
      lower ? parts.lower->eviction : EvictionChoice(), policy_context());
  cold_ = std::make_unique<ColdLink>(config_, static_cast<TransferWaiter&>(*this));
  auto scheduler = std::make_unique<StreamingScheduler>(
      StreamingScheduler::Environment{config_, chains_, requests_, *store_});
  streaming_ = scheduler.get();
  scheduler_ = std::move(scheduler);
}

void Engine::build_v0(EngineParts& parts) {
  KV_ASSERT(!config_.async_scheduling && parts.lower == nullptr,
            "v0 with asynchronous scheduling, or with a tier below");
  auto scheduler =
      std::make_unique<V0Scheduler>(V0Scheduler::Environment{config_, requests_, observer_});
  v0_ = scheduler.get();
  scheduler_ = std::move(scheduler);
  if (parts.swap == nullptr) return;
  swap_ = std::make_unique<SwapCopies>(std::move(parts.swap->down), std::move(parts.swap->up),
                                       config_.block_bytes, config_.copies_per_block, observer_);
}

EvictionContext Engine::policy_context() const {
  EvictionContext context;
  context.blocks = page_names(chains_, config_);
  context.block_tokens = config_.block_tokens;
  context.requests = facts_.get();
  return context;
}

std::unique_ptr<WriteAdmissionPolicy> Engine::write_admission(const LowerTierConfig& lower) const {
  WriteAdmissionContext context;
  context.blocks = chains_.block_count();
  context.block_tokens = config_.block_tokens * config_.blocks_per_chunk;
  return lower.write_admission.make(context);
}

}  // namespace spillway
