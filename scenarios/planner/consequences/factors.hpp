// The factors that a plan's sensitivity moves: what each multiplies, by how much, and how to apply
// it to a run.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/planner/consequences/what_if.hpp"
#include "sim/note.hpp"

namespace spillway {

/// The name of a factor: of HBM's blocks, where they are estimated.
inline constexpr std::string_view kEstimatedBlocks = "KV blocks in HBM";

struct Factor {
  std::string name;
  double low = 0.8;  ///< multiplies it in one run
  double high = 1.2;
  std::vector<double> below{};  ///< further steps from 1 where a crossing is looked for
  std::vector<double> above{};
  /// Precondition: the factor applies to the scenario.
  std::function<void(double, WhatIf&)> apply;
};

struct FactorList {
  std::vector<Factor> factors;
  std::vector<std::string> left_out;  ///< those that the scenario has no use for, with why
  Notes notes;                        ///< what is assumed
};

/// Those that apply to `scenario`, the ones that usually matter most first.
FactorList factors_of(const Scenario& scenario);

// ---- what they do, one by one

/// Arrivals at `factor` times their rate: the same requests in the same order, sooner or later
/// (clients of a closed loop: more or fewer). What is measured stays the same requests.
void scale_rate(Scenario& scenario, double factor);
/// Rates of links and of what they share; latencies stay.
void scale_links(Scenario& scenario, double factor);
/// Rates of storage; latencies stay.
void scale_storage(Scenario& scenario, double factor);
/// The tier's capacity. Precondition: it is bounded.
void scale_tier(Scenario& scenario, double factor);
/// Tokens of a block times 2 (`up`) or 1/2; pools and tiers keep their bytes.
void scale_blocks(Scenario& scenario, bool up);

}  // namespace spillway
