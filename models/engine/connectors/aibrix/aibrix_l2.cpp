#include "models/engine/connectors/aibrix/aibrix_l2.hpp"

namespace spillway {

namespace {

/// Blocks of an L2 that engines share.
struct SharedL2 final : SharedThing {
  explicit SharedL2(const ChunkTierConfig& tier) : table(tier.capacity, tier.order) {}
  ChunkTable table;
};

ChunkTable& table_of(const ChunkTierConfig& tier, SharedThings& shared,
                     std::unique_ptr<ChunkTable>& own) {
  if (tier.shared) {
    return shared.at<SharedL2>(tier.number, [&] { return std::make_unique<SharedL2>(tier); }).table;
  }
  own = std::make_unique<ChunkTable>(tier.capacity, tier.order);
  return *own;
}

}  // namespace

AibrixL2::AibrixL2(const ChunkTierConfig& config, const Rules& rules, L1Cache& l1,
                   const Place& place)
    : config_(config),
      rules_(rules),
      l1_(l1),
      listener_(place.listener),
      table_(table_of(config, place.shared, own_)),
      port_(place.network, config.port, place.settlement, place.queue, place.observer, *this) {}

std::uint32_t AibrixL2::leading(std::span<const ChunkId> blocks) const {
  std::uint32_t count = 0;
  while (count < blocks.size() && table_.has(blocks[count])) ++count;
  return count;
}

void AibrixL2::read(std::span<const ChunkId> blocks) {
  read_ = reads_.take();
  reads_[read_].blocks.assign(blocks.begin(), blocks.end());
  reads_[read_].given_up = false;
  port_.submit(StorageOp::kRead, read_, rules_.block * static_cast<std::int64_t>(blocks.size()));
}

/// Where the worker waits for writes, blocks are written one after another before it goes on. What
/// they lie in does not matter meanwhile: nobody else takes buffers.
void AibrixL2::write(ChunkId id, L1Buffer buffer) {
  if (rules_.quota == 0) return pending_.push_back(id);
  if (writing_ == rules_.quota) {
    ++refused_;
    return;
  }
  l1_.hold(buffer);
  begin_write(id, buffer);
}

void AibrixL2::begin_write(ChunkId id, L1Buffer buffer) {
  const std::uint32_t job = writes_.take();
  writes_[job] = {id, buffer};
  ++writing_;
  port_.submit(StorageOp::kWrite, job, rules_.block);
}

bool AibrixL2::written() {
  if (rules_.quota > 0) return true;
  if (writing_ == 0 && !pending_.empty()) {
    const ChunkId id = pending_.front();
    pending_.pop_front();
    begin_write(id, L1Buffer{});
  }
  return writing_ == 0;
}

void AibrixL2::on_port_done(StorageOp op, std::uint32_t job) {
  if (op == StorageOp::kRead) {
    end_read(reads_[job]);
    reads_.release(job);
    return;
  }
  end_write(writes_[job].id);
  --writing_;
  if (rules_.quota > 0) {
    l1_.let_go(writes_[job].buffer);
  } else {
    listener_.on_l2_written();
  }
  writes_.release(job);
}

void AibrixL2::end_read(const Read& read) {
  for (const ChunkId id : read.blocks) {
    if (const ChunkSlot slot = table_.find(id); slot != kNoChunkSlot) table_.touch(slot);
  }
  if (!read.given_up) listener_.on_l2_read();
}

void AibrixL2::end_write(ChunkId id) {
  if (const ChunkSlot known = table_.find(id); known != kNoChunkSlot) return table_.touch(known);
  const ChunkSlot slot =
      rules_.block > table_.capacity() ? kNoChunkSlot : table_.take_evicting(rules_.block);
  if (slot == kNoChunkSlot) {
    ++refused_;
    return;
  }
  table_.name(slot, id);
  table_.done(slot);
}

}  // namespace spillway
