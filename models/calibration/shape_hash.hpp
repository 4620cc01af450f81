// Which rows of a table a question leaves out: by their shape, so that the answer is the same
// whatever the order of the rows.
#pragma once

#include <cstdint>
#include <tuple>

namespace spillway {

/// A number that depends on the row's shape only, mixed well (the finaliser of splitmix64).
template <class Row>
std::uint64_t shape_hash(const Row& row) {
  std::uint64_t hash = 0x9E3779B97F4A7C15U;
  const auto mix = [&](double argument) {
    hash += static_cast<std::uint64_t>(argument) + 0x9E3779B97F4A7C15U;
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9U;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBU;
    hash ^= hash >> 31;
  };
  std::apply([&](auto... argument) { (mix(argument), ...); }, row.key());
  return hash;
}

/// One row in five.
template <class Row>
bool held_out_row(const Row& row) {
  return shape_hash(row) % 5 == 0;
}

}  // namespace spillway
