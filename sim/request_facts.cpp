#include "sim/request_facts.hpp"

#include <algorithm>

namespace spillway {

RequestFacts request_facts(const Workload& workload) {
  const WorkloadColumns& columns = workload.columns();
  const std::uint32_t size = workload.size();
  RequestFacts out;
  out.session.assign(size, SessionId{});
  out.turn.assign(size, 0);
  out.category.assign(size, 0);
  out.sessions_named = workload.has_sessions();
  std::vector<std::uint32_t> turns;  // by session
  for (std::uint32_t i = 0; i < size; ++i) {
    const RequestId r{i};
    const std::uint32_t session = out.sessions_named ? columns.session[i] : i;
    if (session >= turns.size()) turns.resize(session + 1, 0);
    out.session[r] = SessionId{session};
    out.turn[r] = turns[session]++;
    if (columns.tenant.empty()) continue;
    out.category[r] = columns.tenant[i];
    out.categories = std::max(out.categories, columns.tenant[i] + 1);
  }
  out.sessions = static_cast<std::uint32_t>(turns.size());
  return out;
}

}  // namespace spillway
