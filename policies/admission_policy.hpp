// The contract of an admission policy: may a request enter the server?
//
// Asked once per request, when it arrives and is known to fit the server at all. A refused request
// is rejected at that instant, with the policy's reason, and its client has an answer: policies
// reject rather than hold back, so that the rejections a service would see are counted. A policy
// sees plain figures, never the engine.
#pragma once

#include <cstdint>

#include "sim/observer.hpp"
#include "sim/units.hpp"

namespace spillway {

/// How fast prompts were worked off lately: `tokens` of them in a `busy` time in which there were
/// any to work off. Both 0 where nothing was seen, or not for long.
struct PrefillRate {
  std::uint64_t tokens = 0;
  Duration busy{};
};

struct AdmissionView {
  Time now{};
  // The request. Model: its output length is known; a real server knows the client's max_tokens.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::uint64_t blocks = 0;  ///< that its whole sequence may need, shared prefixes not counted
  // The server.
  std::uint64_t committed_blocks = 0;       ///< the same, summed over requests that are in
  std::uint32_t running = 0;                ///< requests
  std::uint32_t waiting = 0;                ///< requests queued, preempted or loading
  std::uint64_t queued_prefill_tokens = 0;  ///< prompt tokens of those in, not worked off yet
  PrefillRate prefill;                      ///< cached tokens count as worked off
};

/// What a new admission policy may know: the sizes of the tiers.
struct AdmissionContext {
  static constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};
  std::uint64_t gpu_blocks = 0;
  std::uint64_t lower_blocks = 0;  ///< of the tiers below HBM; may be kUnbounded
};

class AdmissionPolicy {
 public:
  virtual ~AdmissionPolicy() = default;

  /// kNone admits; any other reason is what the request is rejected with.
  virtual Reason decide(const AdmissionView& view) = 0;

  /// A request that was admitted is rejected (kQueueTimeout) where the scheduler has not taken it
  /// up after so long; the same for every request.
  virtual Duration longest_wait() const { return Duration::max(); }
};

}  // namespace spillway
