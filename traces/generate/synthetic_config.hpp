// What a user may say about a synthetic trace: the parameters, and the one table of their names,
// ranges and meanings that scenarios, the command line and checks read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace spillway {

struct SyntheticConfig {
  std::uint32_t requests = 2000;
  // When sessions start.
  std::string arrivals = "poisson";
  double sessions_per_s = 0.5;
  double arrival_cv = 1;
  double burst_factor = 3;
  double burst_every_s = 300;
  double burst_length_s = 30;
  double day_amplitude = 0;
  double day_peak_hour = 14;
  std::vector<double> day_factors{};
  std::string rates{};
  double rate_scale = 1;
  // Who starts them, and with which shared prompt.
  std::uint32_t tenants = 1;
  double tenant_zipf = 1.0;
  std::uint32_t system_prompts = 16;
  double system_zipf = 1.0;
  double system_tokens = 1500;
  double system_sigma = 0.5;
  // How they go on.
  double turns = 4;
  std::string turn_counts = "geometric";
  double turn_tail = 2;
  double think_s = 20;
  std::string think_times = "exponential";
  double think_sigma = 1;
  double user_tokens = 600;
  double user_sigma = 1.0;
  std::vector<double> user_quantiles{};
  double answer_tokens = 250;
  double answer_sigma = 0.7;
  std::vector<double> answer_quantiles{};
  double answer_tokens_per_s = 40;
  std::string context = "accumulate";
  std::uint32_t max_context = 32768;
  std::uint32_t summary_tokens = 500;
  std::uint32_t block_tokens = 512;
};

struct SyntheticKey {
  std::string_view name;
  std::variant<std::uint32_t SyntheticConfig::*, double SyntheticConfig::*,
               std::vector<double> SyntheticConfig::*, std::string SyntheticConfig::*>
      target;
  double least = 0;  ///< of numbers, also in a list
  double most = 0;
  std::span<const std::string_view> choices{};  ///< of a text; empty: a path
  std::string_view help;
};

std::span<const SyntheticKey> synthetic_keys();

struct SyntheticFault {
  std::string_view key;
  std::string message;  ///< "expected ..., found ..."
};

/// What is wrong with a configuration, if anything.
std::optional<SyntheticFault> fault_of(const SyntheticConfig& config);

}  // namespace spillway
