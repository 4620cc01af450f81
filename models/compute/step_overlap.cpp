#include "models/compute/step_overlap.hpp"

#include <algorithm>
#include <vector>

#include "sim/error.hpp"
#include "sim/units.hpp"

namespace spillway {

std::int64_t layer_part(std::int64_t whole, std::uint32_t layer, std::uint32_t layers) {
  const auto up_to = [&](std::uint32_t n) {
    return static_cast<std::int64_t>(static_cast<WideInt>(whole) * n / layers);
  };
  return up_to(layer + 1) - up_to(layer);
}

Duration layerwise_load(std::span<const Duration> load, std::span<const Duration> compute) {
  KV_ASSERT(load.size() == compute.size(), "{} loads for {} layers", load.size(), compute.size());
  Time arrival{};
  Time done{};
  for (std::size_t l = 0; l < load.size(); ++l) {
    arrival += load[l];
    done = layer_end(done, arrival, compute[l]);
  }
  return done.time_since_epoch();
}

Duration layerwise_load(Duration load, Duration compute, std::uint32_t layers) {
  const auto most = static_cast<std::int64_t>(layers);
  return load <= compute ? load + most * compute : most * load + compute;
}

Duration cold_stream(std::span<const Duration> load, std::span<const Duration> compute,
                     std::uint32_t buffers) {
  KV_ASSERT(load.size() == compute.size(), "{} loads for {} layers", load.size(), compute.size());
  KV_ASSERT(buffers >= kLeastStreamBuffers, "{} buffers", buffers);
  std::vector<Time> done(load.size());
  Time arrival{};
  Time previous{};
  for (std::size_t l = 0; l < load.size(); ++l) {
    const Time buffer_free = l < buffers ? Time{} : done[l - buffers];
    arrival = std::max(arrival, buffer_free) + load[l];
    previous = done[l] = layer_end(previous, arrival, compute[l]);
  }
  return previous.time_since_epoch();
}

Duration streamed_step(const StreamedStep& step, StreamForm form, std::int64_t efficiency_ppm) {
  switch (form) {
    case StreamForm::kSerial:
      return step.compute + step.load;
    case StreamForm::kCalibrated:
      return step.load + std::max(step.compute, step.others);
    case StreamForm::kOverlapped:
      break;
  }
  KV_ASSERT(efficiency_ppm > 0 && efficiency_ppm <= kWholePpm, "efficiency {} ppm", efficiency_ppm);
  const WideInt ideal = std::max(step.compute, step.load).count();
  const WideInt ppm = efficiency_ppm;
  return Duration(static_cast<std::int64_t>((ideal * kWholePpm + ppm - 1) / ppm));
}

}  // namespace spillway
