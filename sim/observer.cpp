#include "sim/observer.hpp"

namespace spillway {

std::string_view name_of(RequestStatus status) {
  switch (status) {
    case RequestStatus::kCompleted:
      return "completed";
    case RequestStatus::kRejected:
      return "rejected";
    case RequestStatus::kFailed:
      return "failed";
    case RequestStatus::kStuck:
      return "stuck";
    case RequestStatus::kNotSent:
      return "not_sent";
  }
  return "unknown";
}

std::string_view name_of(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "";
    case Reason::kTooLong:
      return "too_long";
    case Reason::kExceedsPool:
      return "exceeds_pool";
    case Reason::kDeadlock:
      return "deadlock";
    case Reason::kHorizon:
      return "horizon";
  }
  return "unknown";
}

}  // namespace spillway
