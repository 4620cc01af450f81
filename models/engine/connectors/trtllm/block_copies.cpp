#include "models/engine/connectors/trtllm/block_copies.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

// ---- what is decided
// -----------------------------------------------------------------------------

void BlockCopies::begin_step() {
  KV_ASSERT(all_done(), "copies of the step before have not ended");
  for (Lane& lane : lanes_) {
    lane.before = lane.decided();
    lane.step.clear();
  }
}

void BlockCopies::copy_down(std::uint32_t from, std::uint32_t to) {
  ++counters_.store_jobs;
  decide(Direction::kDown, from, to, env_.config.block_tokens);
}

void BlockCopies::copy_up(std::uint32_t from, std::uint32_t to, std::uint32_t tokens) {
  ++counters_.load_jobs;
  decide(Direction::kUp, to, from, tokens);
}

BlockCopies::Touched& BlockCopies::touched(std::vector<Touched>& slots, std::uint32_t slot) {
  if (slots.size() <= slot) slots.resize(std::max<std::size_t>(slot + 1, 2 * slots.size()));
  return slots[slot];
}

void BlockCopies::decide(Direction direction, std::uint32_t gpu, std::uint32_t host,
                         std::uint32_t tokens) {
  const std::size_t own = index_of(direction);
  Touched& above = touched(gpu_, gpu);
  Touched& below = touched(host_, host);
  Copy copy;
  copy.bytes = env_.config.block_bytes / env_.config.block_tokens * std::int64_t{tokens};
  copy.behind = std::max(above[1 - own], below[1 - own]);
  copy.request = for_;
  lanes_[own].step.push_back(copy);
  above[own] = below[own] = lanes_[own].decided();
  if (direction == Direction::kUp) tell_clock(copy, LoadEvent::kSubmitted);
}

void BlockCopies::tell_clock(const Copy& copy, LoadEvent event) {
  env_.requests[copy.request].clock.on_load(event, env_.queue.now());
}

// ---- what is carried out
// -------------------------------------------------------------------------

void BlockCopies::submit() {
  for (const Direction direction : {Direction::kDown, Direction::kUp}) {
    Lane& lane = lanes_[index_of(direction)];
    const Lane& other = lanes_[1 - index_of(direction)];
    while (lane.submitted < lane.decided()) {
      const Copy& copy = lane.step[lane.submitted - lane.before];
      if (copy.behind > other.done) break;
      path_->submit(direction, static_cast<std::uint32_t>(lane.submitted++), copy.bytes,
                    env_.config.copies_per_block);
    }
  }
}

void BlockCopies::on_load_service(std::uint32_t job, bool begins) {
  const Lane& up = lanes_[index_of(Direction::kUp)];
  const std::uint32_t place = job - static_cast<std::uint32_t>(up.before);
  tell_clock(up.step[place], begins ? LoadEvent::kServed : LoadEvent::kPaused);
}

void BlockCopies::on_transfer_done(Direction direction, std::uint32_t job) {
  Lane& lane = lanes_[index_of(direction)];
  ++lane.done;
  if (direction == Direction::kUp) {
    const std::uint32_t place = job - static_cast<std::uint32_t>(lane.before);
    tell_clock(lane.step[place], LoadEvent::kEnded);
  }
  submit();
  env_.waiter.on_step_progress();
}

TierLevel BlockCopies::level(std::uint32_t) const {
  const ReuseTree::Counters& c = tree_->counters(1);
  const auto resident = static_cast<std::uint32_t>(c.resident);
  return {c.entered, c.left, resident, resident};
}

void BlockCopies::report(EngineStats& stats) const {
  if (path_ == nullptr) return;
  stats.offload = counters_;
  const ReuseTree::Counters& c = tree_->counters(1);
  stats.exchange = {tree_->offloads() - c.entered, c.left - tree_->given_up()};
}

// ---- steps
// ---------------------------------------------------------------------------------------

Duration BlockCopiesStep::begin_forward(const StepPlan&, Time now, Duration compute) {
  if (now > began_) ++stalls_;
  stall_ += now - began_;
  end_ = now + compute;
  return Duration(0);
}

void BlockCopiesStep::report(EngineStats& stats) const {
  stats.load_stalls = stalls_;
  stats.load_stall = stall_;
}

}  // namespace spillway
