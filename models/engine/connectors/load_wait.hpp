// What the worker part of a step does about loads: when they are submitted, when the forward may
// begin, and when it ends where layers wait for their own pieces.
//
// A step's moves (tier_moves.hpp) call begin() once the step's fences are down, then may_compute()
// until it says yes, at every transfer that ends; then forward_end(), likewise until it names the
// end. One step at a time: worker parts follow one another.
//
// Model: a step's time is spread evenly over the layers that have KV; its host overhead and output
// head are part of that.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/engine/connectors/transfer_jobs.hpp"
#include "sim/units.hpp"

namespace spillway {

class LoadWait {
 public:
  /// `jobs` outlives this. `layers` matters to kLayerwise only.
  LoadWait(LoadSemantics semantics, std::uint32_t layers, TransferJobs& jobs)
      : semantics_(semantics), layers_(layers), jobs_(jobs) {}

  /// The worker part of a step goes on with these loads. A step that `computes` nothing has no
  /// forward that could wait.
  void begin(const std::vector<std::uint32_t>& loads, bool computes);
  /// Whether the forward may begin now. A barrier's own loads are submitted as it answers yes.
  bool may_compute();

  /// The forward begins now and would last `compute` if nothing were late.
  void begin_forward(Time now, Duration compute);
  /// When it ends, once that is certain.
  std::optional<Time> forward_end(Time now);

 private:
  LoadSemantics semantics_;
  std::uint32_t layers_;
  TransferJobs& jobs_;
  const std::vector<std::uint32_t>* unsubmitted_ = nullptr;  ///< a barrier's own loads
  bool waits_ = false;                                       ///< for all loads under way to end
  bool layered_ = false;                                     ///< this step's loads come in pieces
  std::uint32_t next_layer_ = 0;                             ///< the first whose end is not known
  Duration compute_{};
  Time done_{};  ///< end of the layer before
};

}  // namespace spillway
