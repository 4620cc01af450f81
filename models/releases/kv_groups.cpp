#include "models/releases/kv_groups.hpp"

#include <algorithm>

#include "models/catalogue/model_spec.hpp"

namespace spillway {

/// Models repeat a pattern of n sliding layers to one of full attention, or nearly so. A group has
/// as many layers as the rarer kind; where the kinds are nearly as many (less than half as many
/// again), as the more frequent. The last group of a kind is padded.
KvGroups kv_groups_of(const ModelSpec& model) {
  KvGroups out;
  const auto all = static_cast<std::uint32_t>(model.kv_layers);
  const auto sliding = static_cast<std::uint32_t>(model.sliding_layers);
  out.layers = all;
  if (sliding == 0) return out;
  const std::uint32_t full = all - sliding;
  const std::uint32_t fewer = full == 0 ? sliding : std::min(sliding, full);
  const std::uint32_t more = std::max(sliding, full);
  out.layers = 2 * more < 3 * fewer ? more : fewer;
  out.sliding = (sliding + out.layers - 1) / out.layers;
  out.full = (full + out.layers - 1) / out.layers;
  out.window = static_cast<std::uint32_t>(model.window);
  return out;
}

}  // namespace spillway
