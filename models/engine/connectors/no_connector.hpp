// Nothing lies below HBM: nothing is found there, nothing goes there.
#pragma once

#include "models/engine/connectors/kv_connector.hpp"

namespace spillway {

class NoConnector final : public KvConnector {
 public:
  NoConnector(const OffloadConfig& config, RequestPool& requests, TransferWaiter& waiter)
      : KvConnector(config, waiter), requests_(requests) {}

  Lookup look_up(const ActiveRequest&, std::uint32_t, const Access&) override { return {true, 0}; }
  std::uint64_t version() const override { return 0; }
  void count_admission(const ActiveRequest&, std::uint32_t, std::uint32_t) override {}
  void plan_load(Handle, std::uint32_t, std::uint32_t) override {}
  void plan_stores(const StepPlan&, Time, StepTransfers&) override {}
  void on_finished(Handle h, bool) override { requests_.recycle(h); }
  bool poll(Time) override { return false; }
  bool wants_step() const override { return false; }
  std::uint32_t tiers() const override { return 0; }
  TierLevel level(std::uint32_t) const override { return {}; }
  EvictionPolicy* policy() override { return nullptr; }
  const OffloadCounters& counters() const override { return counters_; }
  void report(EngineStats&) const override {}
  void check_drained() const override {}

 private:
  RequestPool& requests_;
  OffloadCounters counters_;
};

}  // namespace spillway
