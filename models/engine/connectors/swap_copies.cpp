#include "models/engine/connectors/swap_copies.hpp"

#include <algorithm>

namespace spillway {

SwapCopies::SwapCopies(LaneSpec down, LaneSpec up, Bytes block_bytes,
                       std::uint32_t copies_per_block, Observer& observer)
    : down_(std::move(down)),
      up_(std::move(up)),
      block_bytes_(block_bytes),
      copies_per_block_(copies_per_block),
      observer_(observer) {}

Duration SwapCopies::begin_forward(const StepPlan& plan, Time now, Duration compute) {
  Duration taken = copy_one_way(Direction::kDown, plan.swapped_out, now);
  taken += copy_one_way(Direction::kUp, plan.swapped_in, now + taken);
  stall_ += taken;
  StepMoves::begin_forward(plan, now + taken, compute);
  return taken;
}

void SwapCopies::report(EngineStats& stats) const {
  if (stats.swap) stats.swap->stall = stall_;
}

Duration SwapCopies::time_of(Direction direction, std::uint32_t blocks) const {
  const LaneSpec& on = lane(direction);
  const Bytes payload = block_bytes_ * blocks;
  const std::uint32_t copies = blocks * copies_per_block_;
  const Duration alone = on.model->service_time(payload, copies);
  if (on.submit == Duration(0)) return alone;
  const Bytes piece = std::max(Bytes(1), Bytes(block_bytes_.count() / copies_per_block_));
  return std::max(on.submit + alone, on.submit * copies + on.model->service_time(piece, 1));
}

Duration SwapCopies::copy_one_way(Direction direction, std::uint32_t blocks, Time now) {
  if (blocks == 0) return Duration(0);
  const Duration taken = time_of(direction, blocks);
  const LaneSpec& on = lane(direction);
  TransferRecord record;
  record.link = on.link;
  record.payload = block_bytes_ * blocks;
  record.copies = blocks * copies_per_block_;
  record.submitted = record.started = now;
  record.ended = now + taken;
  record.reach = on.model->reach(record.payload, record.copies);
  observer_.on_transfer(record);
  return taken;
}

}  // namespace spillway
