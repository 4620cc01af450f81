// 64-bit fingerprints (XXH3, xxhash.com) of results and of trace content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace spillway {

/// Feed values in a fixed order; equal sequences give equal digests on every little-endian machine.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  void bytes(const void* data, std::size_t size);
  void number(std::uint64_t value) { bytes(&value, sizeof value); }
  void real(double value);
  /// Length first, so that "ab","c" and "a","bc" differ.
  void text(std::string_view value);
  template <class T>
  void column(std::span<const T> values) {
    number(values.size());
    bytes(values.data(), values.size_bytes());
  }

  std::uint64_t value() const;
  std::string hex() const;  ///< 16 hex digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hex16(std::uint64_t value);

}  // namespace spillway
