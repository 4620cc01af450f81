// Makes runs of a campaign, one after the other, and keeps what neighbours share: the opened trace,
// and the replicate that is at work.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/experiment/replicates.hpp"
#include "scenarios/experiment/segments.hpp"
#include "scenarios/sweep/campaign.hpp"

namespace spillway {

class RunMaker {
 public:
  explicit RunMaker(const Campaign& campaign) : campaign_(campaign) {}

  /// What a run came to; nothing where `stop`, asked now and then, ended it. A scenario that cannot
  /// be run on its workload has that as its result. Throws InputError: exit 2 where something that
  /// the experiment names has changed, 3 or 7 for the campaign's own traces; InternalError.
  std::optional<SegmentEntry> make(const SweepRun& run, const std::function<bool()>& stop);

 private:
  const Workload& workload(const Scenario& scenario, const SweepRun& run);

  const Campaign& campaign_;
  std::unique_ptr<Replicates> replicates_;  ///< of the group at work
  std::uint32_t group_ = 0;
  std::optional<std::uint32_t> replicate_;  ///< that is at work
};

/// Whether a payload is that of a run that could not be made.
bool is_failure(std::string_view payload);
/// The first member that a payload of ours would have and this one has not, or of another kind;
/// empty: it is one of ours.
std::string missing_member(const nlohmann::json& payload);
/// From what stands aside of it.
double seconds_taken(std::string_view aside);

}  // namespace spillway
