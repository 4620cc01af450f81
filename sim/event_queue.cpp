#include "sim/event_queue.hpp"

namespace spillway {

namespace {
constexpr std::size_t kArity = 4;
}

void EventQueue::schedule(Time at, Phase phase, std::uint32_t rank, EventHandler& target,
                          EventPayload payload) {
  KV_ASSERT(at >= now_, "event scheduled {} ns in the past", (now_ - at).count());
  if (at > kEndOfTime) [[unlikely]]
    throw ClockOverflow("lasts longer than the 73 years of the clock");
  const Event event{at, order_of(phase, rank, sequence_++), &target, payload};
  heap_.push_back(event);
  std::size_t hole = heap_.size() - 1;
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / kArity;
    if (!before(event, heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = event;
}

void EventQueue::sift_down(std::size_t hole, const Event& event) {
  const std::size_t size = heap_.size();
  for (;;) {
    const std::size_t first = hole * kArity + 1;
    if (first >= size) break;
    const std::size_t last = first + kArity < size ? first + kArity : size;
    std::size_t least = first;
    for (std::size_t child = first + 1; child < last; ++child) {
      if (before(heap_[child], heap_[least])) least = child;
    }
    if (!before(heap_[least], event)) break;
    heap_[hole] = heap_[least];
    hole = least;
  }
  heap_[hole] = event;
}

bool EventQueue::step() {
  if (heap_.empty()) return false;
  const Event event = heap_.front();
  const Event last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0, last);
  KV_ASSERT(event.at >= now_, "simulated time would run backwards");
  now_ = event.at;
  ++executed_;
  event.target->on_event(event.payload);
  return true;
}

}  // namespace spillway
