// The known keys of every section of a scenario.
#pragma once

#include "scenarios/scenario/config/key.hpp"

namespace spillway {

/// The known keys of each object, also what the published schema is checked against.
struct ScenarioKeys {
  static const KeyTable kTop, kModel, kGpu, kEngine, kCold, kInterference, kConnectorCosts,
      kCompute, kCollectives, kTier, kDevice, kHost, kTail, kLink, kMedium, kWorkload, kClass,
      kSynthetic, kBenchmark, kGrowth, kReplication, kSlo, kPlan, kDemand, kSweep, kFleet,
      kFrontEnd, kPolicies, kLmcache, kLmcacheMp, kLlmd, kAibrix, kKvbm, kFlexkv, kOutage, kEvictor,
      kMooncake;
};

}  // namespace spillway
