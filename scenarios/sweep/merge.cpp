#include "scenarios/sweep/merge.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "reports/notes/study_notes.hpp"
#include "scenarios/experiment/segments.hpp"
#include "scenarios/sweep/run_maker.hpp"
#include "sim/digest.hpp"

namespace spillway {

using nlohmann::json;

Merged merge_runs(const Campaign& campaign) {
  Merged out;
  out.runs.resize(campaign.runs.size());
  std::map<std::string, std::size_t> runs;  // by key
  for (std::size_t i = 0; i < campaign.runs.size(); ++i) {
    runs.emplace(campaign.key(campaign.runs[i]), i);
  }
  std::vector<SegmentPlace> places(campaign.runs.size());
  std::uint64_t foreign = 0;
  const SegmentReport report =
      read_segments(campaign.segments(), [&](SegmentEntry&& entry, const SegmentPlace& place) {
        const auto at = runs.find(entry.key);
        if (at == runs.end()) {
          ++foreign;
          return;
        }
        MergedRun& run = out.runs[at->second];
        if (run.payload.empty()) {
          run.payload = std::move(entry.payload);
          places[at->second] = place;
          return;
        }
        const SegmentPlace& first = places[at->second];
        KV_ASSERT(run.payload == entry.payload,
                  "two runs of one key have different results, so the simulator is not "
                  "deterministic: {}:{} and {}:{}, key {}",
                  first.file, first.line, place.file, place.line, entry.key);
        ++out.repeated;
      });
  out.notes = report.notes;
  if (foreign > 0) {
    out.notes.push_back(study_note("foreign-runs", {{"runs", foreign}}));
  }
  Digest digest;
  for (const auto& [key, index] : runs) {  // in the order of their keys
    MergedRun& run = out.runs[index];
    if (run.payload.empty()) continue;
    ++out.done;
    const json payload = json::parse(run.payload);
    if (const std::string lacks = missing_member(payload); !lacks.empty()) {
      const SegmentPlace& place = places[index];
      throw InputError(Fault::kUsage, {place.file, static_cast<std::int64_t>(place.line), lacks},
                       "is not there, or of another kind, in a run that this program did not "
                       "write; delete the file, and its runs are made again");
    }
    if (is_failure(run.payload)) {
      ++out.failed;
    } else {
      run.digest = payload["digest"];
    }
    digest.text(key);
    digest.text(run.payload);
  }
  out.digest = digest.hex();
  return out;
}

}  // namespace spillway
