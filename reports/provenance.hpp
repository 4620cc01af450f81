// What a report says about where a result came from.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/note.hpp"

namespace spillway {

struct Provenance {
  std::string scenario;
  nlohmann::json inputs;  ///< the document's
  Notes warnings;
  std::string digest;
  std::string tool;
};

}  // namespace spillway
