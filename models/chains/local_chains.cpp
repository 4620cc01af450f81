#include "models/chains/local_chains.hpp"

#include <algorithm>

namespace spillway {

/// Room for an even share at first: columns that grow side by side leave holes in the heap.
LocalChains::LocalChains(const ChainMap& chains, std::uint32_t engines)
    : chains_(chains),
      own_(engines > 1),
      room_(std::min(chains.block_count(), std::max(chains.block_count() / engines, kFewBlocks))),
      shared_(own_ ? chains.workload().unique_blocks() : 0),
      single_(own_ ? chains.workload().size() : 0) {}

template <class Whose>
std::uint32_t LocalChains::named(SparseColumn<std::uint32_t>& column, Whose whose) {
  std::uint32_t& name = column.place(raw(whose));
  if (name != 0) return name - 1;
  const std::uint32_t count = chains_.count(whose);
  name = 1 + next_;
  if (origins_kept_) {
    const std::uint32_t base = chains_.base(whose);
    for (std::uint32_t i = 0; i < count; ++i) origins_.push_back(BlockId{base + i});
  }
  next_ += count;
  return next_ - count;
}

/// Its own blocks and those of the prompts that its answer will be part of.
void LocalChains::name_blocks(RequestId request) {
  const auto base_of = [this](auto whose) {
    if constexpr (std::is_same_v<decltype(whose), RequestId>) {
      return named(single_, whose);
    } else {
      return named(shared_, whose);
    }
  };
  const auto all = [](std::uint32_t, std::uint32_t) { return true; };
  chains_.for_runs_as(base_of, request, 0, chains_.blocks_of(request), all);
  if (next_ > room_) grow();
}

void LocalChains::grow() {
  room_ = std::min(std::max(next_, room_ + room_ / 4), chains_.block_count());
  for (const Columns& c : columns_) c.columns->grow_blocks(room_ * c.ids_per_block);
}

}  // namespace spillway
