// What the pages of a plan take from the scenario behind it, as far as its document tells.
#pragma once

#include <optional>
#include <string>

namespace spillway {

struct Provenance;

/// Of the scenario as it was written: what is there already. What is not known is 0 or absent.
struct Installed {
  std::optional<double> capacity_bytes;  ///< of the planned tier, of one engine; none: no bound
  bool has_tier = false;                 ///< the scenario writes a capacity of it
  double host_bytes = 0;
  double reserved_bytes = 0;
  double engines_per_host = 0;
};

/// `tier`: the one that was planned. A document that somebody edited tells less, never wrong types.
Installed installed_of(const Provenance& provenance, const std::string& tier);

/// Where the scenario came from, as a word of a command; "SCENARIO.json" where that is not known.
std::string scenario_word(const Provenance& provenance);

}  // namespace spillway
