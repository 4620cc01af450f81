// How long KV is kept, as bytes of a binary trace: numbers of 64 bits, one behind the other.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/retention.hpp"

namespace spillway {

std::string retention_bytes(const KvRetention& says);
/// Nothing where the bytes are none, or say what no text trace may.
std::optional<KvRetention> retention_in(std::string_view bytes);

}  // namespace spillway
