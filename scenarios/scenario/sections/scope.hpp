// Who shares a medium or a storage device.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway {

enum class Scope : std::uint8_t {
  kInstance,  ///< the engines of data parallelism of one instance
  kNode,      ///< the instances on one host
  kCluster,   ///< all instances
};

/// In the order of the enumeration, as scenarios write them.
inline constexpr std::string_view kScopeNames[] = {"instance", "node", "cluster"};
constexpr std::string_view name_of(Scope scope) {
  return kScopeNames[static_cast<std::size_t>(scope)];
}
constexpr std::optional<Scope> scope_of(std::string_view name) {
  for (const Scope scope : {Scope::kInstance, Scope::kNode, Scope::kCluster}) {
    if (name == name_of(scope)) return scope;
  }
  if (name == "replica") return Scope::kInstance;  // as fleets call it
  return std::nullopt;
}

}  // namespace spillway
