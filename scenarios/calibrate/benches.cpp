#include "scenarios/calibrate/benches.hpp"

#include <fmt/format.h>

#include "scenarios/calibrate/dram_bench.hpp"
#include "scenarios/calibrate/registration_bench.hpp"
#include "scenarios/calibrate/storage_bench.hpp"

namespace spillway {

BenchList make_benches(const HostState& host, bool host_only, std::vector<std::string>& missing) {
  BenchList out;
  out.push_back(std::make_unique<DramBench>(host));
  out.push_back(std::make_unique<RegistrationBench>(host));
  out.push_back(std::make_unique<StorageBench>(host));
  if (host_only) return out;

  const std::string here = host.facts.driver.empty() ? "no NVIDIA driver is loaded here"
                           : host.facts.gpus.empty()
                               ? fmt::format("driver {} sees no GPU", host.facts.driver)
                               : fmt::format("{} GPUs are here", host.facts.gpus.size());
  missing.push_back(fmt::format(
      "GPU (copy, contention, interference, hbm, gemm, attention): this build has no CUDA harness; "
      "{}",
      here));
  return out;
}

}  // namespace spillway
