// Files for tests: a scratch directory that cleans up, and material of others or its stand-ins.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// A file of others in a folder `shared` beside the project, or nothing where it is not there.
std::optional<std::string> published(std::string_view relative);

/// Such a file (a real trace, a measured profile, reference counts), or the generated stand-in that
/// tests/stand_ins has for it.
struct Material {
  std::string path;
  bool published = false;
};
Material material(std::string_view relative);
/// Files that belong together, all from the same place: stand-ins where one is not published here.
std::vector<Material> materials(const std::vector<std::string>& relative);

/// Chooses what to expect of a material: the published figure, or the stand-in's own, which
/// tests/stand_ins/facts.json has in `section`.
class Figures {
 public:
  Figures(const Material& of, std::string_view section);

  template <class Value>
  Value operator()(const Value& published, const std::string& name) const {
    return published_ ? published : facts_.at(name).get<Value>();
  }

 private:
  bool published_;
  nlohmann::json facts_;
};

}  // namespace spillway::test
