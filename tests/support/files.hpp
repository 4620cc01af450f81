// Files for tests: a scratch directory that cleans up, and the shared material where it exists.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace spillway::test {

/// A fresh directory, removed at the end of the test.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(std::string_view name) const { return (directory_ / name).string(); }
  /// Writes a file and returns its path.
  std::string file(std::string_view name, std::string_view content) const;
  /// Names of what lies in the directory, sorted.
  std::string listing() const;

 private:
  std::filesystem::path directory_;
};

std::string read_file(const std::string& path);

/// A file of the project.
std::string source_path(std::string_view relative);

/// A file of the shared material beside the project (real traces, oracles), or nothing, after
/// saying that the test is skipped.
std::optional<std::string> shared_path(std::string_view relative);

}  // namespace spillway::test
