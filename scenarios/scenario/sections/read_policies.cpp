// The top-level `policies`, and write admission of a tier.
#include "scenarios/scenario/sections/scenario_parts.hpp"

#include "scenarios/scenario/config/object_reader.hpp"
#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/scenario_keys.hpp"

namespace spillway {

namespace {

constexpr std::string_view kRoutingAliases[] = {"session-hash", "round-robin", "least-loaded",
                                                 "session_hash", "round_robin", "least_loaded"};
constexpr Key kPolicyKeys[] = {
    aside(text_key("admission",
                   "Which requests enter: always, queue-limit:max_queue=100:timeout_s=30, "
                   "all-tiers:share=0.9.",
                   "always")),
    choice_key("routing", kRoutingAliases, "Another name of fleet.routing.")};

}  // namespace

const KeyTable ScenarioKeys::kPolicies = kPolicyKeys;

void read_policies(const ObjectReader& top, Scenario& s) {
  const auto policies = top.object("policies", ScenarioKeys::kPolicies);
  if (!policies) return;
  if (const auto text = policies->text("admission")) {
    s.admission = parse_admission(*text, policies->where("admission"));
  }
}

WriteAdmissionChoice read_write_admission(const ObjectReader& tier) {
  const auto text = tier.text("write_admission");
  return text ? parse_write_admission(*text, tier.where("write_admission"))
              : WriteAdmissionChoice();
}

}  // namespace spillway
