// The program.
#include "scenarios/commands/command_line.hpp"

int main(int argc, char** argv) {
  return spillway::command_line(argc, argv);
}
