#include "reports/run/trace_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::size_t kFrame = 2048;  ///< of the file besides events and names: never more
/// A name as JSON, at worst six bytes for one, and the event around it.
constexpr std::size_t kNameEvent = 6 * TraceEvents::kLongestName + 160;

constexpr std::string_view kHead = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";

std::string json_text(std::string_view text) {
  const nlohmann::json name(std::string(text.substr(0, TraceEvents::kLongestName)));
  return name.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Microseconds, with the nanoseconds behind the point.
std::string us_of(std::int64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}
std::string us_of(Time t) {
  return us_of(nanoseconds_of(t));
}

}  // namespace

TraceEvents::TraceEvents(const TraceLimits& limits)
    : limits_(limits), left_(limits.bytes - kFrame) {
  KV_ASSERT(limits.bytes >= kLeastTraceBytes, "a trace of {} bytes", limits.bytes);
}

// ---- names
// ---------------------------------------------------------------------------------------

bool TraceEvents::reserve(std::size_t bytes) {
  if (!cut_at_ && left_ < bytes) cut_at_ = last_at_;
  if (cut_at_) {
    ++left_out_;
    return false;
  }
  left_ -= bytes;
  return true;
}

std::optional<TraceEvents::Process> TraceEvents::add_process() {
  if (!reserve(2 * kNameEvent)) return std::nullopt;  // its name and its place
  processes_.emplace_back();
  return Process{static_cast<std::uint32_t>(processes_.size())};
}

std::optional<TraceEvents::Track> TraceEvents::add_track(Process process) {
  if (!reserve(kNameEvent)) return std::nullopt;
  tracks_.push_back({static_cast<std::uint32_t>(process), {}});
  return Track{static_cast<std::uint32_t>(tracks_.size())};
}

std::optional<TraceEvents::Counter> TraceEvents::add_counter(Process process,
                                                             std::string_view name) {
  if (!reserve(kNameEvent)) return std::nullopt;  // for its value where the window begins
  levels_.push_back({static_cast<std::uint32_t>(process), json_text(name), std::nullopt});
  return Counter{static_cast<std::uint32_t>(levels_.size() - 1)};
}

void TraceEvents::name(Process process, std::string_view name) {
  processes_[static_cast<std::uint32_t>(process) - 1] = name;
}
void TraceEvents::name(Track track, std::string_view name) {
  tracks_[static_cast<std::uint32_t>(track) - 1].name = name;
}

// ---- events
// --------------------------------------------------------------------------------------

/// The events of `unit_`, the earliest of which is at `at`.
void TraceEvents::commit(Time at, std::uint64_t events) {
  if (!cut_at_ && unit_.size() > left_) cut_at_ = at;
  if (cut_at_) {
    left_out_ += events;
    return unit_.clear();
  }
  left_ -= unit_.size();
  last_at_ = at;
  append(events);
}

void TraceEvents::append(std::uint64_t events) {
  if (chunks_.empty() || chunks_.back().size() + unit_.size() > kChunk) {
    chunks_.emplace_back();
    chunks_.back().reserve(std::max(kChunk, unit_.size()));
  }
  chunks_.back() += unit_;
  events_ += events;
  unit_.clear();
}

void TraceEvents::slice(Track track, std::string_view name, Time from, Time to,
                        std::string_view args) {
  if (!in_window(from, to)) return;
  from = std::max(from, limits_.from);
  to = std::min(to, limits_.to);
  const auto tid = static_cast<std::uint32_t>(track);
  fmt::format_to(std::back_inserter(unit_),
                 R"({{"ph":"X","pid":{},"tid":{},"name":{},"ts":{},"dur":{},"args":{{{}}}}},)"
                 "\n",
                 tracks_[tid - 1].process, tid, json_text(name), us_of(from),
                 us_of((to - from).count()), args);
  commit(from, 1);
}

void TraceEvents::instant(Track track, std::string_view name, Time at) {
  if (!in_window(at, at)) return;
  const auto tid = static_cast<std::uint32_t>(track);
  fmt::format_to(std::back_inserter(unit_),
                 R"({{"ph":"i","s":"t","pid":{},"tid":{},"name":{},"ts":{}}},)"
                 "\n",
                 tracks_[tid - 1].process, tid, json_text(name), us_of(at));
  commit(at, 1);
}

void TraceEvents::put_count(Level& level, Time at) {
  fmt::format_to(std::back_inserter(unit_),
                 R"({{"ph":"C","pid":{},"name":{},"ts":{},"args":{{"value":{}}}}},)"
                 "\n",
                 level.process, level.name, us_of(at), *level.last);
}

void TraceEvents::count(Counter counter, Time at, std::int64_t value) {
  Level& level = levels_[static_cast<std::uint32_t>(counter)];
  if (at > limits_.to || level.last == value) return;
  std::uint64_t events = 0;
  if (at > limits_.from && level.last && !level.opened) {
    put_count(level, limits_.from);
    ++events;
  }
  level.last = value;
  if (at >= limits_.from) {
    level.opened = true;
    put_count(level, at);
    commit(at, events + 1);
  }
}

void TraceEvents::async(Process process, std::string_view category, std::uint64_t id,
                        const TraceSpan& whole, const std::vector<TraceSpan>& parts,
                        std::string_view args) {
  if (!in_window(whole.from, whole.to)) return;
  std::uint64_t events = 0;
  const auto put = [&](char phase, std::string_view name, Time at, std::string_view more) {
    fmt::format_to(std::back_inserter(unit_),
                   R"({{"ph":"{}","cat":{},"id":"{}","pid":{},"tid":0,"name":{},"ts":{}{}}},)"
                   "\n",
                   phase, json_text(category), id, static_cast<std::uint32_t>(process),
                   json_text(name), us_of(std::clamp(at, limits_.from, limits_.to)), more);
    ++events;
  };
  put('b', whole.name, whole.from, fmt::format(R"(,"args":{{{}}})", args));
  for (const TraceSpan& part : parts) {
    if (part.from >= part.to || !in_window(part.from, part.to)) continue;
    put('b', part.name, part.from, "");
    put('e', part.name, part.to, "");
  }
  put('e', whole.name, whole.to, "");
  commit(std::max(whole.from, limits_.from), events);
}

// ---- the file
// ------------------------------------------------------------------------------------

std::string TraceEvents::names() const {
  std::string out;
  const auto put = [&](const char* what, std::size_t pid, std::size_t tid, const std::string& arg) {
    fmt::format_to(std::back_inserter(out),
                   R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{{}}}}},)"
                   "\n",
                   pid, tid, what, arg);
  };
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    put("process_name", i + 1, 0, "\"name\":" + json_text(processes_[i]));
    put("process_sort_index", i + 1, 0, fmt::format("\"sort_index\":{}", i));
  }
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    put("thread_name", tracks_[i].process, i + 1, "\"name\":" + json_text(tracks_[i].name));
  }
  return out;
}

/// Why the file may hold less than the run.
std::string TraceEvents::left_out_text() const {
  std::string window = "all of the run";
  if (limits_.to != Time::max() || limits_.from != Time()) {
    window = fmt::format("{:.9f} s to {:.9f} s of simulated time", seconds_of(limits_.from),
                         seconds_of(limits_.to));
  }
  return fmt::format(
      R"({{"window":"{}","cap_bytes":{},"events":{},"events_left_out_by_cap":{},"cut_at_s":{}}})",
      window, limits_.bytes, events_, left_out_,
      cut_at_ ? fmt::format("{:.9f}", seconds_of(*cut_at_)) : "\"nowhere\"");
}

void TraceEvents::write(const std::function<void(std::string_view)>& sink) {
  for (Level& level : levels_) {  // that did not change in the window; their room is reserved
    if (!level.last || level.opened) continue;
    level.opened = true;
    put_count(level, limits_.from);
    append(1);
  }
  sink(kHead);
  for (const std::string& chunk : chunks_) sink(chunk);
  std::string tail = names();
  KV_ASSERT(tail.ends_with(",\n"), "a trace without a process");
  tail.erase(tail.size() - 2);  // the last event has no comma behind it
  sink(tail);
  sink("\n],\"otherData\":" + left_out_text() + "}\n");
}

std::optional<TraceEvents::Track> Lanes::take(TraceEvents& events, TraceEvents::Process process,
                                              Time from, Time to) {
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    if (free_from_[i] > from) continue;
    free_from_[i] = to;
    return tracks_[i];
  }
  if (tracks_.size() == kMost) return std::nullopt;
  const auto track = events.add_track(process);
  if (!track) return std::nullopt;
  tracks_.push_back(*track);
  free_from_.push_back(to);
  return track;
}

}  // namespace spillway
