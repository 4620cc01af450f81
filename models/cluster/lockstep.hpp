// Engines of data parallelism that share experts: they step together.
//
// Each layer's exchange makes every engine wait for all others, so that a step takes all of them as
// long, and one without requests runs a dummy batch (vllm/v1/engine/core.py, DPEngineCoreProc).
// An engine that gets a request while the others compute schedules at the end of their step.
// Model: the up to 31 dummy batches behind the last request (step_counter) are left out, and so is
// the message that starts engines again; copies that slow one engine's step hold up the next one.
#pragma once

#include <cstdint>
#include <vector>

#include "models/engine/step_group.hpp"
#include "sim/event_queue.hpp"

namespace spillway {

class Lockstep final : public StepGroup, public EventHandler {
 public:
  explicit Lockstep(EventQueue& queue) : queue_(queue) {}

  /// Before the first event; members count from 0.
  void add(StepMember& member);

  bool busy() const override { return computing_ > 0; }
  void wake_when_free(std::uint32_t member) override { members_[member].wakes = true; }
  void expect(std::uint32_t member) override;
  void join(std::uint32_t member, const StepShape& shape) override;
  void leave(std::uint32_t member) override;
  void on_event(EventPayload payload) override;

 private:
  struct Member {
    StepMember* engine;
    bool joined = false;
    bool wakes = false;
  };
  void begin_soon();

  EventQueue& queue_;
  std::vector<Member> members_;
  std::vector<StepShape> shapes_;  ///< by member; without tokens where it has not joined
  std::vector<StepShape> begun_;   ///< those that began together last
  std::uint32_t expected_ = 0;     ///< of which some have not joined
  std::uint32_t joined_ = 0;
  std::uint32_t computing_ = 0;
  bool begins_ = false;  ///< an event is pending
};

}  // namespace spillway
