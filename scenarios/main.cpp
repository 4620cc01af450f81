// The command line: parse, dispatch, exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>

#include "reports/format.hpp"
#include "scenarios/commands/command.hpp"
#include "sim/catalogue.hpp"
#include "sim/error.hpp"
#include "traces/trace_reader.hpp"

namespace {

using spillway::Fault;

int fail(Fault fault, const std::string& message) {
  fmt::print(stderr, "spillway: {}\n", spillway::printable(message));
  return static_cast<int>(fault);
}

bool mentions(const std::string& message, const std::string& word) {
  return message.find(word) != std::string::npos;
}

/// CLI11's own message, with a suggestion where a verb or option was mistyped.
int parse_failure(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  std::string message = error.what();
  const CLI::App* at = &app;
  std::string path;  // of verbs, as typed
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += at->get_name() + " ";
  }
  std::vector<std::string> names;
  for (const CLI::App* sub : at->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  for (const CLI::Option* option : at->get_options()) {
    if (!option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  // CLI11 misses a verb without naming the word that stands in its place.
  const std::vector<std::string> rest = at->remaining(true);
  const bool verb = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !rest.empty() &&
                    !at->get_subcommands([](const CLI::App*) { return true; }).empty();
  if (verb) {
    message = fmt::format("unknown {} {}", rest.front().starts_with("-") ? "option" : "verb",
                          rest.front());
  }
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (std::find(names.begin(), names.end(), word) != names.end()) continue;
    if (verb ? word != rest.front() : !word.starts_with("-") || !mentions(message, word)) continue;
    const std::string_view near = spillway::nearest_name(word, known);
    if (!near.empty()) message += fmt::format("; did you mean {}?", near);
    break;
  }
  return fail(Fault::kUsage, fmt::format("{} (see spillway {}--help)", message, path));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Spillway sizes tiered KV caches for LLM serving from a traffic trace."};
  app.set_version_flag("--version", std::string("spillway ") + SPILLWAY_VERSION);
  app.require_subcommand(1);
  app.footer("Start with: spillway plan scenarios/library/quickstart.json --out out/quickstart");
  spillway::CommandList commands;
  spillway::add_run(app, commands);
  spillway::add_replay(app, commands);
  spillway::add_mrc(app, commands);
  spillway::add_plan(app, commands);
  spillway::add_compare(app, commands);
  spillway::add_sweep(app, commands);
  spillway::add_trace(app, commands);
  spillway::add_calibrate(app, commands);
  spillway::add_validate(app, commands);
  spillway::add_fit(app, commands);
  spillway::add_report(app, commands);
  spillway::add_kvsize(app, commands);
  spillway::add_flags(app, commands);
  spillway::add_list(app, commands);
  spillway::add_schema(app, commands);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parse_failure(app, error, argc, argv);
  }
  try {
    for (const spillway::Command& command : commands) {
      if (command.app->parsed()) return command.run();
    }
  } catch (const spillway::RowError& error) {
    return fail(error.fault(),
                fmt::format("{}; spillway trace check lists every problem", error.what()));
  } catch (const spillway::InputError& error) {
    return fail(error.fault(), error.what());
  } catch (const spillway::InternalError& error) {
    return fail(Fault::kInternal, fmt::format("internal error: {}; please report this with the "
                                              "command and its inputs",
                                              error.what()));
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(Fault::kIo, fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::bad_alloc&) {
    return fail(Fault::kIo, "out of memory");
  } catch (const std::exception& error) {
    return fail(Fault::kInternal, fmt::format("internal error: {}", error.what()));
  }
  return 0;
}
