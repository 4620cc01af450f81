#include "sim/digest.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <bit>

#include "sim/error.hpp"

namespace spillway {

static_assert(std::endian::native == std::endian::little, "digests are defined little-endian");

struct Digest::State {
  XXH3_state_t* hash = XXH3_createState();
  State() {
    KV_ASSERT(hash != nullptr, "out of memory");
    XXH3_64bits_reset(hash);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(hash); }
};

Digest::Digest() : state_(std::make_unique<State>()) {}
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::bytes(const void* data, std::size_t size) {
  if (size > 0) XXH3_64bits_update(state_->hash, data, size);
}

void Digest::real(double value) {
  number(std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value));  // -0 counts as 0
}

void Digest::text(std::string_view value) {
  number(value.size());
  bytes(value.data(), value.size());
}

std::uint64_t Digest::value() const {
  return XXH3_64bits_digest(state_->hash);
}
std::string Digest::hex() const {
  return hex16(value());
}

std::string hex16(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

}  // namespace spillway
