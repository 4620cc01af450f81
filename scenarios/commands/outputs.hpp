// `--output kind=K,path=P`: further forms of a result beside its document.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/provenance.hpp"
#include "scenarios/commands/command.hpp"

namespace spillway {

struct Output {
  std::string kind;
  std::string path;  ///< "-": standard output
};

/// All of them; throws InputError for a kind that is not in `kinds`, and where more than one thing
/// would go to standard output.
std::vector<Output> parse_outputs(const std::vector<std::string>& texts,
                                  const std::vector<std::string_view>& kinds,
                                  const CommonOptions& common);

std::vector<std::string> paths_of(const std::vector<Output>& outputs);

/// What a report says of where its figures come from.
Provenance provenance_of(const Document& document, const std::string& scenario);

/// The end of a verb: `full` as each output's kind and, with --out, as report.html; the document;
/// then, on the terminal where nothing else stands there, `summary`, and the document's warnings.
/// Standard output comes last: it stays empty where something else cannot be written. `special`,
/// where given, writes the outputs of kinds that are no reports, and says whether it did.
void write_results(const Document& document, const Report& full, const Report& summary,
                   const std::vector<Output>& outputs, const CommonOptions& common,
                   const std::function<bool(const Output&)>& special = {});

}  // namespace spillway
