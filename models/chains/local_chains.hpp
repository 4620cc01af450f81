// A request's chain in the block ids of one engine.
//
// Where an engine is alone in its simulation these are the ids of the chain map. Beside others it
// names blocks as requests are submitted to it, so that its columns follow what it has met and not
// what all have: dense ids in the order of naming, those of a trace block, and a request's own, one
// after another as in the chain map. for_runs() cuts a chain into the same runs in both spaces; a
// store that engines share goes by those of the chain map.
#pragma once

#include <cstdint>
#include <vector>

#include "models/chains/block_columns.hpp"
#include "models/chains/chain_map.hpp"
#include "sim/growing_column.hpp"
#include "sim/sparse_column.hpp"

namespace spillway {

class LocalChains {
 public:
  /// `engines` of the simulation.
  explicit LocalChains(const ChainMap& chains, std::uint32_t engines = 1);

  const ChainMap& global() const { return chains_; }
  /// Ids are below this, until columns grow.
  std::uint32_t block_count() const { return room_; }
  /// Ids are below this, however many are named.
  std::uint32_t most_blocks() const { return chains_.block_count(); }
  std::uint32_t longest_chain() const { return chains_.longest_chain(); }

  /// The request is about to be served here: from now on its blocks have names.
  void name(RequestId request) {
    if (own_) name_blocks(request);
  }
  /// As ChainMap::for_runs(), of a request that was named.
  template <class Run>
  void for_runs(RequestId request, std::uint32_t from, std::uint32_t to, Run run) const {
    for_runs(request, from, to, run, own_);
  }
  /// By this engine's ids, or by those of the chain map.
  template <class Run>
  void for_runs(RequestId request, std::uint32_t from, std::uint32_t to, Run& run,
                bool local) const {
    // One walk for both: two would be too much to be inlined in the loops that call them.
    const bool own = own_ && local;
    chains_.for_runs_as([&](auto whose) { return own ? own_base(whose) : chains_.base(whose); },
                        request, from, to, run);
  }

  /// Grown whenever ids are; each block has `ids_per_block` ids there. They outlive this.
  void attach(BlockColumns& columns, std::uint32_t ids_per_block = 1) {
    columns_.push_back({&columns, ids_per_block});
  }
  /// Before anything is named: global_of() will be asked.
  void keep_origins() { origins_kept_ = true; }
  BlockId global_of(BlockId local) const { return own_ ? origins_[raw(local)] : local; }

 private:
  static constexpr std::uint32_t kFewBlocks = 1 << 12;
  struct Columns {
    BlockColumns* columns;
    std::uint32_t ids_per_block;
  };

  std::uint32_t own_base(TraceBlockId block) const { return shared_[raw(block)] - 1; }
  std::uint32_t own_base(RequestId request) const { return single_[raw(request)] - 1; }
  void name_blocks(RequestId request);
  template <class Whose>
  std::uint32_t named(SparseColumn<std::uint32_t>& column, Whose whose);
  void grow();

  const ChainMap& chains_;
  bool own_;
  bool origins_kept_ = false;
  std::uint32_t next_ = 0;
  std::uint32_t room_;
  SparseColumn<std::uint32_t> shared_;  ///< 1 + first id of a trace block; 0: not named
  SparseColumn<std::uint32_t> single_;  ///< the same of what is a request's own
  GrowingColumn<BlockId> origins_;      ///< by local id, where kept
  std::vector<Columns> columns_;
};

}  // namespace spillway
