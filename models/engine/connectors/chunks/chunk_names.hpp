// Names of a request's chunks: a chunk is some tokens and the whole prefix before them.
//
// A full one is known by the last engine block in it, by the ids of the whole simulation, as stores
// may be shared. A partial one, where the request's tokens end, is known by its last block and its
// tokens, and is the request's own where it ends inside a block.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "models/chains/chain_map.hpp"
#include "models/engine/connectors/chunks/chunk_table.hpp"
#include "sim/shared_things.hpp"

namespace spillway {

class ChunkNames final : public SharedThing {
 public:
  ChunkNames(const ChainMap& chains, std::uint32_t chunk_tokens)
      : chains_(chains), chunk_tokens_(chunk_tokens) {}

  std::uint32_t chunk_tokens() const { return chunk_tokens_; }
  /// Of the chunks that the first `tokens` tokens of the request fill; with `partial`, also of what
  /// is left behind them.
  void list(RequestId request, std::uint32_t tokens, bool partial, std::vector<ChunkId>& out);

 private:
  ChunkId partial_name(RequestId request, std::uint32_t tokens);

  const ChainMap& chains_;
  std::uint32_t chunk_tokens_;
  std::unordered_map<std::uint64_t, std::uint32_t> partial_;  ///< asked for where these are kept
};

}  // namespace spillway
