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
  cut(c.retention, count);
  cut(c.hints, count);
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

namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};

void add_rule(Digest& digest, const RetentionRule& rule) {
  digest.number(rule.priority);
  digest.number(rule.duration ? static_cast<std::uint64_t>(rule.duration->count()) : kNone);
}

void add_retention(Digest& digest, const WorkloadColumns& columns, const WorkloadSource& source) {
  digest.column(columns.retention);
  for (const KvRetention& says : source.retentions) {
    digest.number(says.prompt ? says.prompt->size() : kNone);
    for (const RetentionRange& range : says.prompt.value_or(std::vector<RetentionRange>())) {
      digest.number(range.begin);
      digest.number(range.end);
      add_rule(digest, range.rule);
    }
    digest.number(says.decode ? 1U : 0U);
    if (says.decode) add_rule(digest, *says.decode);
  }
}

}  // namespace

std::optional<std::uint64_t> Workload::links_hash() const {
  const WorkloadColumns& c = columns_;
  if (c.session.empty() && c.tenant.empty() && c.after_begin.empty() && c.think_ns.empty() &&
      c.retention.empty() && c.hints.empty()) {
    return std::nullopt;
  }
  Digest digest;
  digest.column(c.session);
  digest.column(c.tenant);
  for (const std::string& name : source_.tenants) digest.text(name);
  digest.column(c.after_begin);
  digest.column(c.after);
  digest.column(c.think_ns);
  if (!c.retention.empty()) add_retention(digest, c, source_);
  if (!c.hints.empty()) digest.column(c.hints);
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
