// TensorRT-LLM: a tree of blocks that can be used again, on the GPU and in host memory where there
// is a tier, and its two schedulers; or with the KV cache manager V2 that tree over three levels,
// and the scheduler that goes with it.
#include "models/engine/connectors/trtllm/block_copies.hpp"
#include "models/engine/engine_parts.hpp"
#include "models/engine/schedulers/paged_scheduler.hpp"
#include "models/engine/schedulers/trtllm_scheduler.hpp"
#include "models/engine/stores/paged_tree.hpp"

namespace spillway {

namespace {

struct TrtllmBase final : Assembly::Base {
  std::unique_ptr<ReuseTree> tree;   ///< of V1
  std::unique_ptr<PagedTree> paged;  ///< of V2
};

std::unique_ptr<TransferPath> disk_path(const Site& site, LowerTierConfig& lower,
                                        BlockCopies& copies) {
  return make_host_path(site.queue, site.network.fabric(), site.network.media(),
                        std::move(*lower.disk), site.observer, copies.disk_listener(lower.copies));
}

/// Slots are there from the start. A plan also asks what host memory without a bound would do: as
/// many then as there will ever be blocks.
std::uint32_t host_slots(const Site& site, const LowerTierConfig& lower) {
  const std::uint64_t all = std::uint64_t{site.chains.most_blocks()} + site.config.num_gpu_blocks;
  const bool bounded = lower.capacity_blocks != BlockStore::kUnbounded;
  return static_cast<std::uint32_t>(bounded ? lower.capacity_blocks : all);
}

}  // namespace

Assembly assemble_trtllm(const Site& site, EngineParts& parts) {
  const EngineConfig& config = site.config;
  const bool v2 = config.trtllm.v2();
  LowerTierConfig* lower = parts.lower.get();
  Assembly out;
  auto copies = std::make_unique<BlockCopies>(
      BlockCopies::Environment{config, site.requests, site.waiter, site.queue});
  auto base = std::make_unique<TrtllmBase>();
  ReuseTree::Config tree{config.block_tokens, config.num_gpu_blocks, 0,
                         config.trtllm.offload_min_priority};
  BlockCopiesStep::Paths paths;
  if (lower != nullptr) {
    // Without reuse nothing would ever be found there; but V2 suspends requests to it.
    if (config.trtllm.block_reuse || v2) {
      tree.host_blocks = host_slots(site, *lower);
    }
    paths[0] = make_path(site, *lower, *copies).path;
    if (lower->disk) {
      tree.disk_blocks = static_cast<std::uint32_t>(lower->disk_blocks);
      paths[1] = disk_path(site, *lower, *copies);
    }
  }
  const auto attach = [&](ReuseTree& used) {
    copies->attach(used, paths[0].get(), paths[1].get());
    return TrtllmScheduler::Environment{config, site.workload, site.requests,
                                        used,   *copies,       site.observer};
  };
  std::unique_ptr<TrtllmScheduler> scheduler;
  if (v2) {
    base->paged = std::make_unique<PagedTree>(tree, site.workload, *copies);
    scheduler = std::make_unique<PagedScheduler>(attach(*base->paged), *base->paged);
  } else {
    base->tree = std::make_unique<ReuseTree>(tree, site.workload, *copies);
    scheduler = std::make_unique<TrtllmScheduler>(attach(*base->tree));
  }
  out.moves = std::make_unique<BlockCopiesStep>(*copies, *scheduler, std::move(paths));
  out.connector = std::move(copies);
  out.scheduler = std::move(scheduler);
  out.base = std::move(base);
  return out;
}

}  // namespace spillway
