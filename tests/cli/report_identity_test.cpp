// Equal results make equal reports, byte for byte: whenever, wherever and with however many
// threads.
#include <filesystem>

#include "reports/renderers/renderer.hpp"
#include "tests/cli/report_scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::ResultFile;
using test::Scene;

/// Another working directory while it lives.
class Elsewhere {
 public:
  explicit Elsewhere(const std::filesystem::path& directory) {
    std::filesystem::current_path(directory);
  }
  ~Elsewhere() { std::filesystem::current_path(before_); }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

std::string rendered(const std::string& document, std::string_view format, const Args& more = {}) {
  const CliResult result =
      test::spillway(Args{"report", document, "--format", std::string(format)} + more);
  INFO(document << " as " << format << ": " << result.err);
  REQUIRE(result.code == 0);
  return result.out;
}

TEST_CASE("a result has one report in each format, from anywhere and on any threads", "[cli]") {
  const Scene scene;
  for (const ResultFile& result : test::result_files(scene)) {
    const std::string name = std::filesystem::path(result.path).filename().string();
    std::filesystem::create_directories(scene.path("a/b"));
    const std::string copy = scene.path("a/b/another name.json");
    std::filesystem::copy_file(result.path, copy,
                               std::filesystem::copy_options::overwrite_existing);
    for (const std::string_view format : formats_of(result.kind)) {
      INFO(result.kind << " as " << format);
      const std::string first = rendered(result.path, format);
      CHECK_FALSE(first.empty());
      CHECK((rendered(result.path, format, {"--threads", "3"}) == first));
      {
        const Elsewhere there(scene.path("a"));
        CHECK((rendered("../" + name, format) == first));
      }
      CHECK((rendered(copy, format) == first));
    }
  }
}

/// The reports of a scene whose files are called by name, from its own folder.
std::vector<std::pair<std::string, std::string>> reports_inside(const Scene& scene) {
  const Elsewhere there(scene.path(""));
  std::vector<std::pair<std::string, std::string>> out;
  const auto name = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  for (const ResultFile& result : test::result_files(scene, name)) {
    for (const std::string_view format : formats_of(result.kind)) {
      out.emplace_back(fmt::format("{} as {}", result.kind, format), rendered(result.path, format));
    }
  }
  return out;
}

TEST_CASE("a report names no folder but those that its user typed, so folders do not matter",
          "[cli]") {
  // A path that was typed stays as it was: it is how the reader finds and repeats the call.
  const Scene one;
  const Scene two;
  const auto first = reports_inside(one);
  const auto second = reports_inside(two);
  REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    INFO(first[i].first);
    CHECK(first[i].second.find(one.path("")) == std::string::npos);
    // The document itself says how long the run took, outside its digest.
    const bool timed = first[i].first.ends_with("as json");
    CHECK((timed || first[i] == second[i]));
  }
}

TEST_CASE("the same plan made twice has the same report", "[cli]") {
  const Scene scene;
  const auto html = [&](const char* threads, const char* file) {
    const std::string document = scene.path(file);
    REQUIRE(test::spillway({"plan", scene.scenario, "--replications", "5", "--threads", threads,
                            "--json", document, "--quiet"})
                .code == 0);
    return rendered(document, "html");
  };
  CHECK((html("1", "one.json") == html("3", "two.json")));
}

TEST_CASE("the same comparison made twice has the same report", "[cli]") {
  const Scene scene;
  const auto html = [&](const char* threads, const char* file) {
    const std::string document = scene.path(file);
    REQUIRE(test::spillway({"compare", scene.scenario, "--replications", "5", "--vary",
                            "tiers.0.eviction=lru,fifo", "--threads", threads, "--json", document,
                            "--quiet"})
                .code == 0);
    return rendered(document, "html");
  };
  CHECK((html("1", "one.json") == html("3", "two.json")));
}

}  // namespace
}  // namespace spillway
