#include "scenarios/sweep/survey.hpp"

#include "scenarios/sweep/run_maker.hpp"

namespace spillway {

CampaignSurvey::CampaignSurvey(const Campaign& campaign) : campaign_(campaign) {
  done_.resize(campaign.runs.size(), false);
  for (std::uint64_t i = 0; i < campaign.runs.size(); ++i) {
    runs_.emplace(campaign.key(campaign.runs[i]), i);
  }
}

void CampaignSurvey::look() {
  const SegmentReport found = read_segments(
      campaign_.segments(),
      [&](SegmentEntry&& entry, const SegmentPlace&) {
        const auto run = runs_.find(entry.key);
        if (run == runs_.end()) {
          ++foreign_;
          return;
        }
        if (done_[run->second]) return;
        done_[run->second] = true;
        ++count_;
        if (is_failure(entry.payload)) ++failed_;
        took_s_ += seconds_taken(entry.aside);
      },
      {}, &cursor_);
  report_.corrupt += found.corrupt;
  append(report_.notes, found.notes);
}

std::vector<std::uint32_t> CampaignSurvey::lacking(std::uint32_t of) const {
  std::vector<std::uint32_t> out;
  for (Shard shard{1, of}; shard.index <= of; ++shard.index) {
    std::uint64_t run = shard.begin(total());
    while (run < shard.end(total()) && done_[run]) ++run;
    if (run < shard.end(total())) out.push_back(shard.index);
  }
  return out;
}

}  // namespace spillway
