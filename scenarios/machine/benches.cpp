#include "scenarios/machine/benches.hpp"

#include "scenarios/machine/collective_bench.hpp"
#include "scenarios/machine/dram_bench.hpp"
#include "scenarios/machine/gpu_bench.hpp"
#include "scenarios/machine/redis_bench.hpp"
#include "scenarios/machine/registration_bench.hpp"
#include "scenarios/machine/storage_bench.hpp"

namespace spillway {

BenchList make_benches(const HostState& host, bool host_only, const GpuHarnessOptions& gpu,
                       const RedisOptions& redis) {
  BenchList out;
  out.push_back(std::make_unique<DramBench>(host));
  out.push_back(std::make_unique<RegistrationBench>(host));
  out.push_back(std::make_unique<StorageBench>(host));
  if (!redis.server.empty()) out.push_back(std::make_unique<RedisBench>(redis));
  if (host_only) return out;
  auto gpus = std::make_unique<GpuBench>(gpu);
  auto collectives = std::make_unique<CollectiveBench>(*gpus, gpu);
  out.push_back(std::move(gpus));
  out.push_back(std::move(collectives));
  return out;
}

}  // namespace spillway
