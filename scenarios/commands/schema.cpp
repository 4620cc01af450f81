// `spillway schema`: the JSON Schemas of what the tool reads and writes.
#include "scenarios/schema.hpp"
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
  const std::string& target = options.common->json.empty() ? "-" : options.common->json;
  write_file(target, entry.text);
  return 0;
}

}  // namespace

void add_schema(CLI::App& app, CommandList& commands) {
  auto options = std::make_shared<SchemaOptions>();
  CLI::App* command = add_command(app, commands, "schema", "Print a JSON Schema",
                                  "  spillway schema scenario\n  spillway schema result\n",
                                  options->common, [options] { return run(*options); });
  command->add_option("KIND", options->what, "scenario or result")->required();
}

}  // namespace spillway
