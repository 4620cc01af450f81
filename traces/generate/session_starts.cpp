#include "traces/generate/session_starts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "sim/rng.hpp"
#include "traces/formats/rate_table.hpp"
#include "traces/generate/distributions.hpp"

namespace spillway {

namespace {

constexpr double kHourS = 3600;
constexpr int kHours = 24;
constexpr double kLastStartS = 2e8;  ///< beyond what a trace may last
constexpr double kForever = 1e300;
constexpr double kLeastShape = 0.02;  ///< gaps of lower shape are as good as all 0 but for one
constexpr double kMostShape = 1e6;    ///< gaps of higher shape are as good as equal

/// cos(pi * i / 12) for the hours around a peak, from square roots.
double hour_cosine(int hours) {
  const double root2 = std::sqrt(2.0);
  const double root3 = std::sqrt(3.0);
  const double root6 = std::sqrt(6.0);
  const std::array<double, 7> quarter = {1,       (root6 + root2) / 4, root3 / 2, root2 / 2,
                                         1.0 / 2, (root6 - root2) / 4, 0};
  const int i = ((hours % kHours) + kHours) % kHours;
  const int folded = i <= kHours / 2 ? i : kHours - i;
  return folded <= 6 ? quarter[static_cast<std::size_t>(folded)]
                     : -quarter[static_cast<std::size_t>(12 - folded)];
}

/// The factors by which bursts and the time of day multiply the rate.
class RateFactors {
 public:
  explicit RateFactors(const SyntheticConfig& c)
      : factor_(c.burst_factor), every_(c.burst_every_s), length_(c.burst_length_s) {
    if (!c.day_factors.empty()) {
      std::copy(c.day_factors.begin(), c.day_factors.end(), hours_.emplace().begin());
    } else if (c.day_amplitude > 0) {
      hours_.emplace();
      const double peak = std::floor(c.day_peak_hour);
      const double part = c.day_peak_hour - peak;  // between two peaks at full hours
      for (int h = 0; h < kHours; ++h) {
        const int from_peak = h - static_cast<int>(peak);
        const double wave = (1 - part) * hour_cosine(from_peak) + part * hour_cosine(from_peak - 1);
        (*hours_)[static_cast<std::size_t>(h)] = 1 + c.day_amplitude * wave;
      }
    }
  }
  bool burst(double t) const { return std::fmod(t, every_) < length_; }
  double day(double t) const {
    if (!hours_) return 1;
    return (*hours_)[static_cast<std::size_t>(std::fmod(t / kHourS, kHours))];
  }
  double day_peak() const { return hours_ ? *std::max_element(hours_->begin(), hours_->end()) : 1; }
  /// When the integral of the factors from `t` on reaches `amount`.
  double after(double t, double amount) const {
    if (!hours_) return burst_time(burst_integral(t) + amount);
    while (t < kForever) {
      const double end = (std::floor(t / kHourS) + 1) * kHourS;
      const double hour = day(t);
      const double offered = hour * (burst_integral(end) - burst_integral(t));
      if (amount <= offered && hour > 0) {
        return std::min(end, burst_time(burst_integral(t) + amount / hour));
      }
      amount -= offered;
      t = std::max(end, std::nextafter(t, kForever));
      if (t > kLastStartS) return kForever;
    }
    return t;
  }

 private:
  double burst_integral(double t) const {
    const double cycles = std::floor(t / every_);
    const double rest = std::max(0.0, t - cycles * every_);
    return cycles * cycle() + std::min(rest, length_) * factor_ + std::max(0.0, rest - length_);
  }
  double burst_time(double integral) const {
    const double cycles = std::floor(integral / cycle());
    const double rest = std::max(0.0, integral - cycles * cycle());
    const double high = length_ * factor_;
    return cycles * every_ + (rest < high ? rest / factor_ : length_ + (rest - high));
  }
  double cycle() const { return length_ * factor_ + (every_ - length_); }

  double factor_;
  double every_;
  double length_;
  std::optional<std::array<double, kHours>> hours_;
};

class Poisson final : public SessionStarts {
 public:
  Poisson(const SyntheticConfig& config, std::uint64_t seed)
      : factors_(config),
        burst_factor_(config.burst_factor),
        day_peak_(factors_.day_peak()),
        peak_(config.sessions_per_s * config.burst_factor * day_peak_),
        stream_(seed, "session-start") {}

  SessionStart next() override {
    while (at_ < kForever) {
      at_ += stream_.exponential(1 / peak_);
      const double day = factors_.day(at_) / day_peak_;
      const bool burst = factors_.burst(at_);
      if (burst && day >= 1) break;
      if (stream_.chance(burst ? day : day / burst_factor_)) break;
    }
    return {at_, 0};
  }

 private:
  RateFactors factors_;
  double burst_factor_;
  double day_peak_;
  double peak_;
  Stream stream_;
  double at_ = 0;
};

/// Gaps of one distribution along the integral of the rate.
template <class DrawGap>
class Renewal final : public SessionStarts {
 public:
  Renewal(const SyntheticConfig& config, std::uint64_t seed, DrawGap draw)
      : factors_(config),
        rate_(config.sessions_per_s),
        draw_(draw),
        stream_(seed, "session-start") {}

  SessionStart next() override {
    at_ = std::max(at_, factors_.after(at_, draw_(stream_) / rate_));
    return {at_, 0};
  }

 private:
  RateFactors factors_;
  double rate_;
  DrawGap draw_;
  Stream stream_;
  double at_ = 0;
};

/// One client of a rate table: gaps of mean 1, shaped by the window they begin in, laid along the
/// integral of the client's rate.
class Client {
 public:
  struct Window {
    double begin = 0;
    double rate = 0;
    double shape = 1;  ///< of gamma gaps
    std::optional<UnitWeibull> weibull{};
  };
  Client(std::uint64_t seed, std::uint32_t name) : id(name), stream_(seed, "client", name) {}

  std::uint32_t id;
  std::vector<Window> windows;  ///< by begin, all with a rate above 0

  /// The client's next arrival after the last; windows last `length` and recur after `period`.
  double advance(double length, double period) {
    double left = draw();
    for (;;) {
      const Window& w = windows[at_];
      const double begin = round_ * period + w.begin;
      now_ = std::max(now_, begin);
      const double offered = std::max(0.0, begin + length - now_) * w.rate;
      if (left <= offered) return now_ += left / w.rate;
      left -= offered;
      if (++at_ == windows.size()) {
        at_ = 0;
        ++round_;
        if (round_ * period > kLastStartS) return now_ = kForever;
      }
    }
  }

 private:
  double draw() {
    const Window& w = windows[at_];
    return w.weibull ? w.weibull->draw(stream_) : unit_gamma(stream_, w.shape);
  }

  Stream stream_;
  std::size_t at_ = 0;
  double round_ = 0;
  double now_ = 0;
};

class TableStarts final : public SessionStarts {
 public:
  TableStarts(const ArrivalRates& table, double scale, std::uint64_t seed)
      : length_(static_cast<double>(table.window_s)) {
    const auto [first, last] = std::minmax_element(table.start_s.begin(), table.start_s.end());
    period_ = static_cast<double>(*last - *first) + length_;
    std::vector<std::size_t> rows(table.client.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
    std::sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(table.client[a], table.start_s[a]) <
             std::pair(table.client[b], table.start_s[b]);
    });
    for (const std::size_t i : rows) {
      if (table.rate_rps[i] <= 0) continue;
      if (clients_.empty() || clients_.back().id != table.client[i]) {
        clients_.emplace_back(seed, table.client[i]);
      }
      Client::Window window;
      window.begin = static_cast<double>(table.start_s[i] - *first);
      window.rate = table.rate_rps[i] * scale;
      window.shape = std::clamp(table.shape[i], kLeastShape, kMostShape);
      if (table.dist[i] == RateDist::kWeibull) window.weibull.emplace(window.shape);
      clients_.back().windows.push_back(window);
    }
    if (clients_.empty()) {
      throw InputError(Fault::kUsage, {"", 0, "rates"}, "expected a rate above 0 in the table");
    }
    for (std::uint32_t i = 0; i < clients_.size(); ++i) push(i);
  }

  SessionStart next() override {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Due due = heap_.back();
    heap_.pop_back();
    push(due.index);
    return {due.at, clients_[due.index].id};
  }

 private:
  struct Due {
    double at;
    std::uint32_t index;
  };
  static bool later(const Due& a, const Due& b) {
    return a.at != b.at ? a.at > b.at : a.index > b.index;
  }
  void push(std::uint32_t index) {
    heap_.push_back({clients_[index].advance(length_, period_), index});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  double length_;
  double period_ = 0;
  std::vector<Client> clients_;
  std::vector<Due> heap_;
};

template <class DrawGap>
std::unique_ptr<SessionStarts> renewal(const SyntheticConfig& config, std::uint64_t seed,
                                       DrawGap draw) {
  return std::make_unique<Renewal<DrawGap>>(config, seed, draw);
}

}  // namespace

std::unique_ptr<SessionStarts> make_session_starts(const SyntheticConfig& config,
                                                   std::uint64_t seed) {
  if (config.arrivals == "rates") {
    return std::make_unique<TableStarts>(read_rate_table(config.rates), config.rate_scale, seed);
  }
  if (config.arrivals == "gamma") {
    const double shape = 1 / (config.arrival_cv * config.arrival_cv);
    return renewal(config, seed, [shape](Stream& s) { return unit_gamma(s, shape); });
  }
  if (config.arrivals == "weibull") {
    const UnitWeibull gaps = UnitWeibull::with_cv(config.arrival_cv);
    return renewal(config, seed, [gaps](Stream& s) { return gaps.draw(s); });
  }
  return std::make_unique<Poisson>(config, seed);
}

}  // namespace spillway
