// Trials whose answer is known: how often an answer is wrong, how often there is one, and what is
// asked of both.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

namespace spillway::test {

enum class Said : std::uint8_t { kMet, kMissed, kUndecided };

struct TrialAnswer {
  Said said = Said::kUndecided;
  std::uint64_t runs = 0;
  double requests = 0;
};

/// Trials in which `ratio` times the share of requests that may miss do.
struct TrialTally {
  double ratio = 1;
  int trials = 0;
  int wrong = 0;
  int decided = 0;
  double runs = 0;      ///< on average
  double requests = 0;  ///< simulated, on average
};

/// Those to do, first and last: all, or the part that the environment asks for (TRIALS=41-80), so
/// that hours of them can be done piece by piece.
inline std::pair<int, int> trials_asked(int trials) {
  int first = 1;
  int last = trials;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets it
  if (const char* asked = std::getenv("TRIALS")) std::sscanf(asked, "%d-%d", &first, &last);
  return {std::max(1, first), std::min(trials, last)};
}

inline const char* word_of(Said said) {
  return said == Said::kMet ? "met" : said == Said::kMissed ? "missed" : "undecided";
}

/// Long series print each trial as it ends: what is cut off is not lost.
inline TrialTally run_trials(double ratio, int trials,
                             const std::function<TrialAnswer(int trial)>& ask) {
  const auto [first, last] = trials_asked(trials);
  TrialTally out{ratio, last - first + 1};
  for (int trial = first; trial <= last; ++trial) {
    const TrialAnswer answer = ask(trial);
    out.decided += answer.said != Said::kUndecided ? 1 : 0;
    out.wrong += answer.said == (ratio > 1 ? Said::kMet : Said::kMissed) ? 1 : 0;
    out.runs += static_cast<double>(answer.runs) / out.trials;
    out.requests += answer.requests / out.trials;
    if (trials >= 40) {
      fmt::print("  trial {}: {}, {} runs, {:.0f} requests\n", trial, word_of(answer.said),
                 answer.runs, answer.requests);
      std::fflush(stdout);
    }
  }
  return out;
}

/// A procedure that is wrong in 5% of all trials is wrong in at most 15 of 200, 5 of 40 or 3 of 20
/// with a probability of 95% to 98%.
inline int most_wrong(int trials) {
  return trials >= 200 ? trials * 15 / 200 : trials >= 40 ? trials * 5 / 40 : trials * 3 / 20;
}

/// What is wrong with a tally, if anything: also that nothing is decided where it is clear.
inline std::string fault_of(const TrialTally& t) {
  const bool clear = t.ratio <= 0.7 || t.ratio >= 1.3;
  if (t.wrong > most_wrong(t.trials)) return fmt::format("{} wrong of {}", t.wrong, t.trials);
  if (clear && t.decided * 10 < t.trials * 9) {
    return fmt::format("{} decided of {}", t.decided, t.trials);
  }
  return {};
}

inline std::string line_of(const std::string& system, double load, const TrialTally& t) {
  return fmt::format(
      "{:<16} load {:.2f}, {:.2f} of the limit: of {} trials {} wrong, {} decided; {:.0f} runs, "
      "{:.2f} million requests",
      system, load, t.ratio, t.trials, t.wrong, t.decided, t.runs, t.requests / 1e6);
}

}  // namespace spillway::test
