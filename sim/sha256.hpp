// SHA-256 (FIPS 180-4): names of runs, and what a page's content security policy names its scripts
// by. Written out here because a library brings its configuration files and plugins to every start.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace spillway {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256_bytes(std::string_view text);

/// 64 hex digits over the bytes of `text`.
std::string sha256(std::string_view text);

}  // namespace spillway
