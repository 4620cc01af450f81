// How long a step takes when KV moves beside its layers: closed forms and recurrences, no state.
//
// Two cases. A *layer-wise load* fills the prefix of requests that run in this step: layer l waits
// for its own piece only (SGLang HiCache's LayerDoneCounter, FlexKV). A *cold stream* brings, in
// every decode step, the blocks that stay below HBM: each layer's pieces go through k buffers
// (FlexGen). Layers count from 1, f is when a layer has computed, everything before counts as 0:
//
//   layer-wise load  a_l = a_{l-1} + x_l                     f_l = max(f_{l-1}, a_l) + c_l
//   cold stream      d_l = max(d_{l-1}, f_{l-k}) + x_l       f_l = max(f_{l-1}, d_l) + c_l
//
// Times are integer nanoseconds; whatever is divided is rounded up.
#pragma once

#include <cstdint>
#include <span>

#include "sim/units.hpp"

namespace spillway {

/// The `layer`-th of `layers` parts of `whole`, layers counting from 0. The parts add up to the
/// whole and differ by at most one. Preconditions: 0 <= layer < layers, whole >= 0.
std::int64_t layer_part(std::int64_t whole, std::uint32_t layer, std::uint32_t layers);

/// f_l of a layer that may begin at `previous` (f_{l-1}) and whose piece arrives at `arrival`.
constexpr Time layer_end(Time previous, Time arrival, Duration compute) {
  return (previous > arrival ? previous : arrival) + compute;
}

// ---- layer-wise load

/// f_L with `load` x_l and `compute` c_l, as many of one as of the other.
Duration layerwise_load(std::span<const Duration> load, std::span<const Duration> compute);

/// The same with equal layers: x + L c while a piece takes no longer than a layer, else L x + c.
Duration layerwise_load(Duration load, Duration compute, std::uint32_t layers);

// ---- cold stream

/// f_L of one step that begins with nothing fetched, with `buffers` k >= 2 for layers under way.
Duration cold_stream(std::span<const Duration> load, std::span<const Duration> compute,
                     std::uint32_t buffers);

/// What a step of steady decoding makes of its compute time and of the time its copies take.
enum class StreamForm : std::uint8_t {
  /// max(c, x) / efficiency: what comes next does not depend on this step's results, so copies run
  /// on across steps.
  kOverlapped,
  /// c + x: copies and compute take turns (measured on a llama.cpp fork before its ordering was
  /// removed: 31.5 ms = 25.3 + 6.2; GenerelSchwerz/llama.cpp PR 31).
  kSerial,
  /// x + max(c, others): FlexGen's own calibrated model, which adds the copy towards the GPU to the
  /// largest of compute and its other streams (FlexLLMGen, experimental/cost_model.py: Tgen).
  kCalibrated,
};

/// Parts per million of the ideal max(c, x) that overlapped streaming reaches: the same fork
/// measured 96 to 99% on PCIe 4 once copies no longer waited for compute. The lower end.
inline constexpr std::int64_t kStreamEfficiencyPpm = 960'000;
inline constexpr std::int64_t kWholePpm = 1'000'000;

/// Prefetch buffers that a cold stream needs at least: one is read while the next is filled.
inline constexpr std::uint32_t kLeastStreamBuffers = 2;

struct StreamedStep {
  Duration compute;    ///< sum of c_l
  Duration load;       ///< sum of x_l
  Duration others{0};  ///< kCalibrated: the slowest other stream, e.g. what the step writes down
};
/// One step in the steady state. `efficiency_ppm` counts in kOverlapped only; in (0, 1,000,000].
Duration streamed_step(const StreamedStep& step, StreamForm form,
                       std::int64_t efficiency_ppm = kStreamEfficiencyPpm);

}  // namespace spillway
