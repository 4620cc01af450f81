#include "tests/support/files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/support/catch.hpp"

namespace spillway::test {

Scratch::Scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "spillway-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) FAIL("cannot make a scratch directory");
  directory_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string Scratch::file(std::string_view name, std::string_view content) const {
  std::ofstream(directory_ / name, std::ios::binary) << content;
  return path(name);
}

std::string Scratch::listing() const {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    names.insert(entry.path().filename().string());
  }
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : " ") + name;
  return out;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string source_path(std::string_view relative) {
  return (std::filesystem::path(SPILLWAY_SOURCE_DIR) / relative).string();
}

namespace {

/// Names of the cases that went without.
std::set<std::string>& skipped() {
  static std::set<std::string> cases;
  return cases;
}

#if __has_include(<catch2/catch_all.hpp>)
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

class SkippedCases final : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;
  void testRunEnded(const Catch::TestRunStats&) override {
    if (skipped().empty()) return;
    fmt::print("{} cases were skipped in whole or in part: no folder `shared` beside the project\n",
               skipped().size());
  }
};
CATCH_REGISTER_LISTENER(SkippedCases)

}  // namespace

std::optional<std::string> shared_path(std::string_view relative) {
  const auto path = std::filesystem::path(SPILLWAY_SOURCE_DIR).parent_path() / "shared" / relative;
  if (std::filesystem::exists(path)) return path.string();
  skipped().insert(Catch::getResultCapture().getCurrentTestName());
  WARN("skipped: no " << relative << " in a folder `shared` beside the project");
  return std::nullopt;
}

}  // namespace spillway::test
