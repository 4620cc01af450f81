// The requests of `vllm bench serve`, equal to what its calls of numpy and Python draw.
#include <functional>
#include <numeric>

#include "sim/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "tests/traces/generate/benchmarks/benchmark_scene.hpp"

namespace spillway {
namespace {

using test::column;
using test::fault_key;
using test::sent;
using test::within_ns;
using Numbers = std::vector<std::uint32_t>;

BenchmarkConfig vllm() {
  BenchmarkConfig config;
  config.tool = "vllm-bench";
  config.version = "0.19.0";
  return config;
}

std::uint64_t sum(const std::vector<BenchmarkRequest>& requests,
                  std::uint32_t BenchmarkRequest::*member) {
  std::uint64_t out = 0;
  for (const BenchmarkRequest& r : requests) out += r.*member;
  return out;
}

TEST_CASE("random lengths are numpy's: all prompts first, then all answers", "[traces]") {
  BenchmarkConfig config = vllm();
  config.range_ratio = 0.5;
  const auto requests = sent(config);
  // g = np.random.default_rng(0)
  // i = g.integers(512, 1537, size=1000); o = g.integers(64, 193, size=1000)
  CHECK(column(requests, &BenchmarkRequest::input_tokens, 10) ==
        Numbers{1383, 1164, 1035, 788, 827, 553, 589, 528, 691, 1345});
  CHECK(column(requests, &BenchmarkRequest::output_tokens, 10) ==
        Numbers{135, 74, 87, 176, 121, 185, 75, 97, 134, 65});
  CHECK(requests.size() == 1000);
  CHECK(sum(requests, &BenchmarkRequest::input_tokens) == 1'040'360);  // i.sum()
  CHECK(sum(requests, &BenchmarkRequest::output_tokens) == 129'127);   // o.sum()
}

TEST_CASE("a BOS token and a prefix are added to what is drawn", "[traces]") {
  BenchmarkConfig config = vllm();
  config.seed = 7;
  config.requests = 200;
  config.prompt_tokens = 3000;
  config.output_tokens = 300;
  config.range_ratio = 0.1;
  config.special_tokens = 1;
  config.prefix_tokens = 100;
  const auto requests = sent(config);
  // g = np.random.default_rng(7)
  // g.integers(floor(2999 * .9), ceil(2999 * 1.1) + 1, size=200)[:5] + 100 + 1
  CHECK(column(requests, &BenchmarkRequest::input_tokens, 5) ==
        Numbers{3367, 3175, 3211, 3339, 3147});
  // g.integers(270, 331, size=200)[:5]
  CHECK(column(requests, &BenchmarkRequest::output_tokens, 5) == Numbers{295, 328, 276, 310, 314});
}

TEST_CASE("arrivals are numpy's gamma gaps, stretched to the rate", "[traces]") {
  BenchmarkConfig config = vllm();
  config.rate_per_s = 10;
  // np.random.seed(0); d = np.cumsum([np.random.gamma(1.0, 1 / 10) for _ in range(1000)])
  // (d * (1000 / 10 / d[-1]))[:5]
  CHECK(within_ns(column(sent(config), &BenchmarkRequest::arrival_ns, 5),
                  {79'306'688, 204'456'707, 296'453'334, 374'895'747, 429'806'202}, 2));
  CHECK(within_ns({sent(config).back().arrival_ns}, {100'000'000'000}, 2));
  config.requests = 100;
  config.burstiness = 0.5;
  CHECK(within_ns(column(sent(config), &BenchmarkRequest::arrival_ns, 5),
                  {61'327'042, 137'636'720, 173'844'342, 212'472'587, 389'918'164}, 2));
  config.seed = 3;
  config.rate_per_s = 2;
  config.burstiness = 4;
  CHECK(within_ns(column(sent(config), &BenchmarkRequest::arrival_ns, 5),
                  {1'067'485'018, 1'657'164'944, 2'065'215'173, 2'456'185'383, 2'918'800'220}, 4));
}

TEST_CASE("a ramp-up raises the rate from request to request", "[traces]") {
  BenchmarkConfig config = vllm();
  config.requests = 50;
  config.ramp_up = "linear";
  config.ramp_up_from_per_s = 1;
  config.ramp_up_to_per_s = 10;
  // np.random.seed(0)
  // np.cumsum([np.random.gamma(1.0, 1 / (1 + 9 * i / 49)) for i in range(50)])[:5]
  CHECK(within_ns(column(sent(config), &BenchmarkRequest::arrival_ns, 5),
                  {795'874'508, 1'856'919'463, 2'532'112'510, 3'039'650'095, 3'357'313'342}, 4));
  config.ramp_up = "exponential";
  // np.cumsum([np.random.gamma(1.0, 1 / 10 ** (i / 49)) for i in range(50)])[-1]
  CHECK(within_ns({sent(config).back().arrival_ns}, {22'165'630'350}, 20));
}

TEST_CASE("repeated prefixes are shuffled as Python does", "[traces]") {
  BenchmarkConfig config = vllm();
  config.dataset = "prefix_repetition";
  config.requests = 32;  // three for each of ten prefixes
  const auto requests = sent(config);
  // r = [p for p in range(10) for _ in range(3)]; random.Random(0).shuffle(r); r[:12]
  CHECK(column(requests, &BenchmarkRequest::prefix, 12) ==
        Numbers{1, 3, 6, 5, 1, 0, 2, 8, 9, 4, 6, 8});
  CHECK(requests.size() == 30);
  CHECK(requests[0].input_tokens == 512);
  CHECK(tool_of(config).notes(config).size() == 1);
}

TEST_CASE("without a rate a limit on the requests in flight is a closed loop", "[traces]") {
  BenchmarkConfig config = vllm();
  CHECK_FALSE(tool_of(config).load(config).closed_loop);
  config.concurrency = 8;
  CHECK(tool_of(config).load(config).closed_loop);
  config.rate_per_s = 3;
  CHECK_FALSE(tool_of(config).load(config).closed_loop);
}

TEST_CASE("what vllm bench serve cannot be told is refused by key", "[traces]") {
  const std::pair<const char*, std::function<void(BenchmarkConfig&)>> cases[] = {
      {"", [](BenchmarkConfig&) {}},
      {"version", [](BenchmarkConfig& c) { c.version = "0.9.2"; }},
      {"dataset", [](BenchmarkConfig& c) { c.dataset = "sonnet"; }},
      {"prefix_count", [](BenchmarkConfig& c) { c.prefix_count = 3; }},
      {"range_ratio", [](BenchmarkConfig& c) { c.range_ratio = 1; }},
      {"range_ratio",
       [](BenchmarkConfig& c) { c.dataset = "prefix_repetition", c.range_ratio = 0.5; }},
      {"requests", [](BenchmarkConfig& c) { c.dataset = "prefix_repetition", c.requests = 9; }},
      {"prompt_tokens", [](BenchmarkConfig& c) { c.prompt_tokens = 1, c.range_ratio = 0.5; }},
      {"burstiness", [](BenchmarkConfig& c) { c.burstiness = 2; }},
      {"ramp_up", [](BenchmarkConfig& c) { c.ramp_up = "fast"; }},
      {"rate_per_s", [](BenchmarkConfig& c) { c.ramp_up = "linear", c.rate_per_s = 2; }},
      {"ramp_up_from_per_s", [](BenchmarkConfig& c) { c.ramp_up = "linear"; }},
      {"ramp_up_to_per_s",
       [](BenchmarkConfig& c) { c.ramp_up = "linear", c.ramp_up_from_per_s = 2; }},
      {"seconds", [](BenchmarkConfig& c) { c.seconds = 60; }},
      {"turns", [](BenchmarkConfig& c) { c.turns = 2; }}};
  for (const auto& [key, change] : cases) {
    BenchmarkConfig config = vllm();
    change(config);
    CHECK(fault_key(config) == key);
  }
}

/// 400 exchanges: prompts of 1 to 1,500 tokens, answers of 1 to 900.
std::string lengths() {
  std::string out;
  for (int i = 0; i < 400; ++i) {
    out += std::to_string(1 + 37 * i % 1500) + "," + std::to_string(1 + 53 * i % 900) + "\n";
  }
  return out;
}

BenchmarkConfig sharegpt(const test::Scratch& scratch, const std::string& text) {
  BenchmarkConfig config = vllm();
  config.dataset = "sharegpt";
  config.requests = 20;
  config.lengths = scratch.file("lengths.csv", text);
  return config;
}

TEST_CASE("sharegpt is shuffled by Python and pruned by length", "[traces]") {
  const test::Scratch scratch;
  BenchmarkConfig config = sharegpt(scratch, lengths());
  CHECK(fault_key(config).empty());
  // random.seed(0); random.shuffle(data), then what is_valid_sequence keeps
  CHECK(column(sent(config), &BenchmarkRequest::input_tokens, 8) ==
        Numbers{598, 223, 149, 906, 795, 564, 846, 1017});
  CHECK(column(sent(config), &BenchmarkRequest::output_tokens, 8) ==
        Numbers{394, 319, 213, 746, 587, 548, 806, 5});
  CHECK(sum(sent(config), &BenchmarkRequest::input_tokens) == 10'283);
  config.seed = 5;
  config.output_tokens = 2;  // --sharegpt-output-len: no answer is too short
  CHECK(column(sent(config), &BenchmarkRequest::input_tokens, 8) ==
        Numbers{951, 186, 112, 248, 413, 903, 778, 379});
  CHECK(sum(sent(config), &BenchmarkRequest::input_tokens) == 11'471);
}

TEST_CASE("a file of lengths that is malformed or too short names its line", "[traces]") {
  const test::Scratch scratch;
  const auto told = [&](const std::string& text) -> std::string {
    try {
      sent(sharegpt(scratch, text));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(told("10,20\n10;20\n").find("lengths.csv:2: expected prompt,answer") != std::string::npos);
  CHECK(told("10,20\n10,20 \n").find("lengths.csv:2") != std::string::npos);
  CHECK(told("10,99999999\n").find("lengths.csv:1") != std::string::npos);
  CHECK(told("10,20\n3,20\n").find("found 1; set requests lower") != std::string::npos);
}

TEST_CASE("sharegpt has its lengths and no others", "[traces]") {
  const test::Scratch scratch;
  const std::pair<const char*, std::function<void(BenchmarkConfig&)>> cases[] = {
      {"lengths", [](BenchmarkConfig& c) { c.lengths.reset(); }},
      {"lengths", [](BenchmarkConfig& c) { c.dataset.reset(); }},
      {"prompt_tokens", [](BenchmarkConfig& c) { c.prompt_tokens = 3; }},
      {"prefix_tokens", [](BenchmarkConfig& c) { c.prefix_tokens = 3; }},
      {"special_tokens", [](BenchmarkConfig& c) { c.special_tokens = 1; }},
      {"burstiness", [](BenchmarkConfig& c) { c.burstiness = 2; }}};
  for (const auto& [key, change] : cases) {
    BenchmarkConfig config = sharegpt(scratch, lengths());
    change(config);
    CHECK(fault_key(config) == key);
  }
}

}  // namespace
}  // namespace spillway
