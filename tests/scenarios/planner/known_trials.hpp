// Trials whose answer is known: how often an answer is wrong, how often there is one, and what is
// asked of both.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>

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

inline TrialTally run_trials(double ratio, int trials,
                             const std::function<TrialAnswer(int trial)>& ask) {
  TrialTally out{ratio, trials};
  for (int trial = 1; trial <= trials; ++trial) {
    const TrialAnswer answer = ask(trial);
    out.decided += answer.said != Said::kUndecided ? 1 : 0;
    out.wrong += answer.said == (ratio > 1 ? Said::kMet : Said::kMissed) ? 1 : 0;
    out.runs += static_cast<double>(answer.runs) / trials;
    out.requests += answer.requests / trials;
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
