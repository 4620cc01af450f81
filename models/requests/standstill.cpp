#include "models/requests/standstill.hpp"

namespace spillway {

std::string_view name_of(Standstill::Kind kind) {
  switch (kind) {
    case Standstill::Kind::kMutualLoads:
      return "mutual_loads";
    case Standstill::Kind::kStrandedLoads:
      return "stranded_loads";
    case Standstill::Kind::kUnansweredLookup:
      return "unanswered_lookup";
    case Standstill::Kind::kNeverFits:
      return "never_fits";
    case Standstill::Kind::kOverBudget:
      return "over_budget";
    case Standstill::Kind::kPreemptionLoop:
      return "preemption_loop";
    case Standstill::Kind::kNoBuffer:
      return "no_buffer";
    case Standstill::Kind::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace spillway
