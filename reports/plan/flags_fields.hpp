// Flags of an engine by name: in a plan, and as the results of `spillway flags`.
#pragma once

#include <string>

#include "sim/fields.hpp"
#include "sim/plan_parts.hpp"

namespace spillway {

template <>
struct Fields<EngineFile> {
  static constexpr std::string_view kName = "engine_file";
  static constexpr std::string_view kHelp = "A file that an argument of an engine names.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("name", r.name, says("Its name, as the argument has it."));
    f("lines", r.lines, says("Its lines."));
  }
};

template <>
struct Fields<EngineProcess> {
  static constexpr std::string_view kName = "engine_process";
  static constexpr std::string_view kHelp = "A process that has to run beside an engine.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("command", r.command, says("The program."));
    f("arguments", r.arguments, says("Its flags, with their values."));
  }
};

template <>
struct Fields<EngineFlags> {
  static constexpr std::string_view kName = "engine_flags";
  static constexpr std::string_view kHelp =
      "What to set in an engine; arguments are words of a POSIX shell.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    f("engine", r.engine, says("The engine."));
    f("release", r.release, says("The preset that has these flags, e.g. vllm@0.25."));
    f("environment", r.environment, says("Environment variables, as NAME=value."));
    f("arguments", r.arguments, says("Flags of the command, with their values."));
    f("comments", r.comments, says("Unit, scope and arithmetic of each converted value."));
    f("not_covered", r.not_covered, says("Parts of the configuration that no flag sets."));
    f("files", r.files, if_any("Files of settings that have no flag."));
    f("processes", r.processes, if_any("Processes that have to run beside the engine."));
  }
};

/// What `spillway flags` finds.
struct FlagsResult {
  EngineFlags flags;
  std::string scenario;
  std::string preset;
  std::string command;
};

template <>
struct Fields<FlagsResult> {
  static constexpr std::string_view kName = "flags";
  static constexpr std::string_view kHelp = "Flags with which an engine runs a scenario.";
  template <class R, class F>
  static void visit(R& r, F&& f) {
    Fields<EngineFlags>::visit(r.flags, f);
    f("scenario", r.scenario, says("Name of the scenario."));
    f("preset", r.preset, says("Preset of the scenario; the flags may be of another release."));
    f("command", r.command, says("The command for a shell, with comments."));
  }
};

}  // namespace spillway
