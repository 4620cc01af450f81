// `spillway man`: manual pages, written from the command tree.
#include <fmt/format.h>

#include "reports/fields/write.hpp"
#include "scenarios/commands/command.hpp"
#include "scenarios/commands/text_fields.hpp"
#include "scenarios/commands/tree/man_page.hpp"
#include "sim/catalogue.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

struct ManOptions {
  std::vector<std::string> verb;
  const Verb* program = nullptr;
  CommonOptions common;
};

const CommandPage& page_called(const std::vector<CommandPage>& pages, const std::string& path) {
  std::vector<std::string_view> known;
  for (const CommandPage& page : pages) {
    if (page.path == path) return page;
    if (!page.path.empty()) known.push_back(page.path);
  }
  throw InputError(Fault::kUsage, {"man", 0, ""}, unknown_name("verb", path, known));
}

int run(const ManOptions& options) {
  CommonOptions common = options.common;
  const std::string folder = std::exchange(common.out, "");  // here --out takes the pages
  const std::vector<CommandPage> pages = all_pages(*options.program);
  const std::string path = fmt::format("{}", fmt::join(options.verb, " "));
  std::vector<const CommandPage*> wanted;
  if (folder.empty() || !path.empty()) {
    wanted.push_back(&page_called(pages, path));
  } else {
    for (const CommandPage& page : pages) wanted.push_back(&page);
  }
  check_writable(options.common);
  Document document;
  document.kind = "man";
  document.inputs = {{"verb", path}};
  std::vector<ManPage> written;
  for (const CommandPage* page : wanted) {
    written.push_back({man_name(*page), man_page(*page, pages)});
  }
  document.results = to_document(written);
  if (!folder.empty()) make_directory(folder);
  for (const ManPage& page : written) {
    if (!folder.empty()) write_file(fmt::format("{}/{}.1", folder, page.name), page.text);
  }
  write_document(document, common, "man");
  if (common.json_only()) return 0;
  if (folder.empty()) {
    print(written.front().text);
  } else {
    print(fmt::format("{} manual page{} in {}\n", wanted.size(), wanted.size() == 1 ? "" : "s",
                      folder));
  }
  return 0;
}

}  // namespace

void add_man(Verb& program) {
  auto [command, options] =
      add_command<ManOptions>(program, "man", "Manual pages of the program and its verbs",
                              "  spillway man plan | man -l -\n"
                              "  spillway man trace stats > spillway-trace-stats.1\n"
                              "  spillway man --out ~/.local/share/man/man1\n",
                              run);
  options.program = &program;
  command.option("--out").describe(
      kinds::kFolder,
      "Folder for the pages, of all verbs where none is named: spillway.1, spillway-plan.1, ...");
  command.add("VERB", options.verb, kinds::kName,
              "A verb, e.g. plan, or trace stats (default: the program)");
}

}  // namespace spillway
