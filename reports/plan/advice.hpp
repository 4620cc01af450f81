// The field's decision table and rules of thumb: what they say, by the code of the note that has
// this plan's figures.
#pragma once

#include <string_view>

#include "sim/plan_parts.hpp"

namespace spillway {

struct Advice {
  std::string_view situation;
  std::string_view prefer;
  std::string_view avoid;
};
/// Empty texts for a code that is not known.
Advice advice_for(const DecisionRow& row);
std::string_view rule_for(const RuleOfThumb& rule);

}  // namespace spillway
