// The committed pages on KVBM and AIBrix: what their rows say is what runs give.
#include <fmt/format.h>

#include "tests/scenarios/run/claim_page.hpp"

namespace spillway::test {
namespace {

TEST_CASE("the page on KVBM's disk says what runs give", "[scenarios]") {
  const std::string name = "kvbm-disk-onboarding";
  const auto reads = [](const char* rate) {
    return Sets{fmt::format("links.1.bandwidth={}", rate)};
  };
  const std::string filter = "engine.kvbm.disk_offload_filter=true";
  std::vector<std::pair<std::string, Sets>> rows;
  for (const char* rate : {"20GB/s", "10GB/s", "8GB/s", "6GB/s", "5GB/s", "4GB/s", "3GB/s"}) {
    const std::string text = rate;
    rows.emplace_back(text.substr(0, text.size() - 4) + " GB/s", reads(rate));
  }
  rows.emplace_back("no disk",
                    Sets{R"(tiers=[{"name":"dram","kind":"dram","capacity":"50GB"}])", "links=[]"});
  rows.emplace_back("filter on, 20 GB/s", Sets{filter, reads("20GB/s").front()});
  rows.emplace_back("filter on, 4 GB/s", Sets{filter, reads("4GB/s").front()});
  for (const auto& [what, sets] : rows) {
    const RunResult r = run_claim(name, sets);
    const auto share = [&](std::string_view source) {
      for (const auto& [from, tokens] : r.prompt_tokens_by_source) {
        if (from == source) {
          return 100 * static_cast<double>(tokens) / static_cast<double>(r.input_tokens);
        }
      }
      return 0.0;
    };
    check_line(name, fmt::format("| {} | {:.0f}% | {:.0f}% | {:.0f}% | {:.2f} s | {:.2f} s | {} |",
                                 what, share("dram"), share("disk"), share("local_compute"),
                                 r.ttft.mean_ms / 1000, r.ttft.median_ms / 1000, r.completed));
  }
}

TEST_CASE("the page on AIBrix's tables says what runs give", "[scenarios]") {
  const std::string name = "aibrix-tables";
  const std::string workload = "workload.synthetic.";
  const std::vector<Sets> tables = {
      {workload + "system_prompts=36", workload + "sessions_per_s=4.3"},
      {},
      {workload + "system_prompts=16", workload + "system_tokens=500",
       workload + "user_tokens=1500", workload + "answer_tokens=150", workload + "turns=6",
       workload + "turn_counts=fixed", workload + "think_s=60", workload + "sessions_per_s=0.3"}};
  const auto vllm = [](const char* more) {
    return fmt::format(
        R"(engine={{"preset":"vllm@0.23","async_scheduling":false,"max_model_len":32768{}}})",
        more);
  };
  const auto l1 = [](const char* size) {
    return fmt::format(R"(tiers=[{{"name":"dram","kind":"dram","capacity":"{}"}}])", size);
  };
  const std::vector<std::pair<std::string, Sets>> systems = {
      {"neither", {vllm(R"(,"enable_prefix_caching":false)"), "tiers=[]", "links=[]"}},
      {"prefix cache in HBM", {vllm(""), "tiers=[]", "links=[]"}},
      {"L1 of 10 GiB", {l1("10GiB"), "links=[]"}},
      {"L1 of 40 GiB", {l1("40GiB"), "links=[]"}},
      {"L1 of 10 GiB, L2", {}}};
  for (const auto& [what, settings] : systems) {
    std::string line = fmt::format("| {} |", what);
    for (const Sets& table : tables) {
      Sets sets = settings;
      sets.insert(sets.end(), table.begin(), table.end());
      line += fmt::format(" {:.2f} s |", run_claim(name, sets).ttft.mean_ms / 1000);
    }
    check_line(name, line);
  }
}

}  // namespace
}  // namespace spillway::test
