// vLLM v0: plain blocks in two pools, and swaps that a step waits for.
#include "models/engine/connectors/swap_copies.hpp"
#include "models/engine/engine_parts.hpp"
#include "models/engine/schedulers/v0_scheduler.hpp"
#include "sim/error.hpp"

namespace spillway {

Assembly assemble_vllm_v0(const Site& site, EngineParts& parts) {
  const EngineConfig& config = site.config;
  KV_ASSERT(!config.async_scheduling && parts.lower == nullptr,
            "v0 with asynchronous scheduling, or with a tier below");
  Assembly out;
  out.connector = std::make_unique<NoConnector>(config, site.requests, site.waiter);
  out.scheduler = std::make_unique<V0Scheduler>(V0Scheduler::Environment{
      config, v0_rules(config), v0_step(config), site.requests, site.observer});
  if (parts.swap == nullptr) {
    out.moves = std::make_unique<StepMoves>();
  } else {
    out.moves =
        std::make_unique<SwapCopies>(std::move(parts.swap->down), std::move(parts.swap->up),
                                     config.block_bytes, config.copies_per_block, site.observer);
  }
  return out;
}

}  // namespace spillway
