// Scenarios on vLLM's SimpleCPUOffloadConnector: what is refused, what a run comes to.
#include <algorithm>

#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/tier.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

const std::string kSimple = R"(engine.offload_connector="simple")";
const std::string kLazy = "engine.lazy_offload=true";

std::string refusal(const std::vector<std::string>& assignments) {
  const InputError error = error_of([&] { reference_with(assignments); });
  CHECK(error.fault() == Fault::kUsage);
  return error.what();
}

TEST_CASE("what the simple connector does not go with is refused", "[scenarios]") {
  struct Case {
    std::vector<std::string> set;
    std::string says;
  };
  const std::vector<Case> cases{
      {{kSimple, "engine.convoy=false"}, "engine.convoy: expected only with"},
      {{kSimple, "engine.offload_prompt_only=false"}, "engine.offload_prompt_only: expected only"},
      {{kSimple, "engine.enable_prefix_caching=false"},
       "engine.enable_prefix_caching: expected true"},
      {{kSimple, R"(engine.load="barrier")"}, "engine.load: expected async"},
      {{kSimple, kLazy, R"(engine.eviction="fifo")"}, "engine.eviction: expected lru"},
      {{kSimple, R"(tiers.0.eviction="fifo")"}, "tiers.0.eviction: expected lru"},
      {{kSimple, R"(tiers.0.write_admission="second-hit")"}, "tiers.0.write_admission: expected"},
      {{kLazy}, "engine.lazy_offload: expected only"},
      {{R"(engine.offload_connector="simpel")"}, "did you mean \"simple\"?"},
  };
  for (const Case& c : cases) {
    const std::string message = refusal(c.set);
    INFO(message);
    CHECK(message.find(c.says) != std::string::npos);
  }
  CHECK_NOTHROW(reference_with({kSimple, R"(engine.eviction="fifo")"}));
}

TEST_CASE("a resolved scenario names the connector where it is not the default", "[scenarios]") {
  CHECK(resolved_configuration(reference_with())["engine"]["offload_connector"] == "native");
  const auto engine = resolved_configuration(reference_with({kSimple, kLazy}))["engine"];
  CHECK(engine["offload_connector"] == "simple");
  CHECK(engine["lazy_offload"] == true);
}

TEST_CASE("the CPU pool has whole blocks and never uses one of them", "[scenarios]") {
  // 4 GiB of blocks of 2 MiB: 2048, 2047 of them usable, as of HBM's 2048.
  const Scenario scenario = reference_with({kSimple});
  CHECK(scenario.tier_blocks(scenario.tier->capacity) == 2047);
  CHECK(reference_with().tier_blocks(scenario.tier->capacity) == 2048);
  CHECK(scenario.tier_blocks(parse_capacity("100blocks", {})) == 100);
}

TEST_CASE("a run on the simple connector, from the scenario to its result", "[scenarios]") {
  // 60 documents of 31 full blocks in turn, four times, through an HBM of 511 blocks (16 of them)
  // and 2047 below (all). After the first round each prompt's 31 blocks come from one or the other,
  // unless they were still on their way down or never copied, the last step's (none here: two
  // answers a request). What the link moved down is what the tier took in.
  for (const bool lazy : {false, true}) {
    INFO("lazy " << lazy);
    std::vector<std::string> set{kSimple, "engine.num_gpu_blocks=512"};
    if (lazy) set.push_back(kLazy);
    const RunResult run = simulate(reference_with(set), repeating(240, 60, 40, 2, 505)).result;
    CHECK(run.completed == 240);
    CHECK(run.tiers[1].capacity_blocks == 2047);
    CHECK(run.tiers[0].hits + run.tiers[1].hits == 180 * 31);
    CHECK(run.tiers[1].hits > 0);
    CHECK(run.tiers[1].stores == 60 * 31);
    CHECK(run.tiers[1].evictions == 0);
    const auto down = std::find_if(run.links.begin(), run.links.end(),
                                   [](const LinkResult& l) { return l.name == "d2h"; });
    REQUIRE(down != run.links.end());
    CHECK(down->bytes == 60 * 31 * std::int64_t{2} * 1'048'576);
  }
}

}  // namespace
}  // namespace spillway::test
