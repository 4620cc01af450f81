// Misses by hour: a day that meets a target on average may miss it every evening.
//
// Hours count from the first request; one with too few requests to show the allowed share (fewer
// than five expected misses) is not looked at, as its share would be chance. Only what covers three
// hours or more has a worst one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/note.hpp"
#include "sim/units.hpp"

namespace spillway {

struct HourOfMisses {
  std::uint32_t hour = 0;  ///< since the first request, from 0
  std::uint64_t judged = 0;
  std::uint64_t missed = 0;
  double share() const {
    return judged == 0 ? 0 : static_cast<double>(missed) / static_cast<double>(judged);
  }
};

/// Requests of one run (or of several, one object each, added up) against one target.
class HourlyMisses {
 public:
  /// In any order; `first` is the first arrival that counts. Precondition: arrival >= first.
  void add(Time first, Time arrival, bool missed);
  void add(const HourlyMisses& other);

  const std::vector<HourOfMisses>& hours() const { return hours_; }
  HourOfMisses all() const;
  /// The hour with the largest share of misses; absent below three hours, and where none has
  /// requests enough for `allowed`, the share that may miss.
  std::optional<HourOfMisses> worst(double allowed) const;

 private:
  std::vector<HourOfMisses> hours_;
};

/// Of a target that is met over the whole and missed in its worst hour.
std::optional<Note> worst_hour_note(std::string_view metric, double allowed,
                                    const HourlyMisses& misses);

}  // namespace spillway
