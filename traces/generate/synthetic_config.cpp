#include "traces/generate/synthetic_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

using C = SyntheticConfig;
using Names = std::string_view;

constexpr Names kArrivals[] = {"poisson", "gamma", "weibull", "rates"};
constexpr Names kTurnCounts[] = {"geometric", "fixed", "heavy-tail"};
constexpr Names kThinkTimes[] = {"exponential", "lognormal", "fixed"};
constexpr Names kContexts[] = {"accumulate", "window", "compact"};
constexpr double kMuch = 1e7;  ///< tokens or seconds
constexpr std::size_t kHoursOfDay = 24;

constexpr SyntheticKey kKeys[] = {
    {"requests", &C::requests, 1, 1e9, {}, "Number of requests"},
    {"arrivals", &C::arrivals, 0, 0, kArrivals, "How sessions start"},
    {"sessions_per_s", &C::sessions_per_s, 1e-9, 1e6, {}, "Session starts per second"},
    {"arrival_cv", &C::arrival_cv, 0.05, 20, {}, "Variation of gamma or weibull gaps"},
    {"burst_factor", &C::burst_factor, 1, 1e4, {}, "Rate during bursts; 1: no bursts"},
    {"burst_every_s", &C::burst_every_s, 1e-3, 1e9, {}, "Seconds from burst to burst"},
    {"burst_length_s", &C::burst_length_s, 0, 1e9, {}, "Seconds a burst lasts"},
    {"day_amplitude", &C::day_amplitude, 0, 1, {}, "Swing of the rate over the day, as a cosine"},
    {"day_peak_hour", &C::day_peak_hour, 0, 24, {}, "When the day's rate is highest"},
    {"day_factors", &C::day_factors, 0, 1e4, {}, "24 factors of the rate, one an hour"},
    {"rates", &C::rates, 0, 0, {}, "Rate table (ServeGen's CSV), for arrivals rates"},
    {"rate_scale", &C::rate_scale, 1e-9, 1e6, {}, "Multiplies the rates of the table"},
    {"tenants", &C::tenants, 1, 1 << 20, {}, "Tenants with system prompts of their own"},
    {"tenant_zipf", &C::tenant_zipf, 0, 100, {}, "Zipf exponent of the tenants' shares"},
    {"system_prompts", &C::system_prompts, 1, 1 << 24, {}, "Distinct shared system prompts"},
    {"system_zipf", &C::system_zipf, 0, 100, {}, "Zipf exponent of their popularity"},
    {"system_tokens", &C::system_tokens, 1, kMuch, {}, "Median system prompt"},
    {"system_sigma", &C::system_sigma, 0, 10, {}, "Sigma of its logarithm; 0: fixed"},
    {"turns", &C::turns, 1, 1e6, {}, "Mean turns per session"},
    {"turn_counts", &C::turn_counts, 0, 0, kTurnCounts, "Distribution of turns"},
    {"turn_tail", &C::turn_tail, 1.05, 10, {}, "Tail exponent of heavy-tail turns"},
    {"think_s", &C::think_s, 0, kMuch, {}, "Mean think time between turns"},
    {"think_times", &C::think_times, 0, 0, kThinkTimes, "Distribution of think times"},
    {"think_sigma", &C::think_sigma, 0, 10, {}, "Sigma of lognormal think times"},
    {"user_tokens", &C::user_tokens, 1, kMuch, {}, "Median user text per turn"},
    {"user_sigma", &C::user_sigma, 0, 10, {}, "Sigma of its logarithm; 0: fixed"},
    {"user_quantiles", &C::user_quantiles, 1, kMuch, {}, "Its quantiles at equal steps"},
    {"answer_tokens", &C::answer_tokens, 1, kMuch, {}, "Median answer"},
    {"answer_sigma", &C::answer_sigma, 0, 10, {}, "Sigma of its logarithm; 0: fixed"},
    {"answer_quantiles", &C::answer_quantiles, 1, kMuch, {}, "Its quantiles at equal steps"},
    {"answer_tokens_per_s", &C::answer_tokens_per_s, 1e-3, 1e9, {}, "Pace assumed between turns"},
    {"context", &C::context, 0, 0, kContexts, "What happens to history at max_context"},
    {"max_context", &C::max_context, 64, double{kMaxTokens}, {}, "Longest prompt with its answer"},
    {"summary_tokens", &C::summary_tokens, 1, 1 << 20, {}, "Summary left by compact"},
    {"block_tokens", &C::block_tokens, 1, 65536, {}, "Tokens in a trace block"},
};

/// Values of one key outside its range or choice.
struct RangeCheck {
  const SyntheticKey& key;
  const SyntheticConfig& config;

  std::optional<SyntheticFault> number(double value) const {
    if (value >= key.least && value <= key.most) return std::nullopt;
    return SyntheticFault{key.name, fmt::format("expected a number from {} to {}, found {}",
                                                key.least, key.most, value)};
  }
  std::optional<SyntheticFault> operator()(std::uint32_t C::*member) const {
    return number(config.*member);
  }
  std::optional<SyntheticFault> operator()(double C::*member) const {
    return number(config.*member);
  }
  std::optional<SyntheticFault> operator()(std::vector<double> C::*member) const {
    for (const double value : config.*member) {
      if (auto fault = number(value)) return fault;
    }
    return std::nullopt;
  }
  std::optional<SyntheticFault> operator()(std::string C::*member) const {
    const std::string& value = config.*member;
    const auto& choices = key.choices;
    if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) {
      return std::nullopt;
    }
    return SyntheticFault{
        key.name, fmt::format("expected {}, found \"{}\"", fmt::join(choices, ", "), value)};
  }
};

std::optional<SyntheticFault> quantile_fault(std::string_view key,
                                             const std::vector<double>& quantiles) {
  if (quantiles.empty()) return std::nullopt;
  if (quantiles.size() >= 2 && std::is_sorted(quantiles.begin(), quantiles.end())) {
    return std::nullopt;
  }
  return SyntheticFault{key, "expected two or more values in ascending order"};
}

}  // namespace

std::span<const SyntheticKey> synthetic_keys() {
  return kKeys;
}

std::optional<SyntheticFault> fault_of(const SyntheticConfig& c) {
  for (const SyntheticKey& key : kKeys) {
    if (auto fault = std::visit(RangeCheck{key, c}, key.target)) return fault;
  }
  if (c.burst_length_s > c.burst_every_s) {
    return SyntheticFault{"burst_length_s", fmt::format("expected a number from 0 to {}, found {}",
                                                        c.burst_every_s, c.burst_length_s)};
  }
  if (!c.day_factors.empty()) {
    const bool any = std::any_of(c.day_factors.begin(), c.day_factors.end(),
                                 [](double factor) { return factor > 0; });
    if (c.day_factors.size() != kHoursOfDay || !any) {
      return SyntheticFault{"day_factors", fmt::format("expected {} values, one above 0, found {}",
                                                       kHoursOfDay, c.day_factors.size())};
    }
    if (c.day_amplitude > 0) {
      return SyntheticFault{"day_factors", "expected either day_factors or day_amplitude"};
    }
  }
  if (auto fault = quantile_fault("user_quantiles", c.user_quantiles)) return fault;
  if (auto fault = quantile_fault("answer_quantiles", c.answer_quantiles)) return fault;
  const bool table = c.arrivals == "rates";
  if (table == c.rates.empty()) {
    return SyntheticFault{"rates", table ? "expected the path of a rate table with arrivals rates"
                                         : "expected only with arrivals rates"};
  }
  if (c.arrival_cv != 1 && c.arrivals != "gamma" && c.arrivals != "weibull") {
    return SyntheticFault{"arrival_cv", "expected only with arrivals gamma or weibull"};
  }
  if (table && c.tenants > 1) {
    return SyntheticFault{"tenants", "expected none with arrivals rates, whose clients they are"};
  }
  if (c.context == "compact" && c.summary_tokens > c.max_context / 4) {
    return SyntheticFault{"summary_tokens",
                          fmt::format("expected at most a quarter of max_context, {}, found {}",
                                      c.max_context / 4, c.summary_tokens)};
  }
  return std::nullopt;
}

}  // namespace spillway
