// What it costs to make host memory fit for copies by devices: locking it page by page.
//
// `mlock` of fresh memory on 4 KiB and 2 MiB pages: the kernel finds, clears and pins the pages,
// which is the host's share of cudaHostAlloc and cudaHostRegister (those need a GPU). Sizes beyond
// RLIMIT_MEMLOCK are left out, with the limit that they would need.
#pragma once

#include "scenarios/machine/bench.hpp"
#include "scenarios/machine/machine.hpp"

namespace spillway {

class RegistrationBench final : public Bench {
 public:
  explicit RegistrationBench(const HostState& host) : host_(host) {}

  std::string_view name() const override { return "registration"; }
  std::vector<CellPlan> plan(const BenchLimits& limits, std::vector<std::string>& missing) override;
  nlohmann::json measure(const CellPlan& cell) override;

 private:
  const HostState& host_;
  BenchLimits limits_;
};

}  // namespace spillway
