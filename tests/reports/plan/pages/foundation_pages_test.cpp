// Pages host, validity and provenance of a plan's report: the arithmetic, the sources, the limits.
#include "reports/plan/host_budget.hpp"
#include "reports/plan/pages/pages.hpp"
#include "reports/provenance.hpp"
#include "tests/reports/plan/told_plan.hpp"
#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

using nlohmann::json;

double line(const HostBudget& budget, const std::string& name) {
  for (const HostLine& one : budget.lines) {
    if (one.name == name) return one.bytes / kGiB;
  }
  FAIL(name);
  return 0;
}

TEST_CASE("a host's budget adds pools, processes and weights of all engines on it", "[reports]") {
  const HostBudget budget = host_budget(told_plan(), told_provenance());
  CHECK(budget.engines == 3);
  CHECK(budget.ranks == 2);
  CHECK(line(budget, "KV pool of this engine") == 16);
  CHECK(line(budget, "KV pools of the other engines") == 32);
  CHECK(line(budget, "operating system") == 8);
  CHECK(line(budget, "server processes") == 12);
  CHECK(line(budget, "worker processes") == 24);
  CHECK(line(budget, "weights while they are loaded") == 16);
  CHECK(line(budget, "spare") == Approx(0.1 * 108));
  CHECK(budget.need / kGiB == Approx(1.1 * 108));
  CHECK(budget.installed / kGiB == 256);
}

TEST_CASE("NUMA nodes share GPUs in turn and add up to the host", "[reports]") {
  HostBudget budget = host_budget(told_plan(), told_provenance());
  CHECK(budget.ranks_on(0) == 3);
  CHECK(budget.ranks_on(1) == 3);
  budget.numa_nodes = 4;
  CHECK(budget.ranks_on(0) == 2);
  CHECK(budget.ranks_on(3) == 1);
  double sum = 0;
  for (std::uint32_t node = 0; node < 4; ++node) {
    for (const HostLine& one : budget.lines) sum += budget.on_node(one, node);
  }
  CHECK(sum == Approx(budget.need));
}

TEST_CASE("the page of the host shows the sum line by line and what is left", "[reports]") {
  const Section page = host_page(told_plan(), told_provenance());
  CHECK(page.id == "host");
  const Table* lines = table_of(page, "line by line");
  REQUIRE(lines != nullptr);
  CHECK(lines->rows[1][1] == "2 engines x 16.00 GiB");
  CHECK(lines->rows[2][3] == "assumed");
  CHECK(lines->rows.back()[0] == "left");
  REQUIRE(page.charts.size() == 2);          // and the sizes beside it
  CHECK(page.charts[0].stacks.size() == 3);  // the host and two nodes
  for (const ChartStack& stack : page.charts[0].stacks) {
    CHECK(stack.parts.size() == page.charts[0].part_names.size());
  }
  CHECK_FALSE(page.charts[0].note.empty());
  const std::string text = text_of(page);
  CHECK_THAT(text, ContainsSubstring("/dev/shm of at least 48.00 GiB") &&
                       ContainsSubstring("8.00 GiB for each") &&
                       ContainsSubstring("about 8,192 blocks") &&
                       ContainsSubstring("host.reserved keeps 16.00 GiB"));
}

TEST_CASE("a host that is too small lacks memory, one that is not described is asked for",
          "[reports]") {
  Provenance small = told_provenance();
  small.inputs["configuration"]["host"]["memory_bytes"] = std::int64_t{64} << 30;
  CHECK_THAT(text_of(host_page(told_plan(), small)), ContainsSubstring("acking"));
  Provenance none = told_provenance();
  none.inputs["configuration"].erase("host");
  const std::string text = text_of(host_page(told_plan(), none));
  CHECK_THAT(text, ContainsSubstring("host.memory") && ContainsSubstring("not said"));
}

TEST_CASE("a tier that is no memory, or has no bound, is not in the sum", "[reports]") {
  Provenance nvme = told_provenance();
  nvme.inputs["configuration"]["tiers"][0] = {
      {"name", "dram"}, {"kind", "nvme"}, {"device", {{"direct", false}}}};
  const HostBudget drives = host_budget(told_plan(), nvme);
  CHECK(drives.pool == 0);
  CHECK(line(drives, "page cache before storage") == Approx(25.6));
  PlanResult unbounded = told_plan();
  unbounded.recommended = 2;
  CHECK(host_budget(unbounded, told_provenance()).pool == 0);
  CHECK_THAT(text_of(host_page(unbounded, told_provenance())), ContainsSubstring("without bound"));
}

TEST_CASE("searched values of the cell replace those of the configuration", "[reports]") {
  PlanResult plan = told_plan();
  plan.points[1].values = {{"engine.tensor_parallel_size", "4"}};
  CHECK(host_budget(plan, told_provenance()).ranks == 4);
}

TEST_CASE("drives show what is written and how long they last", "[reports]") {
  PlanResult plan = told_plan();
  plan.cost.emplace();
  plan.cost->wear = {{"ssd<b>", 1024.0 * kGiB, 0.5, 3.25}, {"other", 5, {}, {}}};
  const Section page = host_page(plan, told_provenance());
  const Table* wear = table_of(page, "written to drives");
  REQUIRE(wear != nullptr);
  CHECK(wear->rows[0][2] == "3.00 TiB");
  CHECK_THAT(wear->rows[1][4], ContainsSubstring("not known"));
}

TEST_CASE("validity names sources, what was not measured, and what would prove it wrong",
          "[reports]") {
  PlanResult plan = told_plan();
  plan.points[1].run.links[0].extrapolated = {8, 1024, 4096, 1, 2};
  const Section page = validity_page(plan, told_provenance());
  CHECK(page.id == "validity");
  const Table* wrong = table_of(page, "is wrong if");
  REQUIRE(wrong != nullptr);
  CHECK_THAT(wrong->rows[0][2], ContainsSubstring("above 100 at 16.1 requests/s"));
  CHECK_THAT(wrong->rows[1][2], ContainsSubstring("below 50"));  // a throughput
  CHECK_THAT(wrong->rows[2][1], ContainsSubstring("16,000"));    // 1,000 blocks of 16 tokens
  const Table* sources = table_of(page, "Where times come from");
  REQUIRE(sources != nullptr);
  CHECK_THAT(sources->rows[0][1], ContainsSubstring("published efficiencies of L40S-48GB"));
  CHECK(sources->rows[0][2] == "not measured here");
  const Table* beyond = table_of(page, "beyond what");
  REQUIRE(beyond != nullptr);
  CHECK(beyond->rows[0][1] == "d2h");
  CHECK(beyond->rows[0][3] == "10.0%");
  CHECK(table_of(page, "How right it was elsewhere") != nullptr);
  CHECK_THAT(text_of(page), ContainsSubstring("no interval") && ContainsSubstring("Not modelled"));
}

TEST_CASE("fits of profiles are shown with the error on what they did not see", "[reports]") {
  Provenance p = told_provenance();
  const json fits = {{{"part", "steps"},
                      {"points", 40},
                      {"error_percent", 1.5},
                      {"held_out", 10},
                      {"held_out_error_percent", 3.25}}};
  p.inputs["configuration"]["compute"] = {{"kind", "profile"},
                                          {"profile", "mine"},
                                          {"created", "2025-01-02T03:04:05Z"},
                                          {"source", "tables"},
                                          {"fits", fits}};
  p.inputs["hardware"] = {{"name", "box"},
                          {"created", "2025-02-02T03:04:05Z"},
                          {"fits", fits},
                          {"machine", {{"cpu", "EPYC"}, {"gpus", {"H100"}}}}};
  const Section page = validity_page(told_plan(), p);
  const Table* table = table_of(page, "How well those fits predict");
  REQUIRE(table != nullptr);
  REQUIRE(table->rows.size() == 2);
  CHECK(table->rows[0][4] == "3.2%");
  CHECK_THAT(text_of(page), ContainsSubstring("2025-01-02") && ContainsSubstring("EPYC"));
}

TEST_CASE("with confidence validity tells its method and its known hole", "[reports]") {
  PlanResult plan = told_plan();
  plan.confidence.emplace();
  plan.confidence->runs = 102;
  plan.confidence->method = "sessions are drawn again";
  CHECK_THAT(text_of(validity_page(plan, told_provenance())),
             ContainsSubstring("sessions are drawn again") && ContainsSubstring("Known hole"));
}

TEST_CASE("provenance gives a command that a shell can take, hashes and every size", "[reports]") {
  const Section page = provenance_page(told_plan(), told_provenance());
  CHECK(page.id == "provenance");
  REQUIRE(page.code.size() == 1);
  CHECK(page.code[0].text ==
        "spillway plan 'it'\\''s here.json' \\\n  --set plan.stress=true \\\n"
        "  --set 'a.b=\"x y\"'");
  const Table* cells = table_of(page, "All configurations");
  REQUIRE(cells != nullptr);
  CHECK(cells->rows.size() == 3);
  CHECK(cells->highlight == 1);
  for (const auto& row : cells->rows) CHECK(row.size() == cells->header.size());
  const std::string text = text_of(page);
  CHECK_THAT(text, ContainsSubstring("c0ffee00c0ffee00") && ContainsSubstring("weight_bytes"));
}

TEST_CASE("a bound stands only where one was made and rules something out", "[reports]") {
  PlanResult plan = told_plan();
  plan.confidence.emplace();
  for (PlanPoint& point : plan.points) {
    point.replications = 10;
    point.attainment = 0.99;
    point.attainment_low = 0.98;
    point.targets = {{"p99_ttft_ms", "", false, true, 2000, 800, 0.001, 0.01, 0.005, true, true}};
  }
  plan.points[0].targets[0].bound.reset();  // screened
  plan.points[2].attainment_low = 0;        // rules nothing out
  plan.points[2].targets[0].bound = 1;
  const Section page = provenance_page(plan, told_provenance());
  const Table* cells = table_of(page, "All configurations");
  REQUIRE(cells != nullptr);
  CHECK(cells->header[5] == "attainment at least, with 95% confidence");
  CHECK(cells->rows[0][5] == "-");
  CHECK(cells->rows[1][5] == "98.0%");
  CHECK(cells->rows[2][5] == "-");
  const Table* targets = table_of(page, "Every target");
  REQUIRE(targets != nullptr);
  CHECK(targets->rows[0][5] == "no bound");
  CHECK(targets->rows[1][5] == "at most 0.5%");
  CHECK(targets->rows[2][5] == "no bound");
}

TEST_CASE("a setting that would end the line of the command is left out", "[reports]") {
  Provenance p = told_provenance();
  p.inputs["scenario"]["set"] = {"a=\"\nrm -rf /\"", 7};
  const Section page = provenance_page(told_plan(), p);
  CHECK(page.code[0].text == "spillway plan 'it'\\''s here.json'");
}

TEST_CASE("the configuration in full is JSON again", "[reports]") {
  const Section page = provenance_page(told_plan(), told_provenance());
  for (const Section& part : page.parts) {
    if (part.code.empty()) continue;
    CHECK(json::parse(part.code[0].text) == told_provenance().inputs["configuration"]);
    return;
  }
  FAIL("no configuration");
}

TEST_CASE("the glossary has the terms that are used", "[reports]") {
  PlanResult plan = sample_plan();
  plan.knee = -1;
  const auto terms = [](const PlanResult& p) {
    return text_of(provenance_page(p, sample_provenance()));
  };
  CHECK_THAT(terms(plan), ContainsSubstring("TTFT") && !ContainsSubstring("A gains"));
  CHECK(terms(plan).find("| knee") == std::string::npos);
  CHECK(terms(sample_plan()).find("knee") != std::string::npos);
}

TEST_CASE("pages of an empty plan say so instead of failing", "[reports]") {
  const PlanResult empty;
  const Provenance nothing;
  CHECK_THAT(text_of(host_page(empty, nothing)), ContainsSubstring("Nothing is recommended"));
  CHECK_FALSE(text_of(validity_page(empty, nothing)).empty());
  CHECK_FALSE(text_of(provenance_page(empty, nothing)).empty());
  Provenance odd;
  odd.inputs = {{"configuration", {1, 2}}, {"scenario", "x"}, {"trace", nullptr}};
  CHECK_FALSE(text_of(host_page(told_plan(), odd)).empty());
  CHECK_FALSE(text_of(validity_page(told_plan(), odd)).empty());
  CHECK_FALSE(text_of(provenance_page(told_plan(), odd)).empty());
}

}  // namespace
}  // namespace spillway::test
