// When the stages of a first token came, not only how long they were: for those who draw them.
#pragma once

#include <span>

#include "sim/ttft_stages.hpp"
#include "sim/units.hpp"

namespace spillway {

/// A stage begins; it lasts until the next one, the last one until the first token.
struct StageMark {
  TtftStage stage;
  Time since;
};

class StageWatch {
 public:
  /// Of a request that has completed, right before observers hear of its end.
  virtual void on_stages(std::span<const StageMark> stages) = 0;

 protected:
  ~StageWatch() = default;
};

}  // namespace spillway
