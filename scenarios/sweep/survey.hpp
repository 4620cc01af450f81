// What of a campaign is done, from its segments; asked again, it reads only what was added since.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scenarios/experiment/segments.hpp"
#include "scenarios/sweep/campaign.hpp"

namespace spillway {

class CampaignSurvey {
 public:
  explicit CampaignSurvey(const Campaign& campaign);

  /// Reads what the segments hold more than last time. Throws InputError (exit 7).
  void look();

  std::uint64_t total() const { return done_.size(); }
  std::uint64_t done() const { return count_; }
  std::uint64_t failed() const { return failed_; }  ///< of these, runs that ended in an error
  bool done(std::uint64_t run) const { return done_[run]; }
  /// Shards of `of` that lack runs, ascending from 1.
  std::vector<std::uint32_t> lacking(std::uint32_t of) const;
  /// Seconds that a run took on average, by the runs that are done; 0: none is.
  double run_s() const { return count_ == 0 ? 0 : took_s_ / static_cast<double>(count_); }
  /// Runs that belong to no run of this campaign.
  std::uint64_t foreign() const { return foreign_; }
  /// Damaged lines. One that was cut off is told by the merge: it may still be written.
  const SegmentReport& report() const { return report_; }

 private:
  const Campaign& campaign_;
  std::map<std::string, std::uint64_t> runs_;  ///< by key
  std::vector<bool> done_;
  std::uint64_t count_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t foreign_ = 0;
  double took_s_ = 0;
  SegmentCursor cursor_;
  SegmentReport report_;
};

}  // namespace spillway
