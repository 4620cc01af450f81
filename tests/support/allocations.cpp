#include "tests/support/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> count{0};

}  // namespace

// Sanitizers bring their own forms and pair them; there nothing is counted.
#ifndef SPILLWAY_SANITIZED

// Replacing the plain forms is enough: the array and nothrow forms call them.
void* operator new(std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

#endif

namespace spillway::test {

std::uint64_t allocations() {
  return count.load(std::memory_order_relaxed);
}

}  // namespace spillway::test
