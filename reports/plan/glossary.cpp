#include "reports/plan/glossary.hpp"

#include <algorithm>

namespace spillway {

namespace {

using Use = bool (*)(const PlanResult&);

bool always(const PlanResult&) {
  return true;
}
bool has_links(const PlanResult& plan) {
  return std::any_of(plan.points.begin(), plan.points.end(),
                     [](const PlanPoint& p) { return !p.run.links.empty(); });
}
bool has_storage(const PlanResult& plan) {
  return std::any_of(plan.points.begin(), plan.points.end(), [](const PlanPoint& p) {
    return std::any_of(p.run.tiers.begin(), p.run.tiers.end(),
                       [](const TierResult& tier) { return !tier.kind.empty(); });
  });
}
bool has_itl(const PlanResult& plan) {
  return std::any_of(plan.points.begin(), plan.points.end(), [](const PlanPoint& p) {
    return std::any_of(p.targets.begin(), p.targets.end(), [](const TargetEstimate& t) {
      return t.name.find("itl") != std::string::npos;
    });
  });
}
bool has_knee(const PlanResult& plan) {
  return plan.knee >= 0;
}
bool replicated(const PlanResult& plan) {
  return plan.confidence.has_value();
}
bool has_regret(const PlanResult& plan) {
  return plan.regret.has_value();
}
bool has_sensitivity(const PlanResult& plan) {
  return plan.sensitivity.has_value();
}
bool has_cost(const PlanResult& plan) {
  return plan.cost && !plan.cost->cells.empty();
}
bool has_workload(const PlanResult& plan) {
  return plan.workload.has_value();
}
bool has_cold(const PlanResult& plan) {
  return std::any_of(plan.points.begin(), plan.points.end(),
                     [](const PlanPoint& p) { return p.cold_limited; });
}

struct Term {
  const char* name;
  const char* meaning;
  Use used = always;
};

constexpr Term kTerms[] = {
    {"block", "The unit in which an engine keeps KV: so many tokens of one prompt."},
    {"cold-limited", "The trace is too short to fill the tier, so that its run shows a cold cache.",
     has_cold},
    {"confidence", "How sure it is that other traffic like this meets the SLO too.", replicated},
    {"configuration", "One combination of searched values, at one size."},
    {"D2H, H2D", "Copies from the GPU's memory to the host's, and back.", has_links},
    {"E2E", "End to end: from a request's arrival at the server to its last token."},
    {"front", "Configurations that attain more than every cheaper one.", has_cost},
    {"goodput", "Requests per second that meet every latency target."},
    {"HBM", "The GPU's own memory. What weights and activations leave of it holds KV."},
    {"headroom", "How far a figure may move before its target is missed."},
    {"ITL", "Inter-token latency: each gap between two tokens of an answer.", has_itl},
    {"KV",
     "Keys and values of attention: what an engine keeps of each token so as not to compute "
     "it again."},
    {"limiting resource", "What more of would help most: blocks, a link, the GPU or the queue."},
    {"margin",
     "Distance of a figure to its target, as a share of the target; below 0 it is missed.",
     has_sensitivity},
    {"offload", "To keep KV outside the GPU, in host DRAM or below, for later requests."},
    {"p50, p90, p99", "Half, 90% and 99% of the requests take at most so long."},
    {"peak x1.5", "The same requests, half as fast again: what an hour of more traffic does."},
    {"preemption", "A running request gives up its blocks for want of room, and starts again."},
    {"prefix hit, prefix reuse",
     "Tokens at the beginning of a prompt whose KV is still in some tier."},
    {"queue", "Requests that arrived and do not run yet. The longest one is peak_waiting."},
    {"regret", "By how much a configuration falls behind the best one for a demand.", has_regret},
    {"replica, instance", "One of several engines alike, among which sessions are split."},
    {"replicate", "One resampled workload: sessions resampled from the trace, or another seed.",
     replicated},
    {"reuse curve", "What share of block references a cache of each size would hit.", has_workload},
    {"secondary tier", "A tier under the DRAM tier: drives, shared file systems, object stores.",
     has_storage},
    {"sensitivity", "Which assumption moves the answer most, each one moved alone.",
     has_sensitivity},
    {"SLO", "Service level objective: the targets of the scenario, all of them together."},
    {"stationary",
     "Staying alike while it lasts: rates, lengths and hits drift no more than chance.",
     has_workload},
    {"sweet spot (knee)", "The size beyond which a larger tier gains little.", has_knee},
    {"tier", "A place that keeps KV: HBM, host DRAM, and secondary tiers under it."},
    {"TPOT", "Time per output token: from the first token to the last, by token."},
    {"TTFT", "Time to first token, from a request's arrival at the server."},
    {"within SLO", "Share of requests that meet every latency target."},
    {"working set", "Distinct blocks that requests name within a stretch of time.", has_workload},
};

}  // namespace

Table glossary(const PlanResult* plan) {
  Table table;
  table.title = "Glossary";
  table.header = {"term", "meaning"};
  for (const Term& term : kTerms) {
    if (plan == nullptr || term.used(*plan)) table.rows.push_back({term.name, term.meaning});
  }
  return table;
}

}  // namespace spillway
