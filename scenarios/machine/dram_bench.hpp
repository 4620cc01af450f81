// Host memory bandwidth: copy and triad, as in STREAM (McCalpin, "Memory bandwidth and machine
// balance in current high performance computers", IEEE TCCA newsletter 1995).
//
// Per NUMA node, with threads bound to the node's CPUs and memory first touched by the thread that
// uses it. Arrays are several times the last-level cache. `copy` is the C library's memcpy, which
// streams past the caches where it sees fit; `triad` is a[i] = b[i] + s c[i] with the stores that
// the compiler gives. Bytes are counted as the program reads and writes them (2 and 3 per element):
// what a plain store reads first is not in the rate.
#pragma once

#include "scenarios/machine/bench.hpp"
#include "scenarios/machine/machine.hpp"

namespace spillway {

class DramBench final : public Bench {
 public:
  explicit DramBench(const HostState& host) : host_(host) {}

  std::string_view name() const override { return "dram"; }
  std::vector<CellPlan> plan(const BenchLimits& limits, std::vector<std::string>& missing) override;
  nlohmann::json measure(const CellPlan& cell) override;
  std::vector<std::string> warnings() const override { return warnings_; }

 private:
  struct Node {
    int id = -1;  ///< -1: the system does not say
    std::vector<int> cpus;
  };
  std::vector<Node> nodes() const;

  const HostState& host_;
  BenchLimits limits_;
  std::vector<std::string> warnings_;
};

}  // namespace spillway
