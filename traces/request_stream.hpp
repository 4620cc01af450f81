// A trace's requests in batches, for whoever needs each of them once and only its lengths and
// blocks: memory holds one batch and the names of the blocks, however long the trace is.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/workload.hpp"
#include "traces/catalogue.hpp"

namespace spillway {

/// What is known of a trace once its last request has passed.
struct StreamedTrace {
  WorkloadSource source;
  std::uint32_t block_tokens = 0;
  std::uint32_t unique_blocks = 0;
  std::uint64_t requests_hash = 0;  ///< as Workload::requests_hash()
};

/// References and requests in a batch, the last request's aside.
inline constexpr std::size_t kBatchReferences = std::size_t{1} << 16;

/// Reads a trace that streams() through `use`; each batch is gone after its call. Faults end the
/// reading, or are left out, as with a Workload.
StreamedTrace stream_requests(TraceFile& trace,
                              const std::function<void(const RequestBatch&)>& use);

}  // namespace spillway
