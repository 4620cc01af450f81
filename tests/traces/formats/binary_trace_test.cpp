// The binary trace: every column comes back, and no cut or flipped bit goes unnoticed.
#include "traces/formats/binary_trace.hpp"

#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/digest.hpp"
#include "tests/traces/trace_text.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/generate/synthetic.hpp"

namespace spillway {
namespace {

using test::error_of;
using test::read_file;
using test::Scratch;
using test::values;

constexpr std::size_t kHeaderSize = 72;
constexpr std::size_t kContentHashAt = 56;
constexpr std::size_t kHeaderHashAt = 64;

/// Five requests with shared prefixes and, if wanted, sessions; times down to the nanosecond.
Workload small(bool sessions) {
  const auto session = [&](int id) { return sessions ? std::to_string(id) : std::string(); };
  const std::string text = fmt::format(
      "timestamp_ms,input_length,output_length,session_id,hash_ids\n"
      "0,40,3,{0},1 2 3\n0.000001,16,1,{1},4\n2.5,48,7,{0},1 2 5\n"
      "2.5,1,1,{2},6\n86400000.123456,33,2,{1},4 7 8\n",
      session(0), session(1), session(2));
  return test::open_bytes_as_trace(text, test::blocks_of(16));
}

void check_equal(const Workload& a, const Workload& b) {
  const WorkloadColumns& x = a.columns();
  const WorkloadColumns& y = b.columns();
  CHECK(values(x.arrival_ns) == values(y.arrival_ns));
  CHECK(values(x.input_tokens) == values(y.input_tokens));
  CHECK(values(x.output_tokens) == values(y.output_tokens));
  CHECK(values(x.session) == values(y.session));
  CHECK(values(x.chain_begin) == values(y.chain_begin));
  CHECK(values(x.chain) == values(y.chain));
  CHECK(x.block_tokens == y.block_tokens);
  CHECK(x.unique_blocks == y.unique_blocks);
  CHECK(a.content_hash() == b.content_hash());
}

// ---- round trips

TEST_CASE("everything survives the way through a binary trace", "[traces]") {
  const bool sessions = GENERATE(true, false);
  const Workload before = small(sessions);
  const Scratch scratch;
  write_binary_trace(before, scratch.path("t.bin"));
  const Workload after = open_binary_trace(scratch.path("t.bin"));
  check_equal(before, after);
  CHECK(after.has_sessions() == sessions);
  CHECK(after.source().format == "binary");
  CHECK(after.source().name == scratch.path("t.bin"));
}

TEST_CASE("a generated workload survives too", "[traces]") {
  SyntheticConfig config;
  config.requests = 3000;
  const Workload before = generate_workload(config, 5);
  const Scratch scratch;
  write_binary_trace(before, scratch.path("t.bin"));
  check_equal(before, open_binary_trace(scratch.path("t.bin")));
}

TEST_CASE("a binary trace is recognised by content whatever its name", "[traces]") {
  const Scratch scratch;
  const Workload before = small(true);
  write_binary_trace(before, scratch.path("t.jsonl"));
  const Workload after = open_trace(scratch.path("t.jsonl"), {});
  CHECK(after.source().format == "binary");
  CHECK(after.block_tokens() == 16);  // the file says, so the option does not count
  CHECK(after.content_hash() == before.content_hash());
}

TEST_CASE("equal workloads give equal files", "[traces]") {
  const Scratch scratch;
  write_binary_trace(small(true), scratch.path("a.bin"));
  write_binary_trace(small(true), scratch.path("b.bin"));
  CHECK(read_file(scratch.path("a.bin")) == read_file(scratch.path("b.bin")));
}

TEST_CASE("the mapped file may be removed while it is in use", "[traces]") {
  const Workload before = small(true);
  auto scratch = std::make_unique<Scratch>();
  write_binary_trace(before, scratch->path("t.bin"));
  const Workload after = open_binary_trace(scratch->path("t.bin"));
  scratch.reset();
  CHECK(after.content_hash() == before.content_hash());
}

TEST_CASE("the limit applies to binary traces as to any other", "[traces]") {
  const Scratch scratch;
  write_binary_trace(small(true), scratch.path("t.bin"));
  OpenOptions options;
  options.limit = 2;
  CHECK(open_trace(scratch.path("t.bin"), options).size() == 2);
}

// ---- layout

TEST_CASE("columns start at multiples of 64 bytes behind the magic", "[traces]") {
  const Scratch scratch;
  write_binary_trace(small(true), scratch.path("t.bin"));
  const std::string bytes = read_file(scratch.path("t.bin"));
  CHECK(bytes.substr(0, 8) == kBinaryTraceMagic);
  // Header 72 -> 128, arrivals 5 * 8 -> 64, input, output and session 5 * 4 -> 64 each, links
  // 6 * 4 -> 64 and 2 * 4 -> 64, offsets 6 * 8 -> 64, chain 11 * 4 -> 64.
  CHECK(bytes.size() == 10 * 64);
  std::int64_t second_arrival = 0;
  std::memcpy(&second_arrival, bytes.data() + 128 + 8, sizeof second_arrival);
  CHECK(second_arrival == 1);
}

/// Whether byte `at` of small()'s file carries nothing: between a column's end and the next one's
/// start.
bool is_padding(std::size_t at, bool sessions) {
  const std::size_t fives = 5 * 4;
  const std::vector<std::size_t> used =
      sessions ? std::vector<std::size_t>{64, 8, 40, fives, fives, fives, 24, 8, 48, 44}
               : std::vector<std::size_t>{64, 8, 40, fives, fives, 48, 44};
  return at % 64 >= used.at(at / 64);
}

// ---- damage

std::string refusal(const std::string& path) {
  const InputError error = error_of([&] { open_binary_trace(path); });
  CHECK(error.fault() == Fault::kTrace);
  return error.what();
}

TEST_CASE("a binary trace cut at any multiple of 64 bytes is refused", "[traces]") {
  SyntheticConfig config;
  config.requests = 100;
  const Scratch scratch;
  write_binary_trace(generate_workload(config, 1), scratch.path("whole.bin"));
  const std::string bytes = read_file(scratch.path("whole.bin"));
  for (std::size_t cut = 0; cut < bytes.size(); cut += 64) {
    CHECK_THAT(refusal(scratch.file("t.bin", bytes.substr(0, cut))),
               ContainsSubstring("expected a complete binary trace"));
  }
}

TEST_CASE("a binary trace cut at any byte is refused", "[traces]") {
  const Scratch scratch;
  write_binary_trace(small(true), scratch.path("whole.bin"));
  const std::string bytes = read_file(scratch.path("whole.bin"));
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    CHECK_THAT(refusal(scratch.file("t.bin", bytes.substr(0, cut))),
               ContainsSubstring("truncated"));
  }
}

TEST_CASE("a cut binary trace is refused by open_trace as well", "[traces]") {
  const Scratch scratch;
  write_binary_trace(small(true), scratch.path("whole.bin"));
  const std::string bytes = read_file(scratch.path("whole.bin"));
  for (const std::size_t cut : {4u, 8u, 55u, 64u, 128u, 447u}) {
    const std::string path = scratch.file("t.bin", bytes.substr(0, cut));
    CHECK(error_of([&] { open_trace(path, {}); }).fault() == Fault::kTrace);
  }
}

TEST_CASE("bytes behind a binary trace are refused", "[traces]") {
  const Scratch scratch;
  write_binary_trace(small(true), scratch.path("whole.bin"));
  const std::string bytes = read_file(scratch.path("whole.bin"));
  for (const std::size_t more : {1u, 63u, 64u, 4096u}) {
    CHECK_THAT(refusal(scratch.file("t.bin", bytes + std::string(more, '\0'))),
               ContainsSubstring("truncated, or longer than its header says"));
  }
}

/// Flips every bit of small()'s file for which `choose(byte)` holds; how many were accepted.
std::size_t accepted_flips(bool sessions, const std::function<bool(std::size_t)>& choose) {
  const Scratch scratch;
  write_binary_trace(small(sessions), scratch.path("whole.bin"));
  std::string bytes = read_file(scratch.path("whole.bin"));
  std::size_t accepted = 0;
  std::size_t tried = 0;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    if (!choose(bit / 8)) continue;
    ++tried;
    const char whole = bytes[bit / 8];
    bytes[bit / 8] = static_cast<char>(whole ^ (1 << (bit % 8)));
    const std::string path = scratch.file("t.bin", bytes);
    bytes[bit / 8] = whole;
    try {
      open_binary_trace(path);
      ++accepted;
    } catch (const InputError& error) {
      if (error.fault() != Fault::kTrace) ++accepted;  // noticed, but under the wrong exit code
    }
  }
  REQUIRE(tried > 0);
  return accepted;
}

TEST_CASE("a flipped bit anywhere in header or columns is refused", "[traces]") {
  const bool sessions = GENERATE(true, false);
  CHECK(accepted_flips(sessions, [&](std::size_t at) { return !is_padding(at, sessions); }) == 0);
}

TEST_CASE("a flipped bit between the columns is refused", "[traces]") {
  // Neither hash covers the padding, which is zero.
  CHECK(accepted_flips(true, [](std::size_t at) { return is_padding(at, true); }) == 0);
}

TEST_CASE("each kind of damage has its message", "[traces]") {
  const Scratch scratch;
  write_binary_trace(small(true), scratch.path("whole.bin"));
  const std::string bytes = read_file(scratch.path("whole.bin"));
  const auto flipped = [&](std::size_t at) {
    std::string broken = bytes;
    broken[at] = static_cast<char>(broken[at] ^ 1);
    return refusal(scratch.file("t.bin", broken));
  };
  CHECK_THAT(flipped(0), ContainsSubstring("not a binary trace"));
  CHECK_THAT(flipped(8), ContainsSubstring("corrupt header"));  // requests
  CHECK_THAT(flipped(kContentHashAt), ContainsSubstring("corrupt header"));
  CHECK_THAT(flipped(kHeaderHashAt), ContainsSubstring("corrupt header"));
  CHECK_THAT(flipped(128), ContainsSubstring("content does not match its hash"));
  CHECK_THAT(flipped(128), ContainsSubstring("t.bin: "));
  CHECK_THAT(flipped(128), ContainsSubstring("expected a complete binary trace"));
}

TEST_CASE("a header that claims impossible counts is refused before it is believed", "[traces]") {
  // The header's own hash is made right, so that only the counts are wrong.
  const Scratch scratch;
  write_binary_trace(small(true), scratch.path("whole.bin"));
  const std::string bytes = read_file(scratch.path("whole.bin"));
  const auto with = [&](std::size_t at, auto value) {
    std::string forged = bytes;
    std::memcpy(forged.data() + at, &value, sizeof value);
    Digest digest;
    digest.bytes(forged.data(), kHeaderHashAt);
    const std::uint64_t hash = digest.value();
    std::memcpy(forged.data() + kHeaderHashAt, &hash, sizeof hash);
    return refusal(scratch.file("t.bin", forged));
  };
  const std::uint64_t huge = ~std::uint64_t{0};
  for (const std::uint64_t requests : {std::uint64_t{0}, huge, huge / 8, huge / 2 + 1}) {
    CHECK_THAT(with(8, requests), ContainsSubstring("impossible counts"));
  }
  CHECK_THAT(with(16, huge), ContainsSubstring("impossible counts"));               // references
  CHECK_THAT(with(44, std::uint32_t{0}), ContainsSubstring("impossible counts"));   // block tokens
  CHECK_THAT(with(48, std::uint32_t{64}), ContainsSubstring("impossible counts"));  // columns
  CHECK_THAT(with(8, std::uint64_t{50}), ContainsSubstring("truncated, or longer"));
  CHECK_THAT(with(48, std::uint32_t{0}), ContainsSubstring("truncated, or longer"));
  CHECK_THAT(with(44, std::uint32_t{17}), ContainsSubstring("content does not match"));
  CHECK_THAT(with(40, std::uint32_t{7}), ContainsSubstring("inconsistent columns"));  // unique
}

// ---- consistent hashes around inconsistent columns

struct Columns final : WorkloadStorage {
  std::vector<std::int64_t> arrival_ns = {0, 5};
  std::vector<std::uint32_t> input_tokens = {20, 40};
  std::vector<std::uint32_t> output_tokens = {1, 2};
  std::vector<std::uint64_t> chain_begin = {0, 2, 5};
  std::vector<TraceBlockId> chain = {TraceBlockId{0}, TraceBlockId{1}, TraceBlockId{0},
                                     TraceBlockId{2}, TraceBlockId{3}};
};

/// Writes the columns, changed, with hashes that fit them, and opens what was written.
Workload reopened(const std::function<void(Columns&)>& change) {
  auto columns = std::make_unique<Columns>();
  change(*columns);
  WorkloadColumns c;
  c.arrival_ns = columns->arrival_ns;
  c.input_tokens = columns->input_tokens;
  c.output_tokens = columns->output_tokens;
  c.chain_begin = columns->chain_begin;
  c.chain = columns->chain;
  c.block_tokens = 16;
  c.unique_blocks = 4;
  const Workload workload(std::move(columns), c, {});
  const Scratch scratch;
  write_binary_trace(workload, scratch.path("t.bin"));
  return open_binary_trace(scratch.path("t.bin"));
}

bool inconsistent(const std::function<void(Columns&)>& change) {
  try {
    reopened(change);
    return false;
  } catch (const InputError& error) {
    CHECK(error.fault() == Fault::kTrace);
    CHECK_THAT(error.what(), ContainsSubstring("inconsistent columns"));
    return true;
  }
}

TEST_CASE("right hashes do not excuse columns that lead out of bounds", "[traces]") {
  CHECK_FALSE(inconsistent([](Columns&) {}));
  CHECK(inconsistent([](Columns& c) { c.chain[4] = TraceBlockId{4}; }));  // unique is 4
  CHECK(inconsistent([](Columns& c) { c.chain_begin = {1, 2, 5}; }));
  CHECK(inconsistent([](Columns& c) { c.chain_begin = {0, 6, 5}; }));
  CHECK(inconsistent([](Columns& c) { c.chain_begin = {0, 2, 4}; }));
  CHECK(inconsistent([](Columns& c) { c.arrival_ns = {5, 0}; }));
}

TEST_CASE("right hashes do not excuse a chain shorter than its prompt", "[traces]") {
  // 400 tokens in blocks of 16 have 25 ids, not 3: whoever walks the prompt would read beyond it.
  CHECK(inconsistent([](Columns& c) { c.input_tokens[1] = 400; }));
}

TEST_CASE("right hashes do not excuse values that no text trace may have", "[traces]") {
  CHECK(inconsistent([](Columns& c) { c.arrival_ns[0] = -1; }));
  CHECK(inconsistent([](Columns& c) { c.arrival_ns[1] = kMaxArrivalNs + 1; }));
  CHECK(inconsistent([](Columns& c) { c.output_tokens[0] = 0; }));
  CHECK(inconsistent([](Columns& c) { c.output_tokens[0] = 0xffffffff; }));
}

// ---- paths

TEST_CASE("a binary trace that cannot be opened is an I/O fault", "[traces]") {
  const Scratch scratch;
  const InputError error = error_of([&] { open_binary_trace(scratch.path("none.bin")); });
  CHECK(error.fault() == Fault::kIo);
  CHECK_THAT(error.what(), ContainsSubstring("none.bin: cannot open: No such file"));
}

TEST_CASE("a compressed binary trace is refused, not misread", "[traces]") {
  const Scratch scratch;
  write_binary_trace(small(true), scratch.path("t.bin"));
  const std::string packed = scratch.file("t.bin.gz", test::gzip(read_file(scratch.path("t.bin"))));
  CHECK(error_of([&] { open_trace(packed, {}); }).fault() == Fault::kTrace);
}

TEST_CASE("a binary trace that cannot be written leaves nothing", "[traces]") {
  const Scratch scratch;
  CHECK(error_of([&] { write_binary_trace(small(true), scratch.path("none/t.bin")); }).fault() ==
        Fault::kIo);
  CHECK(scratch.listing().empty());
}

static_assert(kHeaderSize > 64 && kHeaderSize < 128, "the header and its padding take two units");

}  // namespace
}  // namespace spillway
