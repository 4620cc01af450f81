#include "traces/reshape/trace_merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/error.hpp"
#include "traces/reshape/workload_rows.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {

namespace {

/// Above all numbers that stand for nothing but themselves: keeps them clear of names.
constexpr std::uint64_t kOwnBlocks = std::uint64_t{1} << 63;

void check_parts(std::span<const MergePart> parts) {
  std::set<std::string> tenants;
  for (const MergePart& part : parts) {
    const SourceRef where{part.workload.source().name, 0, ""};
    if (!tenants.insert(part.tenant).second) {
      throw InputError(Fault::kUsage, where,
                       fmt::format("is the second trace of the tenant \"{}\"; expected a name of "
                                   "its own, as in --tenant NAME=FILE",
                                   part.tenant));
    }
    const Workload& first = parts.front().workload;
    if (part.workload.block_tokens() != first.block_tokens()) {
      throw InputError(
          Fault::kUsage, where,
          fmt::format("has blocks of {} tokens, {} of {}; expected one block size "
                      "(--block-tokens says it where a format leaves it open)",
                      part.workload.block_tokens(), first.source().name, first.block_tokens()));
    }
  }
}

/// What is added to a part's own numbers, so that those of different parts differ.
struct Base {
  std::uint64_t request = 0;
  std::uint64_t session = 0;
  std::uint64_t block = kOwnBlocks;
};

void move_row(const MergePart& part, const Base& base, TraceRow& row) {
  row.arrival_ns += part.offset_ns;
  if (row.session) *row.session += base.session;
  if (row.id) *row.id += base.request;
  for (std::uint64_t& id : row.after) id += base.request;
  for (std::uint64_t& id : row.blocks) {
    id = part.block_names.empty() ? base.block + id : part.block_names[id];
  }
  row.tenant = row.tenant.empty() ? part.tenant : part.tenant + "/" + row.tenant;
}

WorkloadSource source_of(std::span<const MergePart> parts) {
  WorkloadSource out{"merged", "merged"};
  for (const MergePart& part : parts) {
    const WorkloadSource& source = part.workload.source();
    for (const std::string& note : source.notes) {
      if (std::ranges::find(out.notes, note) == out.notes.end()) out.notes.push_back(note);
    }
    out.rows.dropped += source.rows.dropped;
    out.rows.quarantined += source.rows.quarantined;
  }
  return out;
}

struct Place {
  std::int64_t arrival_ns;
  std::uint32_t part;
  std::uint32_t request;
};

}  // namespace

Workload merge_traces(std::span<const MergePart> parts) {
  KV_ASSERT(!parts.empty(), "nothing to merge");
  check_parts(parts);
  std::vector<Base> bases;
  std::vector<Place> places;
  Base base;
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    bases.push_back(base);
    const Workload& workload = parts[p].workload;
    base.request += workload.size();
    base.session += workload.size();  // at least as many as there are sessions
    base.block += workload.unique_blocks();
    for (std::uint32_t r = 0; r < workload.size(); ++r) {
      places.push_back({workload.columns().arrival_ns[r] + parts[p].offset_ns, p, r});
    }
  }
  std::ranges::stable_sort(places, {}, &Place::arrival_ns);
  WorkloadBuilder builder("merged", parts.front().workload.block_tokens());
  TraceRow row;
  for (const Place& place : places) {
    put_row(parts[place.part].workload, RequestId{place.request}, row);
    move_row(parts[place.part], bases[place.part], row);
    builder.add(row);
  }
  return builder.build(source_of(parts));
}

}  // namespace spillway
