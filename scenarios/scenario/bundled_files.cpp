#include "scenarios/scenario/bundled_files.hpp"

namespace spillway {

std::filesystem::path bundled_files(std::string_view folder) {
  namespace fs = std::filesystem;
  const fs::path built = fs::path(SPILLWAY_SOURCE_DIR) / folder;
  std::error_code none;
  if (fs::is_directory(built, none)) return built;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  const fs::path around = program.parent_path().parent_path();
  if (fs::is_directory(around / folder, none)) return around / folder;
  return (program.empty() ? "/usr" : around) / "share/spillway" / folder;
}

}  // namespace spillway
