#include "sim/workload.hpp"

#include "sim/digest.hpp"

namespace spillway {

std::uint64_t Workload::content_hash() const {
  Digest digest;
  digest.number(columns_.block_tokens);
  digest.column(columns_.arrival_ns);
  digest.column(columns_.input_tokens);
  digest.column(columns_.output_tokens);
  digest.column(columns_.session);
  digest.column(columns_.chain_begin);
  digest.column(columns_.chain);
  return digest.value();
}

}  // namespace spillway
