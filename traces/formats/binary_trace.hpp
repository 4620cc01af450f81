// The binary trace: a header and the workload's columns as they lie in memory, so that opening one
// is a memory map and no parsing. Little-endian; columns start at multiples of 64 bytes; the header
// carries the content hash, which is checked on opening.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/workload.hpp"

namespace spillway {

inline constexpr std::string_view kBinaryTraceMagic = "SPILLTR2";

/// Throws InputError: exit 7 when the file cannot be opened, exit 3 when it is not a complete,
/// unaltered binary trace. `limit`: only the first so many requests; 0: all.
Workload open_binary_trace(const std::string& path, std::uint64_t limit = 0);
void write_binary_trace(const Workload& workload, const std::string& path);

}  // namespace spillway
