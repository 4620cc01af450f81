// Who serves a request: the contract of routers.
//
// The cluster asks once for each request, when it is submitted, and hands it to the instance that
// the router names. A router sees views, never engines. Counts in views are those that instances
// published last, up to 100 ms old; what was sent since counts as waiting (load_board.hpp).
//
// A router that wants residency is told which blocks the stores of instances gain and lose, by the
// block ids of the simulation, as late as the cluster's lag says (residency_feed.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/chains/chain_map.hpp"
#include "sim/ids.hpp"
#include "sim/units.hpp"

namespace spillway {

enum class InstanceId : std::uint32_t {};

enum class InstanceRole : std::uint8_t { kBoth, kPrefill, kDecode };

struct InstanceView {
  InstanceRole role = InstanceRole::kBoth;
  bool accepting = true;  ///< started, and not told to stop
  std::uint64_t waiting = 0;
  std::uint64_t running = 0;

  /// Requests begin with their prompt: an instance that only decodes gets none from a router.
  bool takes_requests() const { return accepting && role != InstanceRole::kDecode; }
};

struct RequestView {
  RequestId id{};
  Time now{};
  std::uint32_t prompt_tokens = 0;
  const ChainMap& chains;  ///< which blocks its prompt consists of
};

/// Consecutive blocks that a store of an instance has stored or dropped.
struct ResidencyEvent {
  Time at{};  ///< when it happened
  InstanceId instance{};
  std::uint32_t store = 0;  ///< 0: HBM; 1: the tier below it
  bool stored = false;
  BlockId first{};
  std::uint32_t count = 0;
};

class Router {
 public:
  virtual ~Router() = default;

  /// Precondition: some instance takes requests. The answer is one that does.
  virtual InstanceId route(const RequestView& request, std::span<const InstanceView> fleet) = 0;

  /// True where on_residency() has to be called; asked once.
  virtual bool wants_residency() const { return false; }
  virtual void on_residency(const ResidencyEvent& /*event*/) {}
};

/// In turn.
std::unique_ptr<Router> make_round_robin();
/// To the least of 4 x waiting + running, the first among equals: vLLM's internal load balancer
/// (vllm/v1/engine/core_client.py, DPLBAsyncMPClient).
std::unique_ptr<Router> make_least_loaded();
/// To the instance that a hash named for the request (session_groups.hpp); where that takes none,
/// to the next that does.
std::unique_ptr<Router> make_session_hash(std::vector<InstanceId> instance_of);

}  // namespace spillway
