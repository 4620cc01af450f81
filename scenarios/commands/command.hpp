// What every verb of the command line shares: common options, streams, progress, documents.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/document.hpp"
#include "reports/report.hpp"
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
  std::string color = "auto";

  unsigned thread_count() const;
  /// Standard output carries exactly one JSON document.
  bool json_only() const { return json == "-"; }
};

/// A number in [least, most], which is not what CLI::Range says of NaN.
CLI::Validator real_in(double least, double most);

/// A verb: adds itself to the application; `run` is called after parsing and returns the exit code.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};
using CommandList = std::vector<Command>;

/// A subcommand with the common options, examples in its help, and its action. `examples` are lines
/// that begin with two blanks; what begins without is a note on them.
CLI::App* add_command(CLI::App& parent, CommandList& commands, const std::string& name,
                      const std::string& summary, const std::string& examples,
                      const std::shared_ptr<CommonOptions>& common, std::function<int()> run);

/// What a verb simulates: a scenario file, or the engine's own command line.
struct ScenarioInput {
  std::string scenario;
  std::string vllm;
  std::string gpu;
  std::string trace;
  std::string config;
  std::string release;

  /// The file; empty for a command line, which is no file.
  const std::string& path() const { return scenario; }
};
/// SCENARIO, --vllm and what goes with it; `what` describes the file.
void add_scenario_input(CLI::App& command, ScenarioInput& input, const std::string& what);

void add_init(CLI::App& app, CommandList& commands);
void add_run(CLI::App& app, CommandList& commands);
void add_replay(CLI::App& app, CommandList& commands);
void add_mrc(CLI::App& app, CommandList& commands);
void add_plan(CLI::App& app, CommandList& commands);
void add_compare(CLI::App& app, CommandList& commands);
void add_trace(CLI::App& app, CommandList& commands);
void add_calibrate(CLI::App& app, CommandList& commands);
void add_fit(CLI::App& app, CommandList& commands);
void add_kvsize(CLI::App& app, CommandList& commands);
void add_flags(CLI::App& app, CommandList& commands);
void add_list(CLI::App& app, CommandList& commands);
void add_schema(CLI::App& app, CommandList& commands);
void add_report(CLI::App& app, CommandList& commands);
void add_validate(CLI::App& app, CommandList& commands);
void add_sweep(CLI::App& app, CommandList& commands);
void add_demo(CLI::App& app, CommandList& commands);
void add_completion(CLI::App& app, CommandList& commands);
void add_man(CLI::App& app, CommandList& commands);

/// Every verb, in the order of the help.
void add_all_commands(CLI::App& app, CommandList& commands);

/// What `spillway list` lists.
std::vector<std::string> catalogue_names();

/// `spillway plan SCENARIO`, with no other options than these.
int plan_scenario(const std::string& scenario, const std::shared_ptr<CommonOptions>& common);

/// --seed, or nothing where it is not given; throws InputError where it is no whole number.
std::optional<std::uint64_t> seed_of(const CommonOptions& common);

/// Reads a scenario file and applies --set and --seed.
JsonSource open_scenario_source(const std::string& path, const CommonOptions& common);
/// The same of a command line; what was assumed is told on standard error and goes to `assumed`.
/// Throws InputError (exit 2) where the model is not known.
JsonSource open_scenario_source(const ScenarioInput& input, const CommonOptions& common,
                                std::vector<std::string>& assumed);

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
/// Notes go to standard error, unless --quiet.
void print_notes(const std::vector<std::string>& notes, const CommonOptions& common);

}  // namespace spillway
