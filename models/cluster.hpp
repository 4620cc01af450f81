// The engines behind one endpoint: one, or several cores of data parallelism, each with a
// scheduler, a pool, a tier and links of its own, on one clock, over one network.
//
// Several get their requests as vLLM's internal load balancer deals them out: to the least of
// 4 x waiting + running, the first among equals, by counts that each core publishes and that are up
// to 100 ms old; a request dealt out counts as waiting until then (vllm/v1/engine/core_client.py,
// DPLBAsyncMPClient; coordinator.py). One front end deals them out.
// Model: counts are taken anew with the first request of every 100 ms. Cores of a mixture of
// experts step by themselves; upstream they step together, idle ones with a dummy batch.
//
// Several identical instances (a fleet) stand side by side on the same clock: each has the engines
// above and serves the sessions that a split gives it (session_split.hpp), as a workload of its
// own. They share clients, and what of the network is wired for several (network.hpp); where
// nothing is, each behaves as it would alone.
//
// Observers see one system: blocks of a tier are summed over engines, links have numbers of their
// own, steps name their engine, and requests have the numbers of the whole workload.
// One engine is observed as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/engine/engine.hpp"
#include "models/session_split.hpp"
#include "sim/result.hpp"

namespace spillway {

class Cluster final : public RequestSink {
 public:
  static constexpr Duration kCountsAge = std::chrono::milliseconds(100);

  struct Size {
    std::uint32_t engines = 1;             ///< of one instance
    const SessionSplit* split = nullptr;   ///< over several; null: one serves all
    const NetworkSpec* network = nullptr;  ///< null: nothing that engines share
  };

  /// `parts(i)` are those of engine i, engines counted instance by instance.
  Cluster(EventQueue& queue, const Workload& workload, const Size& size,
          const std::function<EngineParts(std::uint32_t)>& parts, Observer& observer);
  ~Cluster();

  void set_listener(RequestEndListener& listener);
  void submit(RequestId request, Time due) override;
  /// Where requests go: this, or the only engine itself.
  RequestSink& sink() {
    return engines_.size() == 1 ? *engines_[0] : static_cast<RequestSink&>(*this);
  }

  /// As Engine::finish_run(), over all.
  std::uint32_t finish_run();

  std::uint32_t size() const { return static_cast<std::uint32_t>(engines_.size()); }
  const Engine& operator[](std::uint32_t i) const { return *engines_[i]; }
  std::uint32_t engines_of_instance() const { return size_.engines; }
  /// What each did; empty where there is one.
  std::vector<EngineShare> shares() const;

 private:
  class View;
  class MediaView;
  struct Totals;
  struct Counts {
    std::uint64_t waiting = 0;
    std::uint64_t running = 0;
  };
  /// Among the engines of one instance.
  std::uint32_t choose(std::uint32_t instance, Time now);

  EventQueue& queue_;
  Size size_;
  std::unique_ptr<Totals> totals_;         ///< over all engines
  std::unique_ptr<MediaView> media_view_;  ///< over several
  Network network_;                        ///< of all engines
  SharedStores shared_stores_;             ///< of several
  std::vector<std::unique_ptr<View>> views_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<Counts> counts_;         ///< as the front end knows them
  std::vector<std::int64_t> counted_;  ///< in which 100 ms those of an instance were taken
};

}  // namespace spillway
