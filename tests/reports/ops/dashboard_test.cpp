// The dashboard: its structure, and that plan and production stand in one panel. tests/promtool
// parses its expressions.
#include "reports/ops/dashboard.hpp"

#include <algorithm>
#include <set>

#include "tests/reports/ops/ops_samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using Json = nlohmann::ordered_json;

const Json* panel_of(const Json& board, const std::string& title) {
  for (const Json& panel : board["panels"]) {
    if (panel["title"] == title) return &panel;
  }
  return nullptr;
}

std::set<std::string> exprs_of(const Json& panel) {
  std::set<std::string> out;
  for (const Json& target : panel["targets"]) out.insert(target["expr"].get<std::string>());
  return out;
}

TEST_CASE("a latency panel has production, the plan and the target", "[reports]") {
  const PlanResult plan = ops_plan();
  const Json board = dashboard(figures_of(plan, provenance_with("vllm@0.25")));
  CHECK(board["schemaVersion"] == 41);
  CHECK(board["uid"] == "spillway-fedcba9876543210");
  const Json* ttft = panel_of(board, "Time to first token");
  REQUIRE(ttft != nullptr);
  CHECK(exprs_of(*ttft).contains("vector(0.069)"));
  CHECK((*ttft)["fieldConfig"]["defaults"]["thresholds"]["steps"][1]["value"] == 2.0);
  CHECK((*ttft)["fieldConfig"]["defaults"]["custom"]["thresholdsStyle"]["mode"] == "line");
  const Json* bytes = panel_of(board, "Bytes to and from host memory");
  REQUIRE(bytes != nullptr);
  CHECK(exprs_of(*bytes).contains("vector(25000000000)"));
}

TEST_CASE("panels have ids of their own, a place of their own and the chosen source", "[reports]") {
  const PlanResult plan = ops_plan();
  OpsFigures figures = figures_of(plan, provenance_with("vllm@0.25"));
  use_engines("vllm@0.25,lmcache", "--engine", figures);
  const Json board = dashboard(figures);
  std::set<int> ids;
  std::set<std::pair<int, int>> taken;
  int lmcache = 0;
  for (const Json& panel : board["panels"]) {
    CHECK(ids.insert(panel["id"].get<int>()).second);
    const Json& at = panel["gridPos"];
    CHECK(at["x"].get<int>() + at["w"].get<int>() <= 24);
    for (int x = 0; x < at["w"].get<int>(); ++x) {
      for (int y = 0; y < at["h"].get<int>(); ++y) {
        CHECK(taken.insert({at["x"].get<int>() + x, at["y"].get<int>() + y}).second);
      }
    }
    CHECK(panel["datasource"]["uid"] == "${datasource}");
    CHECK_FALSE(panel["targets"].empty());
    std::set<std::string> refs;
    for (const Json& target : panel["targets"]) {
      CHECK(refs.insert(target["refId"].get<std::string>()).second);
      CHECK(target["datasource"]["uid"] == "${datasource}");
    }
    lmcache += panel["title"].get<std::string>().starts_with("LMCache") ? 1 : 0;
  }
  CHECK(lmcache == 6);
}

TEST_CASE("an engine without a metric has no panel for it", "[reports]") {
  const RunResult run = ops_run();
  const Json old = dashboard(figures_of(run, provenance_with("vllm@0.6")));
  CHECK(panel_of(old, "Time in queue") == nullptr);
  CHECK(panel_of(old, "Bytes to and from host memory") == nullptr);
  CHECK(panel_of(old, "KV cache in use") != nullptr);
  const Json none = dashboard(figures_of(run, provenance_with("")));
  CHECK(none["templating"]["list"].size() == 1);
}

TEST_CASE("a store attached to vLLM has panels beside vLLM's", "[reports]") {
  const RunResult run = ops_run();
  const Json board = dashboard(figures_of(run, provenance_with("kvbm@1.0")));
  const Json* ttft = panel_of(board, "Time to first token");
  REQUIRE(ttft != nullptr);
  CHECK_THAT((*ttft)["targets"][0]["expr"].get<std::string>(),
             ContainsSubstring("vllm:time_to_first_token_seconds_bucket"));
  const Json* loads = panel_of(board, "kvbm: blocks loaded from the host tier");
  REQUIRE(loads != nullptr);
  CHECK_THAT((*loads)["targets"][0]["expr"].get<std::string>(),
             ContainsSubstring("rate(kvbm_onboard_blocks_h2d{"));
  const Json* ratio = panel_of(board, "kvbm: hit ratio");
  REQUIRE(ratio != nullptr);
  CHECK((*ratio)["fieldConfig"]["defaults"]["unit"] == "percentunit");
  CHECK(exprs_of(*ratio).contains(fmt::format("vector({})", *hit_ratio(run.tiers[1]))));
  CHECK(panel_of(board, "kvbm: storage tiers: hit ratio") == nullptr);  // there is no disk
}

TEST_CASE("a client of a store alone has the store's panels, and instances to choose",
          "[reports]") {
  const RunResult run = ops_run();
  const Json board = dashboard(figures_of(run, provenance_with("mooncake-client")));
  CHECK(panel_of(board, "Time to first token") == nullptr);
  const Json* bytes = panel_of(board, "mooncake: host bytes in use");
  REQUIRE(bytes != nullptr);
  CHECK(exprs_of(*bytes).contains(fmt::format("vector({})", run.tiers[1].mean_bytes)));
  REQUIRE(board["templating"]["list"].size() == 3);
  CHECK(board["templating"]["list"][1]["query"]["query"] ==
        "label_values(master_allocated_bytes, job)");
}

TEST_CASE("a plan without a recommendation shows production alone", "[reports]") {
  PlanResult plan = ops_plan();
  plan.recommended = -1;
  plan.flags.reset();
  const Json board = dashboard(figures_of(plan, provenance_with("vllm@0.25")));
  REQUIRE(panel_of(board, "Time to first token") != nullptr);
  CHECK(exprs_of(*panel_of(board, "Time to first token")).size() == 2);
}

}  // namespace
}  // namespace spillway::test
