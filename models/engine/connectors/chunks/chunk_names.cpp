#include "models/engine/connectors/chunks/chunk_names.hpp"

#include <algorithm>

namespace spillway {

void ChunkNames::list(RequestId request, std::uint32_t tokens, bool partial,
                      std::vector<ChunkId>& out) {
  out.clear();
  const std::uint32_t k = chunk_tokens_ / chains_.block_tokens();
  std::uint32_t at = 0;  // blocks of the chain before the run
  chains_.for_runs(request, 0, tokens / chunk_tokens_ * k,
                   [&](std::uint32_t first, std::uint32_t count) {
                     for (std::uint32_t i = k - 1 - at % k; i < count; i += k) {
                       out.push_back(ChunkId{first + i});
                     }
                     at += count;
                     return true;
                   });
  if (partial && tokens % chunk_tokens_ != 0) out.push_back(partial_name(request, tokens));
}

ChunkId ChunkNames::partial_name(RequestId request, std::uint32_t tokens) {
  const std::uint32_t block = chains_.block_tokens();
  std::uint64_t key = (std::uint64_t{1} << 63) | std::uint64_t{raw(request)} << 31 | tokens;
  if (tokens % block == 0) {
    const std::uint32_t last = tokens / block - 1;
    chains_.for_runs(request, last, last + 1, [&](std::uint32_t first, std::uint32_t) {
      key = std::uint64_t{first} << 31 | tokens % chunk_tokens_;
      return true;
    });
  }
  const auto next = chains_.block_count() + static_cast<std::uint32_t>(partial_.size());
  return ChunkId{partial_.try_emplace(key, next).first->second};
}

}  // namespace spillway
