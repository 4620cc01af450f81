// What may be changed in a configuration, by what it costs: settings first, which cost nothing,
// then more of the tier, more replicas, more GPUs of an instance, other GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan_parts.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct Scenario;

/// Settings of the engine and of the tier's policy that the scenario has a use for, each with one
/// value; several for a key. Those that users notice least come first, and what may change answers
/// (a KV cache of fewer bits) last. `longest`: tokens of the longest prompt with its answer.
std::vector<KeyChange> free_changes(const Scenario& scenario, std::uint64_t longest);

/// Of these, what was switched off or held back although the engine has it: eager steps, no chunks,
/// no scheduling ahead, blocks stored late, a gate before the server. Each as it ships.
std::vector<KeyChange> held_back(const Scenario& scenario);

/// More GPUs for one instance, the fewest first. None where step times do not depend on them.
std::vector<KeyChange> wider_instances(const Scenario& scenario);

/// GPUs of the catalogue that are as good in every rate and better in one: the nearest and the
/// fastest. None where step times do not follow from the GPU.
std::vector<KeyChange> better_gpus(const Scenario& scenario);

/// Whether step times follow from the model and the GPU.
bool times_follow_gpu(const Scenario& scenario);

/// Prompt and answer of the longest request.
std::uint64_t longest_request(const Workload& workload);

}  // namespace spillway
