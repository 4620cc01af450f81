// `--output kind=K,path=P`: further forms of a result beside its document.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/provenance.hpp"
#include "reports/renderers/renderer.hpp"
#include "scenarios/commands/command.hpp"
#include "sim/note.hpp"

namespace spillway {

struct Output {
  std::string kind;
  std::string path;  ///< "-": standard output
};

/// All of them: formats that fit a document of `kind`, or one of the verb's `own` outputs. Throws
/// InputError for others, and where more than one thing would go to standard output.
std::vector<Output> parse_outputs(const std::vector<std::string>& texts, std::string_view kind,
                                  const std::vector<std::string_view>& own,
                                  const CommonOptions& common);

/// --output, with the kinds that parse_outputs() takes.
void add_output(Verb& command, std::vector<std::string>& texts, std::string_view kind,
                const std::vector<std::string_view>& own = {});

std::vector<std::string> paths_of(const std::vector<Output>& outputs);

/// What a report says of where its figures come from.
Provenance provenance_of(const Document& document, const std::string& scenario);

/// What the terminal gets of a result.
struct Told {
  Report report;
  Notes notes;
  NoteRoom room{};
};

/// The room of an answer on standard output: never wider than people read.
struct AnswerRoom {
  std::size_t columns = 100;
  bool unicode = false;
};
AnswerRoom answer_room();

/// --details: all that is known instead of an answer of one screen.
void add_details(Verb& command, bool& details);
/// Notes below an answer of one screen: a line each.
NoteRoom glance_room();

/// The end of a verb: `full` as each output's kind and, with --out, as report.html; the document;
/// then, on the terminal where nothing else stands there, `summary`, and the document's warnings.
/// Standard output comes last: it stays empty where something else cannot be written. `special`,
/// where given, writes the verb's own outputs, and says whether it did. `view` has what formats
/// that are made of the figures need; its kind and document are filled in here.
void write_results(const Document& document, const Report& full, const Report& summary,
                   const std::vector<Output>& outputs, const CommonOptions& common,
                   const std::function<bool(const Output&)>& special = {}, ResultView view = {});
/// The same with notes of the verb's own choice in place of the document's warnings.
void write_results(const Document& document, const Report& full, const Told& told,
                   const std::vector<Output>& outputs, const CommonOptions& common,
                   const std::function<bool(const Output&)>& special = {}, ResultView view = {});

/// A result in one format, to a file or to standard output.
void write_format(const Format& format, const Report& report, const ResultView& view,
                  const std::string& path, const CommonOptions& common);

}  // namespace spillway
