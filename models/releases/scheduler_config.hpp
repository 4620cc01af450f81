// What schedulers are told, and the rules that families make of it.
//
// A family fills SchedulerRules and StepRules in (the rows in scheduler_config.cpp); a scheduler
// follows them, and asserts those that it knows but one value of.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/releases/offload_config.hpp"

namespace spillway {

/// vLLM v0's swapping (vllm/core/scheduler.py, block_manager.py @ db66e018ea).
struct SwapConfig {
  std::uint32_t cpu_blocks = 0;  ///< of --swap-space, on each GPU's share of the host
  bool swap = false;             ///< preemption_mode swap; else preempted requests recompute
};

struct SchedulerConfig : OffloadConfig {
  double watermark = 0;              ///< share of blocks kept free when admitting
  bool priority_scheduling = false;  ///< by (priority, arrival); else first come
  bool defer_block_free = false;     ///< #45357: blocks of preempted requests return with the step
                                     ///< in flight
  bool reserve_full_isl = true;      ///< dc78c2c933: admit only what fits with its whole prompt
  bool async_load_reservation = true;  ///< 3b3d5287fa: loads leave room for prefills under way
  SwapConfig swap;                     ///< v0 only
};

/// What has to fit before a waiting request is given blocks.
enum class AdmitRule : std::uint8_t {
  kFirstStep,    ///< what it holds at the end of its first step
  kKnownTokens,  ///< all its tokens known by then, whatever its first step computes of them
};

/// Which running request loses its place when another finds no block.
enum class VictimRule : std::uint8_t {
  kLast,            ///< the last of the running ones, in the end the one that asks
  kLeastImportant,  ///< the one that would be served last by (priority, arrival)
};

/// Which waiting request is considered next.
enum class QueueOrder : std::uint8_t {
  kArrival,
  kPriority,  ///< the smallest (priority, arrival) of all queues
};

/// Where a preempted request waits.
enum class Requeue : std::uint8_t {
  kFront,          ///< before those that wait, in the order in which victims ran
  kBehindVictims,  ///< apart from those that wait: first out, first in
};

/// What becomes of a victim's KV.
enum class KvFate : std::uint8_t {
  kDropped,           ///< it computes again what caches do not hold
  kDroppedAfterStep,  ///< the same, once the steps in flight that may write it have ended
  kSwappedOut,        ///< it goes to the CPU pool, and comes back before the request goes on
};

struct SchedulerRules {
  AdmitRule admit = AdmitRule::kFirstStep;
  VictimRule victim = VictimRule::kLast;
  QueueOrder order = QueueOrder::kArrival;
  Requeue requeue = Requeue::kFront;
  KvFate fate = KvFate::kDropped;
  bool loads_leave_room = false;  ///< a load is admitted beside what prefills under way still need
};

/// How a step is formed.
struct StepRules {
  std::uint32_t tokens = 0;        ///< of a step
  std::uint32_t requests = 0;      ///< that run
  std::uint32_t long_prefill = 0;  ///< the most tokens of one request; 0: as the step has
  std::uint32_t longest = 0;       ///< of a request, prompt and output; 0: no limit
  bool chunked = true;             ///< prompts may be cut
  bool mixed = true;               ///< prompts and decodes run in one step
  bool ahead = false;              ///< steps are planned behind tokens that are in flight

  std::uint32_t capped(std::uint32_t wanted) const {
    return long_prefill > 0 ? std::min(wanted, long_prefill) : wanted;
  }
};

/// `transfers`: blocks move between HBM and tiers below while steps run.
SchedulerRules v1_rules(const SchedulerConfig& config, bool transfers);
StepRules v1_step(const SchedulerConfig& config);
StepRules streaming_step(const SchedulerConfig& config);
SchedulerRules v0_rules(const SchedulerConfig& config);
StepRules v0_step(const SchedulerConfig& config);

}  // namespace spillway
