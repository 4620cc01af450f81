#include "models/cluster/lockstep.hpp"

#include "sim/error.hpp"

namespace spillway {

void Lockstep::add(StepMember& member) {
  members_.push_back({&member});
  shapes_.emplace_back();
}

void Lockstep::expect(std::uint32_t member) {
  KV_ASSERT(!members_[member].joined, "engine {} begins a step before its last one began", member);
  ++expected_;
}

void Lockstep::join(std::uint32_t member, const StepShape& shape) {
  members_[member].joined = true;
  shapes_[member] = shape;
  ++joined_;
  begin_soon();
}

void Lockstep::leave(std::uint32_t /*member*/) {
  KV_ASSERT(computing_ > 0, "an engine ends a step that its group does not compute");
  if (--computing_ > 0) return;
  for (Member& member : members_) {
    if (!member.wakes) continue;
    member.wakes = false;
    member.engine->wake();
  }
  begin_soon();
}

/// Behind everything else of this instant: whoever is to join has.
void Lockstep::begin_soon() {
  if (begins_ || computing_ > 0 || joined_ == 0 || joined_ < expected_) return;
  begins_ = true;
  queue_.schedule(queue_.now(), Phase::kSample, *this, {});
}

void Lockstep::on_event(EventPayload /*payload*/) {
  begins_ = false;
  if (joined_ < expected_) return;  // another one has begun its worker part since
  const Duration compute = members_.front().engine->step_cost().group_time(shapes_);
  computing_ = joined_;
  joined_ = expected_ = 0;
  begun_ = shapes_;
  shapes_.assign(members_.size(), {});
  for (Member& member : members_) {
    if (!member.joined) continue;
    member.joined = false;
    member.engine->begin_together(compute, begun_);
  }
}

}  // namespace spillway
