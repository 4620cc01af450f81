// Whether to load a prefix from below or to compute it again: load(S) + t(suffix | prefix cached)
// against t(all), both from the engine's step cost and the link's model.
//
// Model: a request alone on the engine, in full prefill chunks; what others in its batch cost or
// save is left out, and so is interference on the link. LoadChoice adds the time until the loads
// planned before have left the link.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "models/compute/step_cost.hpp"
#include "models/link/link_model.hpp"
#include "models/releases/offload_config.hpp"
#include "models/requests/engine_stats.hpp"

namespace spillway {

class LoadEstimate {
 public:
  /// All of these outlive it; `up` is the link towards HBM.
  LoadEstimate(const OffloadConfig& config, StepCost& cost, const LinkModel& up)
      : config_(config), cost_(cost), up_(up) {}

  /// The link's time for so many blocks, nothing else on it.
  Duration load(std::uint32_t blocks) const;
  /// Prefill of the tokens [from, to) behind `from` cached ones.
  Duration compute(std::uint32_t from, std::uint32_t to);

  struct Prefix {
    std::uint32_t local;   ///< tokens that HBM holds
    std::uint32_t blocks;  ///< that could be loaded behind these
    std::uint32_t tokens;  ///< of the whole request
  };
  /// Until the request has computed its last token, when its load can begin after `wait`.
  Duration with_load(const Prefix& p, Duration wait);
  Duration without_load(const Prefix& p) { return compute(p.local, p.tokens); }

  /// The shortest prefix, in tokens of whole blocks up to `most`, that is loaded over an idle link
  /// no later than it is computed, where one more token follows; nothing where none is. Found by
  /// bisection: once loading wins it is taken to win for all longer prefixes.
  std::optional<std::uint32_t> break_even_tokens(std::uint32_t most);

 private:
  bool pays(std::uint32_t blocks);

  const OffloadConfig& config_;
  StepCost& cost_;
  const LinkModel& up_;
};

/// Decides at admission, with what is queued on the link.
class LoadChoice {
 public:
  /// Whatever lies below is loaded.
  LoadChoice() = default;
  LoadChoice(const OffloadConfig& config, StepCost& cost, std::unique_ptr<LinkModel> up)
      : up_(std::move(up)), estimate_(std::in_place, config, cost, *up_) {}

  /// Loading takes no longer than computing.
  bool loads(const LoadEstimate::Prefix& p, Time now);
  /// The request was admitted: with a load, or without the one it could have had.
  void on_load(std::uint32_t blocks, Time now);
  void on_recompute() { ++decisions_.recomputed; }
  void report(EngineStats& stats) const {
    if (estimate_) stats.load_decisions = decisions_;
  }

 private:
  std::unique_ptr<LinkModel> up_;
  std::optional<LoadEstimate> estimate_;
  Time link_free_{};  ///< when the loads planned so far should have left the link
  LoadDecisions decisions_;
};

}  // namespace spillway
