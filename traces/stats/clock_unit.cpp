#include "traces/stats/clock_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace spillway {

namespace {

/// Formats whose times are milliseconds (FORMATS.md), and the binary form, which is made of them.
constexpr std::string_view kMilliseconds[] = {"mooncake", "native", "csv", "binary"};

/// Fewer say little about a rate.
constexpr std::uint32_t kLeastRequests = 100;

/// An H100 computes about 100,000 prompt tokens/s of an 8B model; this is a fleet of twenty, with
/// nothing cached, in one trace.
constexpr double kMostPromptTokensPerS = 2e6;

/// No engine decodes one answer faster than 5,000 tokens/s.
constexpr double kFastestTokenS = 2e-4;

/// Sessions' turns needed before their gaps say anything.
constexpr std::size_t kLeastTurns = 20;

/// Whether most turns leave time for the answer before them.
bool turns_leave_time(const Workload& workload) {
  std::vector<double> gaps;  // in fastest possible answers
  for (std::uint32_t i = 0; i < workload.size(); ++i) {
    const RequestId r{i};
    for (const RequestId before : workload.after(r)) {
      const double gap_s = seconds_of(workload.arrival(r) - workload.arrival(before));
      gaps.push_back(gap_s / (kFastestTokenS * workload.output_tokens(before)));
    }
  }
  if (gaps.size() < kLeastTurns) return false;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle >= 1;
}

}  // namespace

std::optional<FastClock> seconds_read_as_ms(const Workload& workload) {
  const std::string& format = workload.source().format;
  if (std::find(std::begin(kMilliseconds), std::end(kMilliseconds), format) ==
          std::end(kMilliseconds) ||
      workload.size() < kLeastRequests) {
    return std::nullopt;
  }
  const WorkloadColumns& c = workload.columns();
  FastClock out;
  out.requests = workload.size();
  out.span_s = static_cast<double>(c.arrival_ns.back() - c.arrival_ns.front()) / 1e9;
  if (out.span_s <= 0) return std::nullopt;  // no clock at all, which trace check says
  double tokens = 0;
  for (const std::uint32_t input : c.input_tokens) tokens += input;
  out.prompt_tokens_per_s = tokens / out.span_s;
  if (out.prompt_tokens_per_s < kMostPromptTokensPerS) return std::nullopt;
  if (turns_leave_time(workload)) return std::nullopt;
  return out;
}

std::string describe(const FastClock& clock) {
  return fmt::format(
      "timestamps look like seconds, but the format reads milliseconds: {} requests in {:.3g} s "
      "bring {:.0f} million prompt tokens/s",
      clock.requests, clock.span_s, clock.prompt_tokens_per_s / 1e6);
}

}  // namespace spillway
