// A storage device read alone, as a link: what a load from it is expected to take.
#pragma once

#include <memory>

#include "models/link/link_model.hpp"
#include "models/tier/storage_spec.hpp"

namespace spillway {

/// Reads of `spec` on an idle device at the median latency, then over `host` where the data goes by
/// way of the host (null: directly). It reads `copies` times what a rank loads: the parts of all.
/// `clients` others share its limits. For estimates: the device
/// at work is storage_device.hpp.
std::unique_ptr<LinkModel> make_storage_read_link(const StorageSpec& spec, std::uint32_t clients,
                                                  std::unique_ptr<LinkModel> host,
                                                  std::uint32_t copies = 1);

}  // namespace spillway
