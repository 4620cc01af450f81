// The routers there are.
#include <algorithm>

#include "models/cluster/router.hpp"
#include "sim/error.hpp"

namespace spillway {

namespace {

/// The first that takes requests, from `start` on and then from the beginning.
std::uint32_t next_taking(std::span<const InstanceView> fleet, std::uint32_t start) {
  const auto size = static_cast<std::uint32_t>(fleet.size());
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t at = (start + i) % size;
    if (fleet[at].takes_requests()) return at;
  }
  KV_ASSERT(false, "none of {} instances takes requests", size);
  return 0;
}

class RoundRobin final : public Router {
 public:
  InstanceId route(const RequestView&, std::span<const InstanceView> fleet) override {
    const std::uint32_t chosen = next_taking(fleet, next_);
    next_ = (chosen + 1) % static_cast<std::uint32_t>(fleet.size());
    return InstanceId{chosen};
  }

 private:
  std::uint32_t next_ = 0;
};

class LeastLoaded final : public Router {
 public:
  InstanceId route(const RequestView&, std::span<const InstanceView> fleet) override {
    std::uint32_t best = next_taking(fleet, 0);
    for (std::uint32_t i = best + 1; i < fleet.size(); ++i) {
      if (fleet[i].takes_requests() && load(fleet[i]) < load(fleet[best])) best = i;
    }
    return InstanceId{best};
  }

 private:
  static constexpr std::uint64_t kWaitingWeight = 4;  // vllm/v1/engine/core_client.py
  static std::uint64_t load(const InstanceView& view) {
    return view.waiting * kWaitingWeight + view.running;
  }
};

class SessionHash final : public Router {
 public:
  explicit SessionHash(std::vector<InstanceId> instance_of)
      : instance_of_(std::move(instance_of)) {}

  InstanceId route(const RequestView& request, std::span<const InstanceView> fleet) override {
    return InstanceId{next_taking(fleet, raw(instance_of_[raw(request.id)]))};
  }

 private:
  std::vector<InstanceId> instance_of_;  ///< by request
};

}  // namespace

std::unique_ptr<Router> make_round_robin() {
  return std::make_unique<RoundRobin>();
}
std::unique_ptr<Router> make_least_loaded() {
  return std::make_unique<LeastLoaded>();
}
std::unique_ptr<Router> make_session_hash(std::vector<InstanceId> instance_of) {
  return std::make_unique<SessionHash>(std::move(instance_of));
}

}  // namespace spillway
