// Comparisons: which variants there are, that they see the same workloads, and what that buys.
#include "scenarios/experiment/compare/comparison.hpp"

#include "reports/compare/compare_json.hpp"
#include "reports/document.hpp"
#include "scenarios/experiment/compare/account.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/scenario/scenario_text.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using Texts = std::vector<std::string>;

/// Chat on a pool of 600 blocks with 2,000 below, 400 requests: policies and sizes both matter.
JsonSource chat() {
  JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  source.set(
      "workload={\"synthetic\": {\"requests\": 400, \"block_tokens\": 16, \"user_tokens\": 300, "
      "\"max_context\": 4096, \"sessions_per_s\": 0.8, \"think_s\": 4}, \"arrival\": \"trace\"}");
  source.set("engine.num_gpu_blocks=600");
  source.set("tiers.0.capacity=2000blocks");
  return source;
}

CompareOutcome compared(const Texts& vary, std::uint32_t replications, unsigned threads = 2,
                        const Texts& baseline = {}) {
  const std::vector<Varied> varied = parse_varied(vary);
  CompareOptions options;
  options.replications = replications;
  options.threads = threads;
  return compare(make_variants(chat(), varied, baseline), options);
}

const ComparedMetric& metric(const ComparedVariant& variant, const std::string& name) {
  for (const ComparedMetric& m : variant.metrics) {
    if (m.name == name) return m;
  }
  FAIL("no metric " << name);
  return variant.metrics.front();
}

TEST_CASE("variants are every combination, the last key changing fastest", "[scenarios]") {
  const Texts vary = {"tiers.0.eviction=lru,fifo", "tiers.0.capacity=1GiB,2GiB,inf"};
  const VariantSet set = make_variants(chat(), parse_varied(vary), Texts{"inf"});
  std::vector<std::string> names;
  for (const Variant& v : set.variants) names.push_back(v.name);
  CHECK(names == Texts{"eviction=lru, capacity=1GiB", "eviction=lru, capacity=2GiB",
                       "eviction=lru, capacity=inf", "eviction=fifo, capacity=1GiB",
                       "eviction=fifo, capacity=2GiB", "eviction=fifo, capacity=inf"});
  CHECK(set.baseline == 2);
  CHECK(set.variants[4].scenario.tier->eviction.text() == "fifo");
  CHECK(set.variants[4].scenario.tier->capacity.count == std::int64_t{2} << 30);
}

TEST_CASE("names show as much of a key as tells it from the others", "[scenarios]") {
  CHECK(short_keys(Texts{"fleet.replicas", "tiers.0.eviction"}) == Texts{"replicas", "eviction"});
  CHECK(short_keys(Texts{"tiers.0.eviction", "tiers.1.eviction", "workload.speed"}) ==
        Texts{"tiers.0.eviction", "tiers.1.eviction", "speed"});
  CHECK(short_keys(Texts{"engine.eviction", "tiers.0.eviction", "tiers"}) ==
        Texts{"engine.eviction", "tiers.0.eviction", "tiers"});
}

TEST_CASE("commas in brackets and quotes do not separate", "[scenarios]") {
  const auto varied =
      parse_varied(Texts{"workload.synthetic.day_factors=[1,2],[2,1]", "name=\"a,b\",c"});
  CHECK(varied[0].values == Texts{"[1,2]", "[2,1]"});
  CHECK(varied[1].values == Texts{"\"a,b\"", "c"});
}

TEST_CASE("common random numbers: differences vary less than independent runs would",
          "[scenarios]") {
  const CompareOutcome outcome = compared({"tiers.0.eviction=lru,fifo"}, 10);
  const ComparedVariant& lru = outcome.result.variants[0];
  const ComparedVariant& fifo = outcome.result.variants[1];
  for (const char* name : {"p99_ttft_ms", "median_ttft_ms", "median_e2el_ms", "cached_share"}) {
    const double independent =
        variance_of(metric(lru, name).values) + variance_of(metric(fifo, name).values);
    const double paired = metric(fifo, name).difference.variance;
    INFO(name << ": " << independent / paired << " times");
    CHECK(paired > 0);
    CHECK(paired < independent / 2);
  }
  REQUIRE(outcome.workloads.size() == 1);
  CHECK(outcome.workloads[0].hashes.size() == 10);
  CHECK(outcome.result.replication == Replication::kIndependent);
  CHECK(outcome.result.tests == 11);
}

TEST_CASE("more of what binds is better, and the reason says where it comes from", "[scenarios]") {
  const CompareOutcome outcome = compared({"tiers.0.capacity=0GiB,4GiB"}, 5);
  const ComparedVariant& large = outcome.result.variants[1];
  CHECK(outcome.result.ranking == std::vector<std::size_t>{1, 0});
  CHECK(metric(large, "cached_share").verdict == Verdict::kBetter);
  CHECK(metric(large, "rejected").verdict == Verdict::kEqual);
  // Five replications do not tell this latency from chance: nothing explains it, yet blocks moved.
  CHECK(metric(large, "p99_ttft_ms").verdict == Verdict::kUndecided);
  CHECK_THAT(large.reason, ContainsSubstring("which may be chance; what did move: "));
  CHECK_THAT(large.reason, ContainsSubstring("bytes over h2d 0 B -> "));
  CHECK(std::count_if(large.moved.begin(), large.moved.end(),
                      [](const MovedQuantity& m) { return m.named; }) == 3);
  CHECK(outcome.result.variants[0].reason.empty());
  for (const MovedQuantity& m : large.moved) {
    CHECK(m.difference.mean == Approx(m.variant - m.baseline).margin(1e-9));
  }
}

TEST_CASE("one replication is the workload itself, without intervals", "[scenarios]") {
  const CompareOutcome outcome = compared({"tiers.0.eviction=lru,fifo"}, 1);
  const ComparedMetric& m = metric(outcome.result.variants[1], "p99_ttft_ms");
  CHECK_FALSE(m.difference.interval);
  CHECK(m.verdict == Verdict::kNotTested);
  CHECK(outcome.result.tests == 0);
  CHECK(outcome.workloads[0].hashes[0] == open_workload(load_scenario(chat()), {}).content_hash());
}

TEST_CASE("variants of the workload draw their own replicates, the others share", "[scenarios]") {
  const CompareOutcome outcome =
      compared({"workload.synthetic.turns=2,4", "tiers.0.eviction=lru,fifo"}, 2);
  REQUIRE(outcome.workloads.size() == 2);
  CHECK(outcome.workloads[0].variants == std::vector<std::size_t>{0, 1});
  CHECK(outcome.workloads[1].variants == std::vector<std::size_t>{2, 3});
  CHECK(outcome.workloads[0].hashes[1] != outcome.workloads[1].hashes[1]);
}

TEST_CASE("a comparison does not depend on threads, and survives a document", "[scenarios]") {
  const nlohmann::json one = to_json(compared({"tiers.0.eviction=lru,fifo"}, 5, 1).result);
  const nlohmann::json four = to_json(compared({"tiers.0.eviction=lru,fifo"}, 5, 4).result);
  CHECK(digest_of(one) == digest_of(four));
  CHECK(to_json(compare_from_json(one)) == one);
}

TEST_CASE("first and later turns are told apart", "[scenarios]") {
  const Workload workload = open_workload(load_scenario(chat()), {});
  TurnClasses turns(workload);
  CHECK(turns.any_later());
  RequestRecord record;
  record.request = RequestId{0};
  record.input_tokens = 100;
  record.cached_tokens = {10, 20};
  turns.on_request(record);
  record.warmup = true;
  turns.on_request(record);
  CHECK(turns.first().share() == Approx(0.3));
  CHECK(turns.later().share() == 0);
}

}  // namespace
}  // namespace spillway::test
