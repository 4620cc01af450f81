// How fast traces are read, named and replayed, and what that takes of memory.
//
//   build/bench/spillway_bench "[traces]"    medians of 15, in Markdown
#include <time.h>

#include <algorithm>

#include "models/cache_replay.hpp"
#include "sim/rng.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "traces/formats/binary_trace.hpp"
#include "traces/formats/mooncake_jsonl.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/interner.hpp"
#include "traces/request_stream.hpp"

namespace spillway {
namespace {

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// The median of 15 runs, in seconds of processor time: a busy machine stretches the wall clock.
template <class Work>
double median_s(Work work) {
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    const double begin = cpu_s();
    work();
    times.push_back(cpu_s() - begin);
  }
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  return times[7];
}

std::uint64_t read_rows(const std::string& path) {
  const auto reader =
      make_mooncake_reader(std::make_unique<LineReader>(path, open_bytes(path)), {});
  TraceRow row;
  std::uint64_t blocks = 0;
  while (reader->next(row)) blocks += row.blocks.size();
  return blocks;
}

TEST_CASE("reading the Mooncake conversation trace", "[traces]") {
  const auto packed = test::shared_path("traces/mooncake_fast25_conversation.jsonl.gz");
  if (!packed) return;
  const test::Scratch scratch;
  const Workload workload = open_trace(*packed, {});
  const std::string plain = scratch.path("t.jsonl");
  const std::string binary = scratch.path("t.bin");
  write_trace(workload, plain);
  write_trace(workload, binary);
  const double bytes = static_cast<double>(test::read_file(plain).size());
  const auto say = [&](const char* what, double seconds) {
    fmt::print("| {} | {:.0f} us | {:.2f} GB/s |\n", what, seconds * 1e6, bytes / seconds / 1e9);
  };
  std::uint64_t used = 0;
  say("plain JSON lines to rows", median_s([&] { used += read_rows(plain); }));
  say("plain JSON lines to a workload", median_s([&] { used += open_trace(plain, {}).size(); }));
  say("gzip to a workload", median_s([&] { used += open_trace(*packed, {}).size(); }));
  say("binary, mapped, hashed and checked",
      median_s([&] { used += open_binary_trace(binary).size(); }));
  say("streamed through one LRU cache", median_s([&] {
        TraceFile file(plain, {});
        CacheReplay cache(EvictionChoice(), {.capacity_blocks = 20'000});
        stream_requests(file, [&](const RequestBatch& batch) { cache.run(batch); });
        used += cache.counts().block_hits;
      }));
  CHECK(used > 0);
}

/// References like a trace's: chains that start as an earlier one did. `name` makes an id a hash.
template <class Name>
std::vector<std::uint64_t> references(std::size_t count, Name name) {
  Stream random(1, "bench");
  std::vector<std::uint64_t> out;
  std::uint64_t next = 0;
  while (out.size() < count) {
    const std::uint64_t shared = next == 0 ? 0 : random.below(next);
    for (std::uint64_t i = 0; i < 10 && shared + i < next; ++i) out.push_back(name(shared + i));
    for (int i = 0; i < 15; ++i) out.push_back(name(next++));
  }
  return out;
}

TEST_CASE("interning small ids and random 64-bit hashes", "[traces]") {
  for (const std::size_t count : {std::size_t{300'000}, std::size_t{10'000'000}}) {
    const auto small = references(count, [](std::uint64_t id) { return id; });
    const auto random = references(count, [](std::uint64_t id) { return mix64(id + 1); });
    for (const auto* hashes : {&small, &random}) {
      std::uint64_t used = 0;
      const double seconds = median_s([&] {
        Interner interner;
        interner.intern_all(*hashes, [&](std::uint32_t id) { used += id; });
      });
      fmt::print("| intern {} references, {} | {:.1f} ns each |\n", hashes->size(),
                 hashes == &small ? "small ids" : "64-bit hashes",
                 seconds * 1e9 / static_cast<double>(hashes->size()));
      CHECK(used > 0);
    }
  }
}

TEST_CASE("replaying references", "[traces]") {
  const auto packed = test::shared_path("traces/mooncake_fast25_conversation.jsonl.gz");
  if (!packed) return;
  const Workload workload = open_trace(*packed, {});
  for (const EvictionEntry& entry : eviction_policies()) {
    for (const std::uint64_t capacity : {std::uint64_t{20'000}, kUnboundedCache}) {
      const double seconds = median_s([&] {
        return replay_cache(workload, parse_eviction(entry.name, {}), capacity,
                            TouchOrder::kReverse, Atomicity::kRequest);
      });
      fmt::print("| replay {}, {} blocks | {:.1f} million references/s |\n", entry.name,
                 capacity == kUnboundedCache ? "inf" : std::to_string(capacity),
                 static_cast<double>(workload.references()) / seconds / 1e6);
    }
  }
}

}  // namespace
}  // namespace spillway
