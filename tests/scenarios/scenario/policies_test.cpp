// Admission policies in scenarios: what a file may say, what the configuration repeats, and what
// results show.
#include <fmt/ranges.h>

#include "scenarios/planner/planner.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "tests/scenarios/run/run_setup.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

/// A burst: 60 requests of 512 tokens within 60 ms, each with 64 of output.
Workload burst() {
  return repeating(60, 60, 1, 64);
}

std::uint64_t count_of(const std::vector<ReasonCount>& reasons, std::string_view reason) {
  for (const ReasonCount& r : reasons) {
    if (r.reason == reason) return r.count;
  }
  return 0;
}

TEST_CASE("the configuration names both admission policies", "[scenarios]") {
  const auto resolved = [](const std::vector<std::string>& assignments) {
    return resolved_configuration(reference_with(assignments));
  };
  const json defaults = resolved({});
  CHECK(defaults["policies"] == json({{"admission", "always"}}));
  CHECK(defaults["tiers"][0]["write_admission"] == "always");
  const json given = resolved({"policies.admission=all-tiers:share=0.90",
                               "tiers.0.write_admission=frequency:decay_s=60:threshold=4"});
  CHECK(given["policies"]["admission"] == "all-tiers:share=0.90");
  CHECK(given["tiers"][0]["write_admission"] == "frequency:threshold=4:decay_s=60");
  CHECK(resolved({"policies={}"}) == defaults);
}

TEST_CASE("malformed policies", "[scenarios]") {
  const auto with = [](const std::string& policies) {
    return fmt::format(
        R"("plan": {{"sizes": ["0GiB", "4GiB"], "replications": 1, "sensitivity": false}},)"
        R"( "policies": {},)",
        policies);
  };
  refused(
      reference_lines(),
      {{kPlanLine, with(R"("always")"),
        "policies: expected an object for policies, found \"always\""},
       {kPlanLine, with(R"({"admision": "always"})"),
        "policies.admision: unknown key of policies \"admision\"; did you mean \"admission\"? "
        "known: admission, routing"},
       {kPlanLine, with(R"({"admission": 5})"), "policies.admission: expected a string, found 5"},
       {kPlanLine, with(R"({"admission": ""})"),
        "policies.admission: unknown admission policy \"\"; known: all-tiers"},
       {kPlanLine, with(R"({"admission": "gpu_only"})"),
        "policies.admission: unknown admission policy \"gpu_only\"; did you mean \"gpu-only\"?"},
       {kPlanLine, with(R"({"admission": "queue-limit:max_queue=none"})"),
        "policies.admission: max_queue: expected a whole number from 1 to 1000000000, found "
        "\"none\""},
       {kPlanLine, with(R"({"admission": "slo"})"),
        "policies.admission: slo: ttft_ms is missing; expected slo:ttft_ms=..., a number"},
       {kPlanLine, with(R"({"routing": "random"})"),
        "policies.routing: unknown routing \"random\""},
       {kTierLine,
        R"("tiers": [{"name": "dram", "kind": "dram", "capacity": "4GiB",)"
        R"( "write_admission": "secondhit"}],)",
        "tiers.0.write_admission: unknown write admission policy \"secondhit\"; did you mean "
        "\"second-hit\"?"},
       {kTierLine,
        R"("tiers": [{"name": "dram", "kind": "dram", "capacity": "4GiB",)"
        R"( "write_admission": "second-hit:threshold=0"}],)",
        "tiers.0.write_admission: threshold: expected a whole number from 1 to 1000000, found "
        "\"0\""}});
}

TEST_CASE("rejected requests are counted by reason, and a note says who rejected them",
          "[scenarios]") {
  // A request needs ceil(575 / 16) = 36 blocks. HBM has 2,047: 56 requests, and 4 are rejected.
  const SimulationOutcome out = simulate(reference_with({"policies.admission=gpu-only"}), burst());
  CHECK(out.result.rejected == 4);
  CHECK(out.result.completed == 56);
  CHECK(count_of(out.result.rejected_reasons, "gpu_full") == 4);
  CHECK(says(out.warnings, "Admission gpu-only rejected 4 of 60 requests."));
  CHECK(to_json(out.result)["reasons"]["rejected"] == json({{"gpu_full", 4}}));
}

TEST_CASE("all-tiers has the room of the tier that is planned", "[scenarios]") {
  // 4 GiB are 2,048 blocks of 2 MiB: with HBM's 2,047 enough for 113 requests. Half of both is room
  // for 56, half of HBM alone for 28.
  const Scenario s = reference_with({"policies.admission=all-tiers:share=0.5"});
  CHECK(simulate(s, burst()).result.rejected == 4);
  CHECK(simulate(with_capacity(s, "0GiB"), burst()).result.rejected == 32);
  CHECK(simulate(with_capacity(s, "inf"), burst()).result.rejected == 0);
}

TEST_CASE("blocks kept out are counted by reason, and absent otherwise", "[scenarios]") {
  // 20 requests of 32 blocks, of 10 documents: each is offered twice.
  const Workload workload = repeating(20, 10, 100, 1);
  const auto dram = [&](const std::string& writes) {
    const Scenario s = reference_with({"tiers.0.write_admission=" + writes});
    return to_json(simulate(s, workload).result)["tiers"][1];
  };
  CHECK_FALSE(dram("always").contains("write_refusals"));
  const json second = dram("second-hit");
  CHECK(second["write_refusals"] == json({{"first_sighting", 320}}));
  CHECK(second["stores"] == 320);
  // 16 of 32 are too shallow. The second request finds 31 in HBM and loads the last one, and offers
  // begin behind what was loaded.
  CHECK(dram("min-depth:tokens=256")["write_refusals"] == json({{"too_shallow", 160}}));
}

TEST_CASE("a run's results survive being written and read, refusals included", "[scenarios]") {
  const Scenario s = reference_with({"tiers.0.write_admission=second-hit"});
  const json out = to_json(simulate(s, repeating(20, 10, 100, 1)).result);
  CHECK(to_json(run_from_json(out)) == out);
}

TEST_CASE("the share of rejected requests may be a target", "[scenarios]") {
  // 4 of 60 are rejected: 6.7%.
  const auto slo = [](const char* most) {
    const Scenario s = reference_with(
        {"policies.admission=gpu-only",
         fmt::format("slo=[{{\"metric\": \"rejected_share\", \"max\": {}}}]", most)});
    return simulate(s, burst()).result.slo.at(0);
  };
  CHECK(slo("0.07").passed);
  CHECK(slo("0.07").value == Approx(4.0 / 60));
  CHECK_FALSE(slo("0.06").passed);
}

TEST_CASE("a plan takes a size that rejects within its target, and no other", "[scenarios]") {
  // All tiers hold the burst of 60 from 4 GiB on; HBM alone rejects 4 of them, 6.7%.
  const auto plan = [](const std::string& more) {
    const Scenario s =
        reference_with({"policies.admission=all-tiers", "tiers.0.write_admission=second-hit",
                        "slo=[{\"metric\": \"p99_ttft_ms\", \"max\": 100000}" + more + "]"});
    return plan_sizes(s, burst(), 1, {}).result;
  };
  const PlanResult complete = plan("");
  CHECK_FALSE(complete.points[0].feasible);
  CHECK(complete.points[1].feasible);
  const PlanResult bounded = plan(R"(, {"metric": "rejected_share", "max": 0.07})");
  CHECK(bounded.points[0].feasible);
  CHECK_FALSE(plan(R"(, {"metric": "rejected_share", "max": 0.06})").points[0].feasible);
  REQUIRE(bounded.flags);
  const std::string left = fmt::format("{}", fmt::join(bounded.flags->not_covered, "\n"));
  CHECK_THAT(left, ContainsSubstring("admission of requests (all-tiers): it has to stand before"));
}

TEST_CASE("equal runs with admission have equal digests", "[scenarios]") {
  for (const char* admission :
       {"gpu-only", "all-tiers:share=0.3", "queue-limit:max_queue=3:timeout_s=0.05",
        "token-bucket:tokens_per_s=100000", "slo:ttft_ms=50"}) {
    for (const char* writes : {"second-hit", "frequency", "back-pressure:max_jobs=1"}) {
      const Scenario s = reference_with({std::string("policies.admission=") + admission,
                                         std::string("tiers.0.write_admission=") + writes});
      CHECK(digest_of_run(s, burst()) == digest_of_run(s, burst()));
    }
  }
}

}  // namespace
}  // namespace spillway::test
