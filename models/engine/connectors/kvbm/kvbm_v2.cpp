// What KVBM v2 does otherwise than v1 on the way down: policies, jobs, counts of uses
// (ai-dynamo/dynamo: lib/kvbm-engine/src/offload/{policy,pipeline,batch,engine}.rs).
//
// A block that passes its hop's policies is pending there until its job has ended or is dropped.
// What a copy-down brings to host memory is offered to every tier below at that instant; a block
// that host memory has lost when its job begins is left out.
#include <algorithm>

#include "models/chains/local_chains.hpp"
#include "models/engine/connectors/kvbm/kvbm_connector.hpp"

namespace spillway {

void KvbmConnector::name_parents(const ActiveRequest& r, std::uint32_t first, std::uint32_t end) {
  BlockId before = kNoBlock;
  const auto name = [&](std::uint32_t id, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      parents_.grow(std::size_t{id} + i + 1, kNoBlock);
      if (before != kNoBlock) parents_[id + i] = before;
      before = BlockId{id + i};
    }
    return true;
  };
  env_.chains.for_runs(r.id, first - std::min(first, 1U), end, name);
}

/// PolicyEvaluator::evaluate() of pipeline.rs: what is refused leaves `blocks`.
void KvbmConnector::keep_passing(Tier& tier, std::vector<BlockId>& blocks) {
  const auto refused = [&](BlockId block) {
    std::uint32_t& pending = tier.pending[raw(block)];
    if (tier.policies.presence && (tier.pool.has(block) || pending > 0)) return true;
    if (tier.policies.frequent && uses_.count(block) <= env_.config.kvbm.min_uses) {
      ++tier.filtered;
      return true;
    }
    ++pending;
    return false;
  };
  for (const BlockId block : blocks) tier.pending.grow(std::size_t{raw(block)} + 1, 0);
  std::erase_if(blocks, refused);
}

void KvbmConnector::settle(Tier& tier, std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) --tier.pending[raw(block)];
}

/// register_sequence_hash() of kvbm-logical/src/registry/mod.rs: a block that no tier has is used.
void KvbmConnector::count_new(BlockId block) {
  const auto has = [&](const Tier& tier) { return tier.pool.has(block); };
  if (std::none_of(tiers_.begin(), tiers_.end(), has)) uses_.use(block);
}

/// chain_router_task() of engine.rs.
void KvbmConnector::queue_lower(std::size_t place, const std::vector<BlockId>& blocks) {
  Tier& tier = tiers_[place];
  offered_.assign(blocks.begin(), blocks.end());
  keep_passing(tier, offered_);
  const bool idle = tier.jobs.empty();
  for (std::span<const BlockId> left = offered_; !left.empty();) {
    const std::size_t n = std::min<std::size_t>(env_.config.kvbm.max_batch, left.size());
    const std::uint32_t number = lowers_.take();
    lowers_[number].blocks.assign(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(n));
    tier.jobs.push_back(number);
    left = left.subspan(n);
  }
  if (idle) begin_lower(place);
}

/// The first job that has blocks and finds slots begins; those before it are dropped.
void KvbmConnector::begin_lower(std::size_t place) {
  Tier& tier = tiers_[place];
  SlotPool& host = tiers_[0].pool;
  for (; !tier.jobs.empty(); tier.jobs.pop_front()) {
    const std::uint32_t number = tier.jobs.front();
    LowerJob& job = lowers_[number];
    std::erase_if(job.blocks, [&](BlockId block) {
      if (host.has(block)) return false;
      --tier.pending[raw(block)];
      return true;
    });
    if (job.blocks.empty() || !tier.pool.can_take(job.blocks.size())) {
      tier.refused += job.blocks.size();
      settle(tier, job.blocks);
      lowers_.release(number);
      continue;
    }
    job.sources.clear();
    job.targets.clear();
    for (const BlockId block : job.blocks) {
      job.sources.push_back(host.find(block));
      job.targets.push_back(tier.pool.take());
      host.pin(job.sources.back());
    }
    const auto blocks = static_cast<std::uint32_t>(job.blocks.size());
    begin(Kind::kWrite, place, tier.down.submit(blocks, place_.queue.now(), scratch_));
    job.transfer = scratch_.front();
    return;
  }
}

void KvbmConnector::end_lower(std::size_t place) {
  Tier& tier = tiers_[place];
  const std::uint32_t number = tier.jobs.front();
  const LowerJob& job = lowers_[number];
  place_.observer.on_transfer(job.transfer);
  for (std::size_t i = 0; i < job.blocks.size(); ++i) {
    tier.pool.register_block(job.targets[i], job.blocks[i]);
  }
  for (const SlotId source : job.sources) tiers_[0].pool.unpin(source);
  settle(tier, job.blocks);
  tier.jobs.pop_front();
  lowers_.release(number);
  begin_lower(place);
}

}  // namespace spillway
