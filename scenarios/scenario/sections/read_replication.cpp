// How a workload is replicated and grown: workload.days, workload.growth, workload.replication.
#include <filesystem>

#include "scenarios/scenario/growth.hpp"
#include "scenarios/scenario/sections/scenario_parts.hpp"

namespace spillway {

namespace {

using Names = std::string_view;

constexpr Names kGrowthKeys[] = {"rate", "context", "reuse", "tenants"};
constexpr Names kReplicationKeys[] = {"requests", "warmup_s"};

constexpr double kLeastFactor = 0.01;
constexpr double kMostFactor = 100;

}  // namespace

const KeyTable ScenarioKeys::kGrowth = kGrowthKeys;
const KeyTable ScenarioKeys::kReplication = kReplicationKeys;

GrowthChoice read_growth(const ObjectReader& o) {
  GrowthChoice out;
  const auto growth = o.object("growth", ScenarioKeys::kGrowth);
  if (!growth) return out;
  const auto factor = [&](Names key, double& to, double least, double most) {
    to = growth->number(key, least, most).value_or(to);
  };
  factor("rate", out.rate, kLeastFactor, kMostFactor);
  factor("context", out.context, kLeastFactor, kMostFactor);
  factor("reuse", out.reuse, 0, 1);
  factor("tenants", out.tenants, 1, kMostFactor);
  return out;
}

void read_replication(const ObjectReader& workload, Scenario& s) {
  WorkloadChoice& w = s.workload;
  const auto days = workload.texts("days");
  if (days && w.synthetic) workload.fail("days", "expected only with a trace");
  const std::string folder = std::filesystem::path(s.path).parent_path().string();
  for (const std::string& day : days.value_or(std::vector<std::string>())) {
    w.days.push_back(path_beside(folder, workload.where("days"), day));
  }
  w.growth = read_growth(workload);
  grow_arrivals(w, w.growth);
  if (const auto replication = workload.object("replication", ScenarioKeys::kReplication)) {
    assign(w.replication.requests, replication->integer("requests", 1));
    w.replication.warmup_s = replication->number("warmup_s", 0, kMostSeconds);
  }
}

}  // namespace spillway
