// The committed page on HiCache: what its rows say is what runs give.
#include <fmt/format.h>

#include "sim/input_file.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

struct Row {
  const char* name;
  const char* set;
};
constexpr Row kRows[] = {{"none (`tiers=[]`)", "tiers=[]"},
                         {"2", "engine.hicache_ratio=2"},
                         {"4", "engine.hicache_ratio=4"},
                         {"8", "engine.hicache_ratio=8"}};

TEST_CASE("the page on HiCache says what runs give", "[scenarios]") {
  const std::string folder = SPILLWAY_SOURCE_DIR "/scenarios/claims/";
  const std::string page = read_text_file(folder + "hicache-multiturn.md");
  for (const Row& row : kRows) {
    JsonSource source = JsonSource::from_file(folder + "hicache-multiturn.json");
    source.set(row.set);
    const Scenario scenario = load_scenario(source);
    const RunResult r = simulate(scenario, open_workload(scenario, {})).result;
    const double computed = static_cast<double>(r.prompt_tokens_by_source[0].second);
    const std::string line = fmt::format("| {} | {:.1f}% | {:.2f} s | {:.2f} |", row.name,
                                         100 * (1 - computed / static_cast<double>(r.input_tokens)),
                                         r.ttft.mean_ms / 1000, r.request_throughput);
    INFO(line);
    CHECK(page.find(line) != std::string::npos);
  }
}

}  // namespace
}  // namespace spillway::test
