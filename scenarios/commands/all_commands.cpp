// The verbs, in the order in which the help lists them: one file each, and a name here.
#include "scenarios/commands/command.hpp"

namespace spillway {

AddVerb add_demo, add_scenario, add_init, add_plan, add_run, add_compare, add_replay, add_mrc,
    add_sweep, add_trace, add_report, add_flags, add_kvsize, add_calibrate, add_fit, add_validate,
    add_list, add_glossary, add_schema, add_completion, add_man;

void add_all_commands(Verb& program) {
  program.add_all({add_demo,   add_scenario,   add_init,  add_plan,     add_run,    add_compare,
                   add_replay, add_mrc,        add_sweep, add_trace,    add_report, add_flags,
                   add_kvsize, add_calibrate,  add_fit,   add_validate, add_list,   add_glossary,
                   add_schema, add_completion, add_man});
}

}  // namespace spillway
