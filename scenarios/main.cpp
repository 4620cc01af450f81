// The program.
#include "scenarios/commands/command_line.hpp"
#include "scenarios/commands/ending.hpp"
#include "scenarios/machine/host_memory.hpp"

int main(int argc, char** argv) {
  spillway::prepare_ending();
  spillway::watch_memory(&spillway::memory_state);
  return spillway::command_line(argc, argv);
}
