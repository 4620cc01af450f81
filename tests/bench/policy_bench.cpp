// How fast policies replay references, beside a plain LRU as one would write it first.
//
//   build/bench/spillway_bench "[policies]"    medians of processor time, in Markdown
//   build/bench/spillway_bench "[linear]"      100 million references, each policy once
//
// REF is a std::list with a std::unordered_map reserved to the capacity, over dense ids, one find a
// reference, each reference by itself. Ratios to it travel between machines; rates do not.
#include <algorithm>
#include <cmath>
#include <list>
#include <unordered_map>

#include "models/cache_replay.hpp"
#include "sim/rng.hpp"
#include "tests/bench/processor_time.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "traces/catalogue.hpp"
#include "traces/workload_builder.hpp"

namespace spillway {
namespace {

using bench::cpu_s;
using bench::median_s;

/// Hits of LRU by reference.
std::uint64_t ref_hits(const Workload& workload, std::size_t capacity) {
  std::list<std::uint32_t> order;  // least recent first
  std::unordered_map<std::uint32_t, std::list<std::uint32_t>::iterator> places;
  places.reserve(capacity);
  std::uint64_t hits = 0;
  for (const TraceBlockId id : workload.columns().chain) {
    const auto found = places.find(raw(id));
    if (found != places.end()) {
      ++hits;
      order.splice(order.end(), order, found->second);
      continue;
    }
    if (places.size() == capacity) {
      places.erase(order.front());
      order.pop_front();
    }
    places.emplace(raw(id), order.insert(order.end(), raw(id)));
  }
  return hits;
}

/// `tenants` copies of a trace, request by request in turn, each with blocks of its own. Where ids
/// are `hashed`, blocks are named by random 64-bit numbers as engine logs have them.
Workload interleaved(const Workload& one, std::uint32_t tenants) {
  WorkloadBuilder builder("interleaved", one.block_tokens());
  TraceRow row;
  for (std::uint32_t i = 0; i < one.size(); ++i) {
    const RequestId r{i};
    for (std::uint32_t tenant = 0; tenant < tenants; ++tenant) {
      row.clear();
      row.arrival_ns = one.columns().arrival_ns[i];
      row.input_tokens = one.input_tokens(r);
      row.output_tokens = one.output_tokens(r);
      for (const TraceBlockId id : one.chain(r)) {
        row.blocks.push_back(std::uint64_t{tenant} * one.unique_blocks() + raw(id));
      }
      builder.add(row);
    }
  }
  return builder.build({});
}

void compare_with_ref(const char* what, const Workload& workload, std::uint64_t capacity,
                      int times) {
  const auto references = static_cast<double>(workload.references());
  std::uint64_t hits = 0;
  const double ref = median_s(times, [&] { hits = ref_hits(workload, capacity); });
  fmt::print("\n{}: {} references, {} blocks of {}\n\n", what, workload.references(), capacity,
             workload.unique_blocks());
  fmt::print("| policy | by request, M refs/s | x REF | by reference, M refs/s | x REF |\n");
  fmt::print("|---|--:|--:|--:|--:|\n| REF | | | {:.1f} | 1.0 |\n", references / ref / 1e6);
  for (const EvictionEntry& entry : eviction_policies()) {
    const EvictionChoice policy = parse_eviction(entry.name, {});
    fmt::print("| {}", entry.name);
    for (const Atomicity atomicity : {Atomicity::kRequest, Atomicity::kReference}) {
      const ReplayFacts facts(workload, entry.needs, atomicity);
      ReplaySetup setup;
      setup.capacity_blocks = capacity;
      setup.order = atomicity == Atomicity::kRequest ? TouchOrder::kReverse : TouchOrder::kForward;
      setup.atomicity = atomicity;
      setup.block_tokens = workload.block_tokens();
      setup.facts = &facts;
      ReplayCounts counts;
      const double seconds = median_s(times, [&] {
        CacheReplay cache(policy, setup);
        cache.run(workload.all());
        counts = cache.counts();
      });
      if (entry.name == "lru" && atomicity == Atomicity::kReference) {
        CHECK(counts.block_hits == hits);
      }
      fmt::print(" | {:.1f} | {:.2f}", references / seconds / 1e6, ref / seconds);
    }
    fmt::print(" |\n");
  }
}

TEST_CASE("replaying policies beside a plain LRU", "[policies]") {
  const auto packed = test::material("traces/mooncake_fast25_conversation.jsonl.gz");
  const Workload one = open_trace(packed.path, {});
  compare_with_ref("conversation", one, 20'000, 15);
  const Workload many = interleaved(one, 40);
  compare_with_ref("40 conversations interleaved", many, 800'000, 5);
}

/// Requests of eight blocks as they come: three in ten continue a scan of `scanned` blocks, the
/// others are drawn by Zipf's law (exponent 1) from `popular`.
class ZipfAndScan {
 public:
  ZipfAndScan(std::uint32_t popular, std::uint32_t scanned)
      : popular_(popular), scanned_(scanned), id_(std::size_t{popular} + scanned, kUnseen) {}

  RequestBatch next(std::uint32_t requests) {
    chain_.clear();
    begin_.assign(1, 0);
    for (std::uint32_t i = 0; i < requests; ++i) {
      const bool scan = random_.chance(0.3);
      for (int k = 0; k < 8; ++k) chain_.push_back(TraceBlockId{dense(scan ? scanned() : drawn())});
      begin_.push_back(chain_.size());
    }
    times_.assign(requests, 0);
    lengths_.assign(requests, 8);
    const RequestBatch batch{RequestId{begun_}, times_, lengths_, lengths_, begin_, chain_, seen_};
    begun_ += requests;
    return batch;
  }
  std::uint32_t unique_blocks() const { return seen_; }

 private:
  static constexpr std::uint32_t kUnseen = ~std::uint32_t{0};

  std::uint32_t scanned() { return popular_ + at_++ % scanned_; }
  std::uint32_t drawn() {
    return static_cast<std::uint32_t>(std::pow(double{1} * popular_, random_.uniform())) - 1;
  }
  std::uint32_t dense(std::uint32_t name) {
    if (id_[name] == kUnseen) id_[name] = seen_++;
    return id_[name];
  }

  std::uint32_t popular_;
  std::uint32_t scanned_;
  std::vector<std::uint32_t> id_;
  std::uint32_t seen_ = 0;
  std::uint32_t at_ = 0;
  std::uint32_t begun_ = 0;
  Stream random_{1, "zipf-and-scan"};
  std::vector<std::int64_t> times_;
  std::vector<std::uint32_t> lengths_;
  std::vector<std::uint64_t> begin_;
  std::vector<TraceBlockId> chain_;
};

TEST_CASE("time grows with the references and no faster", "[.][linear]") {
  constexpr std::uint32_t kBatch = 125'000;  // a million references
  fmt::print("| policy | ns each of the references 10-20 M | 50-60 M | 90-100 M |\n");
  fmt::print("|---|--:|--:|--:|\n");
  for (const EvictionEntry& entry : eviction_policies()) {
    if (entry.needs.requests || entry.needs.future) continue;  // these keep the trace
    ZipfAndScan source(2'000'000, 20'000'000);
    ReplaySetup setup;
    setup.capacity_blocks = 500'000;
    CacheReplay cache(parse_eviction(entry.name, {}), setup);
    double seconds = 0;  // of the last ten millions
    fmt::print("| {}", entry.name);
    for (int millions = 1; millions <= 100; ++millions) {
      const RequestBatch batch = source.next(kBatch);
      const double begin = cpu_s();
      cache.run(batch);
      seconds += cpu_s() - begin;
      if (millions % 10 != 0) continue;
      if (millions == 20 || millions == 60 || millions == 100) {
        fmt::print(" | {:.1f}", 100 * seconds);
      }
      seconds = 0;
    }
    fmt::print(" |\n");
    CHECK(cache.counts().references == 100'000'000);
  }
}

}  // namespace
}  // namespace spillway
