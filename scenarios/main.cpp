// The program.
#include "scenarios/commands/command_line.hpp"
#include "scenarios/commands/ending.hpp"

int main(int argc, char** argv) {
  spillway::prepare_ending();
  return spillway::command_line(argc, argv);
}
