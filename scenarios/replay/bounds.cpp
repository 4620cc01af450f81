#include "scenarios/replay/bounds.hpp"

#include "policies/catalogue.hpp"

namespace spillway {

namespace {
constexpr std::string_view kOptimum = "belady";
}

BoundCells::BoundCells(const Workload& workload, const std::vector<ReplayCell*>& rows,
                       const ReplaySetup& setup) {
  const EvictionChoice lru = parse_eviction("lru", {});
  const EvictionChoice optimum = parse_eviction(kOptimum, {});
  ReplaySetup of_requests = setup;
  if (setup.atomicity == Atomicity::kReference) {
    by_request_ = ReplayFacts(workload, optimum.needs(), Atomicity::kRequest);
    of_requests.atomicity = Atomicity::kRequest;
    of_requests.facts = &by_request_;
  }
  ReplaySetup here = setup;
  here.capacity_blocks = kUnboundedCache;
  unbounded_ = cell(rows, lru, here);
  for (const ReplayCell* row : rows) {
    const std::uint64_t capacity = row->capacity();
    if (at_.contains(capacity)) continue;
    here.capacity_blocks = of_requests.capacity_blocks = capacity;
    AtCapacity& found = at_[capacity];
    found.lru = cell(rows, lru, here);
    found.optimum = cell(rows, optimum, here);
    found.of_requests =
        setup.atomicity == Atomicity::kRequest ? found.optimum : cell({}, optimum, of_requests);
  }
}

/// A row that replays the same, else a cell of our own. Without a bound all policies are one.
const ReplayCell* BoundCells::cell(const std::vector<ReplayCell*>& rows,
                                   const EvictionChoice& policy, const ReplaySetup& setup) {
  const bool unbounded = setup.capacity_blocks == kUnboundedCache;
  for (const ReplayCell* row : rows) {
    if (!row->tiered() && row->capacity() == setup.capacity_blocks &&
        (unbounded || row->policy() == policy.text())) {
      return row;
    }
  }
  return &own_.emplace_back(policy, setup);
}

std::vector<ReplayCell*> BoundCells::cells() {
  std::vector<ReplayCell*> out;
  for (ReplayCell& cell : own_) out.push_back(&cell);
  return out;
}

ReplayBounds BoundCells::at(std::uint64_t capacity, bool prefix) const {
  const AtCapacity& cells = at_.at(capacity);
  ReplayBounds out;
  out.content = unbounded_->counts().block_hits;
  out.content_prefix = unbounded_->counts().prefix_hits;
  out.strict_prefix_optimum = cells.of_requests->counts().prefix_hits;
  out.belady = cells.optimum->counts().block_hits;
  const ReplayCounts& lru = cells.lru->counts();
  out.lru = prefix ? lru.prefix_hits : lru.block_hits;
  return out;
}

}  // namespace spillway
