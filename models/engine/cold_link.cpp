#include "models/engine/cold_link.hpp"

#include "sim/error.hpp"
#include "sim/units.hpp"

namespace spillway {

bool ColdLink::begin_step(const StepPlan& plan) {
  write_down(plan.moved_down);
  down_due_ = down_submitted_;
  const ColdDecode& cold = config_.cold;
  const WideInt whole = WideInt{kWholeShare} * kWholeShare;
  const WideInt share = WideInt{cold.selected_ppm} * (kWholeShare - cold.page_cache_ppm);
  // What decodes read, in whole blocks for the number of copies and exactly for the bytes.
  const auto part_of = [&](WideInt amount) {
    return static_cast<std::int64_t>((amount * share + whole - 1) / whole);
  };
  const auto prefill = static_cast<std::int64_t>(plan.cold_prefill);
  const auto decode = static_cast<std::int64_t>(plan.cold_decode);
  const Bytes bytes =
      config_.block_bytes * prefill + Bytes(part_of((config_.block_bytes * decode).count()));
  if (bytes == Bytes(0)) return false;
  KV_ASSERT(path_ != nullptr, "blocks to read, and no link to read them over");
  reading_ = true;
  const auto copies = static_cast<std::uint32_t>(prefill + part_of(decode));
  path_->submit(Direction::kUp, 0, bytes, copies * cold.copies_per_block);
  return true;
}

void ColdLink::write_down(std::uint64_t blocks) {
  if (blocks == 0) return;
  KV_ASSERT(path_ != nullptr, "blocks to write down, and no link for them");
  path_->submit(Direction::kDown, down_submitted_++,
                config_.block_bytes * static_cast<std::int64_t>(blocks),
                static_cast<std::uint32_t>(blocks) * config_.copies_per_block);
}

void ColdLink::on_transfer_done(Direction direction, std::uint32_t) {
  if (direction == Direction::kUp) {
    reading_ = false;
  } else {
    ++down_ended_;
  }
  waiter_.on_transfer_progress();
}

}  // namespace spillway
