// What a plan tries: values by sizes, and sizes from the workload where none are listed.
#include "scenarios/planner/cells/search_space.hpp"

#include "scenarios/planner/cells/auto_sizes.hpp"
#include "scenarios/planner/planner.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

JsonSource source_with(const std::vector<std::string>& assignments) {
  JsonSource source = JsonSource::from_text("s.json", joined(reference_lines()));
  for (const std::string& assignment : assignments) source.set(assignment);
  return source;
}

SearchSpace space_of(const std::vector<std::string>& assignments, const Workload& workload) {
  return make_search_space(plan_variants(source_with(assignments)),
                           [&](const Scenario&) -> const Workload& { return workload; });
}

std::string refusal(const std::vector<std::string>& assignments) {
  const Workload workload = repeating(10, 5, 1000, 1);
  const InputError error = error_of([&] { space_of(assignments, workload); });
  CHECK(error.fault() == Fault::kUsage);
  return error.what();
}

TEST_CASE("every value is combined with every size, sizes ascending within values",
          "[scenarios][planner]") {
  const Workload workload = repeating(10, 5, 1000, 1);
  const SearchSpace space = space_of(
      {R"(plan.sizes=["0GiB", "1GiB"])", R"(plan.search={"tiers.0.eviction": ["lru", "fifo"]})"},
      workload);
  std::vector<std::string> names;
  for (const PlanCell& cell : space.cells) names.push_back(cell.name);
  CHECK(names == std::vector<std::string>{"0GiB, eviction=lru", "1GiB, eviction=lru",
                                          "0GiB, eviction=fifo", "1GiB, eviction=fifo"});
  CHECK(space.lines == std::vector<std::vector<std::uint32_t>>{{0, 1}, {2, 3}});
  CHECK(space.cells[3].scenario.tier->eviction.text() == "fifo");
  CHECK(space.cells[3].capacity_bytes == std::int64_t{1} << 30);
  // Least DRAM first, and among equals as written.
  CHECK(preference_of(space, {}) == std::vector<std::uint32_t>{0, 2, 1, 3});
}

TEST_CASE("most load comes before little DRAM where that is asked for", "[scenarios][planner]") {
  const Workload workload = repeating(10, 5, 1000, 1);
  const SearchSpace space = space_of({R"(plan.sizes=["0GiB", "1GiB"])", "plan.objective=most-load",
                                      R"(plan.search={"workload.speed": [1, 2.5]})"},
                                     workload);
  const std::vector<double> loads = loads_of(space);
  CHECK(loads == std::vector<double>{1, 1, 2.5, 2.5});
  CHECK(preference_of(space, loads) == std::vector<std::uint32_t>{2, 3, 0, 1});
}

TEST_CASE("least-gpus comes before little DRAM and needs numbers to choose from",
          "[scenarios][planner]") {
  const Workload workload = repeating(10, 5, 1000, 1);
  const SearchSpace space = space_of({R"(plan.sizes=["0GiB", "1GiB"])", "plan.objective=least-gpus",
                                      R"(plan.search={"fleet.replicas": [2, 1]})"},
                                     workload);
  CHECK(preference_of(space, gpu_scores(space)) == std::vector<std::uint32_t>{2, 3, 0, 1});
  CHECK_THAT(refusal({"plan.objective=least-gpus"}),
             ContainsSubstring("plan.objective: least-gpus needs numbers of GPUs to choose from, "
                               "and every combination has 1; expected one of these keys in "
                               "plan.search: fleet.replicas"));
}

TEST_CASE("what an option asks in vain is blamed on the option", "[scenarios][planner]") {
  JsonSource source = source_with({});
  source.set("plan.objective=most-load", "--objective");
  CHECK_THAT(error_of([&] { plan_variants(source); }).what(),
             ContainsSubstring("--objective: plan.objective: most-load needs loads"));
}

TEST_CASE("a space that contradicts itself is refused with what is missing",
          "[scenarios][planner]") {
  CHECK_THAT(refusal({"plan.objective=most-load"}),
             ContainsSubstring("plan.objective: most-load needs loads to choose from"));
  CHECK_THAT(refusal({"plan.objective=least-cost"}),
             ContainsSubstring("plan.objective: least-cost needs prices"));
  CHECK_THAT(refusal({R"(plan.search={"tiers.0.capacity": ["1GiB", "2GiB"]})"}),
             ContainsSubstring("that is the size of dram; expected it in plan.sizes"));
  CHECK_THAT(refusal({R"(plan.search={"slo.0.max": [1, 2]})"}),
             ContainsSubstring("plan.search.slo.0.max: slo cannot be searched"));
  CHECK_THAT(refusal({R"(plan.search={"tiers.0.evction": ["lru"]})"}),
             ContainsSubstring("plan.search: tiers.0.evction: unknown key"));
  CHECK_THAT(refusal({R"(plan.search={"tiers.0.eviction": ["arc", "vllm-arc"]})"}),
             ContainsSubstring("plan.search: arc and vllm-arc are the same configuration"));
  CHECK_THAT(refusal({R"(plan.search={"engine.max_num_seqs": [)" +
                      [] {
                        std::string out = "1";
                        for (int i = 2; i <= 251; ++i) out += "," + std::to_string(i);
                        return out;
                      }() +
                      "]}"}),
             ContainsSubstring("502 cells; expected at most 500"));
}

TEST_CASE("sizes that nobody listed come from the reuse of the workload", "[scenarios][planner]") {
  // Six documents of 512 tokens in a cycle: LRU needs all six, 6 x 512 x 131,072 B = 384 MiB, and
  // answers of one token 6 + 50/512 documents: 390.25 MiB, in whole 64 MiB 448. Powers of two
  // below.
  const Workload workload = repeating(50, 6, 1000, 1);
  const SearchSpace space = space_of({"plan.sizes=auto"}, workload);
  std::vector<std::string> sizes;
  for (const PlanCell& cell : space.cells) sizes.push_back(cell.capacity);
  CHECK(sizes == std::vector<std::string>{"0GiB", "8MiB", "16MiB", "32MiB", "64MiB", "128MiB",
                                          "256MiB", "448MiB"});
  REQUIRE(space.notes.size() == 1);
  CHECK_THAT(space.notes[0].text, ContainsSubstring("LRU gains nothing beyond 390"));
}

TEST_CASE("large sizes are whole modules of memory, and end where hosts do",
          "[scenarios][planner]") {
  // 128 MiB a token: a document of 512 tokens is 64 GiB, an answer of one token next to nothing.
  const auto sizes = [&](std::uint32_t documents, const char* more = "seed=1") {
    const AutoSizes out =
        auto_sizes(load_scenario(source_with({"plan.sizes=auto", "tiers.0.capacity=0GiB",
                                              "model.kv_bytes_per_token=134217728", more})),
                   repeating(2 * documents, documents, 1000, 1));
    return std::pair(out.sizes, out.method);
  };
  using Texts = std::vector<std::string>;
  // 385.5 GiB, in whole 32 GiB.
  CHECK(sizes(6).first ==
        Texts{"0GiB", "8GiB", "16GiB", "32GiB", "64GiB", "128GiB", "256GiB", "416GiB"});
  // 1,542 GiB, in whole 64 GiB.
  CHECK(sizes(24).first ==
        Texts{"0GiB", "32GiB", "64GiB", "128GiB", "256GiB", "512GiB", "1024GiB", "1600GiB"});
  // 6,425 GiB are more than hosts have, unless this one says so.
  CHECK(sizes(100).first.back() == "4096GiB");
  CHECK(sizes(100).second.code == "sizes-end-at-usual-host");
  CHECK(sizes(100, R"(host={"memory": "16TiB"})").first.back() == "6464GiB");
  // What a host has is not exceeded: 1,000 GiB less 50 are 14 x 64.
  CHECK(sizes(24, R"(host={"memory": "1000GiB", "reserved": "50GiB"})").first.back() == "896GiB");
}

TEST_CASE("sizes are whole steps of what can be set, and end where the host does",
          "[scenarios][planner]") {
  const Workload workload = repeating(50, 6, 1000, 1);
  const auto sizes = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"plan.sizes=auto"};
    all.insert(all.end(), more.begin(), more.end());
    std::vector<std::string> out;
    for (const PlanCell& cell : space_of(all, workload).cells) out.push_back(cell.capacity);
    return out;
  };
  CHECK(sizes({"plan.round_to=100MiB"}) ==
        std::vector<std::string>{"0GiB", "100MiB", "200MiB", "400MiB"});
  CHECK(sizes({R"(host={"memory": "1GiB", "reserved": "900MiB"})", "tiers.0.capacity=2MiB",
               "plan.round_to=50MiB"})
            .back() == "100MiB");
}

TEST_CASE("what is recommended is rounded up to what can be set", "[scenarios][planner]") {
  // 192 blocks of 2 MiB hold the cycle (planner_test.cpp): 384 MiB, in steps of 100 MiB 400.
  const Scenario s =
      reference_with({"engine.num_gpu_blocks=65", R"(plan.sizes=["0blocks", "192blocks"])",
                      "plan.round_to=100MiB", "plan.replications=1", "plan.sensitivity=false",
                      R"(slo=[{"metric": "median_ttft_ms", "max": 10}])"});
  const PlanResult plan = plan_sizes(s, repeating(50, 6, 1000, 1), 1, nullptr).result;
  REQUIRE(plan.recommended == 1);
  CHECK(plan.recommended_bytes == 400 << 20);
  CHECK(plan.recommended_size == "400MiB");
}

}  // namespace
}  // namespace spillway::test
