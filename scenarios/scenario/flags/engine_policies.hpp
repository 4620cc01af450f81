// Which eviction policies the scenario's engine has itself: the others are a bound of what a better
// policy would bring, and nothing to set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spillway {

struct Scenario;

/// The policies of the scenario that its engine does not have, "s3fifo" or "lfu in HBM, s3fifo";
/// empty where it runs all of them.
std::string engine_lacks(const Scenario& scenario);

/// Whether the engine of `scenario` has this eviction policy in its prefix cache in HBM, in the
/// tier below.
bool has_hbm_eviction(std::string_view policy);
bool has_tier_eviction(const Scenario& scenario, std::string_view policy);

/// Those that the tier below can be set to; none where the engine evicts nothing there.
std::vector<std::string_view> tier_evictions(const Scenario& scenario);

/// Of a policy by name alone, where nothing says which engine: whether some engine that is known
/// here has it.
bool some_engine_has(std::string_view policy);

/// "vLLM 0.25" of the scenario's preset; "vLLM" where that has no release.
std::string engine_name(const Scenario& scenario);

}  // namespace spillway
