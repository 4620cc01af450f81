// An observer that turns a simulation into what a measured run is: times of requests and counters
// at given instants, so that both are compared by the same code.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/scenario/measured/measured_run.hpp"
#include "sim/observer.hpp"

namespace spillway {

class ObservedRun final : public Observer {
 public:
  void on_step(const StepRecord& r) override;
  void on_token_gap(Duration, std::uint32_t count) override { tokens_ += count; }
  void on_request(const RequestRecord& r) override;
  void on_tier_change(const TierChange& change) override;
  void on_preemption(Time, RequestId) override { ++preemptions_; }

  /// In order of arrival, as the measured ones; those that did not complete are marked.
  std::vector<MeasuredRequest> requests() const;

  /// What vLLM's counters would have said at these instants, ascending: requests that run and wait
  /// in the step under way (none between steps), tokens since the instant before, and blocks in
  /// use by requests over `pool` blocks.
  /// A cached block that nobody uses is free, as in vLLM's kv_cache_usage; its null block is in
  /// neither number, so that `pool` is num_gpu_blocks - 1.
  std::vector<MeasuredCounters> counters_at(const std::vector<double>& at_s, double pool) const;

  std::uint64_t preemptions() const { return preemptions_; }

 private:
  double tokens_at(double at_s) const;

  struct Emitted {
    double at_s;
    std::uint64_t tokens;  ///< until then, but for first ones
  };
  struct Step {
    double start_s;
    double end_s;
    std::uint32_t running;
    std::uint32_t waiting;
  };
  struct Pool {
    double at_s;
    std::uint32_t used;
  };

  std::vector<std::vector<Step>> steps_;  ///< by engine
  std::vector<Emitted> emitted_;          ///< of all engines' steps, in order of time
  std::uint64_t tokens_ = 0;
  std::vector<Pool> pool_;
  std::vector<RequestRecord> records_;  ///< by request
  std::uint64_t preemptions_ = 0;
};

}  // namespace spillway
