#include "scenarios/experiment/run_key.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "reports/document.hpp"
#include "scenarios/measured/measured_document.hpp"
#include "scenarios/resolved.hpp"
#include "sim/digest.hpp"

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

std::string sha256(std::string_view text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const int done = EVP_Digest(text.data(), text.size(), bytes, &size, EVP_sha256(), nullptr);
  KV_ASSERT(done == 1 && size == 32, "SHA-256 failed");
  std::string out;
  for (unsigned int i = 0; i < size; ++i) out += fmt::format("{:02x}", bytes[i]);
  return out;
}

}  // namespace spillway
