// What one job needs at a station: the seam between timing (links, devices) and queueing (fabric).
#pragma once

#include <cstdint>
#include <memory>

#include "sim/observer.hpp"
#include "sim/units.hpp"

namespace spillway {

/// First a latency, which holds the place and moves nothing; then `alone` nanoseconds of moving
/// bytes when nobody else is there.
struct Service {
  Duration latency{};
  Duration alone{};
  Reach reach = Reach::kInside;
};

/// Asked once per job, at the instant its service begins, in the order of beginning: a model may
/// keep state and draw random numbers.
class ServiceModel {
 public:
  virtual ~ServiceModel() = default;
  /// Preconditions: payload > 0, copies > 0.
  virtual Service service(Bytes payload, std::uint32_t copies) = 0;
};

class LinkModel;

/// A link as a station: no latency of its own, so that all its time counts as moving bytes.
std::unique_ptr<ServiceModel> make_link_service(std::unique_ptr<LinkModel> link);
/// The link must outlive it.
std::unique_ptr<ServiceModel> make_link_service(const LinkModel& link);

/// A worker that spends `each` on every piece of a job, e.g. a host thread submitting copies.
std::unique_ptr<ServiceModel> make_per_copy_service(Duration each);

}  // namespace spillway
