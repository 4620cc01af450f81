// Chrome's JSON trace events, as Perfetto and chrome://tracing read them, within a window of time
// and a size that are never exceeded.
//
// Slices of one track must not overlap: Lanes hands out tracks so that they do not. What belongs
// together goes in or stays out together. From the first event on that the size has no room for,
// all later ones stay out, so that the file is whole up to some time. Names may be anybody's: they
// are quoted, and cut to kLongestName bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/units.hpp"

namespace spillway {

struct TraceLimits {
  Time from{};
  Time to = Time::max();
  std::uint64_t bytes = 200'000'000;  ///< of the whole file; at least kLeastTraceBytes
};
inline constexpr std::uint64_t kLeastTraceBytes = 65'536;

/// A part of an async slice; parts follow one another, or leave gaps.
struct TraceSpan {
  std::string_view name;
  Time from;
  Time to;
};

class TraceEvents {
 public:
  enum class Process : std::uint32_t {};
  enum class Track : std::uint32_t {};
  enum class Counter : std::uint32_t {};
  static constexpr std::size_t kLongestName = 96;

  explicit TraceEvents(const TraceLimits& limits);

  // Nothing where there is no room left for their names: the file ends there.
  std::optional<Process> add_process();
  std::optional<Track> add_track(Process process);
  std::optional<Counter> add_counter(Process process, std::string_view name);
  void name(Process process, std::string_view name);
  void name(Track track, std::string_view name);

  /// Whether anything of [from, to] lies in the window.
  bool in_window(Time from, Time to) const { return from <= limits_.to && to >= limits_.from; }

  // `args` is the inside of a JSON object. What lies outside the window is cut off.
  void slice(Track track, std::string_view name, Time from, Time to, std::string_view args);
  void instant(Track track, std::string_view name, Time at);
  void count(Counter counter, Time at, std::int64_t value);
  /// A slice of its own row, named by `category` and `id`, with its parts below it.
  void async(Process process, std::string_view category, std::uint64_t id, const TraceSpan& whole,
             const std::vector<TraceSpan>& parts, std::string_view args);

  /// The file, in pieces. Nothing may be added any more.
  void write(const std::function<void(std::string_view)>& sink);

  std::uint64_t written() const { return events_; }
  std::uint64_t left_out() const { return left_out_; }
  /// Where the size ran out.
  std::optional<Time> cut_at() const { return cut_at_; }

 private:
  struct Named {
    std::uint32_t process;
    std::string name;
  };
  struct Level {
    std::uint32_t process;
    std::string name;  ///< as JSON
    std::optional<std::int64_t> last;
    bool opened = false;  ///< something of it is in the window
  };
  bool reserve(std::size_t bytes);
  void append(std::uint64_t events);
  void commit(Time at, std::uint64_t events);
  void put_count(Level& level, Time at);
  std::string names() const;
  std::string left_out_text() const;

  TraceLimits limits_;
  std::uint64_t left_;  ///< bytes that events may still take
  std::vector<std::string> chunks_;
  std::string unit_;  ///< scratch: events that go in together
  std::vector<std::string> processes_;
  std::vector<Named> tracks_;
  std::vector<Level> levels_;
  std::uint64_t events_ = 0;
  std::uint64_t left_out_ = 0;
  std::optional<Time> cut_at_;
  Time last_at_{};  ///< of the last event
};

/// Tracks of one process for slices that may overlap, told in the order of their ends.
class Lanes {
 public:
  /// A track that is free over [from, to); nothing where there are too many, or no room.
  std::optional<TraceEvents::Track> take(TraceEvents& events, TraceEvents::Process process,
                                         Time from, Time to);
  const std::vector<TraceEvents::Track>& tracks() const { return tracks_; }

 private:
  static constexpr std::size_t kMost = 512;
  std::vector<TraceEvents::Track> tracks_;
  std::vector<Time> free_from_;
};

}  // namespace spillway
