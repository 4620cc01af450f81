// Which GPU of the catalogue a driver means.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/catalogue/gpu_spec.hpp"

namespace spillway {

/// The GPU that a driver calls `device` ("NVIDIA H100 80GB HBM3"), the one of the nearest memory
/// where there are several; nullptr where none fits.
const GpuSpec* gpu_of_device(std::string_view device, std::int64_t memory_bytes);

}  // namespace spillway
