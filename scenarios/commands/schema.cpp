// `spillway schema`: the JSON Schemas of what the tool reads and writes.
#include "scenarios/scenario/schema.hpp"

#include <fmt/format.h>

#include "scenarios/commands/command.hpp"
#include "sim/catalogue.hpp"
#include "sim/output_file.hpp"

namespace spillway {

namespace {

struct SchemaOptions {
  std::string what;
  std::shared_ptr<CommonOptions> common = std::make_shared<CommonOptions>();
};

int run(const SchemaOptions& options) {
  const SchemaEntry& entry = find_row(schemas(), "schema", options.what, {"schema", 0, ""});
  const CommonOptions& common = *options.common;
  check_writable(common);
  if (!common.out.empty()) {
    make_directory(common.out);
    write_file(fmt::format("{}/{}.schema.json", common.out, entry.name), entry.text);
  }
  if (!common.json.empty() || common.out.empty()) {
    write_file(common.json.empty() ? "-" : common.json, entry.text);
  }
  return 0;
}

}  // namespace

void add_schema(CLI::App& app, CommandList& commands) {
  auto options = std::make_shared<SchemaOptions>();
  CLI::App* command = add_command(app, commands, "schema", "Print a JSON Schema",
                                  "  spillway schema scenario\n  spillway schema profile\n",
                                  options->common, [options] { return run(*options); });
  command->add_option("KIND", options->what, "scenario, result, profile, compute-profile or prices")
      ->required();
}

}  // namespace spillway
