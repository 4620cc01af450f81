#include "sim/workload.hpp"

namespace spillway {

void RequestsHash::add(const RequestBatch& batch) {
  const auto put = [](Digest& digest, const auto& column) {
    digest.bytes(column.data(), column.size_bytes());
  };
  put(arrival_, batch.arrival_ns);
  put(input_, batch.input_tokens);
  put(output_, batch.output_tokens);
  put(chain_begin_, batch.chain_begin.subspan(1));
  put(chain_, batch.chain);
}

std::uint64_t RequestsHash::value(std::uint32_t block_tokens) const {
  Digest digest;
  digest.number(block_tokens);
  for (const Digest* column : {&arrival_, &input_, &output_, &chain_begin_, &chain_}) {
    digest.number(column->value());
  }
  return digest.value();
}

std::uint64_t Workload::requests_hash() const {
  RequestsHash hash;
  hash.add(all());
  return hash.value(columns_.block_tokens);
}

std::optional<std::uint64_t> Workload::links_hash() const {
  const WorkloadColumns& c = columns_;
  if (c.session.empty() && c.tenant.empty() && c.after_begin.empty() && c.think_ns.empty()) {
    return std::nullopt;
  }
  Digest digest;
  digest.column(c.session);
  digest.column(c.tenant);
  for (const std::string& name : source_.tenants) digest.text(name);
  digest.column(c.after_begin);
  digest.column(c.after);
  digest.column(c.think_ns);
  return digest.value();
}

std::uint64_t Workload::content_hash() const {
  const auto links = links_hash();
  if (!links) return requests_hash();
  Digest digest;
  digest.number(requests_hash());
  digest.number(*links);
  return digest.value();
}

}  // namespace spillway
