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

inline void add_replay_options(Verb& command, ReplayChoice& choice) {
  command
      .add("--semantics", choice.semantics, kinds::kChoice,
           "block: every resident block is a hit; prefix: only the leading run "
           "(default: block)")
      .one_of({"block", "prefix"});
  command
      .add("--touch-order", choice.touch_order, kinds::kChoice,
           "rev: a chain's last block first, as vLLM frees them; fwd: first block first "
           "(default: rev)")
      .one_of({"rev", "fwd"});
  command
      .add("--atomic", choice.atomic, kinds::kChoice,
           "request: look up a whole request, then insert it; reference: block by block "
           "(default: request)")
      .one_of({"request", "reference"});
}

}  // namespace spillway
