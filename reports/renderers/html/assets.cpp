#include "reports/renderers/html/assets.hpp"

#include <cstddef>

#include "sim/error.hpp"
#include "sim/sha256.hpp"

namespace spillway {

std::string_view asset(std::string_view name) {
  for (const Asset& each : assets()) {
    if (each.name == name) return each.text;
  }
  KV_ASSERT(false, "no asset {}", name);
}

std::string policy_hash(std::string_view text) {
  constexpr std::string_view kBase64 =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = "'sha256-";
  const Sha256 digest = sha256_bytes(text);
  for (std::size_t at = 0; at < digest.size(); at += 3) {
    unsigned three = 0;
    for (std::size_t i = at; i < at + 3; ++i) three = three << 8 | (i < 32 ? digest[i] : 0U);
    for (int shift = 18; shift >= 0; shift -= 6) out += kBase64[three >> shift & 63];
  }
  out.back() = '=';  // 32 bytes leave the last group one short
  return out + "'";
}

}  // namespace spillway
