#include "scenarios/run/places.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/scenario/scenario.hpp"
#include "scenarios/scenario/sections/fleet.hpp"
#include "scenarios/scenario/sections/host.hpp"

namespace spillway {

Places::Shape shape_of(const Scenario& s) {
  const std::uint32_t instances = s.fleet->replicas;
  return {instances, s.engine.data_parallel, s.host ? s.host->instances : instances};
}

Places::Places(const Shape& shape, const Links& links)
    : shape_(shape), scopes_(links.media), laid_(links.media.size()) {
  for (std::uint32_t engine = 0; engine < engines(); ++engine) {
    first_lane_.push_back(count_);
    count_ += links.lanes;
    for (std::uint32_t i = 0; i < scopes_.size(); ++i) {
      const std::uint32_t at = place(scopes_[i], engine);
      if (at < laid_[i].size()) continue;
      laid_[i].push_back(static_cast<std::uint32_t>(media_.size()));
      media_.push_back({i, at, count_++});
    }
    first_storage_.push_back(count_);
    count_ += links.storage;
  }
}

std::uint32_t Places::place(Scope scope, std::uint32_t engine) const {
  const std::uint32_t instance = engine / shape_.engines;
  switch (scope) {
    case Scope::kInstance:
      return instance;
    case Scope::kNode:
      return instance / shape_.per_node;
    case Scope::kCluster:
      break;
  }
  return 0;
}

std::uint32_t Places::engines_at(Scope scope, std::uint32_t at) const {
  if (scope == Scope::kInstance) return shape_.engines;
  if (scope == Scope::kCluster) return engines();
  const std::uint32_t before = at * shape_.per_node;
  return std::min(shape_.per_node, shape_.instances - before) * shape_.engines;
}

std::string Places::suffix(Scope scope, std::uint32_t at) const {
  return count(scope) == 1 ? "" : fmt::format("/{}{}", name_of(scope), at);
}

std::uint32_t Places::medium(std::uint32_t index, std::uint32_t engine) const {
  return laid_[index][place(scopes_[index], engine)];
}

}  // namespace spillway
