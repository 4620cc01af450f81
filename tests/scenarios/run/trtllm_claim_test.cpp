// The committed page on TensorRT-LLM's host memory: what its rows say is what runs give.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "sim/input_file.hpp"
#include "tests/scenarios/run/run_setup.hpp"

namespace spillway::test {
namespace {

TEST_CASE("the page on TensorRT-LLM's reuse says what runs give", "[scenarios]") {
  const std::string folder = SPILLWAY_SOURCE_DIR "/scenarios/claims/";
  const std::string page = read_text_file(folder + "trtllm-reuse.md");
  for (const int tokens : {1024, 4096, 16384, 32768}) {
    JsonSource source = JsonSource::from_file(folder + "trtllm-reuse.json");
    source.set(fmt::format("workload.synthetic.system_tokens={}", tokens));
    source.set(fmt::format("engine.num_gpu_blocks={}", tokens / 32 + 60));
    const auto times = [&](const char* tiers) {
      JsonSource one = source;
      if (*tiers != 0) one.set(tiers);
      const Scenario scenario = load_scenario(one);
      return simulate(scenario, open_workload(scenario, {})).result.ttft;
    };
    const double computed = times("tiers=[]").max_ms;
    const double loaded = times("").median_ms;
    const std::string line =
        fmt::format("| {} | {:.1f} ms | {:.1f} ms | {:.1f} |",
                    format_count(static_cast<std::uint64_t>(tokens)), computed, loaded,
                    computed / loaded);
    INFO(line);
    CHECK(page.find(line) != std::string::npos);
  }
}

}  // namespace
}  // namespace spillway::test
