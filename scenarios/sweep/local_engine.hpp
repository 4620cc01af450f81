// A campaign on this machine: some worker processes that take shards from each other's heap.
//
// Workers are processes, so that a defect, a limit or a kill costs what one of them was doing. One
// that dies is started again as long as runs come in between; they end with this process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/sweep/survey.hpp"
#include "sim/note.hpp"

namespace spillway {

struct LocalOptions {
  unsigned processes = 1;
  bool quiet = false;
  std::function<bool()> stop;  ///< asked often; true ends the workers, which keep what is done
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

struct LocalOutcome {
  bool stopped = false;
  int code = 0;                    ///< worst exit code of a worker that gave up; 0: none did
  Notes notes;  ///< workers that died, and how
};

/// Looks at the survey as it goes; afterwards that knows what is done. Throws InputError (exit 7).
LocalOutcome run_local(const Campaign& campaign, CampaignSurvey& survey,
                       const LocalOptions& options);

}  // namespace spillway
