#include "traces/stats/trace_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "traces/stats/block_identity.hpp"
#include "traces/stats/clock_unit.hpp"

namespace spillway {

namespace {

/// What the rows say that a Workload does not keep.
struct RowLog {
  struct Place {
    std::int64_t arrival_ns;
    std::int64_t line;
  };
  std::vector<Place> places;
  std::uint64_t empty_outputs = 0;

  void add(const TraceRow& row) {
    places.push_back({row.arrival_ns, row.line});
    empty_outputs += row.output_tokens == 0 ? 1 : 0;
  }
  /// In the order of the workload: that of time, and of the file for one instant.
  std::vector<std::int64_t> lines() {
    std::stable_sort(places.begin(), places.end(),
                     [](const Place& a, const Place& b) { return a.arrival_ns < b.arrival_ns; });
    std::vector<std::int64_t> out;
    out.reserve(places.size());
    for (const Place& place : places) out.push_back(place.line);
    return out;
  }
};

/// Looks for ids that do not name prefixes.
void look_at_ids(const Workload& workload, const std::vector<std::int64_t>& lines,
                 TraceFacts& facts) {
  constexpr std::uint32_t kUnseen = ~std::uint32_t{0};
  constexpr std::uint32_t kRoot = kUnseen - 1;
  const auto place = [&](std::uint32_t request) {
    return request < lines.size() ? fmt::format("line {}", lines[request])
                                  : fmt::format("request {}", request + 1);
  };
  std::vector<std::uint32_t> parent(workload.unique_blocks(), kUnseen);
  std::vector<std::uint32_t> last_use(workload.unique_blocks(), kUnseen);
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    std::uint32_t before = kRoot;
    bool repeats = false;
    for (const TraceBlockId id : workload.chain(RequestId{i})) {
      const std::uint32_t block = raw(id);
      if (last_use[block] == i) {
        repeats = true;
      } else if (parent[block] == kUnseen) {
        parent[block] = before;
      } else if (parent[block] != before && facts.moved_references++ == 0) {
        facts.first_moved = place(i);
      }
      last_use[block] = i;
      before = block;
    }
    if (repeats && facts.repeating_rows++ == 0) facts.first_repeat = place(i);
  }
}

double time_step(const WorkloadColumns& columns) {
  std::int64_t step = 0;
  for (const std::int64_t arrival : columns.arrival_ns) {
    step = std::gcd(step, arrival - columns.arrival_ns.front());
  }
  return static_cast<double>(step) / 1e9;
}

void describe_identity(const TraceFacts& facts, std::vector<TraceFinding>& out) {
  if (!facts.prefix_identity) {
    out.push_back({true,
                   "no prefix identity: no cache hit can come from this trace; it is good "
                   "for arrivals and lengths. " +
                       identity_to_record()});
    return;
  }
  if (facts.stats.infinite_hits == 0) {
    out.push_back({true, "no block is used by two requests: no cache can hit"});
  }
  if (facts.moved_references > 0) {
    out.push_back(
        {true, fmt::format("ids that name no prefixes: {} of {} references stand behind another "
                           "block than at the first use of their id (first in {}); hits on them "
                           "are reuse of content, not of a KV cache's prefix",
                           facts.moved_references, facts.stats.references, facts.first_moved)});
  }
  if (facts.repeating_rows > 0) {
    out.push_back({true, fmt::format("an id repeats inside a request, in {} requests (first in "
                                     "{}); the repetition is no prefix",
                                     facts.repeating_rows, facts.first_repeat)});
  }
}

void describe_clock(const Workload& workload, const TraceFacts& facts,
                    std::vector<TraceFinding>& out) {
  const TraceStats& s = facts.stats;
  if (const auto fast = seconds_read_as_ms(workload)) {
    out.push_back({true, describe(*fast) +
                             ". If they are seconds, multiply them by 1000; in a scenario, "
                             "workload.speed=0.001 does the same"});
  }
  if (s.requests > 1 && s.distinct_arrival_times == 1) {
    out.push_back({true, "no clock: all requests arrive at one instant"});
  } else if (s.requests >= 2 * s.distinct_arrival_times && s.requests > 1) {
    out.push_back(
        {true, fmt::format("binned arrivals: {} requests at {} instants, {:.3g} s apart on "
                           "average; waiting inside a bin is not as it was",
                           s.requests, s.distinct_arrival_times,
                           s.span_s / static_cast<double>(s.distinct_arrival_times - 1))});
  }
}

std::vector<TraceFinding> describe(const Workload& workload, const TraceFacts& facts) {
  std::vector<TraceFinding> out;
  describe_identity(facts, out);
  describe_clock(workload, facts, out);
  if (facts.stats.output_tokens.max == 1) {
    out.push_back({true, "no output lengths: every answer is one token"});
  } else if (facts.empty_outputs > 0) {
    out.push_back(
        {true, fmt::format("outputs of no tokens, counted as one: {} rows", facts.empty_outputs)});
  }
  if (!workload.has_sessions()) {
    out.push_back({false, "no sessions: no request waits for the answer to another"});
  } else if (!facts.think_times) {
    out.push_back({false, "no think times: how long a client paused is not recorded"});
  }
  const RowCounts& rows = workload.source().rows;
  if (rows.reordered > 0) {
    out.push_back({false, fmt::format("{} rows stand behind a later one and were put in order",
                                      rows.reordered)});
  }
  if (rows.dropped > 0) {
    out.push_back({false, fmt::format("{} rows are left out on purpose", rows.dropped)});
  }
  for (const std::string& note : workload.source().notes) out.push_back({false, note});
  return out;
}

}  // namespace

TraceFacts trace_facts(const Workload& workload, const std::vector<std::int64_t>& lines) {
  const WorkloadColumns& c = workload.columns();
  TraceFacts out;
  out.stats = trace_stats(workload);
  out.time_step_s = time_step(c);
  out.prefix_identity =
      workload.references() > 0 && block_identity(workload) != BlockIdentity::kNone;
  out.think_times = !c.think_ns.empty();
  out.tenants = workload.source().tenants.size();
  look_at_ids(workload, lines, out);
  return out;
}

TraceCheck check_trace(const std::string& path, OpenOptions options) {
  TraceCheck out;
  RowLog log;
  options.problems = &out.problems;
  options.observe = [&](const TraceRow& row) { log.add(row); };
  try {
    out.workload = open_trace(path, options);
  } catch (const InputError& error) {
    if (error.fault() != Fault::kTrace) throw;
    // That no row is without a fault is no fault of its own.
    if (out.problems.count > 0 && error.message() == kNoRequests) return out;
    // Behind the faults of rows; kept even when those fill the list.
    out.problems.listed.push_back({error.where().line, error.where().field, error.message()});
    ++out.problems.count;
    return out;
  }
  out.facts = trace_facts(*out.workload, log.lines());
  out.facts.empty_outputs = log.empty_outputs;
  out.findings = describe(*out.workload, out.facts);
  return out;
}

}  // namespace spillway
