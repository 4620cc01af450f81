// The section `gpu` of a scenario, where it is an object.
#pragma once

#include <string>

#include "models/catalogue/gpu_spec.hpp"

namespace spillway {

/// With the name that the row points to: never copied.
struct OwnGpu {
  std::string name;
  GpuSpec spec{};
};

}  // namespace spillway
