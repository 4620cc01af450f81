// What a plan says about its cells, on small workloads whose answer can be worked out by hand.
#include "scenarios/planner/judgement/judgement.hpp"

#include <functional>

#include "scenarios/experiment/trial.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/files.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

/// HBM of 64 usable blocks (two documents of 32), requests a second apart; a document that is not
/// cached costs a prefill of 2 ms + 20 us x 512 + 5 ns x 512 = 12.24 ms.
Scenario planned(const std::string& sizes, const std::vector<std::string>& more = {}) {
  std::vector<std::string> all = {"engine.num_gpu_blocks=65", "plan.sizes=" + sizes};
  all.insert(all.end(), more.begin(), more.end());
  return reference_with(all);
}

Workload cycle() {
  return repeating(50, 6, 1000, 1);
}

constexpr const char* kGrid = R"(["0blocks", "96blocks", "192blocks", "384blocks"])";
const std::string kWithin10Ms = R"(slo=[{"metric": "median_ttft_ms", "max": 10}])";

SearchSpace space_of(const Scenario& scenario, const Workload& workload) {
  std::vector<Variant> one(1);
  one.front().scenario = scenario;
  return make_search_space(std::move(one),
                           [&](const Scenario&) -> const Workload& { return workload; });
}

/// Every size once, the smallest feasible one recommended, and the judgement on that.
PlanResult judged(const Scenario& scenario, const Workload& workload,
                  const std::function<void(PlanResult&)>& change = {},
                  const CellTrials& trials = {}) {
  const SearchSpace space = space_of(scenario, workload);
  PlanResult plan;
  plan.tier = "dram";
  for (const PlanCell& cell : space.cells) {
    Trial trial = run_trial(cell.scenario, workload);
    PlanPoint point;
    point.name = point.capacity = cell.capacity;
    point.capacity_bytes = cell.capacity_bytes;
    point.unbounded = cell.unbounded;
    point.feasible = trial.met;
    point.run = std::move(trial.run);
    if (point.feasible && plan.recommended < 0) {
      plan.recommended = static_cast<int>(plan.points.size());
    }
    plan.points.push_back(std::move(point));
  }
  if (change) change(plan);
  judge(plan, space, workload, trials, Replication::kIndependent);
  return plan;
}

const Note* verdict(const PlanResult& plan, const std::string& code) {
  return find_note(plan.judgement.verdicts, code);
}

const Note* row(const PlanResult& plan, const std::string& code) {
  for (const DecisionRow& r : plan.judgement.decision_table) {
    if (r.measured.code == code) return &r.measured;
  }
  return nullptr;
}

const RuleOfThumb* rule(const PlanResult& plan, const std::string& code) {
  for (const RuleOfThumb& r : plan.judgement.rules_of_thumb) {
    if (r.here.code == code) return &r;
  }
  return nullptr;
}

const HeadroomPart* headroom(const PlanResult& plan, const std::string& name) {
  for (const HeadroomPart& part : plan.judgement.headroom) {
    if (part.name == name) return &part;
  }
  return nullptr;
}

// ---- sizes

TEST_CASE("the range of feasible sizes has its first breach", "[scenarios][planner]") {
  const PlanResult plan = judged(planned(kGrid, {kWithin10Ms}), cycle());
  CHECK(plan.recommended == 2);
  CHECK(plan.feasible_min == 2);
  CHECK(plan.infeasible_max == 1);
  CHECK_THAT(plan.first_breach, ContainsSubstring("median TTFT 12 ms (limit 10 ms)"));
  CHECK(plan.runner_up == 3);
  CHECK(plan.runner_up_reason.code == "runner-up-larger");
  CHECK(figure(plan.runner_up_reason, "more_bytes") == 384.0 * (1 << 20));
}

TEST_CASE("where nothing else meets the SLO the runner-up says what it misses",
          "[scenarios][planner]") {
  const PlanResult plan = judged(planned(R"(["96blocks", "192blocks"])", {kWithin10Ms}), cycle());
  CHECK(plan.runner_up == 0);
  CHECK(plan.runner_up_reason.code == "runner-up-short");
  CHECK_THAT(plan.runner_up_reason.text,
             StartsWith("It missed the SLO in its one run: median TTFT 12 ms (limit 10 ms)."));
}

TEST_CASE("the size below that meets every target without confidence is called uncertain",
          "[scenarios][planner]") {
  const PlanResult plan = judged(planned(kGrid, {kWithin10Ms}), cycle(), [](PlanResult& p) {
    p.confidence.emplace();
    for (PlanPoint& point : p.points) {
      // Half of the requests may be slower than the median's target, a hundredth than p99's.
      point.targets = {
          {"median_ttft_ms", "", false, true, 10, 1, 0.02, 0.5, 0.03, true, true},
          {"p99_ttft_ms", "", false, true, 2000, 900, 0.0096, 0.01, 0.0104, true, false}};
      point.replications = 20;
      point.verdict = point.feasible ? CellVerdict::kMet : CellVerdict::kLooksMet;
    }
  });
  CHECK(plan.infeasible_max == 1);
  CHECK(plan.first_breach ==
        "up to 1.04% of requests may exceed the p99 TTFT limit (1.00% allowed)");
  CHECK(headroom(plan, "size")->reason.text ==
        "96 blocks is uncertain: the least size that suffices lies between the two.");
}

TEST_CASE("a target that is missed by its share is not told by a figure that meets it",
          "[scenarios][planner]") {
  const PlanResult plan = judged(planned(kGrid, {kWithin10Ms}), cycle(), [](PlanResult& p) {
    p.confidence.emplace();
    for (PlanPoint& point : p.points) {
      if (point.feasible) continue;
      // 1.2% of all requests miss although p99 of the replicates is below its target on average.
      point.targets = {
          {"p99_ttft_ms", "", false, true, 2000, 1990, 0.012, 0.01, 0.014, false, false}};
      point.replications = 20;
      point.verdict = CellVerdict::kMissed;
    }
  });
  CHECK(plan.first_breach == "1.2% of requests exceed the p99 TTFT limit of 2.0 s (1.0% allowed)");
}

TEST_CASE("headroom has parts, each with its reason", "[scenarios][planner]") {
  const PlanResult plan = judged(planned(kGrid, {kWithin10Ms}), cycle());
  REQUIRE(headroom(plan, "target"));
  CHECK(headroom(plan, "target")->share == Approx(plan.headroom));
  // 192 blocks meet it and 96 do not: half of the size may be more than is needed.
  REQUIRE(headroom(plan, "size"));
  CHECK(headroom(plan, "size")->share == Approx(0.5));
}

TEST_CASE("a host has to hold the pools of all its instances", "[scenarios][planner]") {
  // Of 4 GiB one is reserved and two pools of 192 blocks take 768 MiB: 2.25 GiB are left.
  const PlanResult plan = judged(
      planned(kGrid, {kWithin10Ms, R"(host={"memory": "4GiB", "reserved": "1GiB", "instances": 2})",
                      "tiers.0.capacity=96blocks"}),
      cycle());
  REQUIRE(headroom(plan, "host"));
  CHECK(headroom(plan, "host")->share == Approx(2.25 / 4));
  CHECK(figure(headroom(plan, "host")->reason, "left_bytes") == 2.25 * (1 << 30));
}

/// Caches supply that percentage of the prompts at each size, whatever the runs say.
std::function<void(PlanResult&)> supplies(const std::vector<std::uint64_t>& percent) {
  return [=](PlanResult& p) {
    for (std::size_t i = 0; i < percent.size(); ++i) {
      p.points[i].run.input_tokens = 100;
      p.points[i].run.prompt_tokens_by_source = {{"local_compute", 100 - percent[i]},
                                                 {"hbm", percent[i]}};
    }
  };
}

TEST_CASE("the knee is where nearly all of the gain is reached, not of what HBM has anyway",
          "[scenarios][planner]") {
  // Of the gain of 40 points 95% are 38: 88%. Of all 90% they would be 85.5%.
  const PlanResult plan =
      judged(planned(kGrid, {kWithin10Ms}), cycle(), supplies({50, 86, 89, 90}));
  CHECK(plan.knee == 2);
}

TEST_CASE("a first size that the trace cannot fill is no size that misses",
          "[scenarios][planner]") {
  const auto below = [](bool cold) {
    return judged(planned(R"(["96blocks", "192blocks"])", {kWithin10Ms}), cycle(),
                  [&](PlanResult& p) {
                    p.points[0].cold_limited = cold;
                    if (cold) p.points[0].verdict = CellVerdict::kExcluded;
                  });
  };
  CHECK(below(false).infeasible_max == 0);
  const PlanResult plan = below(true);
  CHECK(plan.feasible_min == 1);
  CHECK(plan.infeasible_max == -1);
  CHECK(plan.first_breach.empty());
  CHECK_FALSE(headroom(plan, "size"));
}

TEST_CASE("no feasible size names the nearest", "[scenarios][planner]") {
  const PlanResult plan =
      judged(planned(kGrid, {R"(slo=[{"metric": "p99_ttft_ms", "max": 0.5}])"}), cycle());
  CHECK(plan.recommended == -1);
  CHECK_FALSE(plan.flags);
  CHECK_THAT(plan.verdict, ContainsSubstring("comes nearest with p99 TTFT "));
  CHECK(plan.answer.verdict == AnswerVerdict::kMissed);
}

// ---- what binds

TEST_CASE("the policy binds where the optimum would hit what LRU loses", "[scenarios][planner]") {
  // Five of six documents fit: a cycle of six misses every time under LRU, and Belady's optimum
  // keeps four of them from round to round.
  const PlanResult plan = judged(
      planned(R"(["160blocks"])", {R"(slo=[{"metric": "median_ttft_ms", "max": 100}])"}), cycle());
  CHECK(plan.judgement.binding_kind == "policy");
  REQUIRE(find_note(plan.binding, "better-policy"));
  CHECK(figure(*find_note(plan.binding, "better-policy"), "policy_share") == 0);
}

TEST_CASE("how far the policy is from the optimum is told whatever binds", "[scenarios][planner]") {
  // As above: 44 of 50 prompts are repeated, LRU hits none of them, the optimum most.
  const PlanResult plan = judged(planned(R"(["160blocks"])"), cycle());
  const std::optional<PolicyBound>& bound = plan.judgement.policy_bound;
  REQUIRE(bound);
  CHECK(bound->cell == "160blocks");
  CHECK(bound->policy == "lru");
  CHECK(bound->share == 0);
  CHECK(bound->optimum > 0.5);
  CHECK(bound->optimum < bound->content);
  CHECK(bound->content == Approx(0.88));
  CHECK_FALSE(judged(planned(R"(["0blocks"])"), cycle()).judgement.policy_bound);
}

TEST_CASE("each kind of what binds is one word", "[scenarios][planner]") {
  CHECK(judged(planned(kGrid), cycle()).judgement.binding_kind == "capacity");
  CHECK(judged(planned(R"(["384blocks"])", {kWithin10Ms}), cycle()).judgement.binding_kind ==
        "none");
  // 44 of 50 requests load for 0.99 s of their second.
  CHECK(judged(planned(R"(["192blocks"])", {"links.1.latency_us=990000"}), cycle())
            .judgement.binding_kind == "bandwidth");
  // Nothing repeats and every target is missed: the prefill alone takes too long.
  CHECK(judged(planned(kGrid, {R"(slo=[{"metric": "p99_ttft_ms", "max": 1}])"}),
               repeating(50, 50, 1000, 1))
            .judgement.binding_kind == "compute");
}

TEST_CASE("requests that admission turns away bind before anything else", "[scenarios][planner]") {
  // Fifty prompts in a millisecond each, of which two fit HBM: gpu-only keeps the others waiting,
  // a queue limit of one turns them away.
  const PlanResult plan =
      judged(planned(kGrid, {R"(policies={"admission": "queue-limit:max_queue=1"})",
                             R"(slo=[{"metric": "p99_ttft_ms", "max": 1}])"}),
             repeating(50, 50, 1, 1));
  CHECK(plan.judgement.binding_kind == "admission");
}

// ---- verdicts

TEST_CASE("offload that is slower than none is said to hurt, with the link that does it",
          "[scenarios][planner]") {
  const PlanResult plan = judged(
      planned(kGrid,
              {"links.1.latency_us=990000", R"(slo=[{"metric": "median_ttft_ms", "max": 100}])"}),
      cycle());
  CHECK(plan.recommended == 0);
  const Note* hurts = verdict(plan, "offload-hurts");
  REQUIRE(hurts);
  CHECK_THAT(hurts->text, StartsWith("Offload hurts at 192 blocks and 384 blocks. "));
  CHECK(verdict(plan, "loads-never-win"));
  const Note* link = verdict(plan, "link-bound");
  REQUIRE(link);
  CHECK_THAT(link->text, StartsWith("More DRAM is slower at 192 blocks and 384 blocks: "));
  CHECK_THAT(link->text, ContainsSubstring("Link h2d is busy 0.0% at 96 blocks, 8"));
}

TEST_CASE("a connector that costs time is named, and from which size on the tier pays",
          "[scenarios][planner]") {
  // 96 blocks serve none of the cycle, 192 most of it. With 5 ms a step more, the tier hurts where
  // it is not hit.
  const PlanResult plan =
      judged(planned(kGrid, {R"(engine.connector_costs={"step_us": 5000})",
                             R"(slo=[{"metric": "median_ttft_ms", "max": 10}])"}),
             cycle());
  const Note* hurts = verdict(plan, "offload-hurts");
  REQUIRE(hurts);
  CHECK_THAT(hurts->text, ContainsSubstring("The connector itself takes "));
  CHECK_THAT(hurts->text, ContainsSubstring("on (192 blocks) it does not hurt"));
  CHECK_FALSE(verdict(plan, "link-bound"));
  CHECK(plan.points[1].run.connector_s);
}

/// Trials of a cell on replicates `from` on: their median TTFT in ms.
std::vector<CellTrial> trials_of(std::uint32_t from, const std::vector<double>& medians) {
  std::vector<CellTrial> out;
  for (const double median : medians) {
    CellTrial& trial = out.emplace_back();
    trial.replicate = from++;
    TargetSample sample;
    sample.x = sample.value = median;
    sample.limit = 100;
    sample.judged = 50;
    trial.targets = {sample};
  }
  return out;
}

TEST_CASE("cells are compared on replicates that both ran, not by means over different ones",
          "[scenarios][planner]") {
  const Scenario scenario =
      planned(R"(["0blocks", "96blocks"])", {R"(slo=[{"metric": "median_ttft_ms", "max": 100}])"});
  const auto replicated = [](PlanResult& p) {
    p.confidence.emplace();
    for (PlanPoint& point : p.points) {
      point.replications = 3;
      point.targets = {{"median_ttft_ms", "", false, false, 100, 10, 10, 100, {}, true, false}};
    }
    p.points[1].targets[0].value = p.points[1].targets[0].x = 60;  // its mean over six
  };
  const std::vector<CellTrial> none = trials_of(0, {10, 12, 11});
  const auto hurts = [&](const std::vector<CellTrial>& with) {
    const PlanResult plan = judged(scenario, cycle(), replicated, {none, with});
    const Note* found = verdict(plan, "offload-hurts");
    return found == nullptr ? std::string() : found->text;
  };
  // Three that both ran are alike; three that only the second ran are slow for either.
  std::vector<CellTrial> with = trials_of(0, {10, 12, 11});
  for (CellTrial& more : trials_of(3, {110, 112, 111})) with.push_back(std::move(more));
  CHECK(hurts(with).empty());
  // Slower on each of the three by much the same.
  CHECK_THAT(hurts(trials_of(0, {20, 23, 21})),
             ContainsSubstring("median TTFT is 21 ms with 96 blocks and 11 ms without the tier (on "
                               "the 3 replicates that both ran)"));
  // Slower on average, by less than that scatters.
  CHECK(hurts(trials_of(0, {5, 12, 60})).empty());
}

TEST_CASE("a cell's share in time is compared with the answer's where both ran",
          "[scenarios][planner]") {
  const Scenario scenario = planned(R"(["0blocks", "96blocks", "192blocks"])",
                                    {R"(slo=[{"metric": "median_ttft_ms", "max": 100}])"});
  const auto shares = [](std::uint32_t from, const std::vector<double>& attainments) {
    std::vector<CellTrial> out = trials_of(from, std::vector<double>(attainments.size(), 10));
    for (std::size_t i = 0; i < out.size(); ++i) out[i].attainment = attainments[i];
    return out;
  };
  // The first cell is the answer. The second falls behind it by 0.2 on the two that both ran, its
  // third replicate is no other's; the third shares one alone, which tells no noise.
  const auto replicated = [](PlanResult& p) {
    p.confidence.emplace();
    for (PlanPoint& point : p.points) {
      point.targets = {{"median_ttft_ms", "", false, false, 100, 10, 10, 100, {}, true, false}};
    }
  };
  const PlanResult plan =
      judged(scenario, cycle(), replicated,
             {shares(0, {0.9, 0.8}), shares(0, {0.7, 0.6, 0.1}), shares(1, {0.5})});
  REQUIRE(plan.recommended == 0);
  CHECK_FALSE(plan.points[0].difference);
  REQUIRE(plan.points[1].difference);
  CHECK(plan.points[1].difference->to == 0);
  CHECK(plan.points[1].difference->mean == Approx(-0.2));
  CHECK(plan.points[1].difference->noise == Approx(0).margin(1e-12));
  CHECK(plan.points[1].difference->replicates == 2);
  CHECK_FALSE(plan.points[2].difference);
}

TEST_CASE("offload that helps has no verdict against it", "[scenarios][planner]") {
  const PlanResult plan = judged(planned(kGrid, {kWithin10Ms}), cycle());
  CHECK_FALSE(verdict(plan, "offload-hurts"));
  CHECK_FALSE(verdict(plan, "link-bound"));
  CHECK_FALSE(verdict(plan, "overload"));
  CHECK_FALSE(verdict(plan, "cold-limited"));
}

TEST_CASE("a tier no larger than HBM adds nothing under eager copies", "[scenarios][planner]") {
  // 32 blocks that every prompt begins with, which HBM holds: what the tier holds is the same.
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 50; ++i) rows.push_back({1000 * i, 600, 1, {1, 100 + i}});
  const PlanResult plan =
      judged(planned(R"(["0blocks", "32blocks", "64blocks"])"), workload_of(rows, 512));
  const Note* nothing = verdict(plan, "tier-adds-nothing");
  REQUIRE(nothing);
  CHECK_THAT(nothing->text,
             StartsWith("The DRAM tier adds nothing at 32 blocks and 64 blocks: caches serve "));
  CHECK_THAT(nothing->text, ContainsSubstring("It is no larger than HBM ("));
}

TEST_CASE("a tier that meets what none misses adds something, whatever its share of prompts",
          "[scenarios][planner]") {
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < 50; ++i) rows.push_back({1000 * i, 600, 1, {1, 100 + i}});
  const PlanResult plan = judged(
      planned(R"(["0blocks", "32blocks", "64blocks"])"), workload_of(rows, 512), [](PlanResult& p) {
        p.points[0].verdict = p.points[1].verdict = CellVerdict::kLooksMissed;
        p.points[0].feasible = p.points[1].feasible = false;
        p.recommended = 2;
        p.points[2].feasible = true;
      });
  const Note* nothing = verdict(plan, "tier-adds-nothing");
  REQUIRE(nothing);
  CHECK_THAT(nothing->text, ContainsSubstring("adds nothing at 32 blocks: caches serve"));
}

TEST_CASE("a size that the trace never fills is cold-limited", "[scenarios][planner]") {
  const PlanResult plan = judged(planned(kGrid, {kWithin10Ms}), cycle(), [](PlanResult& p) {
    p.points[3].cold_limited = true;
    p.points[3].feasible = false;
    p.points[3].verdict = CellVerdict::kExcluded;
  });
  const Note* cold = verdict(plan, "cold-limited");
  REQUIRE(cold);
  CHECK_THAT(cold->text, StartsWith("The trace is too short for 384 blocks: "));
  // Not judged is not missed.
  CHECK_FALSE(find_note(plan.notes, "larger-misses"));
}

TEST_CASE("requests that come faster than they go are an overload", "[scenarios][planner]") {
  // Fifty within 49 ms, 12.24 ms each.
  const PlanResult plan = judged(planned(kGrid, {R"(slo=[{"metric": "p99_ttft_ms", "max": 1}])"}),
                                 repeating(50, 50, 1, 1));
  REQUIRE(verdict(plan, "overload"));
  CHECK(figure(*verdict(plan, "overload"), "arrive_per_s") == Approx(50 / 0.049));
}

// ---- the field's table and rules

TEST_CASE("rows of the decision table apply where their figures say so", "[scenarios][planner]") {
  const PlanResult small = judged(planned(kGrid), repeating(50, 1, 1000, 1));
  REQUIRE(row(small, "short-contexts"));
  CHECK_THAT(row(small, "short-contexts")->text,
             ContainsSubstring("95% of contexts end within 513 tokens"));
  CHECK_FALSE(row(small, "long-contexts"));
  CHECK_FALSE(row(small, "several-gpus"));
  // The same 512 tokens in every request.
  REQUIRE(row(small, "common-prefixes"));
  CHECK(figure(*row(small, "common-prefixes"), "common_tokens") == 512);
  const PlanResult two =
      judged(planned(kGrid, {"engine.tensor_parallel_size=2"}), repeating(50, 50, 1000, 1));
  REQUIRE(row(two, "several-gpus"));
  CHECK_FALSE(row(two, "common-prefixes"));
}

TEST_CASE("rules of thumb stand beside the answer, agreeing or not", "[scenarios][planner]") {
  // 192 blocks of 2 MiB are 384 MiB of a host of 1 GiB: 37.5%.
  const PlanResult plan = judged(
      planned(kGrid, {kWithin10Ms, R"(host={"memory": "1GiB"})", "tiers.0.capacity=96blocks"}),
      cycle());
  REQUIRE(rule(plan, "pool-of-host"));
  CHECK_FALSE(rule(plan, "pool-of-host")->agrees);
  CHECK(figure(rule(plan, "pool-of-host")->here, "pools_share") == 0.375);
  REQUIRE(rule(plan, "dram-beats-gpu"));
  CHECK(rule(plan, "dram-beats-gpu")->agrees);
  // $400 / 128 and $30,000 / 80 GB.
  CHECK_THAT(rule(plan, "dram-beats-gpu")->here.text,
             StartsWith("DRAM costs $3.12 a GB, GPU memory $375: 120 times as much. "));
  REQUIRE(rule(plan, "typical-host"));
  CHECK(rule(plan, "typical-host")->agrees);
  // Where the link binds, more capacity of either kind is not what is missing.
  const PlanResult slow =
      judged(planned(R"(["192blocks"])", {"links.1.latency_us=990000", kWithin10Ms}), cycle());
  REQUIRE(rule(slow, "dram-not-limiting"));
  CHECK_FALSE(rule(slow, "dram-not-limiting")->agrees);
}

// ---- the planted scenario

TEST_CASE("the library's link-bound scenario is recognised and not bisected through",
          "[scenarios][planner]") {
  const Scenario scenario =
      load_scenario(JsonSource::from_file(source_path("scenarios/library/link-bound.json")));
  const Workload workload = open_workload(scenario, {});
  const PlanResult plan = judged(scenario, workload);
  std::vector<bool> feasible;
  for (const PlanPoint& p : plan.points) feasible.push_back(p.feasible);
  // A search by halves that tries 16GiB and then 64GiB would find no size at all.
  CHECK(feasible == std::vector<bool>{false, false, false, false, true, false});
  CHECK(plan.points[static_cast<std::size_t>(plan.recommended)].capacity == "32GiB");
  const Note* link = verdict(plan, "link-bound");
  REQUIRE(link);
  CHECK_THAT(link->text, StartsWith("More DRAM is slower at 64 GiB: "));
  CHECK_THAT(link->text, ContainsSubstring("Link h2d is busy"));
  const Note* note = find_note(plan.notes, "larger-misses");
  REQUIRE(note != nullptr);
  CHECK(text_figure(*note, "size") == "32 GiB");
  CHECK(text_figure(*note, "sizes") == "64 GiB");
  REQUIRE(verdict(plan, "offload-hurts"));
  CHECK_THAT(verdict(plan, "offload-hurts")->text,
             StartsWith("Offload hurts at 64 GiB. p99 TTFT is "));
}

}  // namespace
}  // namespace spillway::test
