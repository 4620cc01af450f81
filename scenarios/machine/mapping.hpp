// Anonymous memory straight from the system: page-aligned, untouched, given back at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace spillway {

class Mapping {
 public:
  enum class Pages : std::uint8_t { kAny, kSmall, kHuge };

  /// Throws std::bad_alloc where the system refuses. kSmall and kHuge ask for 4 KiB and 2 MiB
  /// pages; whether huge ones came shows in huge_bytes() once they are touched.
  explicit Mapping(std::int64_t bytes, Pages pages = Pages::kAny);
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }
  template <class T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data_), static_cast<std::size_t>(size_) / sizeof(T)};
  }
  /// How much of it stands on huge pages, as /proc/self/smaps has it; -1: not known.
  std::int64_t huge_bytes() const;

 private:
  void* base_ = nullptr;  ///< data_ is aligned to 2 MiB behind it
  std::size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace spillway
