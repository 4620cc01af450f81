#include "models/requests/request_queue.hpp"

#include <algorithm>

namespace spillway {

void RequestQueue::push_heap(Handle h) {
  heap_.push_back({rank_of(requests_[h]), h});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void RequestQueue::pop_heap() {
  std::pop_heap(heap_.begin(), heap_.end(), later);
  heap_.pop_back();
}

bool RequestQueue::erase(Handle h) {
  if (by_priority_) {
    const auto it = std::find_if(heap_.begin(), heap_.end(),
                                 [h](const Entry& entry) { return entry.request == h; });
    if (it == heap_.end()) return false;
    *it = heap_.back();
    heap_.pop_back();
    std::make_heap(heap_.begin(), heap_.end(), later);
    return true;
  }
  return line_.erase_item(h);
}

void RequestQueue::list(std::vector<Handle>& out) const {
  if (!by_priority_) {
    for (std::size_t i = 0; i < line_.size(); ++i) out.push_back(line_[i]);
    return;
  }
  std::vector<Entry> sorted = heap_;
  std::sort(sorted.begin(), sorted.end(),
            [](const Entry& a, const Entry& b) { return a.rank < b.rank; });
  for (const Entry& entry : sorted) out.push_back(entry.request);
}

}  // namespace spillway
