// The engines behind one endpoint, on one clock: instances (a fleet), each of one engine or of
// several cores of data parallelism, each engine with a scheduler, a pool, a tier and links of its
// own, over one network. Instances share clients, and what of the network is wired for several
// (tier/network.hpp).
//
// A router names the instance of each request when it is submitted (router.hpp). Within an instance
// the request goes where vLLM's internal load balancer sends it, by the same code: to the least of
// 4 x waiting + running, by counts up to 100 ms old (load_board.hpp). Requests and blocks have the
// numbers of the workload everywhere; an engine beside others has names of its own for the blocks
// it meets (engine/local_chains.hpp).
// Those of an instance that share experts step together (lockstep.hpp).
//
// Observers see one system: blocks of a tier are summed over engines, links have numbers of their
// own, and steps name their engine. One engine is observed as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/cluster/load_board.hpp"
#include "models/cluster/lockstep.hpp"
#include "models/cluster/residency_feed.hpp"
#include "models/cluster/router.hpp"
#include "models/engine/engine.hpp"
#include "sim/result.hpp"

namespace spillway {

class Cluster final : public RequestSink {
 public:
  struct Size {
    std::uint32_t engines = 1;  ///< of one instance
    std::uint32_t instances = 1;
    const NetworkSpec* network = nullptr;  ///< null: nothing that engines share
    bool lockstep = false;                 ///< engines of an instance step together
    Router* router = nullptr;              ///< asked where there are several instances
    /// How late the router learns what stores gain and lose, where it wants to. Assumed.
    Duration residency_lag = std::chrono::milliseconds(1);
  };

  /// `parts(i)` are those of engine i, engines counted instance by instance, all with blocks of one
  /// size; names and facts are filled in here.
  Cluster(EventQueue& queue, const Workload& workload, const Size& size,
          const std::function<EngineParts(std::uint32_t)>& parts, Observer& observer);
  ~Cluster();

  void set_listener(RequestEndListener& listener);
  void submit(RequestId request, Time due) override;
  /// Where requests go: this, or the only engine itself.
  RequestSink& sink() {
    return engines_.size() == 1 ? *engines_[0] : static_cast<RequestSink&>(*this);
  }

  /// What the router sees of an instance. All start as both, accepting; what an instance that
  /// stops has got it still serves.
  void set_role(InstanceId instance, InstanceRole role) { fleet_[instance].role = role; }
  void set_accepting(InstanceId instance, bool on) { fleet_[instance].accepting = on; }

  /// As Engine::finish_run(), over all.
  std::uint32_t finish_run();

  std::uint32_t size() const { return static_cast<std::uint32_t>(engines_.size()); }
  const Engine& operator[](std::uint32_t i) const { return *engines_[i]; }
  std::uint32_t instances() const { return size_.instances; }
  const ChainMap& chains() const { return *chains_; }
  /// Requests that each instance got.
  std::vector<std::uint64_t> requests_of_instances() const;
  /// What each did; empty where there is one.
  std::vector<EngineShare> shares() const;

 private:
  class View;
  class MediaView;
  struct Totals;

  EngineParts complete(EngineParts parts, const Workload& workload, std::uint32_t engines);
  void join_group(EngineParts& parts, std::uint32_t engine);
  InstanceId choose_instance(const RequestView& request);
  std::uint32_t choose_engine(InstanceId instance, const RequestView& request);

  EventQueue& queue_;
  Size size_;
  std::unique_ptr<ChainMap> chains_;               ///< of all engines
  std::unique_ptr<RequestFacts> facts_;            ///< of all engines, where a policy needs them
  std::unique_ptr<Totals> totals_;                 ///< over all engines
  std::unique_ptr<MediaView> media_view_;          ///< over several
  Network network_;                                ///< of all engines
  SharedStores shared_stores_;                     ///< of several
  SharedThings shared_things_;                     ///< of several
  std::unique_ptr<Router> balancer_;               ///< among the engines of one instance
  LoadBoard fleet_;                                ///< of instances
  std::vector<LoadBoard> cores_;                   ///< by instance, of its engines
  std::unique_ptr<ResidencyFeed> feed_;            ///< null: the router does not want it
  std::vector<std::unique_ptr<Lockstep>> groups_;  ///< by instance, of engines that step together
  std::vector<std::unique_ptr<View>> views_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

}  // namespace spillway
