// What a run did to arrive at its figures: where prompt tokens came from, what moved over the
// links, where steps stalled. A comparison names those that differ most between variants.
#pragma once

#include <string>
#include <vector>

#include "sim/compare_result.hpp"
#include "sim/observer.hpp"
#include "sim/result.hpp"
#include "sim/workload.hpp"

namespace spillway {

/// First turns of sessions against later ones: what caches supplied to each.
class TurnClasses final : public Observer {
 public:
  explicit TurnClasses(const Workload& workload);
  void on_request(const RequestRecord& record) override;

  struct Class {
    std::uint64_t input_tokens = 0;
    std::uint64_t cached_tokens = 0;
    double share() const;
  };
  /// Whether the workload has a later turn at all.
  bool any_later() const { return any_later_; }
  const Class& first() const { return classes_[0]; }
  const Class& later() const { return classes_[1]; }

 private:
  std::vector<bool> is_later_;
  bool any_later_ = false;
  Class classes_[2];
};

struct RunQuantity {
  std::string name;
  MovedQuantity::Unit unit = MovedQuantity::Unit::kShare;
  double value = 0;
  double whole = 1;  ///< what a difference is compared with: 1 for shares and counts per request
};

/// In an order that depends on names of tiers and links alone. `turns` may be null.
std::vector<RunQuantity> account_of(const RunResult& run, const TurnClasses* turns);

/// One difference to the baseline for each quantity that either side has (0 where it is missing).
/// `accounts` are by replicate.
std::vector<MovedQuantity> moved_quantities(const std::vector<std::vector<RunQuantity>>& variant,
                                            const std::vector<std::vector<RunQuantity>>& baseline,
                                            Replication replication);

/// Marks those that moved most as named, and says what the metric's change goes with.
std::string reason_of(const ComparedMetric& metric, std::vector<MovedQuantity>& moved);

}  // namespace spillway
