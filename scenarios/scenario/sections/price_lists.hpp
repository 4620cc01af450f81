// The price lists that come along (scenarios/library/prices/), built into the binary so that a
// scenario may name one wherever it is read.
#pragma once

#include <span>
#include <string_view>

namespace spillway {

struct PriceList {
  std::string_view name;  ///< "list-2025", as plan.prices names it
  std::string_view text;  ///< of a prices file
};

std::span<const PriceList> price_lists();

}  // namespace spillway
