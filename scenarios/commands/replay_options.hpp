// The options that say what a replay without a clock means; every verb that replays takes them.
#pragma once

#include <string>

#include "scenarios/commands/command.hpp"
#include "sim/replay_order.hpp"

namespace spillway {

struct ReplayChoice {
  std::string semantics = "block";
  std::string touch_order = "rev";
  std::string atomic = "request";

  bool prefix() const { return semantics == "prefix"; }
  TouchOrder order() const {
    return touch_order == "fwd" ? TouchOrder::kForward : TouchOrder::kReverse;
  }
  Atomicity atomicity() const {
    return atomic == "reference" ? Atomicity::kReference : Atomicity::kRequest;
  }
};

inline void add_replay_options(CLI::App& command, ReplayChoice& choice) {
  command
      .add_option("--semantics", choice.semantics,
                  "block: every resident block is a hit; prefix: only the leading run "
                  "(default: block)")
      ->check(CLI::IsMember({"block", "prefix"}));
  command
      .add_option("--touch-order", choice.touch_order,
                  "rev: a chain's last block first, as vLLM frees them; fwd: first block first "
                  "(default: rev)")
      ->check(CLI::IsMember({"rev", "fwd"}));
  command
      .add_option("--atomic", choice.atomic,
                  "request: look up a whole request, then insert it; reference: block by block "
                  "(default: request)")
      ->check(CLI::IsMember({"request", "reference"}));
}

}  // namespace spillway
