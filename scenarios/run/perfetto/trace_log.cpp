#include "scenarios/run/perfetto/trace_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/format.hpp"
#include "scenarios/scenario/config/quantities.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

constexpr double kMostSeconds = 1e9;  ///< far from where the clock ends

constexpr std::array<std::string_view, kTtftStages> kStageNames = {
    "queue", "load wait", "load", "recompute", "step", "front end"};

Duration parse_length(std::string_view text, const SourceRef& where) {
  const double seconds = parse_seconds(text, where);
  if (seconds > kMostSeconds) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("expected at most 1e9 s, found \"{}\"", text));
  }
  return Duration(std::llround(seconds * 1e9));
}

bool is_nothing(std::string_view text) {
  return text == "0s" || text == "0ms" || text == "0min" || text == "0h";
}

}  // namespace

void parse_trace_window(std::string_view text, const SourceRef& where, TraceLimits& out) {
  const std::size_t plus = text.find('+');
  out.from = Time();
  if (plus != std::string_view::npos) {
    const std::string_view start = text.substr(0, plus);
    if (!is_nothing(start)) out.from = Time(parse_length(start, where));
    text.remove_prefix(plus + 1);
  }
  out.to = out.from + parse_length(text, where);
}

TraceLog::TraceLog(const TraceLimits& limits, std::int64_t block_bytes)
    : limits_(limits), block_bytes_(block_bytes), events_(limits) {
  const auto process = [&](const char* name) {
    const auto made = events_.add_process();
    KV_ASSERT(made, "no room for the first names of a trace");
    events_.name(*made, name);
    return *made;
  };
  engines_ = process("Engine");
  links_ = process("Links");
  requests_ = process("Requests");
}

TraceLog::EngineTracks& TraceLog::engine(std::uint32_t which) {
  if (which >= engine_tracks_.size()) engine_tracks_.resize(which + 1);
  EngineTracks& tracks = engine_tracks_[which];
  if (tracks.made) return tracks;
  tracks.made = true;
  const std::string suffix = which == 0 ? "" : fmt::format(", engine {}", which);
  tracks.running = events_.add_counter(engines_, "running requests" + suffix);
  tracks.waiting = events_.add_counter(engines_, "waiting requests" + suffix);
  return tracks;
}

TraceLog::TierTracks& TraceLog::tier(std::uint32_t which) {
  while (which >= tier_tracks_.size()) {
    TierTracks& tracks = tier_tracks_.emplace_back();
    tracks.process = events_.add_process();
    if (!tracks.process) continue;
    const bool hbm = tier_tracks_.size() == 1;
    tracks.used = events_.add_counter(*tracks.process, hbm ? "bytes in use" : "bytes held");
    if (hbm) tracks.cached = events_.add_counter(*tracks.process, "bytes in the prefix cache");
  }
  return tier_tracks_[which];
}

void TraceLog::on_step(const StepRecord& r) {
  run_end_ = std::max(run_end_, r.end);
  EngineTracks& tracks = engine(r.engine);
  if (tracks.running) events_.count(*tracks.running, r.start, r.running);
  if (tracks.waiting) events_.count(*tracks.waiting, r.start, r.waiting);
  if (!events_.in_window(r.start, r.end)) return;
  const auto track = tracks.steps.take(events_, engines_, r.start, r.end);
  if (!track) {
    if (!events_.cut_at()) ++crowded_;
    return;
  }
  events_.slice(*track, "step", r.start, r.end,
                fmt::format(R"("tokens":{},"recomputed_tokens":{},"requests":{},"waiting":{},)"
                            R"("stall_us":{:.3f},"out_of_blocks":{})",
                            r.scheduled_tokens, r.recomputed_tokens, r.running, r.waiting,
                            static_cast<double>(r.stall.count()) / 1000, r.starved));
}

void TraceLog::on_stages(std::span<const StageMark> stages) {
  stages_.assign(stages.begin(), stages.end());
}

void TraceLog::on_request(const RequestRecord& r) {
  if (r.arrival == kNever) return;  // never sent
  run_end_ = std::max(run_end_, r.arrival);
  if (r.status != RequestStatus::kCompleted) {
    events_.async(
        requests_, "request", raw(r.request),
        {fmt::format("request {}, {}", raw(r.request), name_of(r.status)), r.arrival, r.arrival},
        {},
        fmt::format(R"("reason":"{}","input_tokens":{},"output_tokens":{})", name_of(r.reason),
                    r.input_tokens, r.output_tokens));
    return;
  }
  spans_.clear();
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const Time to = i + 1 < stages_.size() ? stages_[i + 1].since : r.first_token;
    spans_.push_back(
        {kStageNames[static_cast<std::size_t>(stages_[i].stage)], stages_[i].since, to});
  }
  spans_.push_back({"decode", r.first_token, r.finish});
  std::uint64_t cached = 0;
  for (const std::uint32_t tokens : r.cached_tokens) cached += tokens;
  const std::string name = fmt::format("request {}", raw(r.request));
  events_.async(requests_, "request", raw(r.request), {name, r.arrival, r.finish}, spans_,
                fmt::format(R"("input_tokens":{},"output_tokens":{},"cached_tokens":{},)"
                            R"("preemptions":{},"ttft_us":{:.3f})",
                            r.input_tokens, r.output_tokens, cached, r.preemptions,
                            static_cast<double>((r.first_token - r.arrival).count()) / 1000));
}

void TraceLog::on_transfer(const TransferRecord& r) {
  run_end_ = std::max(run_end_, r.ended);
  if (!events_.in_window(r.started, r.ended)) return;
  if (r.link >= link_tracks_.size()) link_tracks_.resize(r.link + 1);
  const auto track = link_tracks_[r.link].take(events_, links_, r.started, r.ended);
  if (!track) {
    if (!events_.cut_at()) ++crowded_;
    return;
  }
  events_.slice(
      *track, "transfer", r.started, r.ended,
      fmt::format(R"("bytes":{},"copies":{},"waited_us":{:.3f})", r.payload.count(), r.copies,
                  static_cast<double>((r.started - r.submitted).count()) / 1000));
}

void TraceLog::on_tier_change(const TierChange& c) {
  run_end_ = std::max(run_end_, c.now);
  TierTracks& tracks = tier(c.tier);
  if (tracks.used) events_.count(*tracks.used, c.now, c.used * block_bytes_);
  if (tracks.cached) events_.count(*tracks.cached, c.now, c.resident * block_bytes_);
}

void TraceLog::on_preemption(Time now, RequestId request) {
  if (!events_.in_window(now, now)) return;
  if (!preemptions_) preemptions_ = events_.add_track(engines_);
  if (preemptions_) events_.instant(*preemptions_, fmt::format("preempted {}", raw(request)), now);
}

void TraceLog::name_all(const RunResult& run) {
  for (std::size_t i = 0; i < engine_tracks_.size(); ++i) {
    const auto& tracks = engine_tracks_[i].steps.tracks();
    for (std::size_t lane = 0; lane < tracks.size(); ++lane) {
      events_.name(tracks[lane], lane == 0 ? fmt::format("engine {} steps", i)
                                           : fmt::format("engine {} steps, {}", i, lane + 1));
    }
  }
  if (preemptions_) events_.name(*preemptions_, "preemptions");
  for (std::size_t i = 0; i < link_tracks_.size(); ++i) {
    const std::string link = i < run.links.size() ? run.links[i].name : fmt::format("link {}", i);
    const auto& tracks = link_tracks_[i].tracks();
    for (std::size_t lane = 0; lane < tracks.size(); ++lane) {
      events_.name(tracks[lane], lane == 0 ? link : fmt::format("slot {} of {}", lane + 1, link));
    }
  }
  for (std::size_t i = 0; i < tier_tracks_.size(); ++i) {
    if (!tier_tracks_[i].process) continue;
    events_.name(*tier_tracks_[i].process,
                 "Tier " + (i < run.tiers.size() ? run.tiers[i].name : std::to_string(i)));
  }
}

std::vector<std::string> TraceLog::notes(const std::string& path) const {
  std::vector<std::string> out;
  if (run_end_ < limits_.from) {
    out.push_back(fmt::format("{} holds nothing: the run ends at {} s, before its window begins",
                              path, format_real(seconds_of(run_end_))));
  } else if (run_end_ > limits_.to || limits_.from > Time()) {
    out.push_back(
        fmt::format("{} holds simulated time {} s to {} s of a run of {} s; --trace-window chooses "
                    "another part",
                    path, format_real(seconds_of(limits_.from)),
                    format_real(seconds_of(std::min(limits_.to, run_end_))),
                    format_real(seconds_of(run_end_))));
  }
  if (events_.cut_at()) {
    out.push_back(fmt::format(
        "{} ends at about {} s: {} later events found no room in its {} bytes (--trace-cap)", path,
        format_real(seconds_of(*events_.cut_at())), format_count(events_.left_out()),
        format_count(limits_.bytes)));
  }
  if (crowded_ > 0) {
    out.push_back(fmt::format("{} lacks {} steps and transfers that ran beside too many others",
                              path, format_count(crowded_)));
  }
  return out;
}

std::vector<std::string> TraceLog::write(const std::string& path, const RunResult& run) {
  name_all(run);
  OutputFile file(path);
  events_.write([&](std::string_view piece) { file.write(piece); });
  file.commit();
  return notes(path);
}

}  // namespace spillway
