#include "models/engine/connectors/trtllm/block_copies.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace spillway {

// ---- what is decided
// -----------------------------------------------------------------------------

void BlockCopies::begin_step() {
  KV_ASSERT(all_done(), "copies of the step before have not ended");
  const bool copied = std::any_of(lanes_.begin(), lanes_.end(),
                                  [](const Lane& lane) { return !lane.step.empty(); });
  for (Lane& lane : lanes_) {
    lane.before = lane.decided();
    lane.step.clear();
  }
  if (!copied) return;
  for (Slots& slots : slots_) std::fill(slots.in_step.begin(), slots.in_step.end(), 0);
}

std::size_t BlockCopies::lane_of(const ReuseTree::Place& from, const ReuseTree::Place& to) {
  const bool down = to.level > from.level;
  return 2 * (std::max(from.level, to.level) - 1U) + (down ? 0 : kUpLane);
}

BlockCopies::Counts BlockCopies::Slots::touch(std::uint32_t slot, std::size_t lane,
                                              std::uint32_t number) {
  constexpr std::uint32_t kBits = 64;
  if (touched.size() <= slot) {
    touched.resize(std::max<std::size_t>(slot + 1, 2 * touched.size()));
    in_step.resize(touched.size() / kBits + 1);
  }
  std::uint64_t& word = in_step[slot / kBits];
  const std::uint64_t bit = std::uint64_t{1} << (slot % kBits);
  const Counts before = (word & bit) != 0 ? touched[slot] : Counts{};
  word |= bit;
  Counts now = before;
  now[lane] = number;
  touched[slot] = now;
  return before;
}

void BlockCopies::copy(const ReuseTree::Place& from, const ReuseTree::Place& to,
                       std::uint32_t tokens) {
  const std::size_t lane = lane_of(from, to);
  const bool up = to.level == 0;
  ++(up ? counters_.load_jobs : counters_.store_jobs);
  const auto number = static_cast<std::uint32_t>(lanes_[lane].step.size() + 1);
  const Counts source = slots_[from.level].touch(from.slot, lane, number);
  const Counts target = slots_[to.level].touch(to.slot, lane, number);
  Copy copy;
  copy.bytes = env_.config.block_bytes / env_.config.block_tokens * std::int64_t{tokens};
  if (lane >= 2) copy.bytes = copy.bytes * std::int64_t{ranks_};
  for (std::size_t i = 0; i < kLanes; ++i) {
    if (i != lane) copy.behind[i] = std::max(source[i], target[i]);
  }
  copy.request = for_;
  lanes_[lane].step.push_back(copy);
  if (up) tell_clock(copy, LoadEvent::kSubmitted);
}

void BlockCopies::tell_clock(const Copy& copy, LoadEvent event) {
  env_.requests[copy.request].clock.on_load(event, env_.queue.now());
}

// ---- what is carried out
// -------------------------------------------------------------------------

bool BlockCopies::may_begin(const Copy& copy) const {
  for (std::size_t i = 0; i < kLanes; ++i) {
    if (lanes_[i].before + copy.behind[i] > lanes_[i].done) return false;
  }
  return true;
}

void BlockCopies::submit() {
  for (std::size_t i = 0; i < kLanes; ++i) {
    Lane& lane = lanes_[i];
    while (lane.submitted < lane.decided()) {
      const Copy& copy = lane.step[lane.submitted - lane.before];
      if (!may_begin(copy)) break;
      paths_[i / 2]->submit(i % 2 == kUpLane ? Direction::kUp : Direction::kDown,
                            static_cast<std::uint32_t>(lane.submitted++), copy.bytes,
                            env_.config.copies_per_block);
    }
  }
}

void BlockCopies::serve(std::size_t number, std::uint32_t job, bool begins) {
  const Lane& lane = lanes_[number];
  const std::uint32_t place = job - static_cast<std::uint32_t>(lane.before);
  tell_clock(lane.step[place], begins ? LoadEvent::kServed : LoadEvent::kPaused);
}

void BlockCopies::end(std::size_t number, std::uint32_t job) {
  Lane& lane = lanes_[number];
  ++lane.done;
  if (number % 2 == kUpLane) {
    const std::uint32_t place = job - static_cast<std::uint32_t>(lane.before);
    tell_clock(lane.step[place], LoadEvent::kEnded);
  }
  submit();
  env_.waiter.on_step_progress();
}

TierLevel BlockCopies::level(std::uint32_t tier) const {
  const ReuseTree::Counters& c = tree_->counters(tier + 1);
  const auto resident = static_cast<std::uint32_t>(c.resident);
  return {c.entered, c.left, resident, resident};
}

void BlockCopies::report(EngineStats& stats) const {
  if (paths_[0] == nullptr) return;
  stats.offload = counters_;
  for (std::uint32_t tier = 1; tier <= tiers(); ++tier) {
    const ReuseTree::Counters& c = tree_->counters(tier);
    ExchangeStats& out = stats.exchange.emplace_back(tier > 1 ? disk_counts_ : ExchangeStats());
    out.lost_stores = c.taken - c.entered;
    out.other_ends = c.left - c.given_up;
  }
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
