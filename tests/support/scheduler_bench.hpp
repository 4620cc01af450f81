// vLLM's scheduler without an engine around it: a test says when a step is scheduled and when it
// ends, and sees the plan of each.
#pragma once

#include <memory>
#include <vector>

#include "models/engine/schedulers/vllm_scheduler.hpp"
#include "tests/support/engine_run.hpp"

namespace spillway::test {

/// A connector that answers every look-up alike and stores nothing.
class FixedConnector final : public KvConnector, private TransferWaiter {
 public:
  explicit FixedConnector(const EngineConfig& config)
      : KvConnector(config, static_cast<TransferWaiter&>(*this)) {}

  Lookup answer{true, 0};
  std::uint32_t asked = 0;

  Lookup look_up(const ActiveRequest&, std::uint32_t, const Access&) override {
    ++asked;
    return answer;
  }
  std::uint64_t version() const override { return asked; }  // asked again at every step
  void count_admission(const ActiveRequest&, std::uint32_t, std::uint32_t) override {}
  void plan_load(Handle, std::uint32_t, std::uint32_t) override {}
  void plan_stores(const StepPlan&, Time, StepTransfers&) override {}
  void on_finished(Handle, bool) override {}
  bool poll(Time) override { return false; }
  bool wants_step() const override { return false; }
  TierLevel level(std::uint32_t) const override { return {}; }
  EvictionPolicy* policy() override { return nullptr; }
  const OffloadCounters& counters() const override { return counters_; }
  void check_drained() const override {}
  TransferWaiter& waiter() { return *this; }

 private:
  void on_transfer_progress() override {}
  OffloadCounters counters_;
};

class SchedulerBench {
 public:
  /// One request per row; arrivals count for priorities only.
  SchedulerBench(const std::vector<Row>& rows, const EngineConfig& given, bool with_connector)
      : config(given),
        workload(workload_of(rows, given.block_tokens)),
        names(workload, config.block_tokens),
        chains(names),
        requests(chains.longest_chain()),
        pool(config.num_gpu_blocks, parse_eviction("lru", {}), context(), true),
        connector(config),
        nothing(config, requests, connector.waiter()),
        scheduler({config, v1_rules(config, with_connector), v1_step(config), chains, requests,
                   pool, with_connector ? static_cast<KvConnector&>(connector) : nothing, choice,
                   journal}) {}

  Handle arrive(std::uint32_t row, std::int32_t priority = 0) {
    const Handle h = requests.make();
    ActiveRequest& r = requests[h];
    r.id = RequestId{row};
    r.prompt = workload.input_tokens(r.id);
    r.output = workload.output_tokens(r.id);
    r.arrival = workload.arrival(r.id);
    r.priority = priority;
    scheduler.enqueue(h);
    return h;
  }
  /// Schedules a step, which is in flight from then on.
  StepPlan schedule() {
    StepPlan plan;
    scheduler.schedule(Time{}, plan);
    scheduler.apply(plan);
    return plan;
  }
  void end(StepPlan plan) {
    scheduler.on_step_end(plan, Time{});
    for (const ScheduledTokens& item : plan.items) {
      if (!item.samples) continue;
      ActiveRequest& r = requests[item.request];
      scheduler.collect(r);
      if (r.generated == r.output) scheduler.finish(item.request, Time{});
    }
  }
  StepPlan step() {
    StepPlan plan = schedule();
    end(plan);
    return plan;
  }

  EngineConfig config;
  Workload workload;
  ChainMap names;
  LocalChains chains;
  RequestPool requests;
  KvPool pool;
  FixedConnector connector;
  NoConnector nothing;
  LoadChoice choice;
  Journal journal;
  VllmScheduler scheduler;

 private:
  EvictionContext context() const {
    EvictionContext out;
    out.blocks = chains.block_count();
    out.block_tokens = config.block_tokens;
    return out;
  }
};

}  // namespace spillway::test
