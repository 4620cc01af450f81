#include "traces/reshape/workload_rows.hpp"

#include <vector>

#include "traces/workload_builder.hpp"

namespace spillway {

void put_row(const Workload& workload, RequestId r, TraceRow& row) {
  row.clear();
  const WorkloadColumns& c = workload.columns();
  row.line = std::int64_t{raw(r)} + 1;
  row.arrival_ns = c.arrival_ns[raw(r)];
  row.input_tokens = c.input_tokens[raw(r)];
  row.output_tokens = c.output_tokens[raw(r)];
  if (!c.session.empty()) row.session = c.session[raw(r)];
  if (!c.tenant.empty()) row.tenant = workload.source().tenants[c.tenant[raw(r)]];
  if (const KvRetention* says = workload.retention(r)) row.retention = *says;
  row.hints = workload.hints(r);
  if (!c.after_begin.empty()) row.id = raw(r);
  for (const RequestId before : workload.after(r)) row.after.push_back(raw(before));
  row.think_ns = workload.think_ns(r);
  for (const TraceBlockId id : workload.chain(r)) row.blocks.push_back(raw(id));
}

Workload select_rows(const Workload& workload, std::span<const std::uint32_t> requests) {
  std::vector<bool> selected(workload.size(), false);
  for (const std::uint32_t r : requests) selected[r] = true;
  WorkloadBuilder builder(workload.source().name, workload.block_tokens());
  TraceRow row;
  for (const std::uint32_t r : requests) {
    put_row(workload, RequestId{r}, row);
    std::erase_if(row.after, [&](std::uint64_t id) { return !selected[id]; });
    builder.add(row);
  }
  return builder.build(workload.source());
}

}  // namespace spillway
