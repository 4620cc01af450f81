#include "sim/workload.hpp"

namespace spillway {

WorkloadColumns first_requests(const WorkloadColumns& all, std::uint64_t count) {
  WorkloadColumns c = all;
  const auto cut = [](auto& column, std::uint64_t size) {
    if (!column.empty()) column = column.first(size);
  };
  cut(c.arrival_ns, count);
  cut(c.input_tokens, count);
  cut(c.output_tokens, count);
  cut(c.session, count);
  cut(c.tenant, count);
  cut(c.think_ns, count);
  cut(c.after_begin, count + 1);
  if (!c.after_begin.empty()) cut(c.after, c.after_begin.back());
  cut(c.chain_begin, count + 1);
  c.chain = c.chain.first(c.chain_begin.back());
  c.unique_blocks = 0;
  for (const TraceBlockId id : c.chain) c.unique_blocks = std::max(c.unique_blocks, raw(id) + 1);
  return c;
}

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
