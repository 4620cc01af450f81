#include "scenarios/planner/consequences/restart_watch.hpp"

#include <algorithm>
#include <numeric>

#include "sim/error.hpp"

namespace spillway {

namespace {

constexpr std::size_t kMostStretches = 40;
constexpr std::size_t kFewestRequests = 20;  // of a stretch: fewer scatter too much
constexpr std::size_t kFewestStretches = 4;
constexpr double kRecovered = 0.9;
constexpr double kNoHits = 0.01;  // of prompt tokens: nothing that could come back

/// Sums over a stretch.
struct Supply {
  double prompt = 0;
  double cached = 0;
  void add(const CacheWatch::Use& use) {
    prompt += use.prompt;
    cached += use.cached;
  }
  double share() const { return prompt > 0 ? cached / prompt : 0; }
};

}  // namespace

CacheWatch::CacheWatch(std::uint32_t requests, std::uint32_t skip)
    : skip_(skip), uses_(requests - std::min(requests, skip)) {}

void CacheWatch::on_request(const RequestRecord& record) {
  const std::uint32_t request = raw(record.request);
  if (request < skip_ || record.status != RequestStatus::kCompleted) return;
  KV_ASSERT(request - skip_ < uses_.size(), "request {} of {}", request, uses_.size());
  Use& use = uses_[request - skip_];
  use.arrival_ns = record.arrival.time_since_epoch().count();
  use.prompt = record.input_tokens;
  use.cached = std::accumulate(record.cached_tokens.begin(), record.cached_tokens.end(), 0U);
}

std::optional<ColdRestart> cold_restart(const CacheWatch& warm, const CacheWatch& cold) {
  const auto& a = warm.uses();
  const auto& b = cold.uses();
  KV_ASSERT(a.size() == b.size(), "{} and {} requests", a.size(), b.size());
  const std::size_t stretches = std::min(kMostStretches, a.size() / kFewestRequests);
  if (stretches < kFewestStretches) return std::nullopt;
  ColdRestart out;
  Supply all_warm;
  Supply all_cold;
  std::int64_t start = -1;
  for (std::size_t s = 0; s < stretches; ++s) {
    Supply with;
    Supply without;
    double middle = 0;
    std::size_t count = 0;
    for (std::size_t i = s * a.size() / stretches; i < (s + 1) * a.size() / stretches; ++i) {
      if (a[i].arrival_ns < 0 || b[i].arrival_ns < 0) continue;  // the same requests on both sides
      if (start < 0) {
        start = b[i].arrival_ns;
        out.from_s = static_cast<double>(a[i].arrival_ns) / 1e9;
      }
      with.add(a[i]);
      without.add(b[i]);
      middle += static_cast<double>(b[i].arrival_ns - start) / 1e9;
      ++count;
    }
    if (count == 0) continue;
    out.at_s.push_back(middle / static_cast<double>(count));
    out.warm.push_back(with.share());
    out.cold.push_back(without.share());
    all_warm.prompt += with.prompt;
    all_warm.cached += with.cached;
    all_cold.prompt += without.prompt;
    all_cold.cached += without.cached;
  }
  out.warm_share = all_warm.share();
  out.cold_share = all_cold.share();
  const auto back = [&](std::size_t i) {
    return i >= out.at_s.size() || out.warm[i] < kNoHits || out.cold[i] >= kRecovered * out.warm[i];
  };
  for (std::size_t i = 0; i < out.at_s.size() && !out.recovery_s; ++i) {
    if (back(i) && back(i + 1)) out.recovery_s = out.at_s[i];  // one alone may be chance
  }
  if (out.at_s.empty()) return std::nullopt;
  return out;
}

}  // namespace spillway
