#include "scenarios/experiment/replicates.hpp"

#include <fmt/format.h>

namespace spillway {

Replicates::Replicates(const Scenario& scenario, std::uint32_t count, std::uint32_t users,
                       const ReadProgress& reading)
    : scenario_(scenario), count_(count), original_(open_workload(scenario, reading)) {
  if (!scenario.workload.synthetic && count > 1) bootstrap_.emplace(original_);
  for (std::uint32_t i = 0; i < count + (bootstrap_ ? 1 : 0); ++i) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->users = users;
  }
}

const Workload& Replicates::get(std::uint32_t index) {
  Slot& slot = *slots_[index];
  std::call_once(slot.once, [&] {
    if (index == recording()) return;
    if (bootstrap_) {
      slot.workload = bootstrap_->replicate(scenario_.seed, index);
    } else if (index > 0) {
      Scenario other = scenario_;
      other.seed = seed(index);
      slot.workload = open_workload(other, {});
    }
    slot.hash = (slot.workload ? *slot.workload : original_).content_hash();
  });
  return slot.workload ? *slot.workload : original_;
}

void Replicates::done(std::uint32_t index) {
  Slot& slot = *slots_[index];
  if (--slot.users == 0) slot.workload.reset();
}

std::string Replicates::method() const {
  if (count_ == 1) return "the workload itself, once";
  if (bootstrap_) {
    return bootstrap_->method() + "; intervals are for traffic of which this trace is one sample";
  }
  return fmt::format("generated with seeds {} to {}", scenario_.seed, seed(count_ - 1));
}

}  // namespace spillway
