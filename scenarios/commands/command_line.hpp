// The command line: parse, dispatch, exit code.
#pragma once

namespace spillway {

/// What main() is given, and what it returns.
int command_line(int argc, const char* const* argv);

}  // namespace spillway
