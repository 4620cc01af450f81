#include "scenarios/machine/mapping.hpp"

#include <sys/mman.h>

#include <charconv>
#include <fstream>
#include <new>
#include <string>
#include <utility>

#include "sim/system.hpp"

namespace spillway {

namespace {
constexpr std::size_t kMappedPage = std::size_t{2} << 20;
}

Mapping::Mapping(std::int64_t bytes, Pages pages)
    : mapped_(static_cast<std::size_t>(bytes) + kMappedPage), size_(bytes) {
  base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base_ == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(base_);
  data_ = static_cast<std::byte*>(base_) + ((kMappedPage - address % kMappedPage) % kMappedPage);
  // A refusal leaves the system's own choice, which huge_bytes() then tells.
  if (pages == Pages::kSmall) wish_pages(base_, mapped_, false);
  if (pages == Pages::kHuge) wish_pages(base_, mapped_, true);
}

Mapping::~Mapping() {
  if (base_ != nullptr) munmap(base_, mapped_);
}

Mapping::Mapping(Mapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      mapped_(other.mapped_),
      data_(other.data_),
      size_(other.size_) {}

std::int64_t Mapping::huge_bytes() const {
  std::ifstream maps("/proc/self/smaps");
  if (!maps) return -1;
  const auto inside = reinterpret_cast<std::uintptr_t>(data_);
  std::string line;
  bool ours = false;
  while (std::getline(maps, line)) {
    const std::size_t dash = line.find('-');
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    if (dash != std::string::npos && dash < line.find(' ')) {  // a range opens the next mapping
      const char* end = line.data() + line.size();
      const auto left = std::from_chars(line.data(), end, from, 16);
      const auto right = std::from_chars(left.ptr + 1, end, to, 16);
      ours = right.ec == std::errc() && from <= inside && inside < to;
    } else if (ours && line.starts_with("AnonHugePages:")) {
      const std::size_t digit = line.find_first_of("0123456789");
      if (digit == std::string::npos) return -1;
      std::int64_t kib = 0;
      std::from_chars(line.data() + digit, line.data() + line.size(), kib);
      return kib << 10;
    }
  }
  return -1;
}

}  // namespace spillway
