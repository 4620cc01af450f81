// Results that are wrong, cut short, empty, huge or oddly named: a sensible page or a clear error,
// and never half of a file.
#include <filesystem>
#include <regex>

#include "reports/renderers/renderer.hpp"
#include "sim/rng.hpp"
#include "tests/cli/report_scene.hpp"

namespace spillway {
namespace {

using test::Args;
using test::CliResult;
using test::json;
using test::refused;
using test::ResultFile;
using test::Scene;

std::string rendered(const std::string& document, std::string_view format) {
  const CliResult result = test::spillway({"report", document, "--format", std::string(format)});
  INFO(document << " as " << format << ": " << result.err);
  REQUIRE(result.code == 0);
  CHECK_FALSE(result.out.empty());
  return result.out;
}

json read(const std::string& path) {
  return json::parse(test::read_file(path));
}

void renders_in_every_format(const std::string& document) {
  for (const Format& renderer : renderers()) rendered(document, renderer.name);
  // Formats made of the figures themselves may have nothing to be made of, and then say so.
  for (const std::string_view format : formats_of(read(document)["kind"].get<std::string>())) {
    const CliResult result = test::spillway({"report", document, "--format", std::string(format)});
    INFO(document << " as " << format << ": " << result.err);
    CHECK((result.code == 0 || (result.code != 7 && result.code <= 7 && !result.err.empty())));
  }
}

TEST_CASE("a result document cut short anywhere is exit 2 and names file and line", "[cli]") {
  const Scene scene;
  const std::string text = test::read_file(scene.result());
  for (std::size_t i = 1; i < 20; ++i) {
    refused({"report", scene.file("d.json", text.substr(0, text.size() * i / 20))}, 2, "d.json:");
  }
  refused({"report", scene.file("d.json", text.substr(0, text.size() - 3))}, 2, "d.json:");
  refused({"report", scene.file("d.json", text + text)}, 2, "d.json:");
}

TEST_CASE("results of another schema version are exit 2 and say which is known", "[cli]") {
  const Scene scene;
  for (const ResultFile& result : test::result_files(scene)) {
    INFO(result.kind);
    json document = read(result.path);
    for (const json& version : {json(0), json(2), json("1"), json(1.5), json(true)}) {
      document["schema_version"] = version;
      refused({"report", scene.file("d.json", document.dump())}, 2,
              fmt::format("d.json: expected schema_version 1, found {}", version.dump()));
    }
  }
}

TEST_CASE("what is no document at all is exit 2, what cannot be read is exit 7", "[cli]") {
  const Scene scene;
  for (const std::string& text :
       {std::string("\0\1\2", 3), std::string("{"), std::string("null"),
        std::string("\xff\xfe{\0}\0", 6), std::string("12"), std::string(200'000, '[')}) {
    refused({"report", scene.file("d.json", text)}, 2, "d.json");
  }
  refused({"report", scene.trace}, 2, "t.jsonl");
  refused({"report", scene.path("missing.json")}, 7, "missing.json");
  refused({"report", scene.path("")}, 7, "directory");
}

TEST_CASE("a document under another kind's name is exit 2", "[cli]") {
  const Scene scene;
  const std::vector<ResultFile> results = test::result_files(scene);
  for (const ResultFile& result : results) {
    for (const ResultFile& other : results) {
      if (other.kind == result.kind) continue;
      INFO(result.kind << " called " << other.kind);
      json document = read(result.path);
      document["kind"] = other.kind;
      refused({"report", scene.file("d.json", document.dump())}, 2, "d.json");
    }
  }
}

TEST_CASE("a refused document leaves no file behind", "[cli]") {
  const Scene scene;
  json document = read(scene.result());
  document["results"].erase("tiers");
  const std::string bad = scene.file("d.json", document.dump());
  const std::string before = scene.listing();
  refused({"report", bad, "--format", "html,md,csv,text", "--out", scene.path("made")}, 2,
          "d.json: not a complete result document");
  refused({"report", bad, "--json", scene.path("copy.json")}, 2, "d.json");
  CHECK(scene.listing() == before);
  // What stood there before is still whole.
  std::filesystem::create_directories(scene.path("kept"));
  scene.file("kept/report.html", "an older report");
  refused({"report", bad, "--out", scene.path("kept")}, 2, "d.json");
  CHECK(test::read_file(scene.path("kept/report.html")) == "an older report");
}

/// Pointers to everything inside `value`, itself not among them.
void pointers(const json& value, const std::string& at, std::vector<std::string>& out) {
  if (!value.is_structured()) return;
  for (const auto& item : value.items()) {
    const std::string inside = at + "/" + escaped_key(item.key());
    out.push_back(inside);
    pointers(item.value(), inside, out);
  }
}

TEST_CASE("no edit of a result document ends in a crash", "[cli]") {
  // Members taken out, emptied, of another type or out of range: exit 0 or 2, and if it is 2 the
  // message is one line that names the file.
  const Scene scene;
  const json replacements[] = {json(),           json("text"),     json(-1),    json(1e300),
                               json::array(),    json::object(),   json(""),    json(0),
                               json(1ULL << 63), json::array({1}), json(false), json("inf")};
  Stream random(9, "edits");
  for (const ResultFile& result : test::result_files(scene)) {
    const json good = read(result.path);
    std::vector<std::string> places;
    pointers(good.at("results"), "/results", places);
    pointers(good.at("inputs"), "/inputs", places);
    for (int i = 0; i < 30; ++i) {
      const std::string place = places[random.below(places.size())];
      const std::uint64_t edit = random.below(std::size(replacements) + 1);
      json document = good;
      const json::json_pointer pointer(place);
      if (edit == std::size(replacements)) {
        json& parent = document[pointer.parent_pointer()];
        if (parent.is_array()) {
          parent.erase(parent.begin());
        } else {
          parent.erase(pointer.back());
        }
      } else {
        document[pointer] = replacements[edit];
      }
      const std::string path = scene.file("d.json", document.dump());
      const CliResult done =
          test::spillway({"report", path, "--format", i % 2 == 0 ? "html" : "csv"});
      INFO(result.kind << " " << place << ", edit " << edit << ": exit " << done.code << ": "
                       << done.err);
      CHECK((done.code == 0 || done.code == 2));
      CHECK(done.out.empty() == (done.code == 2));
      if (done.code == 2) CHECK_THAT(done.err, ContainsSubstring("d.json"));
    }
  }
}

TEST_CASE("an index that an edit put out of range is named with its file", "[cli]") {
  const Scene scene;
  for (const ResultFile& result : test::result_files(scene)) {
    json document = read(result.path);
    if (result.kind == "plan") {
      document["results"]["recommended_index"] = 99;
      refused({"report", scene.file("d.json", document.dump())}, 2,
              "d.json: results.recommended_index: expected the index of one of ");
    } else if (result.kind == "compare") {
      document["results"]["ranking"][1] = "nobody";
      refused({"report", scene.file("d.json", document.dump())}, 2,
              "d.json: results.ranking.1: expected the name of one of 2 variants, found "
              "\"nobody\"");
    }
  }
}

TEST_CASE("a run that serves nobody has a report", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("none.json");
  REQUIRE(test::spillway({"run", scene.scenario, "--set", "engine.max_model_len=64", "--set",
                          "plan=null", "--json", path, "--quiet"})
              .code == 0);
  REQUIRE(read(path)["results"]["completed"] == 0);
  renders_in_every_format(path);
  const std::string text = rendered(path, "text");
  CHECK_FALSE(std::regex_search(text, std::regex("\\b(nan|inf)\\b")));
  CHECK_THAT(text, ContainsSubstring("too_long"));
}

TEST_CASE("a plan of one size has a report", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("one.json");
  REQUIRE(test::spillway(
              {"plan", scene.scenario, "--set", "plan.sizes=[\"1GiB\"]", "--json", path, "--quiet"})
              .code == 0);
  renders_in_every_format(path);
  CHECK_THAT(rendered(path, "html"), ContainsSubstring("1GiB"));
}

TEST_CASE("a plan that finds no size has a report that says so", "[cli]") {
  const Scene scene;
  const std::string path = scene.path("none.json");
  REQUIRE(test::spillway(
              {"plan", scene.scenario, "--set", "slo.0.max=0.001", "--json", path, "--quiet"})
              .code == 4);
  renders_in_every_format(path);
}

TEST_CASE("ten thousand rows make a report of bounded size", "[cli]") {
  const Scene scene;
  json document = read(scene.result());
  for (const char* key : {"tiers", "links"}) {
    json& list = document["results"][key];
    const json row = list.at(0);
    list = json::array();
    for (int i = 0; i < 10'000; ++i) {
      list.push_back(row);
      list.back()["name"] = fmt::format("{}-{}", key, i);
    }
  }
  for (const json& tier : document["results"]["tiers"]) {
    document["results"]["prompt_tokens_by_source"][tier["name"].get<std::string>()] = 0;
  }
  const std::string path = scene.file("d.json", document.dump());
  renders_in_every_format(path);
  const std::string html = rendered(path, "html");
  CHECK_THAT(html, ContainsSubstring("tiers-0") && ContainsSubstring("links-0"));
  // A table for machines is whole.
  CHECK_THAT(rendered(path, "csv"), ContainsSubstring("tiers-9999"));
}

TEST_CASE("names in any script come out as they went in", "[cli]") {
  const Scene scene;
  const std::vector<std::string> names = {
      "容量計画",         "تخطيط السعة", "ёмкость",         "क्षमता", "🧊🔥",
      "e\u0301 combined", "naïve",       "zero\u200bwidth", "ไทย",   std::string(5'000, 'x')};
  for (const std::string& name : names) {
    json scenario = json::parse(test::small_scenario());
    scenario["name"] = name;
    scenario["tiers"][0]["name"] = name;
    scenario["links"][0]["to"] = name;
    scenario["links"][1]["from"] = name;
    scenario.erase("plan");
    const std::string path = scene.path("named.json");
    const CliResult made = test::spillway(
        {"run", scene.file("named-s.json", scenario.dump()), "--json", path, "--quiet"});
    INFO(name.substr(0, 40) << ": " << made.err);
    REQUIRE(made.code == 0);
    renders_in_every_format(path);
    for (const char* format : {"html", "text", "csv"}) {
      CHECK_THAT(rendered(path, format), ContainsSubstring(name.substr(0, 60)));
    }
  }
}

TEST_CASE("text that is not UTF-8 is exit 2", "[cli]") {
  const Scene scene;
  const std::string good = test::read_file(scene.result());
  for (const char* bytes : {"\xff", "\xc3\x28", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80"}) {
    std::string text = good;
    const std::size_t at = text.find("\"small\"");
    REQUIRE(at != std::string::npos);
    text.insert(at + 1, bytes);
    refused({"report", scene.file("d.json", text)}, 2, "d.json:");
  }
}

}  // namespace
}  // namespace spillway
