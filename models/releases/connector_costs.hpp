// What a connector costs an engine, beside the copies that it asks for.
//
// Host times by step follow vLLM's order: look-ups and metadata before the forward, copies of
// stores that are not deferred after it has been launched (vllm/v1/worker/gpu_worker.py and
// kv_connector_model_runner_mixin.py: start_load_kv, then the forward, then wait_for_save). No
// release tells how long they take: all are 0 unless given or fitted (spillway fit --pair).
#pragma once

#include "sim/observer.hpp"
#include "sim/units.hpp"

namespace spillway {

struct ConnectorCosts {
  double step_us = 0;      ///< of the host, each step: metadata, polls, answers of all ranks
  double lookup_us = 0;    ///< each look-up of a waiting request, repeated ones too
  double job_us = 0;       ///< each load or store that is submitted
  double copy_us = 0;      ///< each copy that it consists of, where the host launches them
  double step_factor = 1;  ///< steps compute so much longer: what is switched off beside it
  Bytes hbm{0};            ///< that it takes from the KV pool of each GPU

  /// Steps last longer than without.
  bool any() const {
    return step_us > 0 || lookup_us > 0 || job_us > 0 || copy_us > 0 || step_factor > 1;
  }
};

/// By how much a step lasts longer. What the host does before the forward is hidden as far as the
/// forward before it covers it; what it does behind, as far as its own forward does.
Duration connector_time(const ConnectorCosts& costs, const ConnectorWork& work);

}  // namespace spillway
