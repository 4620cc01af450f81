// The one way a file that is no trace is read: whole, into memory.
#pragma once

#include <cstdint>
#include <string>

#include "sim/error.hpp"

namespace spillway {

/// No document of ours or of an engine's comes near; a device that never ends does.
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{256} << 20;

/// The bytes of `path` ("-" is standard input) from `begin` on. Throws InputError: exit 7, with
/// what the system says, where it cannot be opened or read to its end or is a directory; exit
/// `fault` beyond `most` bytes.
std::string read_file(const std::string& path, std::uint64_t begin = 0,
                      std::uint64_t most = kMostFileBytes, Fault fault = Fault::kIo);

/// The first bytes of a file, up to `size`. Throws as read_file() does.
std::string read_head(const std::string& path, std::size_t size);

/// A text as read_file() reads it; one with a NUL byte is refused with its line, exit `fault`.
std::string read_text_file(const std::string& path, Fault fault = Fault::kUsage);

}  // namespace spillway
