// How names of models and GPUs are matched: people write "llama 3.1 8b" and "H100".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/catalogue.hpp"

namespace spillway {

struct Alias {
  std::string_view alias;
  std::string_view name;
};

/// Lower case without spaces, '-' and '_'.
std::string folded(std::string_view name);

/// The row whose name or alias is `name`, else the only row whose name ends in it.
template <class Row>
const Row& find_by_suffix(std::span<const Row> rows, std::span<const Alias> aliases,
                          std::string_view kind, std::string_view name, const SourceRef& where) {
  const std::string wanted = folded(name);
  for (const Alias& alias : aliases) {
    if (folded(alias.alias) == wanted) return find_row(rows, kind, alias.name, where);
  }
  const Row* match = nullptr;
  std::string meanings;
  for (const Row& row : rows) {
    const std::string candidate = folded(row.name);
    if (candidate == wanted) return row;
    if (wanted.empty() || !candidate.ends_with(wanted)) continue;
    match = &row;
    meanings += fmt::format("{}{}", meanings.empty() ? "" : ", ", row.name);
  }
  if (match != nullptr && match->name == meanings) return *match;
  if (match != nullptr) {
    throw InputError(Fault::kUsage, where,
                     fmt::format("{} \"{}\" could mean any of: {}", kind, name, meanings));
  }
  std::vector<std::string_view> known = names_of(rows);
  for (const Alias& alias : aliases) known.push_back(alias.alias);
  throw InputError(Fault::kUsage, where, unknown_name(kind, name, known));
}

}  // namespace spillway
