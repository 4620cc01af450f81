#include "models/engine/connectors/cold_link.hpp"

#include "sim/error.hpp"
#include "sim/units.hpp"

namespace spillway {

Duration ColdLink::begin_forward(const StepPlan& plan, Time now, Duration compute) {
  start_ = now;
  compute_ = compute;
  write_down(plan.moved_down);
  down_due_ = down_submitted_;
  awaited_ = read(plan);
  return StepMoves::begin_forward(plan, now, compute);
}

std::optional<Time> ColdLink::new_end(Time now) {
  if (!awaited_) return StepMoves::new_end(now);
  if (reading_) return std::nullopt;
  awaited_ = false;
  end_.reset();
  return start_ + streamed_step({compute_, now - start_}, cold_.form, cold_.efficiency_ppm);
}

/// Submits what the plan reads from below; false where that is nothing.
bool ColdLink::read(const StepPlan& plan) {
  const WideInt whole = WideInt{kWholeShare} * kWholeShare;
  const WideInt share = WideInt{cold_.selected_ppm} * (kWholeShare - cold_.page_cache_ppm);
  // What decodes read, in whole blocks for the number of copies and exactly for the bytes.
  const auto part_of = [&](WideInt amount) {
    return static_cast<std::int64_t>((amount * share + whole - 1) / whole);
  };
  const auto prefill = static_cast<std::int64_t>(plan.cold_prefill);
  const auto decode = static_cast<std::int64_t>(plan.cold_decode);
  const Bytes bytes =
      blocks_.block_bytes * prefill + Bytes(part_of((blocks_.block_bytes * decode).count()));
  if (bytes == Bytes(0)) return false;
  KV_ASSERT(path_ != nullptr, "blocks to read, and no link to read them over");
  reading_ = true;
  const auto copies = static_cast<std::uint32_t>(prefill + part_of(decode));
  path_->submit(Direction::kUp, 0, bytes, copies * cold_.copies_per_block);
  return true;
}

void ColdLink::write_down(std::uint64_t blocks) {
  if (blocks == 0) return;
  KV_ASSERT(path_ != nullptr, "blocks to write down, and no link for them");
  path_->submit(Direction::kDown, down_submitted_++,
                blocks_.block_bytes * static_cast<std::int64_t>(blocks),
                static_cast<std::uint32_t>(blocks) * blocks_.copies_per_block);
}

void ColdLink::on_transfer_done(Direction direction, std::uint32_t) {
  if (direction == Direction::kUp) {
    reading_ = false;
  } else {
    ++down_ended_;
  }
  waiter_.on_step_progress();
}

}  // namespace spillway
