#include "models/releases/scheduler_config.hpp"

namespace spillway {

/// vllm/v1/core/sched/scheduler.py: schedule(), _preempt_request(); kv_cache_manager.py.
SchedulerRules v1_rules(const SchedulerConfig& config, bool transfers) {
  SchedulerRules out;
  if (config.reserve_full_isl) out.admit = AdmitRule::kKnownTokens;
  if (config.priority_scheduling) {
    out.victim = VictimRule::kLeastImportant;
    out.order = QueueOrder::kPriority;
  }
  if (config.defer_block_free && transfers) out.fate = KvFate::kDroppedAfterStep;
  out.loads_leave_room = config.async_load_reservation;
  return out;
}

StepRules v1_step(const SchedulerConfig& config) {
  StepRules out;
  out.tokens = config.max_num_scheduled_tokens > 0 ? config.max_num_scheduled_tokens
                                                   : config.max_num_batched_tokens;
  out.requests = config.max_num_seqs;
  out.long_prefill = config.long_prefill_token_threshold;
  out.longest = config.max_model_len;
  out.chunked = config.chunked_prefill;
  out.ahead = config.async_scheduling;
  return out;
}

StepRules streaming_step(const SchedulerConfig& config) {
  StepRules out;
  out.tokens = config.max_num_batched_tokens;
  out.requests = config.max_num_seqs;
  out.long_prefill = config.long_prefill_token_threshold;
  return out;
}

/// vllm/core/scheduler.py @ db66e018ea: _preempt(), _swap_out(); block_manager.py: can_allocate().
SchedulerRules v0_rules(const SchedulerConfig& config) {
  SchedulerRules out;
  out.admit = AdmitRule::kKnownTokens;
  if (!config.swap.swap) return out;
  out.requeue = Requeue::kBehindVictims;
  out.fate = KvFate::kSwappedOut;
  return out;
}

/// Its default policy neither cuts prompts nor runs them beside decodes.
StepRules v0_step(const SchedulerConfig& config) {
  StepRules out;
  out.tokens = config.max_num_batched_tokens;
  out.requests = config.max_num_seqs;
  out.longest = config.max_model_len;
  out.chunked = out.mixed = config.chunked_prefill;
  return out;
}

}  // namespace spillway
