#include "scenarios/fidelity/validate/regime_errors.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "scenarios/fidelity/validate/run_errors.hpp"

namespace spillway {

namespace {

constexpr double kAround = 5;             // seconds on either side of an instant
constexpr std::uint32_t kInstants = 400;  // where there are no counters

/// The regime at each sample.
class Regimes {
 public:
  Regimes(const MeasuredRun& run, const RegimeFacts& facts, double offset) {
    samples_ = run.counters;
    for (MeasuredCounters& c : samples_) c.at_s += offset;
    if (samples_.empty()) samples_ = counters_from_log(run.requests, kInstants);
    for (const MeasuredCounters& c : samples_) {
      MeasuredRun around;
      std::copy_if(
          samples_.begin(), samples_.end(), std::back_inserter(around.counters),
          [&c](const MeasuredCounters& o) { return std::abs(o.at_s - c.at_s) <= kAround; });
      regimes_.push_back(decide_regime(around, facts).regime);
    }
  }

  /// Of the nearest sample. Precondition: there is one.
  Regime at(double at_s) const {
    const auto after =
        std::lower_bound(samples_.begin(), samples_.end(), at_s,
                         [](const MeasuredCounters& c, double t) { return c.at_s < t; });
    auto index = static_cast<std::size_t>(after - samples_.begin());
    const bool before = index == samples_.size() ||
                        (index > 0 && at_s - samples_[index - 1].at_s < after->at_s - at_s);
    if (before) --index;
    return regimes_[index];
  }

  bool empty() const { return samples_.empty(); }

 private:
  std::vector<MeasuredCounters> samples_;
  std::vector<Regime> regimes_;
};

}  // namespace

std::vector<RegimeError> regime_errors(const MeasuredRun& measured, const RegimeFacts& facts,
                                       const std::vector<MeasuredRequest>& requests,
                                       const std::vector<MeasuredRequest>& simulated,
                                       double offset) {
  const Regimes regimes(measured, facts, offset);
  if (regimes.empty()) return {};
  std::map<std::pair<std::string, Regime>, RegimeError> sums;
  const auto add = [&](const char* latency, double at_s, double ours_ms, double theirs_ms) {
    const Regime regime = regimes.at(at_s);
    RegimeError& sum = sums[{latency, regime}];
    sum.regime = regime;
    sum.latency = latency;
    ++sum.requests;
    sum.measured_ms += theirs_ms;
    sum.simulated_ms += ours_ms;
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const MeasuredRequest& r = requests[i];
    if (r.first_token_s == kUnknownTime) continue;
    add("ttft", r.arrival_s, ttft_ms(simulated[i]), ttft_ms(r));
    if (r.output_tokens < 2 || r.last_token_s == kUnknownTime) continue;
    add("tpot", (r.first_token_s + r.last_token_s) / 2, tpot_ms(simulated[i]), tpot_ms(r));
  }
  std::set<Regime> met;
  std::vector<RegimeError> out;
  for (const auto& [key, sum] : sums) {
    met.insert(sum.regime);
    out.push_back(sum);
    out.back().measured_ms /= sum.requests;
    out.back().simulated_ms /= sum.requests;
  }
  if (met.size() < 2) out.clear();
  std::stable_sort(out.begin(), out.end(),
                   [](const RegimeError& a, const RegimeError& b) { return a.regime < b.regime; });
  return out;
}

}  // namespace spillway
