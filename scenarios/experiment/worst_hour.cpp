#include "scenarios/experiment/worst_hour.hpp"

#include "reports/notes/study_notes.hpp"
#include "reports/plan/answer_words.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::size_t kLeastHours = 3;
constexpr double kLeastExpected = 5;
constexpr Duration kHour = std::chrono::hours(1);

}  // namespace

void HourlyMisses::add(Time first, Time arrival, bool missed) {
  KV_ASSERT(arrival >= first, "a request before the first");
  const auto hour = static_cast<std::size_t>((arrival - first) / kHour);
  while (hours_.size() <= hour) hours_.push_back({static_cast<std::uint32_t>(hours_.size()), 0, 0});
  ++hours_[hour].judged;
  hours_[hour].missed += missed ? 1 : 0;
}

void HourlyMisses::add(const HourlyMisses& other) {
  for (const HourOfMisses& hour : other.hours_) {
    if (hours_.size() <= hour.hour) hours_.push_back({hour.hour, 0, 0});
    hours_[hour.hour].judged += hour.judged;
    hours_[hour.hour].missed += hour.missed;
  }
}

HourOfMisses HourlyMisses::all() const {
  HourOfMisses out;
  for (const HourOfMisses& hour : hours_) {
    out.judged += hour.judged;
    out.missed += hour.missed;
  }
  return out;
}

std::optional<HourOfMisses> HourlyMisses::worst(double allowed) const {
  std::optional<HourOfMisses> out;
  if (hours_.size() < kLeastHours) return out;
  for (const HourOfMisses& hour : hours_) {
    if (static_cast<double>(hour.judged) * allowed < kLeastExpected) continue;
    if (!out || hour.share() > out->share()) out = hour;
  }
  return out;
}

std::optional<Note> worst_hour_note(std::string_view metric, double allowed,
                                    const HourlyMisses& misses) {
  const auto worst = misses.worst(allowed);
  const HourOfMisses all = misses.all();
  if (!worst || all.share() > allowed || worst->share() <= allowed) return std::nullopt;
  return study_note("missed-in-worst-hour", {{"metric", metric_words(metric)},
                                             {"hours", misses.hours().size()},
                                             {"missed_share", all.share()},
                                             {"allowed_share", allowed},
                                             {"worst_share", worst->share()},
                                             {"requests", worst->judged},
                                             {"hour", worst->hour + 1}});
}

}  // namespace spillway
