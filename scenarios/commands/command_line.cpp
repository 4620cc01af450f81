#include "scenarios/commands/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>
#include <sstream>

#include "reports/format.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/terminal.hpp"
#include "scenarios/commands/tree/help.hpp"
#include "scenarios/commands/tree/suggest.hpp"
#include "sim/error.hpp"
#include "sim/memory.hpp"
#include "sim/output_file.hpp"
#include "traces/trace_reader.hpp"

namespace spillway {

namespace {

int fail(Fault fault, const std::string& message) {
  say(fmt::format("spillway: {}\n", printable(message)));
  return static_cast<int>(fault);
}

/// Whoever gives such a job a limit wants to know what it takes.
void tell_memory(const std::vector<std::string>& words) {
  constexpr std::int64_t kWorthSaying = std::int64_t{1} << 28;
  const std::int64_t estimate = memory_estimate();
  if (estimate < kWorthSaying) return;
  if (std::find(words.begin(), words.end(), "--quiet") != words.end()) return;
  say(fmt::format("note: this takes about {} of memory\n", memory_words(estimate)));
}

/// --help, --version.
int print_asked(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream text;
  app.exit(error, text, text);
  try {
    write_file("-", text.str());
  } catch (const InputError& unwritten) {
    return fail(unwritten.fault(), unwritten.what());
  }
  return 0;
}

int run_command(int argc, const char* const* argv, const std::vector<std::string>& words) {
  CLI::App app{"Spillway sizes tiered KV caches for LLM serving from a traffic trace."};
  app.set_version_flag("--version", std::string("spillway ") + SPILLWAY_VERSION);
  app.require_subcommand(1);
  use_help(app, terminal_width(STDOUT_FILENO));
  app.footer(
      "  spillway demo\n"
      "  spillway plan scenarios/library/quickstart.json --out out/quickstart\n"
      "  spillway plan --help\n");
  CommandList commands;
  add_all_commands(app, commands);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return print_asked(app, error);
    return fail(Fault::kUsage, parse_message(app, error, words));
  }
  if (const std::string taken = option_for_value(app, words); !taken.empty()) {
    return fail(Fault::kUsage, taken);
  }
  try {
    for (const Command& command : commands) {
      if (command.app->parsed()) return command.run();
    }
  } catch (const RowError& error) {
    return fail(error.fault(),
                fmt::format("{}; spillway trace check lists every problem", error.what()));
  } catch (const InputError& error) {
    return fail(error.fault(), error.what() + nearest_file(error.what(), words));
  } catch (const InternalError& error) {
    return fail(Fault::kInternal, fmt::format("internal error: {}; please report this with the "
                                              "command and its inputs",
                                              error.what()));
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(Fault::kIo, fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const MemoryShort& error) {
    return fail(Fault::kIo, error.what());
  } catch (const std::bad_alloc&) {
    return fail(Fault::kIo, "out of memory");
  } catch (const std::exception& error) {
    return fail(Fault::kInternal, fmt::format("internal error: {}", error.what()));
  }
  return 0;
}

}  // namespace

int command_line(int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const int code = run_command(argc, argv, words);
  if (code != static_cast<int>(Fault::kIo)) tell_memory(words);
  return code;
}

}  // namespace spillway
