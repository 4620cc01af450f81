#include "scenarios/commands/command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "reports/format.hpp"
#include "reports/renderer.hpp"
#include "sim/output_file.hpp"

namespace spillway {

unsigned CommonOptions::thread_count() const {
  return threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
}

CLI::App* add_command(CLI::App& parent, CommandList& commands, const std::string& name,
                      const std::string& summary, const std::string& examples,
                      const std::shared_ptr<CommonOptions>& common, std::function<int()> run) {
  CLI::App* app = parent.add_subcommand(name, summary);
  app->footer(
      "Examples:\n" + examples +
      "\nExit codes: 0 done, 2 usage or scenario, 3 trace content, 4 no feasible size, 7 I/O,"
      "\n70 internal, 99 a gate failed.");
  app->add_option("--set", common->set, "Change a scenario value: key.path=value (repeatable)")
      ->group("Common");
  app->add_option("--seed", common->seed,
                  "Seed of every random draw (default: the scenario's, or 1)")
      ->group("Common");
  app->add_option("--threads", common->threads, "Threads (default: all cores)")
      ->check(CLI::Range(1, 4096))
      ->group("Common");
  app->add_option("--json", common->json,
                  "Write the result document to FILE, or - for standard output")
      ->group("Common");
  app->add_option("--out", common->out, "Directory for the result document and the report")
      ->group("Common");
  app->add_flag("--quiet", common->quiet, "No progress and no notes on standard error")
      ->group("Common");
  app->add_option("--color", common->color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group("Common");
  commands.push_back({app, std::move(run)});
  return app;
}

JsonSource open_scenario_source(const std::string& path, const CommonOptions& common) {
  JsonSource source = JsonSource::from_file(path);
  if (!common.seed.empty()) {
    std::int64_t seed = 0;
    const char* end = common.seed.data() + common.seed.size();
    const auto [at, status] = std::from_chars(common.seed.data(), end, seed);
    if (status != std::errc() || at != end || seed < 0) {
      throw InputError(
          Fault::kUsage, {"--seed", 0, ""},
          fmt::format("expected a whole number, 0 or more, found \"{}\"", common.seed));
    }
    source.set("seed=" + common.seed);
  }
  for (const std::string& assignment : common.set) source.set(assignment);
  return source;
}

void write_document(const Document& document, const CommonOptions& common,
                    const std::string& name) {
  if (common.json.empty() && common.out.empty()) return;
  const std::string text = render_document(document);
  if (!common.json.empty()) write_file(common.json, text);
  if (common.out.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(common.out, error);
  if (error) {
    throw InputError(Fault::kIo, {common.out, 0, ""},
                     fmt::format("cannot create the directory: {}", error.message()));
  }
  write_file((std::filesystem::path(common.out) / (name + ".json")).string(), text);
}

void write_report(const Report& report, const std::string& format, const std::string& path) {
  std::ostringstream text;
  find_row(renderers(), "report format", format, {"--format", 0, ""})
      .make({})
      ->render(report, text);
  write_file(path, text.str());
}

void print_report(const Report& report, const CommonOptions& common) {
  if (common.json_only()) return;
  const bool terminal = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  const RenderOptions options{common.color == "always" || (common.color == "auto" && terminal)};
  std::ostringstream text;
  find_row(renderers(), "report format", "text", {}).make(options)->render(report, text);
  write_file("-", text.str());
}

void print_notes(const std::vector<std::string>& notes, const CommonOptions& common) {
  if (common.quiet) return;
  for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", printable(note));
}

}  // namespace spillway
