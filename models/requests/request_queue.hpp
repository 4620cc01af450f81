// A queue of requests that wait: first come, first served, or by priority
// (vllm/v1/core/sched/request_queue.py).
//
// By priority it is a heap: the smallest priority value first, then the earliest arrival, then the
// first in the workload (upstream compares request ids last, vllm/v1/request.py). Such a queue has
// no front to return to: what is prepended is sorted in.
#pragma once

#include <cstdint>
#include <vector>

#include "models/requests/active_request.hpp"
#include "sim/ring_queue.hpp"

namespace spillway {

/// Where requests stand among each other under priority scheduling.
struct RequestRank {
  std::int32_t priority = 0;
  Time arrival{};
  RequestId id{};

  auto operator<=>(const RequestRank&) const = default;
};

inline RequestRank rank_of(const ActiveRequest& r) {
  return {r.priority, r.arrival, r.id};
}

class RequestQueue {
 public:
  RequestQueue(const RequestPool& requests, bool by_priority)
      : requests_(requests), by_priority_(by_priority) {}

  bool empty() const { return size() == 0; }
  std::size_t size() const { return by_priority_ ? heap_.size() : line_.size(); }
  Handle front() const { return by_priority_ ? heap_.front().request : line_.front(); }
  void pop_front() { by_priority_ ? pop_heap() : line_.pop_front(); }
  void push_back(Handle h) { by_priority_ ? push_heap(h) : line_.push_back(h); }
  /// To the front; by priority, to its place.
  void push_front(Handle h) { by_priority_ ? push_heap(h) : line_.push_front(h); }
  /// False when it is not here.
  bool erase(Handle h);
  /// By priority: this queue's front goes before the other's. Neither is empty.
  bool precedes(const RequestQueue& other) const {
    return heap_.front().rank < other.heap_.front().rank;
  }
  /// Its requests in the order in which they would leave, behind what `out` holds.
  void list(std::vector<Handle>& out) const;

 private:
  struct Entry {
    RequestRank rank;
    Handle request;
  };
  static bool later(const Entry& a, const Entry& b) { return b.rank < a.rank; }
  void push_heap(Handle h);
  void pop_heap();

  const RequestPool& requests_;
  bool by_priority_;
  RingQueue<Handle> line_;
  std::vector<Entry> heap_;  ///< the next one first
};

}  // namespace spillway
