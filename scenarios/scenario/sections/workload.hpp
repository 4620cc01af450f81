// The section `workload` of a scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/arrivals.hpp"
#include "models/releases/engine_config.hpp"
#include "scenarios/scenario/growth.hpp"
#include "sim/error.hpp"
#include "traces/byte_source.hpp"
#include "traces/catalogue.hpp"
#include "traces/generate/benchmarks/benchmark_config.hpp"
#include "traces/generate/synthetic.hpp"

namespace spillway {

/// workload.classes: what a tenant's requests ask for.
struct ClassChoice {
  std::string tenant;
  RequestClass value;
  SourceRef where;
};

/// workload.replication: what a replicate of the workload is.
struct ReplicationChoice {
  std::uint32_t requests = 0;      ///< measured ones at least; 0: as the SLO's percentiles need
  std::optional<double> warmup_s;  ///< none: found from the run (MSER-5) with a floor
};

struct WorkloadChoice {
  std::string trace;  ///< path, empty when generated
  std::optional<SyntheticConfig> synthetic;
  std::optional<BenchmarkConfig> benchmark;
  ReaderOptions reader;
  bool lenient = false;  ///< leave faulty rows out, up to the limit
  std::uint32_t limit = 0;
  ArrivalConfig arrival;
  Duration network{};      ///< between clients and server, one way
  Time warmup{};           ///< requests that arrive earlier run, but are not measured
  Time end = Time::max();  ///< nor are those that end later
  std::vector<ClassChoice> classes;
  std::vector<std::string> days;  ///< further recordings of the same service, one a replicate
  GrowthChoice growth;
  ReplicationChoice replication;
  SourceRef where;

  bool generated() const { return synthetic || benchmark; }

  /// Every file that it is read from: what differs in these is not the same workload.
  std::string files() const {
    std::string out = trace + '\n' + (synthetic ? synthetic->rates : "");
    if (benchmark) out += '\n' + benchmark->lengths.value_or("");
    for (const std::string& day : days) out += '\n' + day;
    return out;
  }
};

}  // namespace spillway
