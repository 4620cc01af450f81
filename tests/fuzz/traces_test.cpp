// Fuzzing the trace readers: whatever the bytes, a valid workload or an error that blames them.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/fuzz/mutator.hpp"
#include "tests/traces/trace_text.hpp"
#include "traces/formats/binary_trace.hpp"
#include "traces/formats/rate_table.hpp"
#include "traces/formats/trace_writer.hpp"
#include "traces/generate/synthetic.hpp"
#include "traces/stats/trace_check.hpp"
#include "traces/stats/trace_stats.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {
namespace {

using test::fuzz;
using test::FuzzReport;
using test::Mutator;
using test::Scratch;

void require(bool good, const char* rule) {
  if (!good) throw std::logic_error(rule);
}

bool has_partial(const Workload& w, RequestId r) {
  return w.input_tokens(r) % w.block_tokens() != 0;
}

/// What every accepted trace must obey, however it came about.
void check_valid(const Workload& w) {
  const WorkloadColumns& c = w.columns();
  require(w.size() > 0, "a workload of no requests");
  require(c.chain_begin.size() == w.size() + std::size_t{1}, "one offset too few");
  require(c.chain_begin.front() == 0 && c.chain_begin.back() == c.chain.size(), "loose ends");
  require(std::is_sorted(c.arrival_ns.begin(), c.arrival_ns.end()), "out of order");
  require(c.arrival_ns.front() >= 0 && c.arrival_ns.back() <= kMaxArrivalNs, "arrival too late");
  require(c.session.empty() || c.session.size() == w.size(), "sessions of some requests only");
  std::uint32_t next = 0;  // ids are dense by first appearance
  for (std::uint32_t i = 0; i < w.size(); ++i) {
    const RequestId r{i};
    require(w.input_tokens(r) >= 1 && w.input_tokens(r) <= kMaxTokens, "input length");
    require(w.output_tokens(r) >= 1 && w.output_tokens(r) <= kMaxTokens, "output length");
    const std::size_t full = w.input_tokens(r) / w.block_tokens();
    require(w.chain(r).size() == full || (w.chain(r).size() == full + 1 && has_partial(w, r)),
            "chain length");
    for (const RequestId before : w.after(r)) require(raw(before) < i, "waits for a later request");
    for (const TraceBlockId id : w.chain(r)) {
      require(raw(id) <= next, "ids with gaps");
      if (raw(id) == next) ++next;
    }
  }
  require(next == w.unique_blocks(), "a wrong count of blocks");
  trace_stats(w);
}

/// Opens the bytes; what is accepted must be valid and must survive being written.
void open_and_check(const std::string& bytes, Stream& random) {
  const Scratch scratch;
  const Workload w = open_trace(scratch.file("t", bytes), test::blocks_of(16));
  check_valid(w);
  if (!random.chance(0.1)) return;  // writing flushes to disk
  const bool csv = random.chance(0.5);
  const std::string path = scratch.path(csv ? "again.csv" : "again.jsonl");
  // A CSV never says its block size; what else it loses makes it another workload.
  if (write_trace(w, path).size() > (csv ? 1 : 0)) return;
  require(open_trace(path, test::blocks_of(16)).content_hash() == w.content_hash(),
          "changed by writing");
}

/// Small workloads in a form, as the mutator's samples.
std::vector<std::string> samples(const std::string& name,
                                 std::optional<TextForm> form = std::nullopt) {
  const Scratch scratch;
  std::vector<std::string> out;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SyntheticConfig config;
    config.requests = static_cast<std::uint32_t>(4 * seed);
    config.max_context = 256;
    config.block_tokens = 16;
    config.system_tokens = 40;
    config.user_tokens = 20;
    config.answer_tokens = 10;
    write_trace(generate_workload(config, seed), scratch.path(name), form);
    out.push_back(test::read_file(scratch.path(name)));
  }
  return out;
}

void expect_clean(const FuzzReport& report, bool accepts) {
  CHECK(report.failures == std::vector<std::string>{});
  // Both outcomes occurred, else the mutations were too tame or too wild to test anything.
  CHECK(report.refused > 10);
  if (accepts) CHECK(report.accepted > 10);
}

const std::vector<std::string> kNumbers = {"0",
                                           "-0",
                                           "-1",
                                           "1",
                                           "15",
                                           "16",
                                           "17",
                                           "0.5",
                                           "1e3",
                                           "1e18",
                                           "1e400",
                                           "1e-400",
                                           "nan",
                                           "inf",
                                           "16777216",
                                           "16777217",
                                           "4294967295",
                                           "4294967296",
                                           "9007199254740993",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "18446744073709551615",
                                           "18446744073709551616",
                                           "100000000000",
                                           "100000000000.000001"};

std::vector<std::string> with_numbers(std::vector<std::string> pieces) {
  pieces.insert(pieces.end(), kNumbers.begin(), kNumbers.end());
  return pieces;
}

const std::vector<std::string> kJsonPieces = with_numbers({"{",
                                                           "}",
                                                           "[",
                                                           "]",
                                                           ",",
                                                           ":",
                                                           "\"",
                                                           "\n",
                                                           "\r\n",
                                                           " ",
                                                           "null",
                                                           "true",
                                                           "\\",
                                                           "\\u0000",
                                                           "\"timestamp\": ",
                                                           "\"input_length\": ",
                                                           "\"output_length\": ",
                                                           "\"hash_ids\": ",
                                                           "\"session_id\": ",
                                                           "\"x\": {}, ",
                                                           "[[[[",
                                                           std::string(1, '\0'),
                                                           "\xef\xbb\xbf",
                                                           "\xff"});

const std::vector<std::string> kCsvPieces =
    with_numbers({",", ",,", "\n", "\r\n", "\n\n", " ", "  ", "\"", "timestamp_ms", "input_length",
                  "output_length", "session_id", "hash_ids",
                  "timestamp_ms,input_length,output_length,hash_ids\n", std::string(1, '\0'),
                  "\xef\xbb\xbf", "\xff"});

TEST_CASE("fuzz: JSON lines", "[fuzz]") {
  const Mutator mutate(samples("t.jsonl", TextForm::kMooncake), kJsonPieces);
  expect_clean(fuzz("jsonl", 3000, mutate, open_and_check), true);
}

TEST_CASE("fuzz: native JSON lines", "[fuzz]") {
  std::vector<std::string> rich = samples("t.jsonl");
  rich.push_back(
      "{\"spillway_trace\": 1, \"block_tokens\": 16}\n"
      "{\"timestamp\": 0, \"input_length\": 40, \"output_length\": 3, \"id\": 7, \"tenant\": "
      "\"a\"}\n"
      "{\"timestamp\": 1.5, \"input_length\": 40, \"output_length\": 3, \"after\": [7], "
      "\"think_ms\": 2, \"hash_ids\": [1, 2]}\n");
  const Mutator mutate(rich, kJsonPieces);
  expect_clean(fuzz("native", 2000, mutate, open_and_check), true);
}

TEST_CASE("fuzz: agent sessions", "[fuzz]") {
  const std::string turn =
      R"({"t":0.5,"type":"n","in":40,"out":3,"hash_ids":[1,2],"api_time":1.5,"think_time":0})";
  const std::string agent =
      R"({"t":9,"type":"subagent","duration_ms":4000,"requests":[)" + turn + "," + turn + "]}";
  const auto session = [](const char* id, const std::string& requests) {
    return fmt::format("{{\"id\":\"{}\",\"block_size\":16,\"requests\":[{}]}}\n", id, requests);
  };
  const Mutator mutate({session("a", turn + "," + agent + "," + turn) + session("b", turn),
                        session("a", agent + "," + agent)},
                       kJsonPieces);
  expect_clean(fuzz("agentic", 2000, mutate, open_and_check), true);
}

TEST_CASE("fuzz: RAG segments", "[fuzz]") {
  const std::string row =
      R"({"timestamp":1.5,"input_length":49,"output_length":2,"session_id":"s",)"
      R"("segments":[[5,24],[6,13]]})"
      "\n";
  const Mutator mutate({row + row, row}, kJsonPieces);
  expect_clean(fuzz("rag", 2000, mutate, open_and_check), true);
}

TEST_CASE("fuzz: Bailian chats", "[fuzz]") {
  const auto row = [](int chat, int parent) {
    return fmt::format(
        "{{\"chat_id\":{},\"parent_chat_id\":{},\"timestamp\":{}.5,\"input_length\":20,"
        "\"output_length\":2,\"type\":\"text\",\"turn\":1,\"hash_ids\":[1,2]}}\n",
        chat, parent, chat);
  };
  const Mutator mutate({row(1, -1) + row(2, 1) + row(3, 2), row(5, -1)}, kJsonPieces);
  expect_clean(fuzz("bailian", 2000, mutate, open_and_check), true);
}

TEST_CASE("fuzz: CSV", "[fuzz]") {
  const Mutator mutate(samples("t.csv"), kCsvPieces);
  expect_clean(fuzz("csv", 3000, mutate, open_and_check), true);
}

TEST_CASE("fuzz: Azure's CSV", "[fuzz]") {
  const Mutator mutate(
      {"TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
       "2023-11-16 18:15:46.6805900,374,44\r\n"
       "2023-11-16 18:15:50.9951690,39,109\r\n2023-11-17 00:00:00,9,5",
       "TIMESTAMP,ContextTokens,GeneratedTokens\n"
       "2024-05-10 00:00:00.009930+00:00,216,5\n"
       "2024-05-10 00:00:00+00:00,21,5\n"},
      with_numbers({",", "\n", "\r\n", "\"", ":", "-", ".", "+", "Z", "T", " ", "TIMESTAMP",
                    "2024-02-29 23:59:59.999999999-23:59,1,1\n", std::string(1, '\0'), "\xff"}));
  expect_clean(fuzz("azure", 3000, mutate, open_and_check), true);
}

TEST_CASE("fuzz: BurstGPT's CSV", "[fuzz]") {
  const Mutator mutate({"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                        "5,ChatGPT,47,18,65,Conversation log\n45,ChatGPT,0,0,0,API log\n"
                        "118,GPT-4,41,276,317,Conversation log\n",
                        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response "
                        "tokens,Total tokens,Log Type\n19440110.0,1722ac82,43,GPT-4,90,44,134,C\n"
                        "19440161.5,,2,ChatGPT,36,29,65,API log\n"},
                       with_numbers({",", "\n", "\r\n", "\"", "\"\"", "Timestamp", "Session ID",
                                     std::string(1, '\0'), "\xff"}));
  expect_clean(fuzz("burstgpt", 3000, mutate, open_and_check), true);
}

TEST_CASE("fuzz: rate tables", "[fuzz]") {
  const Mutator mutate({"client,start_s,rate_rps,cv,dist,param1,param2\n"
                        "0,143400,0.0766,1.156,Gamma,0.748,0.0443\n"
                        "0,144600,0.1683,7.395,Weibull,0.425,0.009\n1,144600,2,0,Gamma,1,1\n"},
                       with_numbers({",", "\n", "\"", "Gamma", "Weibull", "client", "1e-400",
                                     "5e-324", std::string(1, '\0'), "\xff"}));
  const auto read = [](const std::string& text, Stream&) {
    const Scratch scratch;
    const ArrivalRates table = read_rate_table(scratch.file("r.csv", text));
    const RateStats s = rate_stats(table);
    require(s.rows == table.scale.size() && s.clients <= s.rows && s.windows <= s.rows, "counts");
    require(table.window_s > 0 && s.span_s >= table.window_s, "windows");
    require(s.min_rps >= 0 && s.min_rps <= s.median_rps && s.median_rps <= s.max_rps, "rates");
    require(s.requests < 1e300, "not finite");
  };
  expect_clean(fuzz("rates", 3000, mutate, read), true);
}

TEST_CASE("fuzz: gzip streams", "[fuzz]") {
  // A random change breaks a checksum; what is accepted is untouched or lost a whole member.
  const Mutator mutate(samples("t.jsonl.gz"), {"\x1f\x8b", "\x1f\x8b\x08", std::string(8, '\0')});
  expect_clean(fuzz("gzip", 1500, mutate, open_and_check), false);
}

TEST_CASE("fuzz: zstd streams", "[fuzz]") {
  const Mutator mutate(samples("t.csv.zst"), {"\x28\xb5\x2f\xfd", std::string(8, '\0')});
  expect_clean(fuzz("zstd", 1500, mutate, open_and_check), false);
}

TEST_CASE("fuzz: malformed text inside intact compression", "[fuzz]") {
  const Mutator mutate(samples("t.jsonl"), kJsonPieces);
  const auto packed = [](const std::string& text, Stream& random) {
    open_and_check(random.chance(0.5) ? test::gzip(text) : test::zstd(text), random);
  };
  expect_clean(fuzz("packed", 500, mutate, packed), true);
}

TEST_CASE("fuzz: binary traces", "[fuzz]") {
  // Both hashes stand in the way, so nearly everything is refused; nothing may crash before.
  const Mutator mutate(samples("t.bin"), {std::string(8, '\0'), std::string(8, '\xff'),
                                          std::string(kBinaryTraceMagic)});
  expect_clean(fuzz("binary", 3000, mutate, open_and_check), false);
}

TEST_CASE("fuzz: any bytes at all", "[fuzz]") {
  const Mutator mutate({"", std::string(64, '\0'), "\x1f\x8b", "\x28\xb5\x2f\xfd", "SPILLTR2",
                        "{\"hash_ids\"\"input_length\"", "input_length,"},
                       kJsonPieces);
  expect_clean(fuzz("bytes", 2000, mutate, open_and_check), false);
}

/// The corpus of malformed files, but for those that unpack to a great deal.
std::vector<std::string> corpus() {
  std::vector<std::string> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_path("tests/traces/malformed"))) {
    const std::string name = entry.path().filename().string();
    if (name == "manifest.json" || name.starts_with("bomb")) continue;
    out.push_back(test::read_file(entry.path().string()));
  }
  std::sort(out.begin(), out.end());  // the order of a folder is no order
  return out;
}

TEST_CASE("fuzz: the malformed corpus", "[fuzz]") {
  REQUIRE(corpus().size() > 100);
  const Mutator mutate(corpus(), kJsonPieces);
  const auto both = [](const std::string& bytes, Stream&) {
    const Scratch scratch;
    // The same file, read past its faulty rows, may not surprise either.
    const TraceCheck found = check_trace(scratch.file("t", bytes), {});
    if (found.workload) check_valid(*found.workload);
    require(found.problems.count == 0 || !found.problems.listed.empty(), "a problem untold");
    check_valid(open_trace(scratch.path("t"), {}));
    require(found.problems.count == 0, "a problem that reading does not have");
  };
  expect_clean(fuzz("corpus", 1000, mutate, both), true);
}

// ---- binary traces whose hashes are right

struct Columns final : WorkloadStorage {
  std::vector<std::int64_t> arrival_ns;
  std::vector<std::uint64_t> chain_begin;
  std::vector<TraceBlockId> chain;
};

/// A value near one that the format gives meaning to.
std::uint64_t some_value(Stream& random) {
  const std::uint64_t kind = random.below(4);
  if (kind == 0) return random.below(40);
  if (kind == 1) return random.bits();
  const std::uint64_t power = std::uint64_t{1} << random.below(64);
  return kind == 2 ? power : 0 - power;
}

TEST_CASE("fuzz: right hashes around wrong columns", "[fuzz]") {
  SyntheticConfig config;
  config.requests = 20;
  config.max_context = 256;
  config.block_tokens = 16;
  const Workload good = generate_workload(config, 1);
  const Mutator same({""}, {});  // the columns are mutated instead
  const FuzzReport report = fuzz("columns", 400, same, [&](const std::string&, Stream& random) {
    WorkloadColumns c = good.columns();
    auto owned = std::make_unique<Columns>();
    owned->arrival_ns = test::values(c.arrival_ns);
    owned->chain_begin = test::values(c.chain_begin);
    owned->chain = test::values(c.chain);
    const std::uint64_t value = some_value(random);
    switch (random.below(4)) {
      case 0:
        owned->arrival_ns[random.below(20)] = static_cast<std::int64_t>(value);
        break;
      case 1:
        owned->chain_begin[random.below(21)] = value;
        break;
      case 2:
        owned->chain[random.below(owned->chain.size())] =
            TraceBlockId{static_cast<std::uint32_t>(value)};
        break;
      default:
        c.unique_blocks = static_cast<std::uint32_t>(value);
    }
    c.arrival_ns = owned->arrival_ns;
    c.chain_begin = owned->chain_begin;
    c.chain = owned->chain;
    const Scratch scratch;
    write_binary_trace(Workload(std::move(owned), c, {}), scratch.path("t.bin"));
    const Workload w = open_binary_trace(scratch.path("t.bin"));
    // Only what reading out of bounds depends on; reading every block proves the rest.
    std::uint64_t references = 0;
    for (std::uint32_t i = 0; i < w.size(); ++i) {
      for (const TraceBlockId id : w.chain(RequestId{i})) {
        require(raw(id) < w.unique_blocks(), "an id out of bounds");
        ++references;
      }
    }
    require(references == w.references(), "a chain out of bounds");
  });
  expect_clean(report, true);
}

// ---- canaries: the fuzzer notices what it is there for

TEST_CASE("canary: the fuzzer notices a planted exception", "[fuzz]") {
  // An X can only come from a mutation: it is in the dictionary and in no sample.
  const Mutator mutate({"abc", "defghi"}, {"X"});
  const FuzzReport report = fuzz("canary", 300, mutate, [](const std::string& input, Stream&) {
    if (input.find('X') != std::string::npos) throw std::logic_error("the planted failure");
  });
  REQUIRE_FALSE(report.failures.empty());
  CHECK_THAT(report.failures.front(), ContainsSubstring("the planted failure"));
  CHECK_THAT(report.failures.front(), ContainsSubstring("of canary"));
  CHECK(report.accepted > 100);
}

TEST_CASE("canary: broken invariants and foreign exceptions are failures too", "[fuzz]") {
  const Mutator mutate({"abc"}, {});
  const auto failures = [&](const std::function<void()>& end) {
    return fuzz("canary", 3, mutate, [&](const std::string&, Stream&) { end(); }).failures.size();
  };
  CHECK(failures([] { throw InternalError("a bug"); }) == 3);
  CHECK(failures([] { throw std::out_of_range("a bug"); }) == 3);
  CHECK(failures([] { throw 1; }) == 3);
  // Bad bytes are a fault of the trace, not of the disk or the command line.
  CHECK(failures([] { throw InputError(Fault::kIo, {}, "disk"); }) == 3);
  CHECK(failures([] { throw InputError(Fault::kUsage, {}, "usage"); }) == 3);
  CHECK(failures([] { throw InputError(Fault::kTrace, {}, "trace"); }) == 0);
  CHECK(failures([] {}) == 0);
}

TEST_CASE("canary: an invalid workload does not pass for valid", "[fuzz]") {
  const Workload good = test::open_bytes_as_trace(test::good_row("0") + test::good_row("5"));
  CHECK_NOTHROW(check_valid(good));
  const auto broken = [&](const std::function<void(WorkloadColumns&)>& change) {
    WorkloadColumns c = good.columns();
    change(c);
    return Workload(nullptr, c, {});
  };
  static const std::vector<std::int64_t> backwards = {5, 0};
  static const std::vector<std::uint32_t> none = {600, 0};
  CHECK_THROWS_AS(check_valid(broken([](auto& c) { c.arrival_ns = backwards; })), std::logic_error);
  CHECK_THROWS_AS(check_valid(broken([](auto& c) { c.input_tokens = none; })), std::logic_error);
  CHECK_THROWS_AS(check_valid(broken([](auto& c) { c.block_tokens = 16; })), std::logic_error);
  CHECK_THROWS_AS(check_valid(broken([](auto& c) { c.unique_blocks = 3; })), std::logic_error);
}

TEST_CASE("the same round always makes the same input", "[fuzz]") {
  const Mutator mutate(samples("t.jsonl"), kJsonPieces);
  std::vector<std::string> first;
  std::vector<std::string> second;
  fuzz("repeat", 50, mutate, [&](const std::string& input, Stream&) { first.push_back(input); });
  fuzz("repeat", 50, mutate, [&](const std::string& input, Stream&) { second.push_back(input); });
  CHECK(first == second);
  std::sort(first.begin(), first.end());
  CHECK(std::unique(first.begin(), first.end()) - first.begin() > 40);  // and rounds differ
}

}  // namespace
}  // namespace spillway
