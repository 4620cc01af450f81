// Requests at the front of a log that warmed the engine up: far ahead of the rest, or much slower
// than others like them though nothing was in their way.
#include <algorithm>
#include <cmath>

#include "scenarios/scenario/measured/measured_parts.hpp"
#include "sim/quantile.hpp"

namespace spillway {

namespace {

/// The requests in front of a pause that is long beside all others, by the end of which they were
/// answered; 0: there is none.
std::size_t far_ahead(const std::vector<MeasuredRequest>& requests) {
  constexpr std::size_t kLeastRest = 10;
  constexpr double kLeastPause = 1;  // s
  constexpr double kLong = 10;       // times the pause in the middle of the others
  if (requests.size() <= kLeastRest) return 0;
  std::vector<double> pauses;
  for (std::size_t i = 1; i < requests.size(); ++i) {
    pauses.push_back(requests[i].arrival_s - requests[i - 1].arrival_s);
  }
  const double usual = median(pauses);
  const std::size_t most = std::max<std::size_t>(1, requests.size() / 10);
  double answered = 0;
  std::size_t ahead = 0;
  for (std::size_t i = 0; i < most && i + kLeastRest < requests.size(); ++i) {
    answered = std::max(answered, requests[i].last_token_s);
    if (pauses[i] > std::max(kLeastPause, kLong * usual) && answered <= requests[i + 1].arrival_s) {
      ahead = i + 1;
    }
  }
  return ahead;
}

struct Slow {
  std::size_t count = 0;  ///< of the first requests
  double seconds = 0;     ///< from first step to first token, of the first one
  double usual = 0;       ///< of others like it
  std::size_t alike = 0;
};

double until_answer(const MeasuredRequest& r) {
  return r.first_token_s - (r.scheduled_s == kUnknownTime ? r.arrival_s : r.scheduled_s);
}

/// The first requests, while each arrives at an idle engine and is slow beside others of like
/// length, most of which had to share theirs.
Slow slow_start(const std::vector<MeasuredRequest>& requests) {
  constexpr double kSlow = 3;
  constexpr std::size_t kLeastAlike = 5;
  constexpr std::size_t kMost = 5;
  Slow out;
  double answered = -1;
  for (std::size_t i = 0; i < std::min(kMost, requests.size()); ++i) {
    const MeasuredRequest& r = requests[i];
    if (!r.completed || r.first_token_s == kUnknownTime || r.arrival_s < answered) break;
    answered = r.last_token_s;
    std::vector<double> others;
    for (std::size_t k = i + 1; k < requests.size(); ++k) {
      const MeasuredRequest& o = requests[k];
      const bool alike = o.completed && o.first_token_s != kUnknownTime &&
                         o.input_tokens <= 2 * std::uint64_t{r.input_tokens} &&
                         r.input_tokens <= 2 * std::uint64_t{o.input_tokens};
      if (alike) others.push_back(until_answer(o));
    }
    if (others.size() < kLeastAlike) break;
    const double usual = median(others);
    if (until_answer(r) <= kSlow * usual) break;
    if (i == 0) out = {0, until_answer(r), usual, others.size()};
    ++out.count;
  }
  return out;
}

}  // namespace

void check_warmup(std::vector<MeasuredRequest>& requests, const MeasuredOptions& options,
                  std::vector<std::string>& notes) {
  const std::size_t ahead = far_ahead(requests);
  const Slow slow = slow_start(requests);
  const std::size_t warm = std::max(ahead, slow.count);
  if (warm == 0) return;
  std::string why;
  if (ahead > 0) {
    why = fmt::format("{} of {} came {:.1f} s before the rest, and were answered by then",
                      requests_text(ahead), requests.size(),
                      requests[ahead].arrival_s - requests[ahead - 1].arrival_s);
  } else {
    why = fmt::format(
        "the first {} took {:.3f} s from first step to first token at an idle engine, {:.1f} times "
        "the {:.3f} s in the middle of {} like it",
        slow.count == 1 ? "request" : requests_text(slow.count), slow.seconds,
        slow.seconds / slow.usual, slow.usual, requests_text(slow.alike));
  }
  if (!options.skip_warmup) {
    notes.push_back(fmt::format(
        "warm-up may be mixed in: {}; spillway trace import --skip-warmup leaves {} out", why,
        requests_text(warm)));
    return;
  }
  requests.erase(requests.begin(), requests.begin() + static_cast<std::ptrdiff_t>(warm));
  notes.push_back(fmt::format("left out {} as warm-up: {}", requests_text(warm), why));
  if (options.keeps_warmup.empty()) return;
  notes.back() += fmt::format("; {} keeps {}", options.keeps_warmup, warm == 1 ? "it" : "them");
}

}  // namespace spillway
