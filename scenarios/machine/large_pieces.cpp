// The program's operator new: as the library's, but what is large is counted and may be refused
// (sim/memory.hpp). Of the program alone, for tests have their own.
#include <cstdlib>
#include <new>

#include "sim/memory.hpp"
#include "sim/system.hpp"

// Sanitizers bring their own forms and pair them; there nothing is counted.
#ifndef SPILLWAY_SANITIZED

// Never so much more is got than was asked for that less than this counts as large.
constexpr std::size_t kSurelySmall = spillway::kLargePiece / 2;

// Replacing the plain forms is enough: the array and nothrow forms call them. The heap says what
// was got, when it comes as when it goes: what was asked for is not known in the end.
void* operator new(std::size_t size) {
  void* const memory = std::malloc(size > 0 ? size : 1);
  if (size < kSurelySmall) {
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  if (memory == nullptr) spillway::refuse_memory(size);
  const std::size_t got = spillway::heap_bytes(memory);
  if (got < spillway::kLargePiece) return memory;
  try {
    spillway::take_memory(got);
  } catch (...) {
    std::free(memory);
    throw;
  }
  return memory;
}

void operator delete(void* memory) noexcept {
  const std::size_t got = spillway::heap_bytes(memory);
  std::free(memory);
  if (got >= spillway::kLargePiece) spillway::give_memory(got);
}

void operator delete(void* memory, std::size_t size) noexcept {
  if (size < kSurelySmall) return std::free(memory);
  operator delete(memory);
}

#endif
