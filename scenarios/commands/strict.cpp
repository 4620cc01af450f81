#include "scenarios/commands/strict.hpp"

#include <filesystem>

#include "scenarios/machine/machine.hpp"
#include "scenarios/scenario/hardware.hpp"
#include "scenarios/scenario/scenario.hpp"

namespace spillway {

void add_strict(Verb& command, bool& strict) {
  command.add_flag("--strict", strict,
                   "Refuse a hardware profile of another machine instead of noting it");
}

void check_hardware_here(Scenario& scenario, bool strict) {
  if (!scenario.hardware) return;
  MachineFacts here = read_host("", "").facts;
  // A container may hold a GPU without telling which: not known is not different.
  std::error_code none;
  if (here.gpus.empty() && std::filesystem::exists("/dev/nvidia0", none)) {
    here.gpus = scenario.hardware->machine.gpus;
  }
  check_hardware(scenario, here, strict);
}

}  // namespace spillway
