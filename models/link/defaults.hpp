// Default host links by GPU and method, for scenarios that give none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/catalogue/gpu_spec.hpp"
#include "models/link/link_model.hpp"

namespace spillway {

/// How pieces are copied between HBM and host memory.
enum class CopyMethod : std::uint8_t {
  kBatch,   ///< one call for all pieces
  kDma,     ///< one asynchronous copy after another
  kKernel,  ///< a kernel that gathers or scatters, and takes SMs from compute
};
std::string_view name_of(CopyMethod method);
std::optional<CopyMethod> copy_method(std::string_view name);

struct HostLinkDefault {
  RateTable down;          ///< D2H
  RateTable up;            ///< H2D
  double down_duplex = 1;  ///< share of its rate a direction keeps while the other is busy
  double up_duplex = 1;
  Duration submit{0};  ///< of the host thread, for each piece
};

HostLinkDefault default_host_link(const GpuSpec& gpu, CopyMethod method = CopyMethod::kBatch);

}  // namespace spillway
