// Counts heap allocations, to show that a loop makes none.
#pragma once

#include <cstdint>

namespace spillway::test {

/// How often operator new was called so far, by any thread; always 0 under AddressSanitizer.
std::uint64_t allocations();

}  // namespace spillway::test
