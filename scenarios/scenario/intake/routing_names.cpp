#include "scenarios/scenario/intake/routing_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace spillway {

namespace {

struct RoutingName {
  std::string_view name;
  std::string_view key;   ///< of fleet.routing
  std::string_view note;  ///< what is otherwise; empty: the same
};
// vllm-project/production-stack, src/vllm_router/routers/routing_logic.py; ai-dynamo/dynamo,
// components/src/dynamo/frontend (--router-mode).
constexpr RoutingName kRoutingNames[] = {
    {"roundrobin", "round-robin", ""},
    {"round-robin", "round-robin", ""},
    {"session", "session-hash", ""},
    {"random", "round-robin", "requests are dealt in turn, not at random"},
    {"least-loaded", "least-loaded", ""},
    {"power-of-two", "least-loaded", "the less loaded of all instances, not of two"},
    {"prefixaware", "session-hash", "sessions stay with their instance, as most prefixes do"},
    {"kvaware", "session-hash", "sessions stay with their instance, as most of their KV does"},
    {"kv", "session-hash", "sessions stay with their instance, as most of their KV does"},
    {"disaggregated_prefill", "session-hash", "prefill and decode run in one engine"},
};

}  // namespace

void set_routing(const std::string& name, const std::string& origin, Draft& draft) {
  if (name.empty()) return;
  const auto* const row = std::find_if(std::begin(kRoutingNames), std::end(kRoutingNames),
                                       [&](const RoutingName& one) { return one.name == name; });
  if (row == std::end(kRoutingNames)) {
    return draft.remark(Standing::kNotModelled, origin,
                        "no routing that is known: sessions stay with their instance");
  }
  draft.set("fleet.routing", std::string(row->key), origin);
  draft.remark(row->note.empty() ? Standing::kUsed : Standing::kAssumed, origin,
               row->note.empty() ? std::string("fleet.routing")
                                 : fmt::format("fleet.routing {}: {}", row->key, row->note));
}

}  // namespace spillway
