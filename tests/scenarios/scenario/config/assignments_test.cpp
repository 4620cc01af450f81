// What was set from the command line is told so that it can be set again.
#include "scenarios/scenario/config/assignments.hpp"

#include "tests/support/catch.hpp"

namespace spillway::test {
namespace {

TEST_CASE("values that options set are told as they are now, others not", "[scenarios]") {
  JsonSource source = JsonSource::from_text("s.json", R"({"a": {"b": 1, "c": [1, 2]}, "d": 4})");
  CHECK(assignments_of(source).empty());
  source.set("a.b=7");
  source.set("a.c.1=x y");
  source.set("e.f=true");
  source.set("a.b=8");
  CHECK(assignments_of(source) ==
        std::vector<std::string>{"a.b=8", "a.c.1=\"x y\"", "e={\"f\":true}"});
}

TEST_CASE("what they say sets the same again", "[scenarios]") {
  const char* text = R"({"a": {"b": 1, "c": [1, 2]}})";
  JsonSource source = JsonSource::from_text("s.json", text);
  source.set("a.c=[3]");
  source.set("new.deep.key=5");
  JsonSource again = JsonSource::from_text("s.json", text);
  for (const std::string& one : assignments_of(source)) again.set(one);
  CHECK(again.root() == source.root());
}

}  // namespace
}  // namespace spillway::test
