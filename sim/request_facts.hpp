// What policies may know of who asks: columns by request, made once from a workload and shared by
// all that replay or simulate it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/ids.hpp"
#include "sim/workload.hpp"

namespace spillway {

struct RequestFacts {
  /// Dense, by first appearance. Where the trace names none, each request is a session of its own.
  IdVector<RequestId, SessionId> session;
  IdVector<RequestId, std::uint32_t> turn;      ///< requests of the session before this one
  IdVector<RequestId, std::uint32_t> category;  ///< dense; the trace's tenant, or 0
  std::uint32_t sessions = 0;
  std::uint32_t categories = 1;
  bool sessions_named = false;
};

RequestFacts request_facts(const Workload& workload);

}  // namespace spillway
