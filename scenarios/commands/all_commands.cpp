// The verbs, in the order in which the help lists them.
#include "scenarios/commands/command.hpp"

namespace spillway {

void add_all_commands(CLI::App& app, CommandList& commands) {
  add_demo(app, commands);
  add_init(app, commands);
  add_plan(app, commands);
  add_run(app, commands);
  add_compare(app, commands);
  add_replay(app, commands);
  add_mrc(app, commands);
  add_sweep(app, commands);
  add_trace(app, commands);
  add_report(app, commands);
  add_flags(app, commands);
  add_kvsize(app, commands);
  add_calibrate(app, commands);
  add_fit(app, commands);
  add_validate(app, commands);
  add_list(app, commands);
  add_schema(app, commands);
  add_completion(app, commands);
  add_man(app, commands);
}

}  // namespace spillway
