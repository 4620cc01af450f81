#include "sim/ttft_stages.hpp"

namespace spillway {

std::string_view name_of(TtftStage stage) {
  constexpr std::array<std::string_view, kTtftStages> kNames = {
      "queue", "load_wait", "load", "recompute", "step", "front_end"};
  return kNames[static_cast<std::size_t>(stage)];
}

}  // namespace spillway
