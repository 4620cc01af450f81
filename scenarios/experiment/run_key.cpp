#include "scenarios/experiment/run_key.hpp"

#include "reports/document.hpp"
#include "scenarios/scenario/measured/measured_document.hpp"
#include "scenarios/scenario/resolved.hpp"
#include "sim/digest.hpp"
#include "sim/input_file.hpp"
#include "sim/sha256.hpp"

namespace spillway {

using nlohmann::json;

json run_identity(const Scenario& scenario, const RunIdentity& identity) {
  json configuration = resolved_configuration(scenario);
  // What is asked of a run decides nothing about it, and paths are replaced by content.
  for (const char* part : {"plan", "sweep"}) configuration.erase(part);
  for (const char* path : {"trace", "days"}) configuration["workload"].erase(path);
  std::string rates;
  if (scenario.workload.synthetic && !scenario.workload.synthetic->rates.empty()) {
    configuration["workload"]["synthetic"].erase("rates");
    rates = sha256(read_text_file(scenario.workload.synthetic->rates));
  }
  json out = {{"semantics", kModelSemantics},
              {"form", identity.form},
              {"configuration", std::move(configuration)},
              {"seed", scenario.seed},
              {"traces", json::array()}};
  for (const std::uint64_t hash : identity.traces) out["traces"].push_back(hex16(hash));
  if (!rates.empty()) out["rates"] = rates;
  if (identity.replicate) out["replicate"] = *identity.replicate;
  if (scenario.hardware) out["hardware"] = scenario.hardware->digest;
  if (!scenario.compute.digest.empty()) out["compute"] = scenario.compute.digest;
  if (scenario.measured) out["measured"] = digest_of(to_json(*scenario.measured));
  return out;
}

std::string run_key(const Scenario& scenario, const RunIdentity& identity) {
  return sha256(run_identity(scenario, identity).dump());
}

}  // namespace spillway
