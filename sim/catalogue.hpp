// The one registration idiom: a table you can read.
//
// A registry is a constexpr array of Entry; its rows feed construction, --help, `spillway list` and
// the error that an unknown name ends in. Static-initialiser registration is not used: a linker
// drops an unreferenced registrar from a static library.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/error.hpp"

namespace spillway {

template <class Interface, class Context>
struct Entry {
  std::string_view name;
  std::string_view summary;  ///< one sentence, for help and listings
  std::unique_ptr<Interface> (*make)(const Context&);
};

/// The candidate that a typing error most likely meant, else one that `name` begins; empty when
/// there is none.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

/// `unknown KIND "name"; did you mean "x"? known: a, b, c`
std::string unknown_name(std::string_view kind, std::string_view name,
                         std::span<const std::string_view> known);

template <class Row>
std::vector<std::string_view> names_of(std::span<const Row> rows) {
  std::vector<std::string_view> out;
  for (const Row& row : rows) out.push_back(row.name);
  std::sort(out.begin(), out.end());
  return out;
}

/// The row called `name`; throws InputError (exit 2) at `where`, listing the known names.
template <class Row>
const Row& find_row(std::span<const Row> rows, std::string_view kind, std::string_view name,
                    const SourceRef& where) {
  for (const Row& row : rows) {
    if (row.name == name) return row;
  }
  throw InputError(Fault::kUsage, where, unknown_name(kind, name, names_of(rows)));
}

}  // namespace spillway
