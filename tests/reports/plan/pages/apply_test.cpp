// The page that is acted on: what to set, how to go back, how to verify, what to watch.
#include <algorithm>

#include "reports/plan/pages/pages.hpp"
#include "reports/provenance.hpp"
#include "tests/reports/ops/ops_samples.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

const Section& part_of(const Section& page, const std::string& heading) {
  const auto found = std::find_if(page.parts.begin(), page.parts.end(),
                                  [&](const Section& s) { return s.heading == heading; });
  REQUIRE(found != page.parts.end());
  return *found;
}

TEST_CASE("the flags are code, with unit and scope in a table beside it", "[reports]") {
  const Section page = apply_page(ops_plan(), provenance_with("vllm@0.25"));
  CHECK(page.id == "apply");
  const Section& set = part_of(page, "Set");
  REQUIRE(set.code.size() == 1);
  CHECK_THAT(set.code[0].text, ContainsSubstring("--kv-offloading-size 16"));
  CHECK(set.parts.at(0).tables.at(0).rows[0] ==
        std::vector<std::string>{"--kv-offloading-size", "is in GiB, of one rank"});
  CHECK(set.tables[0].rows[0] ==
        std::vector<std::string>{"eviction s3fifo of dram", "vLLM has lru and arc"});
}

TEST_CASE("going back leaves out what offloads, and says what to expect", "[reports]") {
  const Section page = apply_page(ops_plan(), provenance_with("vllm@0.25"));
  const Section& back = part_of(page, "Go back");
  CHECK(back.code[0].text.find("kv-offloading") == std::string::npos);
  CHECK_THAT(back.code[0].text, ContainsSubstring("--max-num-seqs 256"));
  REQUIRE(back.tables.size() == 1);
  CHECK(back.tables[0].header == std::vector<std::string>{"figure", "16 GiB", "0 GiB"});
  PlanResult without = ops_plan();
  without.points.erase(without.points.begin());
  without.recommended = 0;
  const Section other = apply_page(without, provenance_with("vllm@0.25"));
  CHECK(part_of(other, "Go back").tables.empty());
  CHECK_THAT(part_of(other, "Go back").paragraphs.back(), ContainsSubstring("was not simulated"));
}

TEST_CASE("the load to verify with is the planned one", "[reports]") {
  const Section page = apply_page(ops_plan(), provenance_with("vllm@0.25"));
  const Section& verify = part_of(page, "Verify");
  REQUIRE(verify.code.size() == 2);
  const std::string& bench = verify.code[0].text;
  // 10,000 input tokens of 990 requests, 75% of them cached: 10 tokens, (1 + 0.75) / 2 of them a
  // prefix; 2,345 output tokens: 2 each.
  CHECK_THAT(bench, ContainsSubstring("--prefix-repetition-prefix-len 9 "
                                      "--prefix-repetition-suffix-len 1 "));
  CHECK_THAT(bench, ContainsSubstring("--prefix-repetition-output-len 2 "));
  CHECK_THAT(bench, ContainsSubstring("--request-rate 16.1 "));
  CHECK_THAT(bench, ContainsSubstring("--goodput ttft:2000 tpot:100 "));
  CHECK_THAT(verify.code[1].text,
             ContainsSubstring("--goodput \"time_to_first_token:2000 inter_token_latency:100\""));
  Provenance closed = provenance_with("vllm@0.25");
  closed.inputs["configuration"]["workload"] = {{"arrival", "closed-loop"}, {"concurrency", 32}};
  CHECK_THAT(part_of(apply_page(ops_plan(), closed), "Verify").code[0].text,
             ContainsSubstring("--request-rate inf --max-concurrency 32 "));
}

TEST_CASE("alerts are listed with their thresholds and why", "[reports]") {
  const Section page = apply_page(ops_plan(), provenance_with("vllm@0.25"));
  const Section& watch = part_of(page, "Watch");
  CHECK(watch.code[0].text ==
        "spillway report plan.json --format alerts,grafana,prometheus --out ops/\n");
  CHECK(watch.tables[0].header[0] == "alert");
  CHECK(watch.tables[0].rows.size() >= 8);
  for (const auto& row : watch.tables[0].rows) {
    CHECK(std::none_of(row.begin(), row.end(), [](const std::string& c) { return c.empty(); }));
  }
}

TEST_CASE("nothing recommended is nothing to set", "[reports]") {
  PlanResult plan = ops_plan();
  plan.recommended = -1;
  plan.flags.reset();
  const Section page = apply_page(plan, provenance_with("vllm@0.25"));
  CHECK(page.parts.empty());
  CHECK_THAT(page.paragraphs.at(0), ContainsSubstring("nothing to set"));
}

}  // namespace
}  // namespace spillway::test
