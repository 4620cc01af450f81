// Replicates of workloads: what each one is, how long, and that cells share them.
#include "scenarios/experiment/replicates.hpp"

#include <set>

#include "scenarios/scenario/growth.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/slo.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/traces/trace_text.hpp"
#include "traces/generate/synthetic.hpp"

namespace spillway::test {
namespace {

using Texts = std::vector<std::string>;

Scenario generated(const Texts& set = {}) {
  Texts all = {
      "workload={\"synthetic\": {\"requests\": 300, \"block_tokens\": 16, \"user_tokens\": 100, "
      "\"max_context\": 2048}}"};
  all.insert(all.end(), set.begin(), set.end());
  return reference_with(all);
}

/// 300 requests of chat in blocks of 512 tokens, as a trace.
std::string recording(std::uint64_t seed) {
  SyntheticConfig config;
  config.requests = 300;
  config.block_tokens = 512;
  const Workload workload = generate_workload(config, seed);
  std::string out;
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    std::string blocks;
    for (const TraceBlockId id : workload.chain(RequestId{r})) {
      blocks += fmt::format("{}{}", blocks.empty() ? "" : ", ", raw(id));
    }
    out += row(fmt::format("{}", workload.columns().arrival_ns[r] / 1'000'000),
               fmt::format("{}", workload.input_tokens(RequestId{r})),
               fmt::format("{}", workload.output_tokens(RequestId{r})), "[" + blocks + "]");
  }
  return out;
}

/// A scenario on the first of `days` recordings, with the others as further days.
class Recorded {
 public:
  explicit Recorded(std::uint64_t days) {
    for (std::uint64_t day = 0; day < days; ++day) {
      const std::string name = fmt::format("day{}.jsonl", day);
      scratch_.file(name, recording(100 + day));
      if (day > 0) others_ += fmt::format("{}\"{}\"", day > 1 ? ", " : "", scratch_.path(name));
    }
  }
  Scenario scenario(const Texts& set = {}) const {
    Texts all = {"workload={\"trace\": \"" + scratch_.path("day0.jsonl") + "\"}"};
    if (!others_.empty()) all.push_back("workload.days=[" + others_ + "]");
    all.insert(all.end(), set.begin(), set.end());
    return reference_with(all);
  }
  Workload day(std::uint64_t number) const {
    return open_trace(scratch_.path(fmt::format("day{}.jsonl", number)), {});
  }

 private:
  Scratch scratch_;
  std::string others_;
};

std::uint64_t hash_of(Replicates& replicates, std::uint32_t index) {
  return replicates.get(index).content_hash();
}

/// Whether `smaller`'s requests are all in `larger`, by arrival and length.
bool keeps(const Workload& larger, const Workload& smaller) {
  std::multiset<std::pair<std::int64_t, std::uint32_t>> rows;
  for (std::uint32_t r = 0; r < larger.size(); ++r) {
    rows.emplace(larger.columns().arrival_ns[r], larger.columns().input_tokens[r]);
  }
  for (std::uint32_t r = 0; r < smaller.size(); ++r) {
    const auto at = rows.find({smaller.columns().arrival_ns[r], smaller.columns().input_tokens[r]});
    if (at == rows.end()) return false;
    rows.erase(at);
  }
  return true;
}

TEST_CASE("generated replicates are the process with other seeds, as long as asked",
          "[scenarios]") {
  const Scenario scenario = generated();
  Replicates plain(scenario, 3, 1, {});
  CHECK(plain.replication() == Replication::kIndependent);
  CHECK(plain.length() == 1);
  CHECK(plain.get(0).content_hash() == open_workload(scenario, {}).content_hash());
  CHECK(plain.get(2).size() == 300);
  CHECK(plain.seed(2) == scenario.seed + 2);
  Replicates longer(scenario, 3, 1, {}, 1000);
  CHECK(longer.original().size() == 300);
  CHECK(longer.get(0).size() == 1000);
  CHECK(longer.get(2).size() == 1000);
  // The same process going on: a longer replicate begins with the shorter one.
  for (std::uint32_t r = 0; r < 300; ++r) {
    CHECK(longer.get(2).arrival(RequestId{r}) == plain.get(2).arrival(RequestId{r}));
    CHECK(chain_of(longer.get(2), r) == chain_of(plain.get(2), r));
  }
  CHECK(longer.method() == "generated with seeds 1 to 3, 1000 requests each");
  // What the scenario says counts more.
  Replicates said(generated({"workload.replication={\"requests\": 400}"}), 2, 1, {}, 1000);
  CHECK(said.get(1).size() == 400);
}

TEST_CASE("requests of the warm-up come on top", "[scenarios]") {
  const Scenario scenario = generated({"workload.warmup_s=20"});
  Replicates replicates(scenario, 2, 1, {}, 1000);
  std::uint64_t measured = 0;
  for (const std::int64_t at : replicates.get(1).columns().arrival_ns) {
    measured += at >= 20'000'000'000 ? 1 : 0;
  }
  // As many more as the workload itself has before 20 s; another seed has some more or less.
  CHECK(measured > 970);
  CHECK(measured < 1030);
}

TEST_CASE("percentiles ask for twenty requests beyond them", "[scenarios]") {
  CHECK(requests_needed({{"p99_ttft_ms", false, 1, "", {}}, {"p90_tpot_ms", false, 1, "", {}}}) ==
        2000);
  CHECK(requests_needed({{"p95_ttft_ms", false, 1, "", {}}}) == 400);
  CHECK(requests_needed({{"median_ttft_ms", false, 1, "", {}}}) == 40);
  CHECK(requests_needed({{"mean_ttft_ms", false, 1, "", {}}}) == 0);
}

TEST_CASE("a short trace is drawn several times in a row", "[scenarios]") {
  const Recorded one(1);
  const Scenario scenario = one.scenario();
  Replicates replicates(scenario, 3, 1, {}, 1000);
  CHECK(replicates.replication() == Replication::kResampled);
  CHECK(replicates.length() == 4);  // 1,000 of 300
  CHECK(replicates.get(1).size() > 1000);
  CHECK(replicates.get(1).size() < 1400);
  CHECK_THAT(replicates.method(), ContainsSubstring("4 times in a row for 1000 requests"));
  // As before where it is long enough: comparisons do not move.
  Replicates before(scenario, 3, 1, {});
  CHECK(before.length() == 1);
  const Workload trace = one.day(0);
  const SessionBootstrap bootstrap(trace);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(hash_of(before, i) == bootstrap.replicate(scenario.seed, i).content_hash());
  }
  CHECK(before.get(before.recording()).content_hash() == trace.content_hash());
  // An open workload may be given instead.
  Replicates given(scenario, trace, 3, 1, {});
  CHECK(&given.original() == &trace);
  CHECK(hash_of(given, 1) == hash_of(before, 1));
}

TEST_CASE("nothing behind a horizon is measured, so nothing is drawn for it", "[scenarios]") {
  const Recorded one(1);
  Replicates replicates(one.scenario({"workload.horizon_s=10"}), 2, 1, {}, 100'000);
  CHECK(replicates.length() == 1);
}

TEST_CASE("several days are replicates themselves, then each is drawn again", "[scenarios]") {
  const Recorded five(5);
  const Scenario scenario = five.scenario();
  Replicates days(scenario, 5, 1, {});
  CHECK(days.replication() == Replication::kIndependent);
  for (std::uint32_t i = 0; i < 5; ++i) {
    CHECK(hash_of(days, i) == five.day(i).content_hash());
  }
  CHECK(days.method() == "the first 5 of 5 recorded days");
  Replicates more(scenario, 12, 1, {});
  CHECK(more.replication() == Replication::kResampled);
  CHECK(more.length() == Approx(1.0 / 5));  // of the five days that are known
  std::set<std::uint64_t> hashes;
  for (std::uint32_t i = 0; i < 12; ++i) hashes.insert(hash_of(more, i));
  CHECK(hashes.size() == 12);
  CHECK(hash_of(more, 3) == five.day(3).content_hash());
  // Replicate 7 is of day 7 mod 5.
  const Workload third = five.day(2);
  CHECK(hash_of(more, 7) == SessionBootstrap(third).replicate(scenario.seed, 7).content_hash());
  CHECK_THAT(more.method(), StartsWith("the recorded days, then 5 recorded days in turn"));
  // Days that are too short to be replicates are drawn several times.
  Replicates longer(scenario, 3, 1, {}, 500);
  CHECK(longer.replication() == Replication::kResampled);
  CHECK(longer.length() == Approx(2.0 / 5));
  CHECK(hash_of(longer, 1) != five.day(1).content_hash());
}

TEST_CASE("replicates are the same whatever else cells differ in", "[scenarios]") {
  const Recorded one(1);
  const Texts other = {"tiers.0.capacity=1GiB", "engine.max_num_seqs=8", "tiers.0.eviction=fifo",
                       "engine.num_gpu_blocks=4096"};
  Replicates a(one.scenario(), 4, 1, {});
  Replicates b(one.scenario(other), 4, 1, {});
  for (std::uint32_t i = 4; i-- > 0;) {  // in any order
    const std::uint64_t first = hash_of(a, 3 - i);
    CHECK(first == a.hash(3 - i));
    CHECK(hash_of(b, i) == SessionBootstrap(a.original()).replicate(1, i).content_hash());
  }
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(a.hash(i) == b.hash(i));
}

TEST_CASE("replicate i of a grown workload is replicate i, grown", "[scenarios]") {
  const Recorded one(1);
  const std::vector<std::function<Scenario(const Texts&)>> sources = {
      [&](const Texts& set) { return one.scenario(set); },
      [&](const Texts& set) { return generated(set); }};
  for (const auto& source : sources) {
    Replicates plain(source({}), 3, 1, {});
    Replicates same(source({"workload.growth={\"rate\": 1}"}), 3, 1, {});
    Replicates more(source({"workload.growth={\"rate\": 1.2}"}), 3, 1, {});
    Replicates most(source({"workload.growth={\"rate\": 1.5}"}), 3, 1, {});
    Replicates less(source({"workload.growth={\"rate\": 0.5}"}), 3, 1, {});
    for (std::uint32_t i = 0; i < 3; ++i) {
      CHECK(hash_of(same, i) == hash_of(plain, i));
      CHECK(more.get(i).size() > plain.get(i).size());
      CHECK(keeps(more.get(i), plain.get(i)));
      CHECK(keeps(most.get(i), more.get(i)));
      CHECK(keeps(plain.get(i), less.get(i)));
    }
    CHECK(keeps(more.original(), plain.original()));
    CHECK(more.original().content_hash() ==
          open_workload(source({"workload.growth={\"rate\": 1.2}"}), {}).content_hash());
  }
}

TEST_CASE("growth moves the arrivals that are not recorded", "[scenarios]") {
  const Scenario poisson = generated({"workload.arrival=poisson", "workload.rate_per_s=4",
                                      "workload.growth={\"rate\": 1.5, \"tenants\": 2}"});
  CHECK(poisson.workload->arrival.rate_per_s == Approx(12));  // 4 * 1.5 * 2
  const Scenario closed = generated({"workload.arrival=closed-loop", "workload.concurrency=10",
                                     "workload.growth={\"rate\": 0.5}"});
  CHECK(closed.workload->arrival.concurrency == 5);
  WorkloadChoice again = *poisson.workload;
  grow_arrivals(again, {2, 3, 1, 1});  // context is no traffic
  CHECK(again.arrival.rate_per_s == Approx(24));
}

TEST_CASE("days, growth and replication are told as they took effect", "[scenarios]") {
  const Recorded two(2);
  const auto told = resolved_configuration(
      two.scenario({"workload.growth={\"reuse\": 0.5}",
                    "workload.replication={\"requests\": 50, \"warmup_s\": 3}"}))["workload"];
  CHECK(told["days"] == nlohmann::json{"day1.jsonl"});
  CHECK(told["growth"]["reuse"] == 0.5);
  CHECK(told["growth"]["rate"] == 1);
  CHECK(told["replication"]["requests"] == 50);
  CHECK(told["replication"]["warmup_s"] == 3);
  CHECK_FALSE(resolved_configuration(generated())["workload"].contains("growth"));
}

TEST_CASE("longer replicates are other draws of the same traffic", "[scenarios]") {
  const Scenario s = generated();
  Replicates replicates(s, 4, 1, {});
  REQUIRE(replicates.may_be_longer());
  const Workload longer = replicates.longer(1, 3);
  CHECK(longer.size() == 3 * replicates.get(1).size());
  CHECK(longer.content_hash() == replicates.longer(1, 3).content_hash());
  CHECK(longer.content_hash() != replicates.longer(2, 3).content_hash());
  // Nor do they begin alike: neither as the usual replicate, nor as one of another length.
  const auto start = [](const Workload& w) {
    return w.arrival(RequestId{1}) - w.arrival(RequestId{0});
  };
  CHECK(start(longer) != start(replicates.get(1)));
  CHECK(start(longer) != start(replicates.longer(1, 4)));
}

}  // namespace
}  // namespace spillway::test
