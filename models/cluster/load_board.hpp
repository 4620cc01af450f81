// What a front end knows of those that it sends requests to: counts that each publishes, up to
// 100 ms old; what was sent since counts as waiting (vllm/v1/engine/coordinator.py).
//
// Model: counts are taken anew with the first request of every 100 ms.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/cluster/router.hpp"

namespace spillway {

class LoadBoard {
 public:
  static constexpr Duration kCountsAge = std::chrono::milliseconds(100);

  explicit LoadBoard(std::uint32_t size) : views_(size) {}

  /// `count(i, view)` takes the counts of the i-th, where those known are too old.
  template <class Count>
  std::span<const InstanceView> at(Time now, Count count) {
    const std::int64_t window = now.time_since_epoch() / kCountsAge;
    if (window != counted_) {
      counted_ = window;
      for (std::uint32_t i = 0; i < views_.size(); ++i) count(i, views_[i]);
    }
    return views_;
  }
  void sent(InstanceId to) { ++(*this)[to].waiting; }
  InstanceView& operator[](InstanceId id) { return views_[raw(id)]; }

 private:
  std::vector<InstanceView> views_;
  std::int64_t counted_ = -1;  ///< in which 100 ms
};

}  // namespace spillway
