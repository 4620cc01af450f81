#include "scenarios/commands/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>

#include "reports/format.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/terminal.hpp"
#include "scenarios/commands/tree/complete.hpp"
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

int print_asked(const std::string& text) {
  try {
    write_file("-", text);
  } catch (const InputError& unwritten) {
    return fail(unwritten.fault(), unwritten.what());
  }
  return 0;
}

/// A shell that asks while somebody types wants no message.
int print_quietly(const std::string& text) {
  try {
    write_file("-", text);
  } catch (const InputError&) {
  }
  return 0;
}

int run_command(int argc, const char* const* argv, const std::vector<std::string>& words) {
  Verb program("Spillway sizes tiered KV caches for LLM serving from a traffic trace.",
               "  spillway demo\n"
               "  spillway plan scenarios/library/quickstart.json --out out/quickstart\n"
               "  spillway plan --help\n");
  bool version = false;
  program.add_flag("--version", version, "Display program version information and exit");
  add_all_commands(program);
  if (!words.empty() && words.front() == "__complete") {
    return print_quietly(completions(program, {words.begin() + 1, words.end()}));
  }
  const Reading reading = program.read(argc, argv);
  if (reading.help) return print_asked(help_of(program.reached(), terminal_width(STDOUT_FILENO)));
  if (version) return print_asked(std::string("spillway ") + SPILLWAY_VERSION + "\n");
  if (reading.fault) return fail(Fault::kUsage, parse_message(program, *reading.fault, words));
  const Verb& verb = program.reached();
  if (const std::string taken = option_for_value(verb, words); !taken.empty()) {
    return fail(Fault::kUsage, taken);
  }
  try {
    return verb.run();
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
