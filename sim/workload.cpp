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
  // Columns that most traces lack are hashed only where they are, each behind a tag.
  if (!columns_.tenant.empty()) {
    digest.text("tenant");
    digest.column(columns_.tenant);
    for (const std::string& name : source_.tenants) digest.text(name);
  }
  if (!columns_.after_begin.empty()) {
    digest.text("after");
    digest.column(columns_.after_begin);
    digest.column(columns_.after);
  }
  if (!columns_.think_ns.empty()) {
    digest.text("think");
    digest.column(columns_.think_ns);
  }
  return digest.value();
}

}  // namespace spillway
