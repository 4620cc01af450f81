// The observer behind `--output kind=perfetto`: engine steps, requests stage by stage, transfers
// and tiers of a window of simulated time, as Chrome's JSON trace events.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/stage_watch.hpp"
#include "reports/run/trace_events.hpp"
#include "sim/error.hpp"
#include "sim/observer.hpp"
#include "sim/result.hpp"

namespace spillway {

/// LENGTH ("60s": from simulated time 0) or START+LENGTH ("120s+60s"). Throws InputError (exit 2).
void parse_trace_window(std::string_view text, const SourceRef& where, TraceLimits& out);

class TraceLog final : public Observer, public StageWatch {
 public:
  /// `block_bytes`: of one block of any tier, over all ranks.
  TraceLog(const TraceLimits& limits, std::int64_t block_bytes);

  void on_step(const StepRecord& record) override;
  void on_request(const RequestRecord& record) override;
  void on_transfer(const TransferRecord& record) override;
  void on_tier_change(const TierChange& change) override;
  void on_preemption(Time now, RequestId request) override;
  void on_stages(std::span<const StageMark> stages) override;

  /// `run` names tiers and links. Returns what a reader of the file must know is not in it.
  std::vector<std::string> write(const std::string& path, const RunResult& run);

 private:
  struct EngineTracks {
    Lanes steps;
    std::optional<TraceEvents::Counter> running;
    std::optional<TraceEvents::Counter> waiting;
    bool made = false;
  };
  struct TierTracks {
    std::optional<TraceEvents::Process> process;
    std::optional<TraceEvents::Counter> used;
    std::optional<TraceEvents::Counter> cached;
  };
  EngineTracks& engine(std::uint32_t which);
  TierTracks& tier(std::uint32_t which);
  void name_all(const RunResult& run);
  std::vector<std::string> notes(const std::string& path) const;

  TraceLimits limits_;
  std::int64_t block_bytes_;
  TraceEvents events_;
  TraceEvents::Process engines_{};
  TraceEvents::Process requests_{};
  TraceEvents::Process links_{};
  std::vector<EngineTracks> engine_tracks_;
  std::vector<Lanes> link_tracks_;
  std::vector<TierTracks> tier_tracks_;
  std::optional<TraceEvents::Track> preemptions_;
  std::vector<StageMark> stages_;  ///< of the request that observers hear of next
  std::vector<TraceSpan> spans_;   ///< scratch
  Time run_end_{};
  std::uint64_t crowded_ = 0;  ///< slices for which there was no track
};

}  // namespace spillway
