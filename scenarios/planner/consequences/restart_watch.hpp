// How the share of prompt tokens from caches comes back when caches are emptied half-way.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/observer.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

/// Prompt tokens of each request and how many came from caches.
class CacheWatch final : public Observer {
 public:
  /// The first request that is watched is `skip`.
  explicit CacheWatch(std::uint32_t requests, std::uint32_t skip = 0);
  void on_request(const RequestRecord& record) override;

  struct Use {
    std::int64_t arrival_ns = -1;  ///< -1: not completed
    std::uint32_t prompt = 0;
    std::uint32_t cached = 0;
  };
  const std::vector<Use>& uses() const { return uses_; }

 private:
  std::uint32_t skip_;
  std::vector<Use> uses_;
};

/// `warm` watched the requests from some on of a run of all, `cold` a run of these alone: entry i
/// of both is the same request. Nothing where they are too few to tell stretches of them apart.
std::optional<ColdRestart> cold_restart(const CacheWatch& warm, const CacheWatch& cold);

}  // namespace spillway
