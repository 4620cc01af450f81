#include "tests/support/workload_part.hpp"

#include <utility>
#include <vector>

namespace spillway {

namespace {

struct PartColumns final : WorkloadStorage {
  std::vector<std::int64_t> arrival_ns, think_ns;
  std::vector<std::uint32_t> input_tokens, output_tokens, session, tenant, after_begin;
  std::vector<RequestId> after;
  std::vector<std::uint64_t> chain_begin{0};
  std::vector<TraceBlockId> chain;
  std::uint32_t blocks = 0;

  WorkloadColumns columns(std::uint32_t block_tokens) const {
    return {arrival_ns, input_tokens, output_tokens, session, tenant,       after_begin,
            after,      think_ns,     chain_begin,   chain,   block_tokens, blocks};
  }
};

/// Numbers by first appearance.
class Renumbering {
 public:
  explicit Renumbering(std::uint32_t ids) : number_(ids, kNone) {}
  std::uint32_t of(std::uint32_t id) {
    if (number_[id] == kNone) number_[id] = next_++;
    return number_[id];
  }
  bool known(std::uint32_t id) const { return number_[id] != kNone; }
  std::uint32_t count() const { return next_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> number_;
  std::uint32_t next_ = 0;
};

}  // namespace

Workload part_of(const Workload& whole, std::span<const RequestId> members) {
  const WorkloadColumns& c = whole.columns();
  auto out = std::make_unique<PartColumns>();
  Renumbering blocks(c.unique_blocks);
  Renumbering requests(whole.size());
  const bool links = !c.after_begin.empty();
  if (links) out->after_begin.push_back(0);
  for (const RequestId member : members) {
    const std::uint32_t r = raw(member);
    const auto copy = [r](const auto& from, auto& to) {
      if (!from.empty()) to.push_back(from[r]);
    };
    copy(c.arrival_ns, out->arrival_ns);
    copy(c.input_tokens, out->input_tokens);
    copy(c.output_tokens, out->output_tokens);
    copy(c.session, out->session);
    copy(c.tenant, out->tenant);
    copy(c.think_ns, out->think_ns);
    requests.of(r);
    if (links) {
      for (const RequestId before : whole.after(member)) {
        if (requests.known(raw(before))) out->after.push_back(RequestId{requests.of(raw(before))});
      }
      out->after_begin.push_back(static_cast<std::uint32_t>(out->after.size()));
    }
    for (const TraceBlockId id : whole.chain(member)) {
      out->chain.push_back(TraceBlockId{blocks.of(raw(id))});
    }
    out->chain_begin.push_back(out->chain.size());
  }
  out->blocks = blocks.count();
  const WorkloadColumns columns = out->columns(whole.block_tokens());
  return Workload(std::move(out), columns, whole.source());
}

}  // namespace spillway
