// Engines that step together: one whose step is ready to compute waits for the others.
#pragma once

#include <span>

#include "models/compute/step_cost.hpp"

namespace spillway {

/// An engine, as its group sees it.
class StepMember {
 public:
  /// The step that joined computes from now on, together with those of `shapes`, by member.
  virtual void begin_together(Duration compute, std::span<const StepShape> shapes) = 0;
  /// A step of the group has ended, and this engine asked to be told.
  virtual void wake() = 0;
  virtual StepCost& step_cost() = 0;

 protected:
  ~StepMember() = default;
};

/// One engine's place in its group.
class StepGroup {
 public:
  /// A step of the group computes: nobody schedules before it has ended.
  virtual bool busy() const = 0;
  virtual void wake_when_free(std::uint32_t member) = 0;
  /// A step with tokens has begun its worker part, and will join.
  virtual void expect(std::uint32_t member) = 0;
  /// Nothing holds it back any longer. What `shape` refers to stays until it begins.
  virtual void join(std::uint32_t member, const StepShape& shape) = 0;
  /// Its part of the group's step has ended.
  virtual void leave(std::uint32_t member) = 0;

 protected:
  ~StepGroup() = default;
};

}  // namespace spillway
