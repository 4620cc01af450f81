// What a plan's judgement says, there and back, and as a reader sees it.
#include "reports/plan/judgement_report.hpp"

#include "reports/plan/flag_words.hpp"
#include "reports/plan/plan_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/notes.hpp"

namespace spillway {
namespace {

PlanResult judged() {
  PlanResult plan;
  plan.judgement.binding_kind = "bandwidth";
  plan.judgement.headroom = {{"target", 0.25, "The tightest target: p99 TTFT 750 ms."}};
  plan.judgement.decision_table = {{test::coded("several-gpus", "2 ranks.")}};
  plan.judgement.verdicts = {test::coded("link-bound", "Link h2d is busy 97.0%.")};
  plan.judgement.rules_of_thumb = {
      {test::coded("typical-host", "80 GB."), true},
      {test::coded("pool-of-host", "12 GiB of pools in 100 GiB is 12.0%."), false}};
  plan.judgement.policy_bound = PolicyBound{"64GiB", "lru", 0.5, 0.625, 0.75};
  plan.judgement.counterfactuals =
      Counterfactuals{"64GiB",
                      "p99_ttft_ms",
                      {"", "as it is", 1900, -0.9, false},
                      {{"compute", "twice the compute speed", 800, 0.2, true}},
                      {"no queue-limit could not be tried: why"}};
  plan.flags = EngineFlags{"vllm",
                           "vllm@0.25",
                           {"VLLM_USE_SIMPLE_KV_OFFLOAD=1"},
                           {"--kv-offloading-size 64", "--max-num-seqs 256"},
                           {"64 GiB"},
                           {"classes: of \n tenants"}};
  return plan;
}

TEST_CASE("a judgement comes back from its document as it was", "[reports]") {
  const nlohmann::json results = to_json(judged());
  const PlanResult back = plan_from_json(results);
  CHECK(to_json(back) == results);
  CHECK(results["verdicts"][0]["code"] == "link-bound");
  CHECK(results["flags"]["release"] == "vllm@0.25");
  CHECK(back.judgement.policy_bound->optimum == 0.625);
  CHECK(back.judgement.counterfactuals->all.front().change == "twice the compute speed");
}

TEST_CASE("a terminal shows disagreeing rules and the flags to set, in short", "[reports]") {
  const std::vector<std::string> sentences = judgement_sentences(judged(), Detail::kBrief);
  CHECK(sentences ==
        std::vector<std::string>{
            "Unlike the rule of thumb \"give 50-70% of host DRAM to the pool\": 12 GiB of pools in "
            "100 GiB is 12.0%.",
            "Set in vLLM (vllm@0.25): --kv-offloading-size 64 --max-num-seqs 256",
            "In its environment: VLLM_USE_SIMPLE_KV_OFFLOAD=1",
            "Those flags do not cover classes"});
}

TEST_CASE("a report has the arithmetic too", "[reports]") {
  const std::vector<std::string> sentences = judgement_sentences(judged(), Detail::kFull);
  REQUIRE(sentences.size() == 6);
  CHECK_THAT(sentences[0], ContainsSubstring("Tensor parallel over several GPUs: prefer "));
  CHECK_THAT(sentences[1], ContainsSubstring("12 GiB of pools in 100 GiB is 12.0%."));
  CHECK(sentences[4] == "Sizes: 64 GiB");
  CHECK(sentences[5] == "Those flags do not cover classes: of \n tenants");
}

TEST_CASE("a fragment's comments stay comments, whatever a name holds", "[reports]") {
  CHECK(shell_fragment(*judged().flags) ==
        "VLLM_USE_SIMPLE_KV_OFFLOAD=1 \\\n"
        "vllm serve \"$MODEL\" \\\n"
        "  --kv-offloading-size 64 \\\n"
        "  --max-num-seqs 256\n"
        "# 64 GiB\n"
        "# not covered: classes: of ? tenants\n");
}

TEST_CASE("the tables of a judgement have a row for each thing that was found", "[reports]") {
  const PlanJudgement j = judged().judgement;
  const Table changes = counterfactuals_table(*j.counterfactuals);
  CHECK(changes.rows[1] ==
        std::vector<std::string>{"twice the compute speed", "800", "20.0%", "met"});
  CHECK(headroom_table(j).rows.size() == j.headroom.size());
  CHECK(decision_rows_table(j).rows.size() == j.decision_table.size());
  CHECK(rules_table(j).rows.size() == j.rules_of_thumb.size());
}

}  // namespace
}  // namespace spillway
