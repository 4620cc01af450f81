// Why a run ends with requests that nothing will ever serve: vLLM's known deadlocks, told apart.
//
// The scheduler names the kind when nothing runs and nothing is in flight (the engine one: that
// steps follow each other without end and without a new token); a result repeats it with
// its figures, so that a user finds the upstream report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/ids.hpp"

namespace spillway {

struct Standstill {
  enum class Kind : std::uint8_t {
    kUnknown,
    kMutualLoads,       ///< loaded requests hold what the others need (#45387, #45388)
    kStrandedLoads,     ///< the head holds nothing and hides loaded requests (#45406, PR #57841)
    kUnansweredLookup,  ///< the tier below never says whether it has the blocks (#49176, #49829)
    kNeverFits,         ///< the head alone needs more than the pool has
    kOverBudget,        ///< unchunked, and longer than a step's budget
    kPreemptionLoop,    ///< running requests preempt each other and only compute again (#49674)
    kNoBuffer,          ///< a load of LMCache waits for host memory that nothing frees
  };
  struct Holder {
    RequestId request{};
    std::uint32_t blocks = 0;
  };

  Kind kind = Kind::kUnknown;
  RequestId head{};            ///< the request that stops the others
  std::uint32_t tokens = 0;    ///< of the head, all that are known
  std::uint32_t holds = 0;     ///< HBM blocks that the head holds
  std::uint32_t needs = 0;     ///< free blocks that it asks for, the watermark included
  std::uint32_t reserved = 0;  ///< free blocks that are kept from it for loads under way
  std::uint32_t free = 0;
  std::uint32_t usable = 0;
  std::uint32_t budget = 0;      ///< tokens of a step
  std::uint32_t steps = 0;       ///< in a row, that computed only what had been computed before
  std::vector<Holder> others{};  ///< queued requests that hold blocks, in queue order
};

std::string_view name_of(Standstill::Kind kind);

}  // namespace spillway
