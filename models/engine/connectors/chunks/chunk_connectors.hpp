// Connectors that keep chunks, put together: the scheduler's side and the worker's.
#pragma once

#include <functional>
#include <memory>

#include "models/engine/connectors/kv_connector.hpp"
#include "models/engine/connectors/step_moves.hpp"

namespace spillway {

struct ChunkedConfig;
struct EngineParts;
struct Site;

struct ChunkConnector {
  std::unique_ptr<KvConnector> connector;
  std::unique_ptr<StepMoves> moves;
};

/// Of the kind that the engine is told; `parts.chunked` stays with the caller and outlives it.
ChunkConnector make_chunk_connector(const Site& site, const EngineParts& parts,
                                    ChunkedConfig& config,
                                    const KvConnector::Environment& environment);

/// vLLM's native connector in `environment`, over what `path` makes for the listener it is given.
using PathMaker = std::function<std::unique_ptr<TransferPath>(TransferListener&)>;
using NativeMaker =
    std::function<ChunkConnector(const KvConnector::Environment& environment, const PathMaker&)>;

/// The native one and LMCache behind MultiConnector, over one path.
ChunkConnector make_hybrid_connector(const Site& site, const EngineParts& parts,
                                     ChunkedConfig& config,
                                     const KvConnector::Environment& environment,
                                     const NativeMaker& native);

}  // namespace spillway
