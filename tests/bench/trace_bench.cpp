// How fast traces are read, named and streamed through a cache.
//
//   build/bench/spillway_bench "[traces]"    medians of 15, in Markdown
#include "models/cache_replay.hpp"
#include "sim/rng.hpp"
#include "tests/bench/processor_time.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "traces/formats/binary_trace.hpp"
#include "traces/formats/mooncake_jsonl.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/interner.hpp"
#include "traces/request_stream.hpp"

namespace spillway {
namespace {

using bench::median_s;

std::uint64_t read_rows(const std::string& path) {
  const auto reader =
      make_mooncake_reader(std::make_unique<LineReader>(path, open_bytes(path)), {});
  TraceRow row;
  std::uint64_t blocks = 0;
  while (reader->next(row)) blocks += row.blocks.size();
  return blocks;
}

TEST_CASE("reading the Mooncake conversation trace", "[traces]") {
  const auto packed = test::material("traces/mooncake_fast25_conversation.jsonl.gz");
  const test::Scratch scratch;
  const Workload workload = open_trace(packed.path, {});
  const std::string plain = scratch.path("t.jsonl");
  const std::string binary = scratch.path("t.bin");
  write_trace(workload, plain);
  write_trace(workload, binary);
  const double bytes = static_cast<double>(test::read_file(plain).size());
  const auto say = [&](const char* what, double seconds) {
    fmt::print("| {} | {:.0f} us | {:.2f} GB/s |\n", what, seconds * 1e6, bytes / seconds / 1e9);
  };
  std::uint64_t used = 0;
  say("plain JSON lines to rows", median_s(15, [&] { used += read_rows(plain); }));
  say("plain JSON lines to a workload",
      median_s(15, [&] { used += open_trace(plain, {}).size(); }));
  say("gzip to a workload", median_s(15, [&] { used += open_trace(packed.path, {}).size(); }));
  say("binary, mapped, hashed and checked",
      median_s(15, [&] { used += open_binary_trace(binary).size(); }));
  say("streamed through one LRU cache", median_s(15, [&] {
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
      const double seconds = median_s(15, [&] {
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

}  // namespace
}  // namespace spillway
