#include "models/cluster/session_groups.hpp"

#include <algorithm>
#include <numeric>

#include "sim/error.hpp"
#include "sim/rng.hpp"

namespace spillway {

namespace {

/// Groups of requests, each named by its first one.
class Groups {
 public:
  explicit Groups(std::uint32_t size) : above_(size) {
    std::iota(above_.begin(), above_.end(), std::uint32_t{0});
  }
  std::uint32_t first_of(std::uint32_t r) {
    while (above_[r] != r) r = above_[r] = above_[above_[r]];
    return r;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t one = first_of(a);
    const std::uint32_t other = first_of(b);
    above_[std::max(one, other)] = std::min(one, other);
  }

 private:
  std::vector<std::uint32_t> above_;
};

Groups groups_of(const Workload& workload, std::span<const std::uint32_t> sessions) {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  Groups out(workload.size());
  std::vector<std::uint32_t> first;  // request of each session
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    for (const RequestId before : workload.after(RequestId{r})) out.join(r, raw(before));
    if (sessions.empty()) continue;
    if (sessions[r] >= first.size()) first.resize(std::size_t{sessions[r]} + 1, kNone);
    if (first[sessions[r]] == kNone) first[sessions[r]] = r;
    out.join(r, first[sessions[r]]);
  }
  return out;
}

}  // namespace

std::vector<InstanceId> instances_by_session(const Workload& workload,
                                             std::span<const std::uint32_t> sessions,
                                             std::uint32_t instances, std::uint64_t seed) {
  KV_ASSERT(sessions.empty() || sessions.size() == workload.size(), "sessions of other requests");
  Groups groups = groups_of(workload, sessions);
  std::vector<InstanceId> out;
  out.reserve(workload.size());
  for (std::uint32_t r = 0; r < workload.size(); ++r) {
    const std::uint32_t first = groups.first_of(r);
    if (first < r) {
      out.push_back(out[first]);
      continue;
    }
    Stream draw(seed, "fleet-instance", sessions.empty() ? r : sessions[r]);
    out.push_back(InstanceId{static_cast<std::uint32_t>(draw.below(instances))});
  }
  return out;
}

}  // namespace spillway
