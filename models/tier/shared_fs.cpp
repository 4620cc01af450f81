// A shared file system behind a pool of threads, one file per chunk of tokens.
//
// llm-d's file system backend: 64 threads per GPU, of which a share of 0.75 takes reads first and
// the others writes first, files of 256 tokens (llm-d/llm-d-kv-cache v0.22). One client at 1.25
// GB/s (llm-d-kv-cache issue 559, a 64K prompt in 12 s). Nobody publishes an aggregate rate or the
// cost of opening a file as such: 20 GB/s (a dozen Lustre object targets at the 0.16-1.7 GB/s each
// of llm-d's storage guide) and 1 ms are assumed.
#include "models/tier/storage_kinds.hpp"

namespace spillway::shared_fs {

namespace {
constexpr std::int64_t kClientRate = 1'250'000'000;
constexpr std::int64_t kTotalRate = 20'000'000'000;
constexpr Duration kMetadata = std::chrono::milliseconds(1);
constexpr std::uint32_t kThreads = 64;
constexpr std::uint32_t kReadFirst = 48;  // 0.75 of them
}  // namespace

StorageSpec spec() {
  StorageSpec out;
  out.kind = StorageKind::kFs;
  out.read = {kTotalRate, kClientRate, 0, LatencyQuantiles::constant(kMetadata)};
  out.write = out.read;
  out.slots = kThreads;
  out.read_first = kReadFirst;
  return out;
}

std::vector<StorageSource> sources() {
  constexpr std::string_view kClient = "llm-d-kv-cache issue 559";
  return {{"client_limit", kClient},
          {"aggregate_limit", "assumed"},
          {"read_latency_us", "assumed"},
          {"write_latency_us", "assumed"},
          {"threads", "llm-d-kv-cache v0.22"},
          {"read_preferring", "llm-d-kv-cache v0.22"},
          {"chunk_tokens", "llm-d-kv-cache v0.22"}};
}

}  // namespace spillway::shared_fs
