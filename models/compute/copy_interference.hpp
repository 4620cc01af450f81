// How copies slow the computation that runs beside them.
//
// A copy by a kernel takes SMs: compute-bound time is multiplied by 1 / (1 - share). Any copy takes
// HBM bandwidth: memory-bound time is multiplied by factor / (1 - BW_copy / B_hbm); 55 GB/s of 3.35
// TB/s cost 1.7% (the factor is what a measurement found beyond that; 1 unless given). Both hold
// only while something moves, so the end of a step is timed anew whenever that changes.
//
// Model: a step's compute-bound and memory-bound parts advance side by side, in proportion; a
// direction takes its whole bandwidth while anything is on its way there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "models/link/copy_path.hpp"
#include "sim/units.hpp"

namespace spillway {

/// What each direction takes while it is busy; of both together less than the whole.
struct CopyInterference {
  std::array<double, 2> sm_share{};   ///< of the SMs
  std::array<double, 2> hbm_share{};  ///< of HBM's bandwidth
  double memory_factor = 1;           ///< measured harm to memory-bound time, at least 1

  /// False: copies are free, and nothing is timed.
  bool any() const;
};

/// Directions in which something moves, by index_of().
using BusyLanes = std::array<bool, 2>;

/// The step's time without copies.
struct StepWork {
  Duration compute_bound{0};
  Duration memory_bound{0};
  Duration whole() const { return compute_bound + memory_bound; }
};

/// Work that takes this much longer while `busy` lanes move; at least 1.
double slowdown(const CopyInterference& interference, const StepWork& work, BusyLanes busy);

/// The clock of the step that computes.
class StepClock {
 public:
  explicit StepClock(const CopyInterference& interference) : interference_(interference) {}

  /// When a step that begins now ends, if the lanes stay as they are. Precondition: some work.
  Time start(Time now, const StepWork& work, BusyLanes busy);
  /// The same, some time later; nothing where the end has not moved.
  std::optional<Time> retime(Time now, BusyLanes busy);

 private:
  Time end_from(Time now, BusyLanes busy);

  CopyInterference interference_;
  StepWork work_;
  BusyLanes busy_{};
  WideInt left_ = 0;        ///< of the work, 2^-32 ns
  std::int64_t speed_ = 0;  ///< of work per ns, 2^-32
  Time since_{};            ///< when left_ was true
};

}  // namespace spillway
