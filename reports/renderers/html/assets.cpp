#include "reports/renderers/html/assets.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "sim/error.hpp"

namespace spillway {

std::string_view asset(std::string_view name) {
  for (const Asset& each : assets()) {
    if (each.name == name) return each.text;
  }
  KV_ASSERT(false, "no asset {}", name);
}

std::string policy_hash(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const int done =
      EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  KV_ASSERT(done == 1 && size == 32, "SHA-256 of {} bytes failed", text.size());
  std::array<unsigned char, 45> base64{};  // 44 characters and an end
  EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
  return "'sha256-" + std::string(reinterpret_cast<const char*>(base64.data())) + "'";
}

}  // namespace spillway
