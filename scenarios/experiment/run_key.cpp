#include "scenarios/experiment/run_key.hpp"

#include "reports/document.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/workload.hpp"
#include "sim/input_file.hpp"
#include "sim/sha256.hpp"

namespace spillway {

using nlohmann::json;

json run_identity(const Scenario& scenario, const RunIdentity& identity) {
  json configuration = configuration_identity(scenario);
  // What is asked of a run decides nothing about it, and names of files are replaced by content.
  for (json& part : configuration) {
    for (const char* asked : {"plan", "sweep"}) part.erase(asked);
  }
  for (const char* files : {"days", "synthetic"}) configuration["derived"]["workload"].erase(files);
  std::string rates;
  if (scenario.workload->synthetic && !scenario.workload->synthetic->rates.empty()) {
    rates = sha256(read_text_file(scenario.workload->synthetic->rates));
  }
  json out = {{"semantics", kModelSemantics},
              {"form", identity.form},
              {"configuration", std::move(configuration)},
              {"seed", scenario.seed},
              {"traces", json::array()}};
  for (const std::uint64_t hash : identity.traces) out["traces"].push_back(hex16(hash));
  if (!rates.empty()) out["rates"] = rates;
  if (identity.replicate) out["replicate"] = *identity.replicate;
  return out;
}

std::string run_key(const Scenario& scenario, const RunIdentity& identity) {
  return sha256(run_identity(scenario, identity).dump());
}

}  // namespace spillway
