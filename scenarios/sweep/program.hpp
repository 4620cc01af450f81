// Another program, run to its end without a shell: arguments as they are, both streams kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spillway {

struct ProgramEnd {
  int code = 0;     ///< exit code, or 128 + the signal that ended it
  std::string out;  ///< standard output
  std::string err;  ///< standard error
};

/// Runs `arguments`, of which the first is found in PATH; standard input is empty. Variables whose
/// names start with `without` are kept from it, where that is given. It has its own process group:
/// an interrupt from the terminal is for us. Throws InputError (exit 7) where it cannot be started.
ProgramEnd run_program(const std::vector<std::string>& arguments, std::string_view without = {});

/// The file of this program.
std::string own_program();

}  // namespace spillway
