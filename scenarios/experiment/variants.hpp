// The variants of a comparison: one scenario for each combination of the values of --vary.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/scenario/scenario.hpp"

namespace spillway {

inline constexpr std::size_t kMostVariants = 64;

struct Varied {
  std::string key;                  ///< dotted, as in --set
  std::vector<std::string> values;  ///< two or more, all different
};

struct Variant {
  std::string name;  ///< its value, or "key=value, key=value" where several keys vary
  std::vector<std::pair<std::string, std::string>> values;
  Scenario scenario;
};

struct VariantSet {
  std::vector<Variant> variants;  ///< the first --vary changes slowest
  std::size_t baseline = 0;
};

/// Names for `keys` in labels: the end of each that no other of them has ("eviction" for
/// "tiers.0.eviction"; the whole key where "tiers.1.eviction" is among them).
std::vector<std::string> short_keys(std::span<const std::string> keys);

/// Each of `texts` is "key.path=a,b,c"; commas within brackets, braces and quotes do not separate.
/// Throws InputError (exit 2) for fewer than two values, a value or a key given twice, and a key
/// that has no place here.
std::vector<Varied> parse_varied(std::span<const std::string> texts);

/// Where the values stand, for errors, and how many combinations are too many.
struct VariantLimits {
  std::string option = "--vary";
  std::size_t most = kMostVariants;
};

/// Reads every variant. Each of `baseline` names a value, or "key=value"; keys that none names are
/// at their first value. Throws InputError (exit 2) for a variant that is no valid scenario, for
/// two that are the same, for too many of them and for an unknown baseline.
VariantSet make_variants(const JsonSource& source, std::span<const Varied> varied,
                         std::span<const std::string> baseline, const VariantLimits& limits = {});

}  // namespace spillway
