// What every verb of the command line shares: common options, streams, progress, documents.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reports/document.hpp"
#include "reports/report.hpp"
#include "scenarios/config/json_source.hpp"

namespace spillway {

/// Options that every verb takes.
struct CommonOptions {
  std::vector<std::string> set;
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

/// A verb: adds itself to the application; `run` is called after parsing and returns the exit code.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};
using CommandList = std::vector<Command>;

/// A subcommand with the common options, examples in its help, and its action.
CLI::App* add_command(CLI::App& parent, CommandList& commands, const std::string& name,
                      const std::string& summary, const std::string& examples,
                      const std::shared_ptr<CommonOptions>& common, std::function<int()> run);

void add_run(CLI::App& app, CommandList& commands);
void add_replay(CLI::App& app, CommandList& commands);
void add_plan(CLI::App& app, CommandList& commands);
void add_trace(CLI::App& app, CommandList& commands);
void add_kvsize(CLI::App& app, CommandList& commands);
void add_list(CLI::App& app, CommandList& commands);
void add_schema(CLI::App& app, CommandList& commands);
void add_report(CLI::App& app, CommandList& commands);

/// Reads a scenario file and applies --set and --seed.
JsonSource open_scenario_source(const std::string& path, const CommonOptions& common);

/// Writes the document where --json and --out say (as `name`.json), creating the directory.
void write_document(const Document& document, const CommonOptions& common, const std::string& name);
/// Renders to a file, or to standard output for "-".
void write_report(const Report& report, const std::string& format, const std::string& path);
/// Prints a report as text on standard output, unless that belongs to the JSON document.
void print_report(const Report& report, const CommonOptions& common);
/// Notes go to standard error, unless --quiet.
void print_notes(const std::vector<std::string>& notes, const CommonOptions& common);

}  // namespace spillway
