// TensorRT-LLM: a tree of blocks that can be used again, on the GPU and in host memory where there
// is a tier, and its two schedulers.
#include "models/engine/connectors/trtllm/block_copies.hpp"
#include "models/engine/engine_parts.hpp"
#include "models/engine/schedulers/trtllm_scheduler.hpp"
#include "models/engine/stores/reuse_tree.hpp"

namespace spillway {

namespace {

struct TrtllmBase final : Assembly::Base {
  std::unique_ptr<ReuseTree> tree;
};

}  // namespace

Assembly assemble_trtllm(const Site& site, EngineParts& parts) {
  const EngineConfig& config = site.config;
  Assembly out;
  auto copies = std::make_unique<BlockCopies>(
      BlockCopies::Environment{config, site.requests, site.waiter, site.queue});
  auto base = std::make_unique<TrtllmBase>();
  ReuseTree::Config tree{config.block_tokens, config.num_gpu_blocks, 0,
                         config.trtllm.offload_min_priority};
  std::unique_ptr<TransferPath> path;
  if (parts.lower != nullptr) {
    // Without reuse nothing would ever be found there.
    if (config.trtllm.block_reuse) {
      tree.host_blocks = static_cast<std::uint32_t>(parts.lower->capacity_blocks);
    }
    path = make_path(site, *parts.lower, *copies).path;
  }
  base->tree = std::make_unique<ReuseTree>(tree, site.workload, *copies);
  auto scheduler = std::make_unique<TrtllmScheduler>(TrtllmScheduler::Environment{
      config, site.workload, site.requests, *base->tree, *copies, site.observer});
  copies->attach(*base->tree, path.get());
  out.moves = std::make_unique<BlockCopiesStep>(*copies, *scheduler, std::move(path));
  out.connector = std::move(copies);
  out.scheduler = std::move(scheduler);
  out.base = std::move(base);
  return out;
}

}  // namespace spillway
