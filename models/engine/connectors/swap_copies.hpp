// vLLM v0's copies between the GPU and the CPU pool: on the compute stream, before the forward
// (vllm/worker/worker.py, cache_engine.py, csrc/cache_kernels.cu @ db66e018ea).
//
// Per layer, keys and values apart, one cudaMemcpyAsync per block. Nothing computes meanwhile, so a
// step is longer by what they take. One host thread submits them in a loop: where that is slower
// than the link, the copies end with its last submission and the copy behind it.
#pragma once

#include <cstdint>

#include "models/engine/connectors/step_moves.hpp"
#include "models/link/copy_path.hpp"
#include "sim/observer.hpp"
#include "sim/units.hpp"

namespace spillway {

class SwapCopies final : public StepMoves {
 public:
  /// `copies_per_block`: layers, twice.
  SwapCopies(LaneSpec down, LaneSpec up, Bytes block_bytes, std::uint32_t copies_per_block,
             Observer& observer);

  /// Issues the step's copies at `now`: out, then in. The stream is busy with them for as long as
  /// is returned.
  Duration begin_forward(const StepPlan& plan, Time now, Duration compute) override;
  void report(EngineStats& stats) const override;

  /// Of so many blocks one way, with the link to themselves.
  Duration time_of(Direction direction, std::uint32_t blocks) const;

 private:
  Duration copy_one_way(Direction direction, std::uint32_t blocks, Time now);
  const LaneSpec& lane(Direction direction) const {
    return direction == Direction::kDown ? down_ : up_;
  }

  LaneSpec down_;
  LaneSpec up_;
  Bytes block_bytes_;
  std::uint32_t copies_per_block_;
  Observer& observer_;
  Duration stall_{};
};

}  // namespace spillway
