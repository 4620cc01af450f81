#include "scenarios/scenario/bundled_files.hpp"

#include "sim/system.hpp"

namespace spillway {

std::filesystem::path bundled_files(std::string_view folder) {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::path program = this_program_file();
  const fs::path at = program.parent_path();
  // A build has a link to the source tree where `cmake --install` puts the files.
  const fs::path built = fs::canonical(at / "share/spillway" / folder, none);
  if (!built.empty()) return built;
  return (program.empty() ? "/usr" : at.parent_path()) / "share/spillway" / folder;
}

}  // namespace spillway
