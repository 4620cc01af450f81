// When the sessions of a synthetic trace start: one class per arrival process.
#pragma once

#include <cstdint>
#include <memory>

#include "traces/generate/synthetic_config.hpp"

namespace spillway {

struct SessionStart {
  double at_s = 0;
  std::uint32_t client = 0;  ///< of a rate table
};

class SessionStarts {
 public:
  virtual ~SessionStarts() = default;
  /// Never earlier than the one before; may lie beyond any horizon.
  virtual SessionStart next() = 0;
};

/// A Poisson process is thinned from its highest rate; gamma and Weibull gaps of mean 1 are laid
/// along the integral of the rate, so that they keep their shape while the rate moves; a rate table
/// does so client by client and starts again where it ends.
std::unique_ptr<SessionStarts> make_session_starts(const SyntheticConfig& config,
                                                   std::uint64_t seed);

}  // namespace spillway
