// Figures, changes and events of an answer in the words of the field.
#include "reports/plan/answer_words.hpp"

#include "reports/plan/plan_json.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TargetEstimate p99_ttft(double value, double x) {
  TargetEstimate out;
  out.name = "p99_ttft_ms";
  out.share = true;
  out.target = 2000;
  out.value = value;
  out.x = x;
  out.limit = 0.01;
  out.met = x <= out.limit;
  return out;
}

TEST_CASE("metrics are called as people call them", "[reports]") {
  CHECK(metric_words("p99_ttft_ms") == "p99 TTFT");
  CHECK(metric_words("mean_e2el_ms") == "mean end-to-end latency");
  CHECK(metric_words("output_throughput") == "output throughput");
  CHECK(against_limit({"p99_tpot_ms", "", 55.9, 100, false}) == "p99 TPOT 56 ms (limit 100 ms)");
  CHECK(against_limit({"goodput", "gold", 3.2, 4, true}) ==
        "goodput of gold 3.20 requests/s (at least 4.00 requests/s)");
}

TEST_CASE("a figure just beyond its limit does not look like it", "[reports]") {
  CHECK(against_limit({"p99_ttft_ms", "", 2001, 2000, false}) == "p99 TTFT 2.001 s (limit 2 s)");
}

TEST_CASE("where the share of requests decides otherwise than the figure, it is told",
          "[reports]") {
  // 7.7% of the requests never end, so that the p99 of those that do is far within its limit.
  PlanPoint point;
  point.targets = {p99_ttft(1200, 0.077)};
  CHECK(miss_words(point) == "7.7% of requests exceed the p99 TTFT limit of 2.0 s (1.0% allowed)");
  point.targets = {p99_ttft(2600, 0.02)};
  CHECK(miss_words(point) == "p99 TTFT 2.6 s (limit 2.0 s)");
}

TEST_CASE("the target that misses by most is named, not one that is met", "[reports]") {
  PlanPoint point;
  TargetEstimate tpot = p99_ttft(90, 0.5);
  tpot.name = "p99_tpot_ms";
  tpot.target = 80;
  point.targets = {p99_ttft(1900, 0.009), p99_ttft(2100, 0.011), tpot};
  CHECK(miss_words(point) == "p99 TPOT 90 ms (limit 80 ms)");
}

TEST_CASE("changes are flags and deeds", "[reports]") {
  TriedChange change;
  change.kind = ChangeKind::kReplicas;
  change.changes = {{"engine.max_num_batched_tokens", "2048", "1024"},
                    {"fleet.replicas", "1", "5"}};
  CHECK(change_words(change) == "set --max-num-batched-tokens 1024 and use 5 replicas");
  CHECK(change_name(change.changes[0]) == "--max-num-batched-tokens 1024");
  change.changes = {{"model.kv_dtype", "bf16", "fp8"}};
  CHECK(change_words(change) == "set --kv-cache-dtype fp8");
}

TEST_CASE("the margin is told in the words of the events, the nearest first", "[reports]") {
  PlanResult plan;
  CHECK(margin_words(plan).empty());
  plan.margin.emplace();
  CHECK(margin_words(plan) == "Margin: it holds in every event that was tried.");
  BreakingEvent reuse{"reuse", factor_event("reuse", 0.95), 0.95, "", 0, 0, 3};
  BreakingEvent restart{"cold-restart", "cold restart", {}, "p99_ttft_ms", 9000, 2000, 0};
  plan.margin->broken = {reuse, restart};
  CHECK(margin_words(plan) ==
        "Margin: fails if prefix reuse falls 5%, or on a cold restart (one run).");
  plan.margin->next = NextSize{1, "128GiB", 1 << 30, MoreCost{14.2, "USD"}, {"cold restart"}};
  CHECK(margin_words(plan) ==
        "Margin: fails if prefix reuse falls 5%, or on a cold restart (one run); 128 GiB survives "
        "a cold restart for USD 14.2 more a month.");
}

TEST_CASE("what lasts through growth is told with what it costs", "[reports]") {
  PlanMargin margin;
  CHECK(growth_remedy_words(margin).empty());
  TriedChange change;
  change.kind = ChangeKind::kReplicas;
  change.changes = {{"fleet.replicas", "1", "2"}};
  margin.growth = GrowthRemedy{"in 12 months", 1.8, change};
  CHECK(growth_remedy_words(margin) == "use 2 replicas and it holds");
  margin.growth->change.more = MoreCost{876, "USD"};
  CHECK(growth_remedy_words(margin) == "use 2 replicas and it holds for USD 876 more a month");
  margin.growth->change.more->per_month = -20;
  CHECK(growth_remedy_words(margin) == "use 2 replicas and it holds for USD 20.0 less a month");
  change.kind = ChangeKind::kFlag;
  change.changes = {{"engine.max_num_seqs", "128", "64"}};
  margin.growth->change = change;
  CHECK(growth_remedy_words(margin) == "set --max-num-seqs 64 and it holds, at no cost");
}

TEST_CASE("a month's cost is told with the part that is the tier's", "[reports]") {
  PlanResult plan;
  plan.tier = "dram";
  plan.points.resize(1);
  plan.recommended = 0;
  CHECK(month_cost_words(plan).empty());
  plan.cost.emplace().currency = "USD";
  plan.cost->cells.emplace_back().per_month = 899;
  plan.cost->items = {{"H100", 1, "GPU", 876, 876}, {"dram", 256, "GiB", 0.09, 23}};
  CHECK(month_cost_words(plan) == "USD 899 a month, 23.0 of it for DRAM");
  plan.cost->source = "assumed round figures";
  CHECK(month_cost_words(plan) == "USD 899 a month at assumed prices, 23.0 of it for DRAM");
}

TEST_CASE("an answer is read back as it was written", "[reports]") {
  PlanResult plan;
  plan.points.resize(2);
  plan.answer.verdict = AnswerVerdict::kMissed;
  plan.answer.cause = AnswerCause::kSetting;
  TriedChange remedy;
  remedy.changes = {{"engine.max_num_seqs", "256", "64"}};
  remedy.met = true;
  remedy.replicates = 3;
  remedy.targets = {{"p99_tpot_ms", "", false, 75.8, 80, true}};
  plan.answer.remedy = remedy;
  plan.answer.idle = {{"workload.concurrency", {"64", "512"}, true}};
  plan.floor.emplace().met = false;
  plan.floor->targets = {{"p99_ttft_ms", "", false, 5430, 4000, false}};
  plan.floor->lowered = {remedy};
  plan.ceiling = PlanCeiling{0.62, 2.4, false, 7};
  plan.margin.emplace().next = NextSize{1, "128GiB", 5, MoreCost{3.5, "EUR"}, {"peak x1.5"}};
  remedy.more = MoreCost{-876, "USD"};
  plan.margin->growth = GrowthRemedy{"in 12 months", 1.8, remedy};
  nlohmann::json document = to_json(plan);
  CHECK(to_json(plan_from_json(document)) == document);
  document["margin"]["next_size"]["index"] = 7;  // a file that somebody edited
  CHECK_THROWS(plan_from_json(document));
}

}  // namespace
}  // namespace spillway::test
