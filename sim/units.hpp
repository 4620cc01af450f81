// Strong units: simulated time and counted quantities that cannot be mixed by accident.
//
// Time is integer nanoseconds on a clock that has no now(): only the EventQueue knows the time.
// Quantities are signed 64-bit counts; adding Bytes to Tokens does not compile.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace spillway {

struct SimClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SimClock>;
  static constexpr bool is_steady = true;
};
using Duration = SimClock::duration;
using Time = SimClock::time_point;

constexpr std::int64_t nanoseconds_of(Time t) {
  return t.time_since_epoch().count();
}
constexpr Time time_at(std::int64_t nanoseconds) {
  return Time(Duration(nanoseconds));
}
constexpr double seconds_of(Duration d) {
  return static_cast<double>(d.count()) / 1e9;
}
constexpr double seconds_of(Time t) {
  return seconds_of(t.time_since_epoch());
}
constexpr double milliseconds_of(Duration d) {
  return static_cast<double>(d.count()) / 1e6;
}

/// For sums and products of what nearly fills 64 bits.
__extension__ using WideInt = __int128;

// The clock ends after 73 years. No duration is longer than 18, so that a few of them, added to any
// time, leave no 64 bits; what takes longer reaches the end of the clock, where the EventQueue
// throws ClockOverflow.
inline constexpr Time kEndOfTime = time_at(std::int64_t{1} << 61);
inline constexpr Duration kLongestDuration{std::int64_t{1} << 59};
constexpr Duration at_most_longest(WideInt nanoseconds) {
  return nanoseconds < kLongestDuration.count() ? Duration(static_cast<std::int64_t>(nanoseconds))
                                                : kLongestDuration;
}
constexpr Duration at_most_longest(double nanoseconds) {
  return nanoseconds < static_cast<double>(kLongestDuration.count())
             ? Duration(static_cast<std::int64_t>(nanoseconds))
             : kLongestDuration;
}

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  explicit constexpr Quantity(std::int64_t count) : count_(count) {}

  constexpr std::int64_t count() const { return count_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    count_ -= other.count_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t k) { return Quantity(a.count_ * k); }
  friend constexpr Quantity operator*(std::int64_t k, Quantity a) { return a * k; }
  friend constexpr Quantity operator/(Quantity a, std::int64_t k) { return Quantity(a.count_ / k); }
  /// How many whole `b` fit into `a`.
  friend constexpr std::int64_t operator/(Quantity a, Quantity b) { return a.count_ / b.count_; }

 private:
  std::int64_t count_ = 0;
};

using Bytes = Quantity<struct BytesTag>;
using Tokens = Quantity<struct TokensTag>;
using Blocks = Quantity<struct BlocksTag>;

/// Bytes per second; a double because published rates are ("25 GB/s", 1e9 bytes).
class BytesPerSecond {
 public:
  constexpr BytesPerSecond() = default;
  explicit constexpr BytesPerSecond(double value) : value_(value) {}
  constexpr double value() const { return value_; }
  constexpr double gigabytes() const { return value_ / 1e9; }
  constexpr auto operator<=>(const BytesPerSecond&) const = default;

 private:
  double value_ = 0;
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

inline namespace literals {
constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 10);
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 20);
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 30);
}
}  // namespace literals

}  // namespace spillway
