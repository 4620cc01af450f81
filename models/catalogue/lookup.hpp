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

/// The one row whose name or alias is `name`, else all whose names end in it.
template <class Row>
std::vector<const Row*> rows_by_suffix(std::span<const Row> rows, std::span<const Alias> aliases,
                                       std::string_view name) {
  std::string wanted = folded(name);
  for (const Alias& alias : aliases) {
    if (folded(alias.alias) == wanted) wanted = folded(alias.name);
  }
  std::vector<const Row*> out;
  for (const Row& row : rows) {
    const std::string candidate = folded(row.name);
    if (candidate == wanted) return {&row};
    if (!wanted.empty() && candidate.ends_with(wanted)) out.push_back(&row);
  }
  return out;
}

/// All rows that `name` may mean: by the whole of it, or where none is, by what stands behind the
/// last '/'.
template <class Row>
std::vector<const Row*> rows_meant(std::span<const Row> rows, std::span<const Alias> aliases,
                                   std::string_view name) {
  std::vector<const Row*> out = rows_by_suffix(rows, aliases, name);
  return out.empty() ? rows_by_suffix(rows, aliases, name.substr(name.rfind('/') + 1)) : out;
}

template <class Row>
const Row* only_by_suffix(std::span<const Row> rows, std::span<const Alias> aliases,
                          std::string_view name) {
  const std::vector<const Row*> meant = rows_meant(rows, aliases, name);
  return meant.size() == 1 ? meant.front() : nullptr;
}

/// The row whose name or alias is `name`, else the only row whose name ends in it. Where there is
/// none, what stands behind the last '/' is looked up: organisations rename what they publish, and
/// engines name models by their folders.
template <class Row>
const Row& find_by_suffix(std::span<const Row> rows, std::span<const Alias> aliases,
                          std::string_view kind, std::string_view name, const SourceRef& where) {
  const std::vector<const Row*> matches = rows_meant(rows, aliases, name);
  if (matches.size() == 1) return *matches.front();
  if (!matches.empty()) {
    std::string meanings;
    for (const Row* row : matches) {
      meanings += fmt::format("{}{}", meanings.empty() ? "" : ", ", row->name);
    }
    throw InputError(Fault::kUsage, where,
                     fmt::format("{} \"{}\" could mean any of: {}", kind, name, meanings));
  }
  std::vector<std::string_view> known = names_of(rows);
  for (const Alias& alias : aliases) known.push_back(alias.alias);
  throw InputError(
      Fault::kUsage, where,
      fmt::format("{} (spillway list {}s)", unknown_name(kind, name, known), folded(kind)));
}

}  // namespace spillway
