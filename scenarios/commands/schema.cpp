// `spillway schema`: the JSON Schemas and reference pages of what the tool reads and writes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/commands/command.hpp"
#include "scenarios/commands/schemas.hpp"
#include "sim/catalogue.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

constexpr ValueKind kSchema{"KIND", "", Offer::kWords, names_in<schemas>};

struct SchemaOptions {
  std::string what;
  CommonOptions common;
};

int run(const SchemaOptions& options) {
  const SchemaEntry& entry = find_row(schemas(), "schema", options.what, {"schema", 0, ""});
  const CommonOptions& common = options.common;
  check_writable(common);
  const std::string text = entry.text();
  if (!common.out.empty()) {
    make_directory(common.out);
    write_file(fmt::format("{}/{}", common.out, file_name(entry)), text);
  }
  if (!common.json.empty() || common.out.empty()) {
    write_file(common.json.empty() ? "-" : common.json, text);
  }
  return 0;
}

}  // namespace

void add_schema(Verb& program) {
  auto [command, options] =
      add_command<SchemaOptions>(program, "schema", "Print a JSON Schema or reference page",
                                 "  spillway schema scenario\n  spillway schema keys\n", run);
  std::vector<std::string_view> names;
  for (const SchemaEntry& entry : schemas()) names.push_back(entry.name);
  command.add("KIND", options.what, kSchema, fmt::format("{}", fmt::join(names, ", "))).require();
}

}  // namespace spillway
