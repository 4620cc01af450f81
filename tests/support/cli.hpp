// Runs the built `spillway` as a user would.
#pragma once

#include <string>
#include <vector>

namespace spillway::test {

struct CliResult {
  int code = -1;
  std::string out;
  std::string err;
};

/// Arguments are passed as they are, without a shell; standard input is empty.
CliResult spillway(const std::vector<std::string>& arguments);

}  // namespace spillway::test
