// How a workload is replicated and grown: workload.days, workload.growth, workload.replication.
#include <filesystem>

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/growth.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"
#include "scenarios/scenario/sections/workload.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr double kLeastFactor = 0.01;
constexpr double kMostFactor = 100;
constexpr Key kGrowthKeys[] = {
    number_key("rate", kLeastFactor, kMostFactor, "Factor on session starts.", "1"),
    number_key("context", kLeastFactor, kMostFactor, "Factor on tokens of prompts and answers.",
               "1"),
    number_key("reuse", 0, 1, "Factor on the share of prompt blocks that earlier prompts held.",
               "1"),
    number_key("tenants", 1, kMostFactor, "Copies of the population with prefixes of their own.",
               "1")};
constexpr Key kReplicationKeys[] = {
    integer_key("requests", 1, kMostCount,
                "Fewest measured requests of a replicate. Short traces repeat.",
                "as the SLO needs"),
    number_key("warmup_s", 0, kMostSeconds, "Warm-up that no figure counts.",
               "found from the run (MSER-5)")};

}  // namespace

const KeyTable ScenarioKeys::kGrowth = kGrowthKeys;
const KeyTable ScenarioKeys::kReplication = kReplicationKeys;

GrowthChoice read_growth(const ObjectReader& o) {
  GrowthChoice out;
  const auto growth = o.object("growth", ScenarioKeys::kGrowth);
  if (!growth) return out;
  out.rate = growth->number("rate").value_or(out.rate);
  out.context = growth->number("context").value_or(out.context);
  out.reuse = growth->number("reuse").value_or(out.reuse);
  out.tenants = growth->number("tenants").value_or(out.tenants);
  return out;
}

void read_replication(const ObjectReader& workload, Scenario& s) {
  WorkloadChoice& w = *s.workload;
  const auto days = workload.texts("days");
  if (days && w.generated()) workload.fail("days", "expected only with a trace");
  const std::string folder = std::filesystem::path(s.path).parent_path().string();
  for (const std::string& day : days.value_or(std::vector<std::string>())) {
    w.days.push_back(path_beside(folder, workload.where("days"), day));
  }
  w.growth = read_growth(workload);
  grow_arrivals(w, w.growth);
  if (const auto replication = workload.object("replication", ScenarioKeys::kReplication)) {
    assign(w.replication.requests, replication->integer("requests"));
    w.replication.warmup_s = replication->number("warmup_s");
  }
}

}  // namespace spillway
