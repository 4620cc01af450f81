// `spillway glossary`: the terms of reports and of the terminal, each in a sentence.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "reports/plan/glossary.hpp"
#include "scenarios/commands/command.hpp"
#include "sim/catalogue.hpp"

namespace spillway {

namespace {

std::vector<std::string> terms() {
  std::vector<std::string> out;
  for (const std::vector<std::string>& row : glossary().rows) out.push_back(row.front());
  return out;
}
constexpr ValueKind kTerm{"TERM", "", Offer::kWords, terms};

struct GlossaryOptions {
  std::string term;
  CommonOptions common;
};

bool names(const std::string& term, const std::string& asked) {
  const auto alike = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return std::search(term.begin(), term.end(), asked.begin(), asked.end(), alike) != term.end();
}

int run(const GlossaryOptions& options) {
  check_writable(options.common);
  Table table = glossary();
  std::erase_if(table.rows, [&](const std::vector<std::string>& row) {
    return !names(row.front(), options.term);
  });
  if (table.rows.empty()) {
    const std::vector<std::string> all = terms();
    const std::vector<std::string_view> known(all.begin(), all.end());
    throw InputError(Fault::kUsage, {"glossary", 0, ""}, unknown_name("term", options.term, known));
  }
  nlohmann::json inputs = nlohmann::json::object();
  if (!options.term.empty()) inputs["term"] = options.term;
  table.title.clear();
  print_listing("Glossary", std::move(table), std::move(inputs), options.common);
  return 0;
}

}  // namespace

void add_glossary(Verb& program) {
  auto [command, options] = add_command<GlossaryOptions>(
      program, "glossary", "What the terms of reports mean",
      "  spillway glossary knee\n  spillway glossary\n  spillway glossary \"working set\"\n", run);
  command.add("TERM", options.term, kTerm, "A term, or a part of one (default: all)");
}

}  // namespace spillway
