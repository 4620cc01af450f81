// Default host links by GPU, for scenarios that give none.
#pragma once

#include "models/catalogue/gpu_spec.hpp"
#include "models/link/link_model.hpp"

namespace spillway {

struct HostLinkDefault {
  RateTable down;          ///< D2H
  RateTable up;            ///< H2D
  double down_duplex = 1;  ///< share of its rate a direction keeps while the other is busy
  double up_duplex = 1;
};

HostLinkDefault default_host_link(const GpuSpec& gpu);

}  // namespace spillway
