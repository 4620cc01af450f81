// Plans of every kind that a report has to answer for.
#pragma once

#include <algorithm>
#include <string>

#include "tests/reports/samples.hpp"
#include "tests/support/notes.hpp"

namespace spillway::test {

/// As of one plan: sizes 0, 16, 32, 64 GiB; shares of requests in time grow with them.
inline PlanResult sized_plan() {
  PlanResult plan;
  plan.tier = "dram";
  const double shares[] = {0.80, 0.90, 0.97, 0.999};
  const double p99[] = {5000, 3000, 2100, 800};
  for (int i = 0; i < 4; ++i) {
    const int gib = i == 0 ? 0 : 8 << i;
    PlanPoint point;
    point.name = point.capacity = std::to_string(gib) + "GiB";
    point.capacity_bytes = std::int64_t{gib} << 30;
    point.run = sample_run();
    point.run.tiers[1].unbounded = false;
    point.run.tiers[1].capacity_bytes = point.capacity_bytes;
    if (i == 0) point.run.tiers.resize(1);
    point.run.ttft.p99_ms = p99[i];
    point.run.prompt_tokens_by_source = {
        {"local_compute", 4000 - 800 * static_cast<std::uint64_t>(i)},
        {"hbm", 6000},
        {"dram", 800 * static_cast<std::uint64_t>(i)}};
    point.run.links[1].busy_fraction = 0.1 * i;
    point.attainment = point.attainment_low = shares[i];
    plan.points.push_back(point);
  }
  plan.verdict = "The answer";
  plan.judgement.binding_kind = "none";
  plan.binding = {"Caches serve what is repeated."};
  return plan;
}

/// 64 GiB meet the SLO in a single run of each size.
inline PlanResult once_plan() {
  PlanResult plan = sized_plan();
  plan.points[3].feasible = true;
  plan.points[3].verdict = CellVerdict::kLooksMet;
  plan.recommended = plan.feasible_min = plan.knee = 3;
  plan.recommended_size = "64GiB";
  plan.recommended_bytes = plan.recommended_total_bytes = std::int64_t{64} << 30;
  plan.infeasible_max = 2;
  plan.first_breach = "p99_ttft_ms is 2,100, target at most 2,000";
  plan.headroom = 0.6;
  return plan;
}

inline void replicate(PlanResult& plan, std::uint32_t replications) {
  plan.confidence.emplace();
  plan.confidence->method = "sessions drawn again";
  plan.confidence->runs = 40;
  plan.confidence->boundary = "cliff";
  for (PlanPoint& point : plan.points) {
    point.replications = replications;
    point.attainment_low = point.attainment - 0.004;
    const double miss = 1 - point.attainment;
    point.targets = {{"p99_ttft_ms", "", false, true, 2000, point.run.ttft.p99_ms, miss, 0.01,
                      miss + 0.004, miss <= 0.01, miss <= 0.006}};
  }
}

/// The same over replicates: 64 GiB are backed, the others are shown to miss.
inline PlanResult backed_plan() {
  PlanResult plan = once_plan();
  replicate(plan, 20);
  for (PlanPoint& point : plan.points) point.verdict = CellVerdict::kMissed;
  plan.points[3].verdict = CellVerdict::kMet;
  plan.flags = EngineFlags{"vllm",       "vllm@0.25",
                           {"VLLM_X=1"}, {"--kv-offloading-size 64", "--max-num-seqs 256"},
                           {"64 GiB"},   {"tier ssd: no flag"}};
  return plan;
}

inline PlanResult infeasible_plan() {
  PlanResult plan = sized_plan();
  replicate(plan, 5);
  for (PlanPoint& point : plan.points) {
    point.verdict = CellVerdict::kMissed;
    point.attainment -= 0.2;
    point.targets[0].x += 0.2;
    point.targets[0].met = point.targets[0].backed = false;
  }
  plan.infeasible_max = 3;
  plan.judgement.binding_kind = "compute";
  plan.binding = {"With twice the compute speed it would meet the SLO."};
  Counterfactuals tried;
  tried.cell = "64GiB";
  tried.target = "p99_ttft_ms";
  tried.base = {"", "as it is", 2500, -0.25, false};
  tried.all = {{"hbm", "twice the blocks in HBM", 2200, -0.1, false},
               {"compute", "twice the compute speed", 900, 0.5, true},
               {"bandwidth", "twice the bandwidth", 2600, -0.3, false}};
  tried.notes = {"<b>nothing else</b> could be tried"};
  plan.judgement.counterfactuals = tried;
  return plan;
}

inline PlanResult undecided_plan() {
  PlanResult plan = sized_plan();
  replicate(plan, 5);
  plan.points[3].verdict = CellVerdict::kLooksMet;
  plan.undecided = true;
  plan.provisional = 3;
  plan.would_decide =
      "0.9% of requests miss p99_ttft_ms at 64GiB and 1.0% may, which these runs do not settle; "
      "about 18 replications would decide, 5 were allowed";
  return plan;
}

/// Sizes times eviction policies; 64 GiB with `arc` is recommended.
inline PlanResult searched_plan(int policies = 3) {
  PlanResult plan;
  const PlanResult sizes = backed_plan();
  const char* known[] = {"lru", "arc", "s3fifo"};
  for (int p = 0; p < policies; ++p) {
    const std::string policy = p < 3 ? known[p] : "p" + std::to_string(p);
    for (PlanPoint point : sizes.points) {
      point.name = point.capacity + ", eviction=" + policy;
      point.values = {{"tiers.0.eviction", policy}};
      point.difference = CellDifference{7, -0.01 * (p + 1), 0.005, 4};
      if (policy != "arc") point.verdict = CellVerdict::kMissed;
      if (policy != "arc") point.feasible = false;
      plan.points.push_back(point);
    }
  }
  plan.tier = "dram";
  plan.verdict = "64GiB with arc";
  plan.confidence = sizes.confidence;
  plan.recommended = plan.feasible_min = 7;
  plan.recommended_size = "64GiB";
  plan.recommended_bytes = plan.recommended_total_bytes = std::int64_t{64} << 30;
  plan.points[7].difference.reset();
  plan.judgement.policy_bound = PolicyBound{"64GiB, eviction=arc", "vllm-arc", 0.55, 0.65, 0.7};
  plan.judgement.decision_table = {{coded("common-prefixes", "35% shared.")}};
  plan.judgement.rules_of_thumb = {{coded("pool-of-host", "12 of 100 is 12%."), false}};
  return plan;
}

/// The page with that id.
inline const Section& page_of(const Report& report, const std::string& id) {
  const auto at = std::find_if(report.sections.begin(), report.sections.end(),
                               [&](const Section& section) { return section.id == id; });
  if (at == report.sections.end()) throw std::runtime_error("no page " + id);
  return *at;
}

/// The value and the detail of a fact on the page or in one of its parts, or "" where there is none
/// of that label.
inline std::string fact_of(const Section& page, const std::string& label) {
  for (const Fact& fact : page.facts) {
    if (fact.label == label) return fact.value + " | " + fact.detail;
  }
  for (const Section& part : page.parts) {
    if (std::string found = fact_of(part, label); !found.empty()) return found;
  }
  return "";
}

}  // namespace spillway::test
