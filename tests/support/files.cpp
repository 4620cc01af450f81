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

/// Names of the cases that took stand-ins.
std::set<std::string>& substituted() {
  static std::set<std::string> cases;
  return cases;
}

const std::string kStandIns = "tests/stand_ins/";

#if __has_include(<catch2/catch_all.hpp>)
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

class SubstitutedCases final : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;
  void testRunEnded(const Catch::TestRunStats&) override {
    if (substituted().empty()) return;
    fmt::print("in {} cases stand-ins took the place of published material\n",
               substituted().size());
  }
};
CATCH_REGISTER_LISTENER(SubstitutedCases)

}  // namespace

std::optional<std::string> published(std::string_view relative) {
  const auto path = std::filesystem::path(SPILLWAY_SOURCE_DIR).parent_path() / "shared" / relative;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path.string();
}

Material material(std::string_view relative) {
  return materials({std::string(relative)}).front();
}

std::vector<Material> materials(const std::vector<std::string>& relative) {
  std::vector<Material> out;
  for (const std::string& name : relative) {
    const auto path = published(name);
    if (!path) break;
    out.push_back({*path, true});
  }
  if (out.size() == relative.size()) return out;
  substituted().insert(Catch::getResultCapture().getCurrentTestName());
  out.clear();
  for (const std::string& name : relative) out.push_back({source_path(kStandIns + name), false});
  return out;
}

Figures::Figures(const Material& of, std::string_view section) : published_(of.published) {
  if (published_) return;
  const std::string facts = read_file(source_path(kStandIns + "facts.json"));
  facts_ = nlohmann::json::parse(facts).at(section);
}

}  // namespace spillway::test
