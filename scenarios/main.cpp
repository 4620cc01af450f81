// The program.
#include "scenarios/calibrate/host_memory.hpp"
#include "scenarios/commands/command_line.hpp"
#include "scenarios/commands/ending.hpp"

int main(int argc, char** argv) {
  spillway::prepare_ending();
  spillway::watch_memory(&spillway::memory_state);
  return spillway::command_line(argc, argv);
}
