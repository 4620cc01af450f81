// What every verb of the command line shares: common options, streams, progress, documents.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/document.hpp"
#include "reports/notes/notes.hpp"
#include "reports/report.hpp"
#include "scenarios/commands/engine_input.hpp"
#include "scenarios/commands/tree/verb.hpp"
#include "scenarios/scenario/config/json_source.hpp"

namespace spillway {

/// Options that every verb takes.
struct CommonOptions {
  std::vector<std::string> set;
  bool takes_set = false;  ///< the verb reads a scenario, or says itself why --set means nothing
  std::string seed;
  unsigned threads = 0;  ///< 0: all cores
  std::string json;      ///< path, or "-" for standard output
  std::string out;       ///< directory
  bool quiet = false;
  bool notes = false;  ///< all of them, with details
  std::string color = "auto";

  unsigned thread_count() const;
  /// Standard output carries exactly one JSON document.
  bool json_only() const { return json == "-"; }
};

/// A verb with the common options and its action; `examples` as Verb has them.
Verb& add_command(Verb& parent, const std::string& name, const std::string& summary,
                  const std::string& examples, CommonOptions& common, std::function<int()> run);
/// The same with options of its own, of which `common` is a member.
template <class Options>
std::pair<Verb&, Options&> add_command(Verb& parent, const std::string& name,
                                       const std::string& summary, const std::string& examples,
                                       int (*run)(const Options&)) {
  const auto options = std::make_shared<Options>();
  return {add_command(parent, name, summary, examples, options->common,
                      [options, run] { return run(*options); }),
          *options};
}

/// Throws InputError (exit 2): --set means nothing to this verb.
[[noreturn]] void refuse_set(const Verb& verb);

/// What a verb simulates: a scenario file, or an engine's own configuration.
struct ScenarioInput {
  std::string scenario;
  EngineInput engine;

  /// The files that are read.
  std::vector<std::string> paths() const;
};
/// SCENARIO, --from-engine-config, --vllm and what goes with them; `what` describes the file.
void add_scenario_input(Verb& command, ScenarioInput& input, const std::string& what);

/// Every verb, in the order of the help.
void add_all_commands(Verb& program);

/// `spillway plan SCENARIO`, with no other options than these.
int plan_scenario(const std::string& scenario, const CommonOptions& common);

/// --seed, or nothing where it is not given; throws InputError where it is no whole number.
std::optional<std::uint64_t> seed_of(const CommonOptions& common);

/// Reads a scenario file and applies --set and --seed.
JsonSource open_scenario_source(const std::string& path, const CommonOptions& common);
/// The same of an engine's configuration; what was assumed is told on standard error and goes to
/// `assumed`. Throws InputError (exit 2) where the model is not known.
JsonSource open_scenario_source(const ScenarioInput& input, const CommonOptions& common,
                                Notes& assumed);

/// Throws InputError (exit 7) where --json, --out or one of `outputs` cannot be written, so that
/// this is known before the work and not after it. Leaves nothing behind.
void check_writable(const CommonOptions& common, const std::vector<std::string>& outputs = {});
/// Throws InputError (exit 2) where --json or one of `outputs` is one of `inputs`: what a verb
/// reads is never written over.
void refuse_own_inputs(const CommonOptions& common, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs = {});
/// Makes --out's directory.
void make_directory(const std::string& path);

/// Writes the document where --json and --out say (as `name`.json), creating the directory.
void write_document(const Document& document, const CommonOptions& common, const std::string& name);
/// Renders to a file, or to standard output for "-", where text obeys --color.
void write_report(const Report& report, const std::string& format, const std::string& path,
                  const CommonOptions& common);
/// Prints on standard output, and fails (exit 7) where that cannot be written.
void print(const std::string& text);
/// Prints a report as text on standard output, unless that belongs to the JSON document.
void print_report(const Report& report, const CommonOptions& common);
/// Prints tables of the tool's own, and writes rows as a document of kind list.
void print_listing(const std::string& title, std::vector<Table> shown, std::span<const Table> rows,
                   nlohmann::json inputs, const CommonOptions& common);
/// The same of one table, whose rows are those of the document.
void print_listing(const std::string& title, Table table, nlohmann::json inputs,
                   const CommonOptions& common);
/// To standard error, unless --quiet; with --notes all of them, in full.
void print_notes(const Notes& notes, const CommonOptions& common, const NoteRoom& room = {});

}  // namespace spillway
