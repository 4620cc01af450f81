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
    case Reason::kEngineDead:
      return "engine_dead";
    case Reason::kHorizon:
      return "horizon";
    case Reason::kKvLoadFailed:
      return "kv_load_failed";
    case Reason::kOutOfMemory:
      return "out_of_memory";
    case Reason::kGpuFull:
      return "gpu_full";
    case Reason::kTiersFull:
      return "tiers_full";
    case Reason::kQueueFull:
      return "queue_full";
    case Reason::kQueueTimeout:
      return "queue_timeout";
    case Reason::kRateLimited:
      return "rate_limited";
    case Reason::kSloUnreachable:
      return "slo_unreachable";
  }
  return "unknown";
}

}  // namespace spillway
